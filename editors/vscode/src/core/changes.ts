/** What a session changed and what of it is in place: undos take hunks out, redos bring them back. */

import type { EditApplied, WireHunk, WorkspaceChanged } from "../protocol/types.js";

/** An `edit.applied` or an `edit.merged`, or what a command changed. */
export type Written = Omit<EditApplied, "where"> & Partial<Pick<EditApplied, "where">>;

/** What a command did to a file, as a change; undefined where no undo takes it back, or somebody else did it. */
export function ofCommand({ changeId, path, hunks, before, after }: WorkspaceChanged): Written | undefined {
  if (changeId === undefined) return undefined;
  const operation = before === undefined ? "create" : after === undefined ? "delete" : "edit";
  return { changeId, path, hunks, operation, where: "disk" };
}

/** A change that is in place, with those of its hunks that are. */
export interface Done {
  readonly changeId: string;
  readonly turnId: string | undefined;
  readonly path: string;
  readonly to: string | undefined;
  readonly operation: "edit" | "create" | "delete" | "rename";
  readonly hunks: readonly WireHunk[];
  /** Whether it went into the buffer of an open document. */
  readonly inBuffer: boolean;
}

interface Known {
  readonly done: Done;
  /** The hunks that are out, from 1; a change without hunks counts as one. */
  readonly out: Set<number>;
}

/** The changes of a session, in their order. */
export class Changes {
  private readonly known = new Map<string, Known>();
  /** The first change behind an undo or a redo, and whether it took something out. */
  private readonly behind = new Map<string, { readonly first: string; readonly takesOut: boolean }>();

  /** Take what was written. Gives the change that it takes back or brings back; undefined for a new one. */
  take(data: Written, turnId: string): string | undefined {
    if (data.undoes !== undefined) {
      const before = this.behind.get(data.undoes);
      const first = before?.first ?? data.undoes;
      const takesOut = before === undefined || !before.takesOut;
      this.behind.set(data.changeId, { first, takesOut });
      const change = this.known.get(first);
      for (const number of data.undoesHunks ?? numbers(change)) {
        if (takesOut) change?.out.add(number);
        else change?.out.delete(number);
      }
      return first;
    }
    const done: Done = {
      changeId: data.changeId,
      turnId: turnId || undefined,
      path: data.path,
      to: data.to,
      operation: data.operation ?? "edit",
      hunks: data.hunks,
      inBuffer: data.where !== "disk",
    };
    this.known.set(data.changeId, { done, out: new Set() });
    return undefined;
  }

  /** Whether nothing of a change is in place any more. */
  isUndone(changeId: string): boolean {
    const change = this.known.get(changeId);
    return change !== undefined && numbers(change).every((number) => change.out.has(number));
  }

  /** The files whose buffers were changed, undone or not. */
  get touched(): string[] {
    const inBuffers = [...this.known.values()].filter(({ done }) => done.inBuffer);
    return [...new Set(inBuffers.map(({ done }) => done.to ?? done.path))];
  }

  /** The changes that are in place. */
  get inPlace(): Done[] {
    return [...this.known.values()]
      .filter(({ done }) => !this.isUndone(done.changeId))
      .map(({ done, out }) => ({ ...done, hunks: done.hunks.filter((_, index) => !out.has(index + 1)) }));
  }
}

/** A file as it is called now, with all that was done to it under whichever name. */
export interface ChangedFile {
  readonly path: string;
  /** As it was called at first. */
  readonly before: string;
  readonly changes: readonly Done[];
}

/** Changes file by file. */
export function byFile(changes: readonly Done[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>();
  for (const change of changes) {
    const path = change.to ?? change.path;
    const known = files.get(change.path) ?? { before: change.path, changes: [] };
    // What has another name now is not shown under the one before as well.
    files.delete(change.path);
    files.set(path, { path, before: known.before, changes: [...known.changes, change] });
  }
  return [...files.values()];
}

function numbers(change: Known | undefined): number[] {
  return Array.from({ length: Math.max(1, change?.done.hunks.length ?? 0) }, (_, index) => index + 1);
}
