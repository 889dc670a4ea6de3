/** A page that shows what `core` knows of a session, and gives back what the user does in it. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import type { Changed, SessionState } from "../core/session.js";
import { type Frame, type FromView, Sent, type ToView } from "../core/messages.js";
import { Delivery, type Outcome } from "../core/sending.js";
import { Stretch } from "../core/stretch.js";
import { themeColours } from "./theme.js";

const FLUSH_MILLISECONDS = 60;

export class Page {
  private ready = false;
  private shown: SessionState | undefined;
  private changed: Changed | undefined;
  /** Which entries the page has; undefined where it has none it can keep. */
  private has: { first: number; end: number } | undefined;
  private readonly answers = new Sent();
  private readonly stretch = new Stretch();
  private readonly delivery = new Delivery();
  private timer: NodeJS.Timeout | undefined;
  private focusWanted: "composer" | "open" | undefined;
  private draftWanted = "";
  private readonly disposables: vscode.Disposable[];

  /**
   * @param now what is to be shown
   * @param handle told what the user does
   */
  constructor(
    extension: vscode.Uri,
    private readonly webview: vscode.Webview,
    private readonly now: () => { session: SessionState | undefined; frame: Frame },
    private readonly handle: (message: FromView, page: Page) => void,
  ) {
    const media = vscode.Uri.joinPath(extension, "dist");
    webview.options = { enableScripts: true, localResourceRoots: [media] };
    this.disposables = [
      webview.onDidReceiveMessage((message: FromView) => {
        this.receive(message);
      }),
      vscode.window.onDidChangeActiveColorTheme(() => {
        void this.colour();
      }),
    ];
    webview.html = html(webview, media);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.changed?.end();
    for (const disposable of this.disposables) disposable.dispose();
  }

  /** Show how it stands now, soon. */
  update(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.flush();
    }, FLUSH_MILLISECONDS);
  }

  /** Put a text into the composer, as soon as it is there. */
  draft(text: string): void {
    this.draftWanted += text;
    this.update();
  }

  /** Put the keyboard into something, as soon as it is there. */
  focus(what: "composer" | "open"): void {
    this.focusWanted = what;
    this.update();
  }

  /** Tell the page what became of a text it sent, now or when it is there again. */
  sent(outcome: Outcome): void {
    this.delivery.end(outcome);
    this.post({ type: "sent", ...outcome });
  }

  post(message: ToView): void {
    void this.webview.postMessage(message);
  }

  private receive(message: FromView): void {
    const { type } = message;
    if (type === "send") this.delivery.begin(message.id);
    if (type !== "ready" && type !== "earlier" && type !== "later" && type !== "latest") {
      this.handle(message, this);
      return;
    }
    const total = this.now().session?.entries.length ?? 0;
    if (type === "earlier" || type === "later") this.stretch[type](total);
    else this.stretch.latest(total);
    if (type === "ready") {
      this.ready = true;
      this.has = undefined;
      void this.colour();
    }
    this.flush();
    const outcome = type === "ready" && message.waitsFor !== undefined ? this.delivery.of(message.waitsFor) : undefined;
    if (outcome !== undefined) this.post({ type: "sent", ...outcome });
  }

  private flush(): void {
    if (!this.ready) return;
    const { session, frame } = this.now();
    const all = session?.entries ?? [];
    if (this.shown !== session) {
      this.changed?.end();
      this.changed = session?.watch();
      this.shown = session;
      this.has = undefined;
      this.stretch.latest(all.length);
    }
    const { first, end } = this.stretch.range(all.length);
    const had = this.has ?? { first: end, end };
    const isNew = (at: number): boolean => at < had.first || at >= had.end;
    const changed = (this.changed?.take() ?? []).flatMap((key) => session?.placeOf(key) ?? []);
    const old = changed.filter((at) => !isNew(at));
    const fresh = Array.from({ length: end - first }, (_, index) => first + index).filter(isNew);
    const reset = this.has === undefined || (fresh.length > 0 && fresh.length === end - first);
    const places = [...new Set([...old.filter((at) => first <= at && at < end), ...fresh])].sort((a, b) => a - b);
    const entries = places.flatMap((at) => {
      const entry = all[at];
      return entry === undefined ? [] : [{ at, entry: this.answers.entry(entry, isNew(at)) }];
    });
    const behind = all.length - end;
    this.post({ type: "state", frame, entries, reset, before: first, behind, total: all.length });
    this.has = { first, end };
    if (this.draftWanted !== "") this.post({ type: "draft", text: this.draftWanted });
    this.draftWanted = "";
    if (this.focusWanted === undefined) return;
    this.post({ type: "focus", what: this.focusWanted });
    this.focusWanted = undefined;
  }

  private async colour(): Promise<void> {
    this.post({ type: "colours", colours: await themeColours() });
  }
}

function html(webview: vscode.Webview, media: vscode.Uri): string {
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
