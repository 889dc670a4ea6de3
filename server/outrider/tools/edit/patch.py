"""The tool that takes a patch. All of it is worked out before anything is asked, and all of it is one change."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from outrider.ports.model import ToolCall
from outrider.ports.text import Snapshot
from outrider.tools.context import Action, EditContext, ToolResult, error
from outrider.tools.edit.pasted import action_for_text
from outrider.tools.edit.tools import deletion
from outrider.tools.nearest import missing
from outrider.tools.reading import misfit, unseen
from outrider.tools.registry import MOST_CONTENT, Params, Tool
from outrider.tools.unsaved import UNSAVED, is_own, saving
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.edits.change import Change
from outrider.workspace.paths import IS_LINK, Located, PathProblem, dangling, is_link
from outrider.workspace.text.encoding import BOM, apart
from outrider.workspace.text.matching.patches import (
    FilePatch,
    Patched,
    PatchHunk,
    PatchProblem,
    Unfit,
    apply_hunks_of_patch,
    parse,
)

MOST_HUNKS = 1000
"""Hunks of one patch: nobody can judge more at once, and the editor and the log get all of them in one piece."""
PROGRAM = 0o755
"""Permission bits of a new file that is to be run."""


class ApplyPatch(Params):
    """Arguments of `apply_patch`."""

    patch: str = Field(
        min_length=1,
        max_length=MOST_CONTENT,
        description=(
            "'*** Begin Patch', files, '*** End Patch'. A file: '*** Add File: PATH' and lines with +; "
            "'*** Delete File: PATH'; or '*** Update File: PATH', optionally '*** Move to: PATH', then hunks: '@@' "
            "(and a line above, if the place is not unique), context lines with a space, - and + lines. "
            "Unified diffs work, too."
        ),
    )


class _Plan:
    """What a patch does, as far as it is worked out."""

    def __init__(self, context: EditContext) -> None:
        self._context = context
        self.changes: list[Change] = []
        self.notes: list[str] = []
        self.reasons: list[str] = []
        self.unsaved: list[Located] = []
        """Files that have to be saved before."""
        self._taken: dict[str, str] = {}

    async def add(self, patch: FilePatch) -> None:
        """Work out what becomes of one file."""
        located = await self._locate(patch.path)
        if located is None or not self._take(located):
            return
        if problem := await unseen(located, self._context):
            self.reasons.append(problem.content)
            return
        current = await self._context.workspace.overlay.read(located)
        is_a_link = await asyncio.to_thread(is_link, located)
        if patch.operation == "add" and await self._is_dangling(located):
            return
        if is_a_link and (patch.operation == "delete" or patch.to is not None):
            self.reasons.append(f"{located.shown} {IS_LINK}")
            return
        if patch.operation == "add":
            self._create(located, current if isinstance(current, ReadProblem) else None, patch)
            return
        if isinstance(current, ReadProblem):
            self.reasons.append((await missing(located, current, self._context)).content)
            return
        if current.read_only:
            self.reasons.append(f"{located.shown} cannot be edited: {current.read_only}")
            return
        mark, text = apart(current.text)
        done = await asyncio.to_thread(_applied, text, patch.hunks, mark)
        if isinstance(done, Unfit):
            told = [await misfit(located, reason, self._context) for reason in done.reasons]
            self.reasons += dict.fromkeys(told)
            return
        self.notes += [f"{located.shown}: {note}" for note in done.notes]
        if patch.operation == "delete":
            await self._delete(located, current, done.text, patch)
        elif patch.to is not None and not await self._is_at(located, patch.to):
            await self._move(located, patch.to, current, mark + done.text)
        elif done.text == text:
            self.reasons.append(f"{located.shown}: the patch would change nothing")
        else:
            self.changes.append(Change("edit", located, None, current.text, mark + done.text))

    async def _is_at(self, located: Located, path: str) -> bool:
        """Whether a file is to be moved to where it is."""
        to = await self._context.workspace.folders.locate(path)
        return isinstance(to, Located) and to.uri == located.uri

    async def _is_dangling(self, located: Located) -> bool:
        why_not = await asyncio.to_thread(dangling, located)
        if why_not is not None:
            self.reasons.append(why_not)
        return why_not is not None

    def _create(self, located: Located, missing: ReadProblem | None, patch: FilePatch) -> None:
        if missing is None:
            self.reasons.append(f"{located.shown} already exists, so it cannot be added")
        elif missing.kind != "not_found":
            self.reasons.append(missing.message)
        else:
            mode = PROGRAM if patch.is_program else None
            self.changes.append(Change("create", located, None, None, patch.content, mode=mode))

    async def _delete(self, located: Located, current: Snapshot, left: str, patch: FilePatch) -> None:
        if not await self._is_saved(located, current):
            return
        if patch.hunks and left:
            self.reasons.append(f"{located.shown}: its lines differ from those that the patch deletes")
        else:
            self.changes.append(await deletion(self._context, located, current))

    async def _move(self, located: Located, path: str, current: Snapshot, after: str) -> None:
        if not await self._is_saved(located, current):
            return
        before = current.text
        to = await self._locate(path)
        if to is None or not self._take(to):
            return
        there = await self._context.workspace.overlay.read(to)
        if not isinstance(there, ReadProblem):
            self.reasons.append(f"{to.shown} already exists, so {located.shown} cannot be moved there")
            return
        if there.kind != "not_found":
            self.reasons.append(there.message)
            return
        if await self._is_dangling(to):
            return
        self.changes.append(Change("rename", located, to, before, before))
        if after != before:
            self.changes.append(Change("edit", to, None, before, after))

    async def _is_saved(self, located: Located, current: Snapshot) -> bool:
        """Whether a file has no unsaved changes, or such as will be saved before."""
        if not current.unsaved:
            return True
        if not await is_own(located, current, self._context):
            self.reasons.append(f"{located.shown} {UNSAVED}")
            return False
        self.unsaved.append(located)
        return True

    async def _locate(self, path: str) -> Located | None:
        located = await self._context.workspace.folders.locate(path)
        if isinstance(located, PathProblem):
            self.reasons.append(located.message)
            return None
        return located

    def _take(self, located: Located) -> bool:
        """Whether a file is in the patch for the first time."""
        key = str(located.resolved or located.uri)
        if key in self._taken:
            self.reasons.append(f"{located.shown} is in the patch twice; combine its changes")
            return False
        self._taken[key] = located.display
        return True


async def plan_patch(params: ApplyPatch, call: ToolCall, context: EditContext) -> Action | ToolResult:
    """Apply a patch."""
    files = await asyncio.to_thread(_read, params.patch)
    if isinstance(files, PatchProblem):
        return error(f"The patch is invalid: {files.message}. Nothing was changed.")
    plan = _Plan(context)
    for patch in files:
        await plan.add(patch)
    if plan.reasons:
        return error("\n".join(["The patch does not fit, and nothing was changed:", *plan.reasons]))
    action = await action_for_text(*plan.changes, note="\n".join(plan.notes))
    if isinstance(action, ToolResult):
        return action
    return replace(action, prepare=saving(plan.unsaved, call, context))


def _read(patch: str) -> list[FilePatch] | PatchProblem:
    files = parse(patch)
    if isinstance(files, PatchProblem):
        return files
    if (count := sum(max(1, len(file.hunks)) for file in files)) > MOST_HUNKS:
        return PatchProblem(
            f"it has {count:,} hunks; the limit is {MOST_HUNKS:,}. Split it into several patches"
        )
    return _joined(files)


def _applied(text: str, hunks: Sequence[PatchHunk], mark: str) -> Patched | Unfit:
    return apply_hunks_of_patch(text, [_unmarked(hunk, mark) for hunk in hunks])


def _unmarked(hunk: PatchHunk, mark: str) -> PatchHunk:
    """A hunk for a text whose mark is not shown; it stays in the file, whether the hunk has it or not."""
    if not mark and not any(line.startswith(BOM) for line in hunk.old):
        return hunk
    return replace(hunk, lines=tuple(replace(one, line=one.line.removeprefix(BOM)) for one in hunk.lines))


def _joined(files: Sequence[FilePatch]) -> list[FilePatch]:
    """The files of a patch, each updated file once, with the hunks of all parts of the patch that are about it."""
    updated: dict[str, list[FilePatch]] = {}
    others: list[FilePatch] = []
    moved: set[str] = set()
    for file in files:
        if file.operation != "update" or (file.to and file.path in moved):
            others.append(file)
            continue
        updated.setdefault(file.path, []).append(file)
        if file.to:
            moved.add(file.path)
    joined = [
        replace(
            parts[0],
            to=next((part.to for part in parts if part.to), None),
            hunks=tuple(hunk for part in parts for hunk in part.hunks),
        )
        for parts in updated.values()
    ]
    order = {file.path: index for index, file in reversed(list(enumerate(files)))}
    return sorted([*joined, *others], key=lambda file: order[file.path])


APPLY_PATCH = Tool(
    "apply_patch",
    "Change, add, move or delete one or more files with a patch; all of it applies, or nothing. For a single change in one "
    "file edit_file is simpler. Lines with a space or - must be in the file as written: nothing is guessed. Give about three "
    "lines of context, no line numbers. It is a tool, not a program of the shell. Example patch: *** Begin Patch\\n*** "
    "Update File: src/app.py\\n@@ def price(hours):\\n-    return hours * 3\\n+    return hours * 4\\n*** End Patch",
    "edit",
    ApplyPatch,
    plan_patch,
)
