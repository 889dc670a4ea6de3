/** The extension: puts its parts together when the editor starts it, and takes them apart again. */

import * as vscode from "vscode";

import { Attention, show, type Wanted } from "./core/attention.js";
import { SessionBook } from "./core/book.js";
import { headOfAll, questionIdOf } from "./core/groups.js";
import { Joining } from "./core/joining.js";
import { type Around, type FromView, frameOf } from "./core/messages.js";
import { type Kept, Reviews } from "./core/review.js";
import { Milestones } from "./core/milestones.js";
import type { SessionState } from "./core/session.js";
import { OUTCOMES, messageOf } from "./core/words.js";
import { Answers } from "./editor/answers.js";
import { BetweenLines } from "./editor/between.js";
import { connectedCommands, ConnectedView } from "./editor/connected.js";
import { Connection, lacksModel } from "./editor/connection.js";
import { decidingCommands } from "./editor/deciding.js";
import {
  AGAIN_MILLISECONDS,
  BEFORE,
  Befores,
  historyCommands,
  resumeSession,
  resumed,
  showJoined,
} from "./editor/history.js";
import { type House, LAST_SESSION } from "./editor/house.js";
import { thisMachine } from "./editor/machine.js";
import { Keys } from "./editor/keys.js";
import { chosenModel, modelCommands, nextTurn } from "./editor/models.js";
import { Completing } from "./editor/completing.js";
import type { Page } from "./editor/page.js";
import { pathOf } from "./editor/places.js";
import { Proposals } from "./editor/proposals.js";
import { References, taken } from "./editor/references.js";
import { serve } from "./editor/requests.js";
import { reviewCommands } from "./editor/reviewing.js";
import { sessionsCommands, SessionsView } from "./editor/sessions.js";
import { offerModel, outdated, settingsChanged, setupCommands } from "./editor/setup.js";
import { StatusBar } from "./editor/statusbar.js";
import {
  again,
  alongContext,
  alongText,
  cancel,
  changeWaiting,
  goOn,
  resend,
  restore,
  run,
  steer,
  taskCommands,
} from "./editor/tasks.js";
import { SessionView, VIEW } from "./editor/view.js";
import type { Event, TurnFinished } from "./protocol/types.js";

const MILESTONES_KEPT = "outrider.done";
const REVIEWS = "outrider.reviews";
const JOINED_MILLISECONDS = 2000;
const ENDING_MILLISECONDS = 4000;

