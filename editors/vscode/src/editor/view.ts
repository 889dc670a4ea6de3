/** The session view: a webview that shows what `core` knows of a session, and gives back what the person does in it. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";

import type { SessionState } from "../core/session.js";
import { type Frame, type FromView, type ToView, shownEntry } from "../core/messages.js";

export const VIEW = "outrider.session";

const SHOWN_AT_ONCE = 300;
const FLUSH_MILLISECONDS = 60;

export class SessionView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private shown: string | undefined;
  private limit = SHOWN_AT_ONCE;
  private timer: NodeJS.Timeout | undefined;
  private focusWanted: "composer" | "open" | undefined;

  /**
   * @param now what is to be shown
   * @param handle told what the person does
   */
  constructor(
    private readonly extension: vscode.Uri,
    private readonly now: () => { session: SessionState | undefined; frame: Frame },
    private readonly handle: (message: FromView) => void,
  ) {}

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    const media = vscode.Uri.joinPath(this.extension, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [media] };
    view.webview.onDidReceiveMessage((message: FromView) => {
      this.receive(message);
    });
    view.onDidChangeVisibility(() => {
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
    if (focus === undefined && this.view !== undefined) this.view.show(true);
    else await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: focus === undefined });
    this.update();
  }

  private receive(message: FromView): void {
    if (message.type === "ready" || message.type === "earlier") {
      this.ready = true;
      this.shown = undefined;
      if (message.type === "earlier") this.limit += SHOWN_AT_ONCE;
      this.flush();
    } else this.handle(message);
  }

  private flush(): void {
    const { session, frame } = this.now();
    if (this.view !== undefined)
      this.view.badge =
        frame.open.length === 0 ? undefined : { value: frame.open.length, tooltip: "Outrider needs you" };
    if (this.view === undefined || !this.ready) return;
    const changed = session?.takeChanged() ?? [];
    const reset = this.shown === undefined || this.shown !== (session?.sessionId ?? "");
    const all = session?.entries ?? [];
    if (reset && this.shown !== undefined) this.limit = SHOWN_AT_ONCE;
    const wanted = reset ? all.slice(-this.limit) : changed.flatMap((key) => session?.entry(key) ?? []);
    const entries = wanted.map(shownEntry);
    this.shown = session?.sessionId ?? "";
    this.post({ type: "state", frame, entries, reset, hidden: Math.max(0, all.length - entries.length) });
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
