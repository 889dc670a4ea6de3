/** When the system is asked to tell the user that they are needed, or that something is done, and how it is asked. */

import { type Machine, onPath } from "./machine.js";
import { visible } from "./visible.js";
import { oneLine } from "./words.js";

/** The values of the setting `outrider.notifications`. */
export type Wanted = "never" | "waiting" | "waitingAndDone";

/** What the system shows. */
export interface Notification {
  readonly title: string;
  readonly text: string;
}

/** Something that the user may want to be told of. */
export interface News {
  /** The same for one and the same thing. */
  readonly id: string;
  readonly kind: "waiting" | "done";
  /** The name of its session. */
  readonly session: string;
}

/** The user may be quick, and several things may come at once. */
export const NEWS_MILLISECONDS = 1500;
const RUN_MILLISECONDS = 10_000;
const MOST_COLUMNS = 120;

/** Collects what is new, and has it told where nobody sees the window. */
export class Attention {
  private readonly seen = new Set<string>();
  private news: News[] = [];

  /**
   * @param later runs something after so many milliseconds
   * @param isSeen whether the user looks at the window
   * @param wanted what the user wants to be told of
   * @param isOpen whether what waited waits still
   * @param tell has the system show something
   */
  constructor(
    private readonly later: (act: () => void, milliseconds: number) => void,
    private readonly isSeen: () => boolean,
    private readonly wanted: () => Wanted,
    private readonly isOpen: (id: string) => boolean,
    private readonly tell: (notification: Notification) => void,
  ) {}

  /** Something waits, or is done. What was seen before is no news. */
  take(one: News): void {
    if (this.seen.has(one.id)) return;
    this.seen.add(one.id);
    // Who looks at the window when it comes has seen it, also if they look away then.
    if (this.isSeen() || this.wanted() === "never") return;
    if (one.kind === "done" && this.wanted() !== "waitingAndDone") return;
    this.news.push(one);
    if (this.news.length > 1) return;
    this.later(() => {
      const news = this.news.filter(({ id, kind }) => kind === "done" || this.isOpen(id));
      this.news = [];
      if (!this.isSeen() && news.length > 0) this.tell(notificationOf(news));
    }, NEWS_MILLISECONDS);
  }
}

/** What is said of news: in which sessions the user is needed; what is done comes after that. */
export function notificationOf(news: readonly News[]): Notification {
  const waiting = news.filter(({ kind }) => kind === "waiting");
  const count = waiting.length > 1 ? ` (${String(waiting.length)})` : "";
  const told = waiting.length > 0 ? waiting : news;
  const names = [...new Set(told.map(({ session }) => oneLine(visible(session), MOST_COLUMNS)))];
  return {
    title: waiting.length > 0 ? `Outrider needs you${count}` : "Outrider has finished",
    text: names.filter(Boolean).join(", "),
  };
}

/** A program of the system that shows something, and what it is started with. */
export interface Shower {
  readonly program: string;
  readonly args: readonly string[];
}

// The texts are arguments, and none of them is a part of the script.
const APPLE_SCRIPT = ["on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"];

/**
 * The program that shows something on this system. The texts may be a model's: they are arguments of their own, behind
 * all options, and what the program could take for markup is written out.
 *
 * @param platform as Node names it
 */
export function showerOf(platform: string, { title, text }: Notification): Shower {
  if (platform === "darwin")
    return { program: "osascript", args: [...APPLE_SCRIPT.flatMap((line) => ["-e", line]), "--", title, text] };
  const plain = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return { program: "notify-send", args: ["--app-name=Outrider", "--", title, plain] };
}

/**
 * Have the system show something.
 *
 * @returns what kept it from that, in words
 */
export async function show(
  machine: Pick<Machine, "env" | "windows" | "workspace" | "program" | "run">,
  platform: string,
  notification: Notification,
): Promise<string | undefined> {
  const { program, args } = showerOf(platform, notification);
  const path = await onPath(machine, program);
  if (path === undefined) return `there is no ${program} on PATH`;
  const { code, output } = await machine.run(path, args, AbortSignal.timeout(RUN_MILLISECONDS));
  return code === 0 ? undefined : `${program} failed: ${oneLine(output, 200)}`;
}
