/** Which open item a dialog of the server is about: then the extension asks in its own way, and the dialog only waits. */

import { oneLine } from "./words.js";
import type { OpenItem } from "./session.js";

/**
 * Find the item of a `window/showMessageRequest`.
 *
 * @param message what would be shown; it begins with the item's title
 * @param titles the buttons
 */
export function itemOfDialog<Item extends Pick<OpenItem, "title" | "options">>(
  message: string,
  titles: readonly string[],
  items: Iterable<Item>,
): Item | undefined {
  const said = oneLine(message, 10_000);
  const wanted = [...items].filter((item) => {
    const offered = (item.options ?? []).every((option) => titles.includes(option) || option === "Review…");
    return offered && said.startsWith(visible(oneLine(item.title, 10_000)));
  });
  // One title may begin like another.
  return wanted.sort((one, other) => other.title.length - one.title.length)[0];
}

/** A title up to the first character that the server would show in another way. */
function visible(title: string): string {
  const odd = /[\p{C}]/u.exec(title);
  return odd === null ? title : title.slice(0, odd.index);
}
