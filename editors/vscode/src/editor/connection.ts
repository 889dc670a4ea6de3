/** The server as a process and as a partner: started, spoken to, watched, started again. */

import { type ChildProcess, spawn } from "node:child_process";
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  type StaticFeature,
} from "vscode-languageclient/node";

import { serverEnvironment } from "../core/find.js";
import { problemOf } from "../core/handshake.js";
import { joinedBy } from "../core/joining.js";
import { ABILITIES, type Ability } from "../core/messages.js";
import { Pulse, silence } from "../core/pulse.js";
import { type Inspect, type Options, configuration, initializationOptions, isMode, isWider } from "../core/settings.js";
import { withModel } from "../core/choices.js";
import type { ServerState } from "../core/status.js";
import { type PermissionMode, lastWords, messageOf, withoutTerminal } from "../core/words.js";
import type { Commands } from "../protocol/types.js";
import type { Keys } from "./keys.js";
import { type Server, provideServer } from "./server.js";

/** The server said no, or was not there. `reason` is the protocol's, and so is `data`. */
export class CommandFailure extends Error {
  constructor(
    message: string,
    readonly reason: string,
    readonly data: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

/** A task that was refused because there is no model to work with, and how it is given once more. */
export interface Lacking {
  readonly failure: CommandFailure;
  readonly again: () => Promise<unknown>;
}

const MOST_CRASHES = 4;
const SAME_TROUBLE_MILLISECONDS = 10_000;
const CRASH_MILLISECONDS = 3 * 60_000;
const STOP_MILLISECONDS = 4000;
const START_MILLISECONDS = 30_000;
/** For how long the last words of a server that fails are waited for. */
const WORDS_MILLISECONDS = 500;
/** How much of them is kept. */
const PRINTED = 4000;

/** Fails in silence until it was started: the problem is told here, with what to do. */
class Client extends LanguageClient {
  isUp = false;

  override error(message: string, data?: unknown, showNotification: boolean | "force" = true): void {
    super.error(message, data, this.isUp && showNotification);
  }
}

export class Connection {
  state: ServerState = "stopped";
  /** The mode that the server was started with; undefined where the user set none. */
  permissionMode: PermissionMode | undefined;
  /** The model that a task gets which names none, as the server says: empty for none, undefined where it does not say. */
  served: string | undefined;
  /** Whether the last task was refused because there is no model to work with. */
  isRefused = false;

  private client: LanguageClient | undefined;
  private process: ChildProcess | undefined;
  private printed = "";
  private startedWith = "";
  private isStale = false;
  private busy: Promise<void> = Promise.resolve();
  private crashes: number[] = [];
  /** Commands that have no answer yet. */
  private pending = 0;
  private readonly pulse: Pulse;
  private readonly changed = new vscode.EventEmitter<ServerState>();
  /** Fired at every change of the state. */
  readonly onState = this.changed.event;
  private readonly lacking = new vscode.EventEmitter<Lacking>();
  /** Fired where a code action was refused for want of a model. */
  readonly onLacking = this.lacking.event;
  private readonly joined = new vscode.EventEmitter<string>();
  /** Fired where a code action joined a session that another process runs. */
  readonly onJoined = this.joined.event;

  /**
   * @param model the model that the user chose for the next tasks
   * @param isAtWork whether the server is at work on any session
   * @param hidesLenses whether lenses about earlier changes would be in the way in a document
   */
  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly keys: Keys,
    private readonly register: (client: LanguageClient) => void,
    private readonly started: () => Promise<void>,
    private readonly model: () => string | undefined,
    isAtWork: () => boolean,
    private readonly hidesLenses: (uri: vscode.Uri) => boolean,
  ) {
    this.pulse = new Pulse(
      CLOCK,
      async () => this.client?.sendRequest("workspace/executeCommand", { command: "outrider.status", arguments: [{}] }),
      () => this.state === "running" && (this.pending > 0 || isAtWork()),
      (seconds) => {
        this.tell(silence(seconds));
      },
    );
  }

  /** Watch whether the server still answers, if anything is awaited of it now. */
  watch(): void {
    this.pulse.update();
  }

  /** Start the server, unless it runs. */
  start(): Promise<void> {
    return this.inTurn(() => this.startNow());
  }

  /** Stop the server and start it anew. */
  restart(): Promise<void> {
    this.crashes = [];
    return this.inTurn(async () => {
      await this.stopNow();
      await this.startNow();
    });
  }

  stop(): Promise<void> {
    return this.inTurn(() => this.stopNow());
  }

  /** Do a command of the server. Throws CommandFailure. */
  async execute<Name extends keyof Commands>(
    name: Name,
    params: Commands[Name]["params"],
  ): Promise<Commands[Name]["result"]> {
    if (this.state !== "running") await this.start();
    const client = this.client;
    if (client === undefined || this.state !== "running")
      throw new CommandFailure("The server is not running.", "not_running");
    this.pending += 1;
    this.watch();
    try {
      const result = await client.sendRequest<Commands[Name]["result"]>("workspace/executeCommand", {
        command: name,
        arguments: [params],
      });
      if (name === "outrider.run") this.refuses(false);
      return result;
    } catch (error) {
      const failure = failureOf(error);
      if (failure.reason === LACKS_MODEL) this.refuses(true);
      throw failure;
    } finally {
      this.pending -= 1;
    }
  }

  /** Ask the server which model the next task gets. */
  async readModel(): Promise<void> {
    if (this.state !== "running") return;
    const { model } = await this.execute("outrider.status", {});
    this.served = model;
    this.isRefused = false;
    this.changed.fire(this.state);
  }

  private refuses(isRefused: boolean): void {
    if (this.isRefused === isRefused) return;
    this.isRefused = isRefused;
    this.changed.fire(this.state);
  }

  /** What the server can do besides. */
  get abilities(): Ability[] {
    const { executeCommandProvider } = this.client?.initializeResult?.capabilities ?? {};
    return ABILITIES.filter((one) => executeCommandProvider?.commands.includes(`outrider.${one}`));
  }

  /** Have the server ask for the settings again, of which it then gets those that may count. */
  async settingsChanged(): Promise<void> {
    if (this.state === "running")
      await this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null });
  }

  /** The diagnostics of the editor, as the protocol writes them. */
  async diagnostics(items: readonly vscode.Diagnostic[]): Promise<Record<string, unknown>[]> {
    if (this.state !== "running") await this.start();
    const converted = await this.client?.code2ProtocolConverter.asDiagnostics([...items]);
    return (converted ?? []) as object[] as Record<string, unknown>[];
  }

  /** What is no setting of the server changed, such as a key: only a new server has it. */
  outdate(): void {
    this.isStale = true;
  }

  /** Whether a new server would be started in another way than the one that runs. */
  get isOutdated(): boolean {
    return this.state === "running" && (this.isStale || JSON.stringify(options()) !== this.startedWith);
  }

  /** Whether all that is outdated is a mode that was made narrower, which counts already. */
  get isNarrowed(): boolean {
    const { permissionMode, ...others } = options();
    if (this.isStale || permissionMode === undefined || isWider(permissionMode, this.permissionMode)) return false;
    const { permissionMode: _, ...before } = JSON.parse(this.startedWith) as Options;
    return JSON.stringify(others) === JSON.stringify(before);
  }

  private inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.busy.then(act);
    this.busy = done.catch((error: unknown) => {
      this.log.error(String(error));
    });
    return this.busy;
  }

  private async startNow(): Promise<void> {
    if (this.state === "running") return;
    this.become("starting");
    let server: Server | undefined;
    let keys: Record<string, string>;
    try {
      this.isStale = false;
      keys = await this.keys.all();
      server = await provideServer(this.context, this.log);
    } catch (error) {
      // Such as a disk that is full, or a secret storage that is locked.
      this.become("failed");
      this.tell(`Outrider cannot start. ${messageOf(error)}`);
      return;
    }
    if (server === undefined) {
      this.become("failed");
      return;
    }
    const mode = inspect("permissionMode").global;
    this.permissionMode = isMode(mode) ? mode : undefined;
    const env = serverEnvironment(process.env, keys);
    const client = new Client("outrider", "Outrider", () => this.spawn(server, env), {
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      initializationOptions: () => {
        const given = options();
        this.startedWith = JSON.stringify(given);
        return given;
      },
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.closed(client);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      middleware: {
        provideCodeLenses: (document, token, next) => (this.hidesLenses(document.uri) ? [] : next(document, token)),
        executeCommand: async (command, args, next) => {
          const act = (): Promise<unknown> =>
            Promise.resolve(next(command, withModel(command, args, this.model())) as unknown);
          try {
            const result = await act();
            const joined = joinedBy(command, result);
            if (joined !== undefined) this.joined.fire(joined);
            return result;
          } catch (error) {
            const failure = failureOf(error);
            if (failure.reason !== LACKS_MODEL) throw error;
            this.refuses(true);
            this.lacking.fire({ failure, again: act });
            return undefined;
          }
        },
        workspace: {
          configuration: (params) =>
            params.items.map((item) =>
              item.section === "outrider" ? configuration(inspect, this.permissionMode) : null,
            ),
        },
      },
    });
    client.registerFeature(OWN_PROGRESS);
    this.register(client);
    this.client = client;
    try {
      await inTime(client.start());
    } catch (error) {
      await this.ending();
      const problem = messageOf(error).replace(/[.]$/, "");
      const how = `It was started with ${server.command.join(" ")}, but gave no answer: ${problem}.`;
      this.fail(client, how + lastWords(this.printed));
      return;
    }
    const wrong = problemOf(client.initializeResult);
    if (wrong !== undefined) {
      await client.stop(STOP_MILLISECONDS).catch(() => undefined);
      this.fail(client, wrong.problem);
      return;
    }
    client.isUp = true;
    this.served = undefined;
    this.isRefused = false;
    this.become("running");
    try {
      await this.started();
    } catch (error) {
      // One that has ended already is told of where that is seen.
      if (this.client === client) this.tell(`Outrider cannot show what it was at here: ${messageOf(error)}`);
    }
  }

  private spawn({ command, cwd }: Server, env: Record<string, string>): Promise<ChildProcess> {
    const [program = "", ...args] = command;
    const child = spawn(program, [...args, "serve"], { cwd, env, stdio: "pipe" });
    this.process = child;
    this.printed = "";
    child.stderr.on("data", (text: Buffer) => {
      this.printed = (this.printed + text.toString()).slice(-PRINTED);
    });
    return new Promise((resolve, reject) => {
      child.once("spawn", () => {
        resolve(child);
      });
      child.once("error", reject);
    });
  }

  /** Resolves when the process has ended and all that it printed is here, or soon. */
  private async ending(): Promise<void> {
    const child = this.process;
    if (child === undefined || child.stderr?.closed === true) return;
    await new Promise<void>((resolve) => {
      child.once("close", () => {
        resolve();
      });
      setTimeout(resolve, WORDS_MILLISECONDS);
    });
  }

  private async stopNow(): Promise<void> {
    const { client, process } = this;
    this.client = undefined;
    this.become("stopped");
    await client?.dispose(STOP_MILLISECONDS).catch((error: unknown) => {
      this.log.warn(`The server was ended: ${String(error)}`);
      // One that hangs would keep its sessions from the next one.
      process?.kill("SIGKILL");
    });
    await this.ending();
  }

  private closed(client: LanguageClient): void {
    if (client !== this.client || this.state !== "running") return;
    this.client = undefined;
    this.become("failed");
    const now = Date.now();
    const before = this.crashes.at(-1) ?? -Infinity;
    this.crashes = [...this.crashes.filter((time) => now - time < CRASH_MILLISECONDS), now];
    void client.dispose().catch(() => undefined);
    if (this.crashes.length > MOST_CRASHES) {
      this.tell(
        `The server ended ${String(this.crashes.length)} times in three minutes. It is not started again by itself.${lastWords(this.printed)}`,
      );
      return;
    }
    // Once for crashes in a row: VS Code keeps back what comes when many messages have just come.
    if (now - before > SAME_TROUBLE_MILLISECONDS) {
      void vscode.window.showWarningMessage(
        `Outrider's server ended unexpectedly.${lastWords(this.printed)} It is started again, and what was going on goes on.`,
      );
    }
    void this.inTurn(() => this.startNow());
  }

  private fail(client: LanguageClient, problem: string): void {
    if (this.client === client) this.client = undefined;
    this.become("failed");
    // What does not speak LSP does not end by it either.
    this.process?.kill();
    void client.dispose().catch(() => undefined);
    this.tell(`Outrider cannot start. ${problem}`);
  }

  private tell(problem: string): void {
    this.log.error(problem);
    const again = "Restart";
    const show = "Show Log";
    void vscode.window.showErrorMessage(problem, again, show).then((chosen) => {
      if (chosen === again) void this.restart();
      if (chosen === show) this.log.show();
    });
  }

  private become(state: ServerState): void {
    if (this.state === state) return;
    this.state = state;
    if (state !== "running") this.pulse.end();
    this.changed.fire(state);
  }
}

