/** Paths as the server writes them, and the URIs they name. */

export interface Folder {
  readonly name: string;
  /** The absolute path, with `/`. */
  readonly path: string;
}

export type Named =
  { readonly kind: "file"; readonly path: string } | { readonly kind: "untitled"; readonly name: string };

/**
 * What a path of the server names: relative to the one folder, `<folder name>/…` with several, absolute, or
 * `untitled:NAME`.
 *
 * @returns undefined where no folder is open that could have it
 */
export function locate(path: string, folders: readonly Folder[]): Named | undefined {
  if (path.startsWith("untitled:")) return { kind: "untitled", name: path.slice("untitled:".length) };
  if (path.startsWith("/")) return { kind: "file", path };
  const below = path.startsWith("./") ? path.slice(2) : path;
  const [first] = folders;
  if (first === undefined) return undefined;
  if (folders.length === 1) return { kind: "file", path: `${first.path}/${below}` };
  for (const folder of named(folders)) {
    if (below === folder.name) return { kind: "file", path: folder.path };
    if (below.startsWith(`${folder.name}/`)) {
      return { kind: "file", path: folder.path + below.slice(folder.name.length) };
    }
  }
  return undefined;
}

/** The folders under the names that the server gives them: the second of a name is `NAME-2`. */
function named(folders: readonly Folder[]): Folder[] {
  const taken = new Set<string>();
  return folders.map(({ name, path }) => {
    const wanted =
      name.replaceAll("/", "-").replace(/^[. ]+|[. ]+$/g, "") || path.slice(path.lastIndexOf("/") + 1) || "root";
    let unique = wanted;
    for (let number = 2; taken.has(unique); number++) unique = `${wanted}-${String(number)}`;
    taken.add(unique);
    return { name: unique, path };
  });
}
