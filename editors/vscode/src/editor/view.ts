/** The session view in the side bar, which shows the session that is looked at. */

import * as vscode from "vscode";

import type { SessionState } from "../core/session.js";
import type { Frame, FromView } from "../core/messages.js";
import { Arrival, type Sight } from "../core/sight.js";
import { Page } from "./page.js";

export const VIEW = "outrider.session";

export class SessionView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private page: Page | undefined;
  private focusWanted: "composer" | "open" | undefined;
  private draftWanted = "";
  private readonly arrival = new Arrival(Date.now);

  /**
   * @param now what is to be shown
   * @param handle told what the user does
   */
  constructor(
    private readonly extension: vscode.Uri,
    private readonly now: () => { session: SessionState | undefined; frame: Frame },
    private readonly handle: (message: FromView, page: Page) => void,
  ) {}

  get isVisible(): boolean {
    return this.view?.visible ?? false;
  }

  get sight(): Sight {
    return this.arrival.sight(this.isVisible);
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.arrival.changed();
    const page = new Page(this.extension, view.webview, this.now, this.handle);
    this.page = page;
    view.onDidChangeVisibility(() => {
      this.arrival.changed();
      this.update();
    });
    view.onDidDispose(() => {
      page.dispose();
      this.view = undefined;
      this.page = undefined;
    });
    this.update();
  }

  /** Show how it stands now, soon. */
  update(): void {
    const count = this.now().frame.open.length;
    const before = this.view?.badge?.value ?? 0;
    if (this.view !== undefined && before !== count)
      this.view.badge = count === 0 ? undefined : { value: count, tooltip: "Outrider needs you" };
    this.page?.update();
    if (this.draftWanted !== "" && this.page !== undefined && this.isVisible) {
      this.page.draft(this.draftWanted);
      this.draftWanted = "";
    }
    if (this.focusWanted === undefined || !this.isVisible) return;
    this.page?.focus(this.focusWanted);
    this.focusWanted = undefined;
  }

  /** Put a text into the composer, as soon as that is there. */
  draft(text: string): void {
    this.draftWanted += text;
    this.update();
  }

  /** Bring the view to the front, and the keyboard into it if something of it is named. */
  async show(focus?: "composer" | "open"): Promise<void> {
    this.focusWanted = focus;
    if (!this.isVisible) this.arrival.asked();
    if (focus === undefined && this.view !== undefined) this.view.show(true);
    else await vscode.commands.executeCommand(`${VIEW}.focus`, { preserveFocus: focus === undefined });
    this.update();
  }
}
