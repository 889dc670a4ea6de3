/** Keys of providers: kept in the editor's secret storage, given to the server in its environment, written nowhere else. */

import * as vscode from "vscode";

import { KeyWatch } from "../core/keywatch.js";
import { isVariable, keyNames } from "../core/settings.js";

const NAMES = "outrider.keyNames";
const PREFIX = "outrider.key.";

export class Keys {
  private readonly watch = new KeyWatch();
  /** Names that another window keeps a key for; that window's list of them may come later than the key. */
  private readonly heard = new Set<string>();

  constructor(private readonly context: vscode.ExtensionContext) {}

  /** Call back when another window changed a key that this one's server was started without. */
  onNews(act: () => void): vscode.Disposable {
    return this.context.secrets.onDidChange(async ({ key }) => {
      if (!key.startsWith(PREFIX)) return;
      const name = key.slice(PREFIX.length);
      this.heard.add(name);
      if (this.watch.isNews(name, await this.context.secrets.get(key))) act();
    });
  }

  /** The keys by the name of their environment variable. */
  async all(): Promise<Record<string, string>> {
    const keys: Record<string, string> = {};
    for (const name of new Set([...this.names, ...this.heard])) {
      const key = await this.context.secrets.get(secretOf(name));
      if (key !== undefined) keys[name] = key;
    }
    this.watch.given = keys;
    return keys;
  }

  /** Ask for a key and keep it. Gives whether there is a new one. */
  async set(): Promise<boolean> {
    const name = await this.chooseName("Which key?", true);
    if (name === undefined) return false;
    const key = await vscode.window.showInputBox({
      title: `Key for ${name}`,
      prompt: "It is kept in the editor's secret storage and given to the server as an environment variable.",
      password: true,
      ignoreFocusOut: true,
    });
    if (!key) return false;
    await this.keep(name, key);
    return true;
  }

  /** Keep a key for the servers to come. */
  async keep(name: string, key: string): Promise<void> {
    this.watch.changing(name, key);
    await this.context.secrets.store(secretOf(name), key);
    await this.remember([...new Set([...this.names, name])]);
  }

  /** Forget a key. Gives whether one is gone. */
  async forget(): Promise<boolean> {
    if (this.names.length === 0) {
      void vscode.window.showInformationMessage("Outrider keeps no key.");
      return false;
    }
    const name = await this.chooseName("Forget which key?", false);
    if (name === undefined) return false;
    this.watch.changing(name, undefined);
    await this.context.secrets.delete(secretOf(name));
    await this.remember(this.names.filter((one) => one !== name));
    return true;
  }

  private get names(): string[] {
    return this.context.globalState.get<string[]>(NAMES, []);
  }

  private async remember(names: string[]): Promise<void> {
    await this.context.globalState.update(NAMES, names);
  }

  private async chooseName(title: string, others: boolean): Promise<string | undefined> {
    const providers = vscode.workspace.getConfiguration("outrider").inspect("providers")?.globalValue;
    const known = others ? [...new Set([...keyNames(providers), ...this.names])] : this.names;
    const other = "Another environment variable…";
    const chosen =
      known.length === 0 ? other : await vscode.window.showQuickPick([...known, ...(others ? [other] : [])], { title });
    if (chosen !== other) return chosen;
    return vscode.window.showInputBox({
      title,
      prompt: "The environment variable that `apiKeyEnv` of a provider names",
      placeHolder: "MY_KEY",
      validateInput: (text) =>
        isVariable(text) ? undefined : "A name of letters, digits and _ that begins with no digit",
    });
  }
}

function secretOf(name: string): string {
  return PREFIX + name;
}
