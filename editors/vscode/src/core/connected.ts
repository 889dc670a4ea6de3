/** What the view of all that is connected shows: servers, commands and skills, and what is wrong with them. */

import type { CommandsResult, ServerInfo, ServersResult } from "../protocol/types.js";
import { visible } from "./visible.js";

/** A line of the view. */
export interface Line {
  readonly label: string;
  readonly description: string;
  /** The codicon before it. */
  readonly icon: string;
  /** What the pointer and a screen reader are told besides, a fact a line. */
  readonly more: readonly string[];
  /** What can be done with it: `login`, `logout` and `restart`, as far as they apply. */
  readonly can: readonly Doing[];
  /** The server that it stands for. */
  readonly server?: string;
  readonly lines: readonly Line[];
}

export type Doing = "login" | "logout" | "restart";

const STATES: Readonly<Record<ServerInfo["state"], { icon: string; words: string }>> = {
  missing: { icon: "circle-slash", words: "not found" },
  available: { icon: "circle-outline", words: "starts when it is needed" },
  lent: { icon: "plug", words: "of this editor, asked first" },
  starting: { icon: "sync~spin", words: "starting" },
  running: { icon: "pass", words: "running" },
  ended: { icon: "debug-disconnect", words: "ended, starts again" },
  failed: { icon: "error", words: "failed" },
  login: { icon: "account", words: "log in to use it" },
  waiting: { icon: "question", words: "asked about with the next task" },
  refused: { icon: "circle-slash", words: "refused by you" },
};

/** The groups of the view; one without lines is left out. */
export function connected(servers: ServersResult, commands: CommandsResult): Line[] {
  const problems = servers.problems ?? [];
  const withheld = commands.withheld ?? 0;
  return [
    group(
      "Problems",
      problems.map((text) => line(text, "", "warning")),
    ),
    group("MCP servers", servers.servers.filter(({ kind }) => kind === "mcp").map(serverLine)),
    group("Language servers", servers.servers.filter(({ kind }) => kind === "language").map(serverLine)),
    group("Commands and skills", [
      ...commands.commands.map(({ name, description, source, path }) => ({
        ...line(`/${name}`, description, "symbol-event"),
        more: [description, `From: ${source}`, ...(path === undefined ? [] : [path])].map(visible),
      })),
      ...(withheld === 0 ? [] : [line(`${String(withheld)} more after you trust this workspace`, "", "lock")]),
    ]),
  ].filter(({ lines }) => lines.length > 0);
}

/** Whether something is under way, so that it looks otherwise soon. */
export function isMoving({ servers }: ServersResult): boolean {
  return servers.some(({ state, loginUrl }) => state === "starting" || loginUrl !== undefined);
}

function serverLine(server: ServerInfo): Line {
  const { name, kind, folder, state, version, memory, detail, origin, runs, protocol, tools = [], loginUrl } = server;
  const { icon, words } = STATES[state];
  const count = kind === "mcp" && state === "running" ? [`${String(tools.length)} tools`] : [];
  const going = loginUrl === undefined ? [] : ["the log-in waits for you in the browser"];
  return {
    ...line(name, [words, ...count, ...going].join(" · "), icon),
    server: name,
    can: [
      ...(state === "login" ? (["login"] as const) : []),
      ...(kind === "mcp" && state === "running" && /^https?:/.test(runs ?? "") ? (["logout"] as const) : []),
      ...(kind === "mcp" && (state === "failed" || state === "ended" || state === "running")
        ? (["restart"] as const)
        : []),
    ],
    more: [
      `${name}: ${words}`,
      ...[detail, runs, origin === undefined ? undefined : `Configured in ${origin}`, folder].flatMap(
        (fact) => fact ?? [],
      ),
      ...(version === undefined ? [] : [`Version ${version}`]),
      ...(protocol === undefined ? [] : [`Protocol ${protocol}`]),
      ...(memory === undefined ? [] : [`${String(Math.round(memory / 2 ** 20))} MB of memory`]),
    ].map(visible),
    lines: tools.map((tool) => line(tool, "", "tools")),
  };
}

function line(label: string, description: string, icon: string): Line {
  return { label: visible(label), description: visible(description), icon, more: [visible(label)], can: [], lines: [] };
}

function group(label: string, lines: readonly Line[]): Line {
  return { ...line(label, String(lines.length), ""), lines };
}
