"""Files that a command made or changed, and that programs outside of the sandbox obey: named, and put back by a yes.

The sandbox keeps those read-only that are there when a command begins. What comes to others all the same, new ones
above all, is found by a look before the command and one after it. A file goes back by a change, which is undone only
if its id is named; a link or a repository, which no text tells, is set aside.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.protected_files import obeyed
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.ports.model import ToolCall
from outrider.tools.context import Action, ToolContext, ToolResult, ok
from outrider.tools.edit import changes
from outrider.tools.edit.tools import deletion
from outrider.tools.run_command.git import why_its_settings_run_more
from outrider.workspace.disk.disk import make_link, move_aside, remove_link
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.edits.change import Change, NotWritten
from outrider.workspace.paths import OWN_FOLDER, Located, PathProblem
from outrider.workspace.text.encoding import NoText, decode
from outrider.workspace.watch.obeyed_files import Planted, Sight, planted
from outrider.workspace.workspace import View
from outrider_protocol import KEEP, PUT_BACK
from outrider_protocol.events import TouchedFile, WorkspaceTouched

CUT_SHORT: Final = "not every folder was checked for changed protected files, because there are too many"
_MOST_NAMED: Final = 10
_MOST_SHOWN: Final = 4_000
"""Characters of a file that the question shows."""
_ASIDE: Final = f"{OWN_FOLDER}/aside"
_GIT: Final = ".git"


@dataclass(frozen=True, slots=True)
class _One:
    """A file to put back."""

    found: Planted
    located: Located
    why: str
    """What obeys it."""

    @property
    def names(self) -> tuple[str, ...]:
        """What guards and rules may call it; a link also stands for all that is reached through it."""
        sides = (self.found.before, self.found.after)
        is_link = any(side is not None and side.kind == "link" for side in sides)
        through = (f"{self.located.display}/*",) if is_link else ()
        leads_to = tuple(side.leads_to for side in sides if side is not None and side.leads_to)
        return (*self.located.names, *through, *leads_to)

    @property
    def said(self) -> str:
        did = {"created": "made", "changed": "changed", "deleted": "removed"}[self.found.how]
        return f"{self.located.shown} ({did}; {self.why})"


async def look(workspace: View, before: Sight | None = None) -> Sight:
    """All such files as they are now.

    Args:
        workspace: The workspace.
        before: An earlier look, with which this one is compared.
    """
    roots = await asyncio.to_thread(_roots, [folder.path for folder in workspace.folders.folders])
    return await asyncio.to_thread(workspace.obeyed.look, roots, before)


async def settle(
    context: ToolContext,
    call: ToolCall,
    command: str,
    before: Sight,
    *,
    confined: bool,
    by_others: Callable[[Path], bool],
) -> list[str]:
    """Find what a command did to such files, and have it put back where the user wants that.

    Args:
        context: The turn.
        call: The call of the command.
        command: The command.
        before: What was there before it.
        confined: Whether it ran in a sandbox: what runs without one was allowed to do that.
        by_others: Whether an editor or another session wrote a file meanwhile.

    Returns:
        What the result of the call says of it.
    """
    after = await look(context.workspace, before)
    found = [one for one in planted(before, after) if not by_others(Path(one.path))]
    named = [one for one in found if one.meaning == "named"]
    notes = [CUT_SHORT] if before.is_cut or after.is_cut else []
    if named:
        notes.append(
            f"it changed files that other programs run: {_listed(await _names(context.workspace, named))}"
        )
    wanted = await _to_put_back(
        context.workspace, before, [one for one in found if one.meaning == "protected"]
    )
    if not wanted:
        return notes
    notes.append(f"it changed protected files: {_listed([one.said for one in wanted])}")
    access = Access("edit", paths=[one.names for one in wanted])
    if not confined:
        return notes
    if context.rules.judge("edit_file", access).verdict == "allow":
        # No mode allows a command what its sandbox was to keep from it, or what git outside of it obeys at once.
        wanted = [one for one in wanted if one.found.makes_repository or _was_protected(one.found, before)]
        if not wanted:
            return notes
        access = Access("edit", paths=[one.names for one in wanted])
    action = await _question(wanted, access)
    if (await context.user.approve(call, action, ())).decision != "put_back":
        return [*notes, "the user kept the changes"]
    problems = [*await _put_back(context, call, command, wanted)]
    done = "they were restored, as the user chose"
    return [*notes, f"{done}, but for {'; '.join(problems)}" if problems else done]


async def since_job(workspace: View, job_id: str) -> str:
    """What became of such files since a job began, or since this was last asked; for the result of a call, empty for nothing.

    The job may not have done it: nobody tells apart what several programs do over a longer time.
    """
    before = workspace.obeyed.at_start.get(job_id)
    if before is None:
        return ""
    after = await look(workspace, before)
    # Through links that are new it is looked from now on.
    workspace.obeyed.at_start[job_id] = after if after.links == before.links else await look(workspace)
    found = [one for one in planted(before, after) if one.meaning == "protected"]
    wanted = await _to_put_back(workspace, before, found)
    if not wanted:
        return ""
    return f"; while it ran, protected files changed: {_listed([one.said for one in wanted])}"


def _roots(folders: Sequence[Path]) -> list[Path]:
    return list(dict.fromkeys(folder.resolve() for folder in folders))


async def _names(workspace: View, found: Sequence[Planted]) -> list[str]:
    located = await workspace.folders.locate_all([one.path for one in found])
    return [one.shown for one in located if isinstance(one, Located)]


async def _to_put_back(workspace: View, before: Sight, found: Sequence[Planted]) -> list[_One]:
    """Those of the files that are worth a question."""
    gits = {one.path for one in found if one.path.endswith(f"/{_GIT}")}
    wanted: list[_One] = []
    for one in found:
        if any(one.path.startswith(f"{git}/") for git in gits):
            continue  # it goes with its repository
        located = await workspace.folders.locate(one.path)
        if isinstance(located, PathProblem) or not located.inside:
            continue
        leads_to = one.after.leads_to if one.after is not None else ""
        row = obeyed(located.display) or obeyed(f"{located.display}/*") or obeyed(leads_to)
        other = before.why(one.path)
        why = row.why if row is not None else other or "it belongs to git"
        git = one.makes_bare or (one.path if one.path in gits else "")
        if git and one.how == "created" and await asyncio.to_thread(_is_harmless, git):
            continue
        wanted.append(_One(one, located, why))
    return wanted


def _is_harmless(git: str) -> bool:
    """Whether git would run nothing in a repository that is new. Blocks."""
    try:
        hooks = os.listdir(f"{git}/hooks")  # noqa: PTH208 - names
    except OSError:
        hooks = []
    is_folder = not Path(git).is_symlink() and Path(git).is_dir()
    runs = any(not name.endswith(".sample") for name in hooks)
    return is_folder and not runs and why_its_settings_run_more(git) is None


def _was_protected(found: Planted, before: Sight) -> bool:
    """Whether a sandbox that can hold everything would have refused the change: it keeps what is there read-only."""
    git = _git_of(found.path)
    return found.before is not None or (git is not None and f"{git}/{_GIT}" in before.files)


def _git_of(path: str) -> str | None:
    """The folder of the repository whose `.git` it is or lies in."""
    folder, found, _ = f"{path}/".partition(f"/{_GIT}/")
    return folder if found else None


async def _question(wanted: Sequence[_One], access: Access) -> Action:
    async def perform() -> ToolResult:
        return ok("")

    listed = [[one.found.path, one.found.how, _mark(one)] for one in wanted]
    texts = "".join(_shown(one) for one in wanted[:_MOST_NAMED])
    return Action(
        access=access,
        perform=perform,
        title=f"{PUT_BACK}: {_listed([one.located.shown for one in wanted])}",
        summary=f"Restore the files that the command changed and other programs act on: {_listed([one.located.shown for one in wanted])}",
        detail=f"The command created or changed files that other programs read and act on:\n"
        f"{''.join(f'- {one.said}{chr(10)}' for one in wanted[:_MOST_NAMED])}"
        f"“{PUT_BACK}” restores them as they were before the command; “{KEEP}” leaves them as they are now.\n{texts}".rstrip(),
        digest=hashlib.sha256(json.dumps(listed).encode("utf-8", "surrogatepass")).hexdigest(),
        puts_back=True,
        amid_call=True,
    )


def _mark(one: _One) -> str:
    now = one.found.after
    return "" if now is None else f"{now.kind} {now.target} {hashlib.sha256(now.content or b'').hexdigest()}"


def _shown(one: _One) -> str:
    """What a file says now, for the question; nothing of one that holds secrets."""
    now = one.found.after
    if now is None or now.content is None or is_secret_file(one.located.display):
        return ""
    text = now.content.decode("utf-8", "replace")
    cut = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return f"\n{one.located.shown}:\n{cut.rstrip()}\n"


async def _put_back(context: ToolContext, call: ToolCall, command: str, wanted: Sequence[_One]) -> list[str]:
    """Put them back; gives what could not be, each with its reason."""
    problems: list[str] = []
    for found in wanted:
        # Again: a link on its way may be gone by now.
        located = await context.workspace.folders.locate(found.found.path)
        one = replace(found, located=located) if isinstance(located, Located) else found
        change = await _change(context, one)
        if change is not None:
            written = await changes.make(context, call, context.log.new_id("chg"), change)
            problem = written.message if isinstance(written, NotWritten) else None
        else:
            problem = await _set_aside(context, call, command, one)
        if problem is not None:
            problems.append(f"{one.located.shown}, which {problem}")
    return problems


async def _change(context: ToolContext, one: _One) -> Change | None:
    """The change of a text that puts a file back; None where it is no text, then or now."""
    was, now = one.found.before, one.found.after
    if any(side is not None and side.kind != "file" for side in (was, now)):
        return None
    before = None if was is None or was.content is None else decode(was.content)
    if isinstance(before, NoText) or (was is not None and before is None):
        return None
    if now is None:
        if was is None or before is None:
            return None
        return Change("create", one.located, None, None, before.text, before.encoding, was.mode & 0o777)
    snapshot = await context.workspace.overlay.read(one.located)
    if isinstance(snapshot, ReadProblem) or snapshot.read_only:
        return None
    if was is None or before is None:
        return await deletion(context, one.located, snapshot)
    mode, mode_now = was.mode & 0o777, now.mode & 0o777
    modes = (None, None) if mode == mode_now else (mode, mode_now)
    return Change("edit", one.located, None, snapshot.text, before.text, snapshot.encoding, *modes)


async def _set_aside(context: ToolContext, call: ToolCall, command: str, one: _One) -> str | None:
    """Move what no text tells out of the way, and make a link anew; a text says why that cannot be."""
    path, was, now = Path(one.found.path), one.found.before, one.found.after
    roots = await asyncio.to_thread(_roots, [folder.path for folder in context.workspace.folders.folders])
    root = next((root for root in roots if path.is_relative_to(root)), None)
    if root is None:
        return "is outside the workspace"
    if now is not None:
        # By another name: a `.git` would be obeyed there as well.
        name = f"{str(path.relative_to(root)).replace('/', '-')}-aside"
        place = root / _ASIDE / call.id.replace("/", "-") / name
        gone = (
            asyncio.to_thread(remove_link, path, now.target)  # which its record can make anew
            if now.kind == "link"
            else asyncio.to_thread(move_aside, path, place)
        )
        if (problem := await gone) is not None:
            return problem.message
        _record(context, call, command, one, "deleted", now.target)
    if was is not None and was.kind == "link":
        if (problem := await asyncio.to_thread(make_link, path, was.target)) is not None:
            return problem.message
        _record(context, call, command, one, "created", "")
    elif was is not None:
        return f"was set aside in {_ASIDE}; what was there before could not be restored"
    return None


def _record(context: ToolContext, call: ToolCall, command: str, one: _One, how: str, to: str) -> None:
    kind = "link" if to or how == "created" else "folder"
    touched = TouchedFile.model_validate(
        {"path": one.located.display, "how": how, "kind": kind, "to": to or None}
    )
    context.log.record(
        WorkspaceTouched(call_id=call.id, command=f"{PUT_BACK} after: {command[:80]}", files=[touched])
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