let connection: Connection | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("Outrider", { log: true });
  const keys = new Keys(context);
  const book = new SessionBook((sessionId, fromSeq) => own.execute("outrider.events", { sessionId, fromSeq }), changed);
  const own: Connection = new Connection(
    context,
    log,
    keys,
    (client) => {
      serve(
        client,
        book,
        answers,
        () => view.isVisible,
        happened,
        () => {
          look();
        },
      );
    },
    started,
    () => chosenModel(house),
    () => book.all.some((session) => session.isAtWork),
    (uri) => proposals.isIn(uri),
  );
  const reviews = new Reviews(context.workspaceState.get<Kept[]>(REVIEWS), (kept) => {
    void context.workspaceState.update(REVIEWS, kept);
  });
  const between = new BetweenLines();
  const proposals: Proposals = new Proposals(book, reviews, between, () => {
    view.update();
  });
  const view = new SessionView(context.extensionUri, now, (message, page) => {
    tell(log, receive(house, message, page));
  });
  const answers: Answers = new Answers(book, reviews, own, proposals, () => view.sight, log);
  const status = new StatusBar();
  const befores = new Befores();
  const references = new References();
  const completing = new Completing();
  const milestones = new Milestones(context.globalState.get(MILESTONES_KEPT, []), (milestone, all) => {
    setContext(`outrider.done.${milestone}`, true);
    void context.globalState.update(MILESTONES_KEPT, all);
  });
  for (const milestone of milestones.all) setContext(`outrider.done.${milestone}`, true);
  const attention = new Attention(
    setTimeout,
    () => vscode.window.state.focused,
    () => vscode.workspace.getConfiguration("outrider").get<Wanted>("notifications", "waitingAndDone"),
    (id) => answers.questions.some(([first]) => questionIdOf(first) === id),
    (notification) => {
      void show(thisMachine(log), process.platform, notification).then((problem) => {
        if (problem !== undefined) log.warn(`No notification of the system: ${problem}.`);
      });
    },
  );
  let attempt: NodeJS.Timeout | undefined;
  const seenTurns = new Set<string>();
  let wasRunning = false;
  const house: House = {
    context,
    log,
    connection: own,
    book,
    answers,
    proposals,
    reviews,
    view,
    keys,
    references,
    completing,
    milestones,
    update,
  };
  const connectedView = new ConnectedView(house);
  const sessionsView = new SessionsView(house);
  connection = own;

  function now(): ReturnType<ConstructorParameters<typeof SessionView>[1]> {
    return { session: book.current, frame: frameOf(own.state, book.current, nextTurn(house), reviews, around()) };
  }

  function around(): Around {
    const sendKey = vscode.workspace.getConfiguration("outrider").get<string>("sendKey", "enter");
    return { along: alongText(), enterSends: sendKey === "enter", can: own.abilities };
  }

  function happened(event: Event): void {
    milestones.see(event);
    const session = book.get(event.sessionId);
    const { outcome } = event.data as object as Partial<TurnFinished>;
    // The window that runs a session notifies about it.
    if (event.type !== "turn.finished" || outcome === "cancelled" || session?.away === "joined") return;
    const title = session?.title ?? "";
    const how = outcome === undefined || outcome === "completed" ? "" : `: ${OUTCOMES[outcome].toLowerCase()}`;
    attention.take({ id: event.turnId ?? "", kind: "done", session: title + how });
  }

  function changed(session: SessionState): void {
    const turnId = session.isOwn ? session.running?.turnId : undefined;
    if (turnId !== undefined && !seenTurns.has(turnId)) {
      seenTurns.add(turnId);
      // What a code action begins is shown as well, unless something else runs there. What waited was left by the user.
      if (book.current?.runningHere === undefined && !session.queued.has(turnId)) book.select(session.sessionId);
    }
    if (book.current === session && session.sessionId !== context.workspaceState.get(LAST_SESSION)) {
      void context.workspaceState.update(LAST_SESSION, session.sessionId);
    }
    answers.update(session);
    if (session.away !== "joined")
      for (const item of session.open.values())
        attention.take({ id: questionIdOf(item), kind: "waiting", session: session.title });
    reviews.keepOnly(answers.open.map(({ id }) => id));
    proposals.update();
    own.watch();
    update();
  }

  function update(): void {
    view.update();
    sessionsView.update();
    status.update(own.state, book.running ?? book.current, nextTurn(house), answers.questions.map(headOfAll));
    const retries = book.all.flatMap((session) => session.retrying(Date.now())?.at ?? []);
    const keys = {
      waiting: answers.open.length > 0,
      running: book.running !== undefined,
      retrying: retries.length > 0,
    };
    // A turn starts the servers it needs.
    if (wasRunning && !keys.running) connectedView.look();
    wasRunning = keys.running;
    clearTimeout(attempt);
    // The command is disabled when the time has passed, also where no event comes then.
    if (retries.length > 0) attempt = setTimeout(update, Math.max(0, Math.min(...retries) - Date.now()) + 1);
    for (const [key, value] of Object.entries(keys)) setContext(`outrider.${key}`, value);
  }

  /** A server is there: what the one before was at goes on, and so does what this window was shown last. */
  async function started(): Promise<void> {
    book.restart();
    answers.restart();
    const cutOff = new Set(book.all.filter((session) => session.isOwn).map(({ sessionId }) => sessionId));
    await own.readModel();
    const { sessions } = await own.execute("outrider.sessions", {});
    // The server of before was who had joined them.
    for (const { sessionId, elsewhere } of sessions)
      if (elsewhere === true && book.get(sessionId)?.away === "joined") tell(log, resumed(house, sessionId));
    // Only now: the user may have begun a new session meanwhile.
    const last = context.workspaceState.get<string>(LAST_SESSION);
    const known = sessions.find(({ sessionId }) => sessionId === last);
    if (known !== undefined) {
      book.select(known.sessionId);
      await book.load(known.sessionId);
      // Only its log says that a turn was cut off.
      const session = book.get(known.sessionId);
      if (session?.running !== undefined && session.away !== "joined") cutOff.add(known.sessionId);
    }
    // The server of a window that was just loaded anew may not have ended yet; nothing else has to wait for that.
    for (const sessionId of cutOff) tell(log, resumeSession(house, sessionId, ENDING_MILLISECONDS));
    tell(log, callAll(book, own, cutOff));
  }

  const tables = [
    taskCommands(house),
    decidingCommands(house),
    reviewCommands(house),
    historyCommands(house, befores),
    modelCommands(house),
    setupCommands(house),
    connectedCommands(connectedView),
    sessionsCommands(house, sessionsView),
  ];
  for (const [name, act] of tables.flatMap((table) => Object.entries(table))) {
    context.subscriptions.push(
      vscode.commands.registerCommand(`outrider.client.${name}`, (...args: unknown[]) => {
        tell(log, Promise.resolve(act(...args)));
      }),
    );
  }
  context.subscriptions.push(
    log,
    status,
    proposals,
    between,
    connectedView,
    sessionsView,
    vscode.window.registerWebviewViewProvider(VIEW, view),
    vscode.workspace.registerTextDocumentContentProvider(BEFORE, befores),
    own.onState(() => {
      update();
      connectedView.look();
      sessionsView.look();
    }),
    own.onJoined((sessionId) => {
      tell(log, showJoined(house, sessionId));
    }),
    own.onLacking(({ failure, again }) => {
      tell(log, offerModel(house, failure, again));
    }),
    vscode.window.onDidChangeTextEditorSelection(() => {
      view.update();
    }),
    vscode.window.onDidChangeActiveTextEditor(() => {
      view.update();
    }),
    keys.onNews(() => {
      // A server that is not running gets it when it is started.
      if (own.state === "running") tell(log, outdated(house, "a key that another window changed counts"));
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      tell(log, outdated(house, "the trust in this workspace counts"));
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("outrider.server")) tell(log, outdated(house, "the other server is used"));
      else if (event.affectsConfiguration("outrider")) tell(log, settingsChanged(house));
      update();
    }),
  );
  const joining = new Joining(
    book,
    async () => (await own.execute("outrider.sessions", {})).sessions,
    (sessionId) => resumed(house, sessionId),
  );
  const look = (): void => {
    if (own.state === "running") void joining.look(view.isVisible).catch(() => undefined);
  };
  // Of what another process begins later in a session nobody tells.
  const looking = setInterval(look, JOINED_MILLISECONDS);
  context.subscriptions.push(
    new vscode.Disposable(() => {
      clearInterval(looking);
    }),
  );
  void own.start().then(update);
}

