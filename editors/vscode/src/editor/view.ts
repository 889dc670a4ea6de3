/** The session view: a webview that shows what `core` knows of a session, and gives back what the user does in it. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import type { SessionState } from "../core/session.js";
import { type Frame, type FromView, type ToView, shownEntry } from "../core/messages.js";
import { Delivery, type Outcome } from "../core/sending.js";
import { Arrival, type Sight } from "../core/sight.js";
import { Stretch } from "../core/stretch.js";

export const VIEW = "outrider.session";

const FLUSH_MILLISECONDS = 60;

export class SessionView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private shown = "";
  /** Whether the view has all it has to show but for what changed since. */
  private isWhole = false;
  private readonly stretch = new Stretch();
  private readonly delivery = new Delivery();
  private timer: NodeJS.Timeout | undefined;
  private focusWanted: "composer" | "open" | undefined;
  private readonly arrival = new Arrival(Date.now);

  /**
   * @param now what is to be shown
   * @param handle told what the user does
   */
  constructor(
    private readonly extension: vscode.Uri,
    private readonly now: () => { session: SessionState | undefined; frame: Frame },
    private readonly handle: (message: FromView) => void,
  ) {}

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  get sight(): Sight {
    return this.arrival.sight(this.isVisible);
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    this.arrival.changed();
    const media = vscode.Uri.joinPath(this.extension, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [media] };
    view.webview.onDidReceiveMessage((message: FromView) => {
      this.receive(message);
    });
    view.onDidChangeVisibility(() => {
      this.arrival.changed();
      this.update();
    });
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    view.webview.html = page(view.webview, media);
  }

  /** Show how it stands now, soon. */
  update(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.flush();
    }, FLUSH_MILLISECONDS);
  }

  /** Bring the view to the front, and the keyboard into it if something of it is named. */
  async show(focus?: "composer" | "open"): Promise<void> {
    this.focusWanted = focus;
    if (!this.isVisible) this.arrival.asked();
    if (focus === undefined && this.view !== undefined) this.view.show(true);
    else await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: focus === undefined });
    this.update();
  }

  /** Tell the page what became of a text it sent, now or when it is there again. */
  sent(outcome: Outcome): void {
    this.delivery.end(outcome);
    this.post({ type: "sent", ...outcome });
  }

  private receive(message: FromView): void {
    const { type } = message;
    if (type === "send") this.delivery.begin(message.id);
    if (type !== "ready" && type !== "earlier" && type !== "later" && type !== "latest") {
      this.handle(message);
      return;
    }
    const total = this.now().session?.entries.length ?? 0;
    if (type === "earlier" || type === "later") this.stretch[type](total);
    else this.stretch.latest(total);
    this.ready = true;
    this.isWhole = false;
    this.flush();
    const outcome = type === "ready" && message.waitsFor !== undefined ? this.delivery.of(message.waitsFor) : undefined;
    if (outcome !== undefined) this.post({ type: "sent", ...outcome });
  }

  private flush(): void {
    const { session, frame } = this.now();
    if (this.view !== undefined)
      this.view.badge =
        frame.open.length === 0 ? undefined : { value: frame.open.length, tooltip: "Outrider needs you" };
    if (this.view === undefined || !this.ready) return;
    const all = session?.entries ?? [];
    if (this.shown !== (session?.sessionId ?? "")) {
      this.shown = session?.sessionId ?? "";
      this.isWhole = false;
      this.stretch.latest(all.length);
    }
    const { first, end } = this.stretch.range(all.length);
    const changed = (session?.takeChanged() ?? []).flatMap((key) => session?.placeOf(key) ?? []);
    const places = this.isWhole
      ? changed.filter((at) => first <= at && at < end)
      : Array.from({ length: end - first }, (_, index) => first + index);
    const entries = places.flatMap((at) => {
      const entry = all[at];
      return entry === undefined ? [] : [{ at, entry: shownEntry(entry) }];
    });
    this.post({ type: "state", frame, entries, reset: !this.isWhole, before: first, behind: all.length - end });
    this.isWhole = true;
    if (this.focusWanted !== undefined && this.view.visible) {
      this.post({ type: "focus", what: this.focusWanted });
      this.focusWanted = undefined;
    }
  }

  private post(message: ToView): void {
    void this.view?.webview.postMessage(message);
  }
}

function page(webview: vscode.Webview, media: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const script = webview.asWebviewUri(vscode.Uri.joinPath(media, "view.js")).toString();
  const style = webview.asWebviewUri(vscode.Uri.joinPath(media, "view.css")).toString();
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}';">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Outrider</title>
</head>
<body>
<main id="root"></main>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
