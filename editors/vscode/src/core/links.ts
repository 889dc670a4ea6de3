/** Where links of an answer may lead: to places of the workspace, and to addresses whose host is named as it is. */

/** A place in a file, as an answer names it. Lines are from 1. */
export interface FileRef {
  readonly path: string;
  readonly line?: number;
  readonly end?: number;
}

const LONGEST = 300;

/**
 * The place that a text names: `src/a.ts`, `src/a.ts:12`, `a.ts#L3-L9`. Whether there is such a file is not known here.
 *
 * @returns undefined where the text names none
 */
export function fileRef(text: string): FileRef | undefined {
  if (
    text.length > LONGEST ||
    /[\s\0<>"|?*]/.test(text) ||
    /^[a-z][a-z0-9+.-]+:/i.test(text.replace(/^[^:]*\.[^:]*:\d/, ""))
  )
    return undefined;
  const [, path = "", from, to] = /^(.+?)(?:(?::|#L)(\d{1,7})(?:(?::\d{1,5})|(?:-L?(\d{1,7})))?)?$/.exec(text) ?? [];
  const name = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  const isNamed = /[A-Za-z_]/.test(name) && (path.includes("/") || /^\.?[\w-][\w.-]*\.[A-Za-z]\w{0,9}$/.test(name));
  if (!isNamed || path.startsWith("-") || path.startsWith("//") || path.includes("#")) return undefined;
  return {
    path: path.replace(/^\.\//, ""),
    ...(from === undefined ? {} : { line: Number(from) }),
    ...(to === undefined ? {} : { end: Number(to) }),
  };
}

/** The name of a symbol that a text may be: `price`, `Ticket.total()`. */
export function symbolName(text: string): string | undefined {
  const [, name] = /^([A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*){0,3})(?:\(\))?$/.exec(text) ?? [];
  return name === undefined || name.length < 3 || name.length > 80 ? undefined : name;
}

/** An address that may be opened in a browser. */
export interface Address {
  /** As a browser would ask for it. */
  readonly href: string;
  /** The host that is to be named beside the text, as the text hides it or looks like another one; else undefined. */
  readonly host: string | undefined;
}

/**
 * What a link to an address leads to.
 *
 * @param text what is shown of it
 * @returns undefined where it is not opened: another scheme, or a name that is put before the host
 */
export function address(href: string, text: string): Address | undefined {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return undefined;
  }
  if (url.protocol === "mailto:") return { href: url.href, host: text.includes("@") ? undefined : url.pathname };
  if (!["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") return undefined;
  const isForeign = /(^|\.)xn--/.test(url.hostname);
  const isSaid = !isForeign && hostIn(text) === url.host;
  const looksLikeOne = hostIn(text) !== undefined;
  return { href: url.href, host: isSaid || (!isForeign && !looksLikeOne) ? undefined : url.host };
}

/** The host that a text seems to name. */
function hostIn(text: string): string | undefined {
  const trimmed = text.trim();
  if (/\s/.test(trimmed)) return undefined;
  const [, host] =
    /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^/?#@]*@)?([^/?#:@]+\.[^/?#:@]{2,}(?::\d+)?)(?:[/?#]|$)/i.exec(trimmed) ?? [];
  return host?.toLowerCase();
}
