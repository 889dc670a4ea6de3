/** Which paths are meant by a few letters of them. */

/**
 * The paths that have the letters of a query in their order, the nearest first.
 *
 * A name that begins with the query comes first, then one that has it, then a path that has it, then its letters
 * alone; of alike ones the shorter path.
 */
export function byNearness(query: string, paths: readonly string[], most: number): string[] {
  const wanted = query.toLowerCase();
  const found: { path: string; rank: number }[] = [];
  for (const path of paths) {
    const rank = rankOf(wanted, path.toLowerCase());
    if (rank !== undefined) found.push({ path, rank });
  }
  found.sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return found.slice(0, most).map(({ path }) => path);
}

function rankOf(query: string, path: string): number | undefined {
  const name = path.slice(path.lastIndexOf("/", path.length - 2) + 1);
  if (name.startsWith(query)) return 0;
  if (name.includes(query)) return 1;
  if (path.includes(query)) return 2;
  let at = 0;
  for (const sign of path) if (sign === query[at]) at += 1;
  return at === query.length ? 3 : undefined;
}