/** The reason of a refusal for want of a model. */
const LACKS_MODEL = "model_unavailable";

/** Whether something was refused because there is no model to work with. */
export function lacksModel(error: unknown): error is CommandFailure {
  return error instanceof CommandFailure && error.reason === LACKS_MODEL;
}

function failureOf(error: unknown): CommandFailure {
  const given: unknown = error instanceof ResponseError ? error.data : undefined;
  const data = typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
  const reason = "reason" in data ? String(data["reason"]) : "failed";
  return new CommandFailure(withoutTerminal(messageOf(error)), reason, data);
}

function options(): Options {
  return initializationOptions(inspect, vscode.workspace.isTrusted);
}

/** What is started may be anything, and never answer. */
async function inTime(starting: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`nothing came in ${String(START_MILLISECONDS / 1000)} s`));
    }, START_MILLISECONDS);
  });
  try {
    await Promise.race([starting, late]);
  } finally {
    clearTimeout(timer);
  }
}

const CLOCK = {
  every: (milliseconds: number, act: () => void): (() => void) => {
    const timer = setInterval(act, milliseconds);
    return () => {
      clearInterval(timer);
    };
  },
};

/** A setting of the section `outrider`, by who said it. */
export const inspect: Inspect = (key) => {
  const resource = vscode.workspace.workspaceFolders?.[0]?.uri;
  const said = vscode.workspace.getConfiguration("outrider", resource).inspect(key);
  return { global: said?.globalValue, workspace: said?.workspaceFolderValue ?? said?.workspaceValue };
};

/** Progress is shown in the view and the status bar, so the server need not show it as well. */
const OWN_PROGRESS: StaticFeature = {
  fillClientCapabilities(capabilities) {
    capabilities.window = { ...capabilities.window, workDoneProgress: false };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};
