/** The status bar: how it stands, and a button that stops it. */

import * as vscode from "vscode";

import type { SessionState } from "../core/session.js";
import { type Next, type ServerState, statusText } from "../core/status.js";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("outrider.status", vscode.StatusBarAlignment.Left, 10);
  private readonly stop = vscode.window.createStatusBarItem("outrider.stop", vscode.StatusBarAlignment.Left, 9);
  private shown = "";

  constructor() {
    this.item.name = "Outrider";
    this.stop.name = "Outrider: Cancel";
    this.stop.text = "$(debug-stop)";
    this.stop.tooltip = "Cancel Outrider's turn";
    this.stop.command = "outrider.client.cancel";
    this.stop.accessibilityInformation = { label: "Cancel Outrider's turn", role: "button" };
    this.item.show();
  }

  dispose(): void {
    this.item.dispose();
    this.stop.dispose();
  }

  update(server: ServerState, session: SessionState | undefined, next: Next, asked: readonly string[]): void {
    const now = statusText(server, session, next, asked);
    // Asked at every piece of live text.
    const key = JSON.stringify([now, server]);
    if (key === this.shown) return;
    this.shown = key;
    const { text, tooltip, calls, running } = now;
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.accessibilityInformation = {
      label: `${text.replace(/\$\([^)]*\)\s*/g, "")}. ${tooltip}`,
      role: "button",
    };
    this.item.command =
      server === "failed"
        ? "outrider.client.showLog"
        : calls
          ? "outrider.client.answerPending"
          : "outrider.client.showView";
    this.item.backgroundColor = calls ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
    if (running) this.stop.show();
    else this.stop.hide();
  }
}
