/** The view of all that Outrider is connected with: MCP and language servers, commands and skills. */

import * as vscode from "vscode";

import { connected, type Doing, isMoving, type Line } from "../core/connected.js";
import type { CommandTable, House } from "./house.js";

export const CONNECTED_VIEW = "outrider.connected";
const AGAIN_MILLISECONDS = 2000;

export class ConnectedView implements vscode.TreeDataProvider<Line>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly tree: vscode.TreeView<Line>;
  private lines: Line[] = [];
  private again: NodeJS.Timeout | undefined;
  private isLooking = false;

  constructor(private readonly house: House) {
    this.tree = vscode.window.createTreeView(CONNECTED_VIEW, { treeDataProvider: this });
    this.tree.onDidChangeVisibility(() => {
      this.look();
    });
  }

  /** Show how it is now, if somebody sees it; and once more as long as something is under way. */
  look(): void {
    clearTimeout(this.again);
    if (!this.tree.visible || this.isLooking) return;
    this.isLooking = true;
    void this.ask().finally(() => {
      this.isLooking = false;
    });
  }

  getTreeItem({ label, description, icon, more, can, lines, server }: Line): vscode.TreeItem {
    const isGroup = icon === "";
    const state = isGroup
      ? vscode.TreeItemCollapsibleState.Expanded
      : lines.length > 0
        ? vscode.TreeItemCollapsibleState.Collapsed
        : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(label, state);
    // What stands for the same thing stays open or closed when the view is drawn anew.
    item.id = `${isGroup ? "group" : (server ?? "line")}:${label}:${isGroup ? "" : more.join("\n")}`;
    item.description = description;
    item.tooltip = more.join("\n");
    item.contextValue = can.map((one) => `[${one}]`).join("");
    item.accessibilityInformation = { label: [label, description].filter(Boolean).join(", ") };
    if (!isGroup) item.iconPath = new vscode.ThemeIcon(icon);
    return item;
  }

  getChildren(line?: Line): Line[] {
    return [...(line?.lines ?? this.lines)];
  }

  async act(action: Doing, line: unknown): Promise<void> {
    const name = typeof line === "object" && line !== null && "server" in line ? line.server : undefined;
    if (typeof name !== "string") return;
    try {
      await this.house.connection.execute("outrider.servers", { action, name });
    } finally {
      this.look();
    }
  }

  dispose(): void {
    clearTimeout(this.again);
    this.tree.dispose();
    this.changed.dispose();
  }

  private async ask(): Promise<void> {
    const { connection } = this.house;
    if (connection.state !== "running") {
      this.show([], "The server does not run.");
      return;
    }
    try {
      const [servers, commands] = await Promise.all([
        connection.execute("outrider.servers", {}),
        connection.execute("outrider.commands", {}),
      ]);
      this.show(
        connected(servers, commands),
        "Nothing is connected yet. MCP servers stand in the settings as mcpServers.",
      );
      if (isMoving(servers))
        this.again = setTimeout(() => {
          this.look();
        }, AGAIN_MILLISECONDS);
    } catch (error) {
      this.show([], `It cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private show(lines: Line[], otherwise: string): void {
    this.lines = lines;
    // An empty one takes it away; deleting the property does not.
    this.tree.message = lines.length > 0 ? "" : otherwise;
    this.changed.fire(undefined);
  }
}

export function connectedCommands(view: ConnectedView): CommandTable {
  return {
    connected: async () => {
      await vscode.commands.executeCommand(`${CONNECTED_VIEW}.focus`);
      view.look();
    },
    lookAgain: () => {
      view.look();
    },
    logIn: (line) => view.act("login", line),
    logOut: (line) => view.act("logout", line),
    restartServer: (line) => view.act("restart", line),
  };
}