export async function deactivate(): Promise<void> {
  await connection?.stop();
}

async function receive(house: House, message: FromView, page: Page): Promise<void> {
  switch (message.type) {
    case "send":
      try {
        await sent(house, message);
        page.sent({ id: message.id });
      } catch (error) {
        page.sent({ id: message.id, problem: `Not sent: ${messageOf(error)}` });
        // Who sees the view has been told.
        if (house.view.isVisible) house.log.error(messageOf(error));
        else if (lacksModel(error)) await offerModel(house, error, () => house.view.show("composer"));
        else throw error;
      }
      break;
    case "complete":
      page.post({
        type: "completed",
        id: message.id,
        found: await (message.sign === "@"
          ? house.completing.find(message.query)
          : house.completing.findCommands(message.query, house.connection)),
      });
      break;
    case "name": {
      const uris = message.uris.map((uri) => vscode.Uri.parse(uri));
      const paths = uris.flatMap((uri) => pathOf(uri) ?? []);
      if (paths.length > 0) page.post({ type: "draft", text: paths.map((path) => `@${path} `).join("") });
      if (paths.length < uris.length)
        void vscode.window.showInformationMessage("Outrider: only files of the workspace can be named.");
      break;
    }
    case "queue":
      await changeWaiting(house, message.action, message.item, message.to);
      break;
    case "continue":
      await goOn(house, message.turn);
      break;
    case "retry":
      await again(house, message.turn);
      break;
    case "restore": {
      const prompt = await restore(house, message.turn);
      if (prompt !== undefined) page.post({ type: "draft", text: prompt });
      break;
    }
    case "cancel":
      await cancel(house);
      break;
    case "decide":
      await house.answers.decide(message.ids, message.decision, message.note);
      break;
    case "answer":
      await house.answers.answer(message.id, message.answer);
      break;
    case "review":
      await house.answers.review(message.ids.flatMap((id) => house.answers.find(id) ?? []));
      break;
    case "resolve":
      page.post({ type: "resolved", ...(await house.references.resolve(message.paths, message.symbols)) });
      break;
    case "file":
      await house.references.openFile(message.ref);
      break;
    case "symbol":
      await house.references.openSymbol(message.name);
      break;
    case "take":
      await taken(message.what, message.text);
      break;
    case "command":
      await vscode.commands.executeCommand(`outrider.client.${message.command}`);
      break;
    default:
      break;
  }
}

/** Do what a text of the view is for: steer, wait for the end of the running turn, or be a task. */
async function sent(house: House, message: Extract<FromView, { type: "send" }>): Promise<void> {
  const session = house.book.current;
  if (session?.runningHere !== undefined && message.how === "now") {
    await steer(house, session, message.text);
    return;
  }
  const context = await alongContext(house, message.text, message.along);
  const task = { prompt: message.text, mode: message.mode, ...(context === undefined ? {} : { context }) };
  if (message.instead === undefined) await run(house, task);
  else await resend(house, message.instead, task);
}

/** Have the other sessions that wait call as well. An answer opens one, and until then any other program may do so. */
async function callAll(book: SessionBook, own: Connection, resumed: ReadonlySet<string>): Promise<void> {
  for (const until = Date.now() + ENDING_MILLISECONDS; ;) {
    const { sessions } = await own.execute("outrider.sessions", {});
    const waiting = sessions.filter(({ sessionId, state }) => state === "parked" && !resumed.has(sessionId));
    const here = waiting.filter(({ elsewhere }) => elsewhere !== true);
    await Promise.all(here.map(({ sessionId }) => book.wait(sessionId)));
    // What another program asks is answered there; but that may be the server of before, which has not ended yet.
    if (here.length === waiting.length || Date.now() >= until) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS));
  }
}

/** Say what went wrong, if anything does. */
function tell(log: vscode.LogOutputChannel, done: Promise<unknown>): void {
  done.catch((error: unknown) => {
    const message = messageOf(error);
    log.error(error instanceof Error ? error : message);
    void vscode.window.showErrorMessage(`Outrider: ${message}`);
  });
}

const contexts = new Map<string, boolean>();

function setContext(key: string, value: boolean): void {
  if (contexts.get(key) === value) return;
  contexts.set(key, value);
  void vscode.commands.executeCommand("setContext", key, value);
}
