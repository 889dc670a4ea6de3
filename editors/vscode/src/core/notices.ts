/** Messages of the server: which of them are shown, and as what. */

/** As LSP numbers them. */
const LEVELS = { 1: "error", 2: "warning" } as const;
/** How the server begins what it says of a turn that has ended well. */
export const COMPLETED = "Outrider, completed: ";

export interface Notice {
  readonly level: "error" | "warning" | "info";
  readonly text: string;
}

/**
 * A message as it is shown.
 *
 * @param isSeen whether the user sees that the turn which ended last has ended
 * @returns undefined for one that says nothing but what is in sight
 */
export function noticeOf(type: number, message: string, isSeen: boolean): Notice | undefined {
  if (isSeen && message.startsWith(COMPLETED)) return undefined;
  return { level: type === 1 || type === 2 ? LEVELS[type] : "info", text: message };
}
