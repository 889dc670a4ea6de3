"""Documents for the user to read or write in: the task, a review, an answer.

They lie in `.outrider/` of the first workspace folder, where git ignores all but what a team shares; no tool reads them.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from outrider.agent.interaction.review_document import UnderReview, written
from outrider.tools.run_command.shown import MARGIN
from outrider.workspace.disk.disk import DiskProblem, create, read_bytes, replace
from outrider.workspace.paths import Folders
from outrider_protocol.events import Open

FOLDER = ".outrider"
TASK = "task.md"
SETUP = "setup.md"
_PLANS = "plans"
_CONVERSATION = "task.session"
"""Names the session that the task document is about, as nobody may have saved the document."""
_SHORT = 1000
_LONGEST_NOTE = 10 * 1024 * 1024
_MOST_NAMES = 1000
"""Documents whose names differ in their numbers alone."""
_NOTE_HELP = """\
To add a note for the model, write below the next line.
Code actions there reject it, or allow it, with what you wrote."""
MARK = "<!-- Write below this line, then take the code action. -->"

_IGNORES = b"""\
# Written by Outrider. What a team shares is not ignored.
*
!/settings.toml
!/rules.toml
!/commands/
!/commands/**
!/plans/
!/plans/**
"""
_IGNORED_ALL = b"*\n"
"""What an earlier version wrote there."""
_TASK_TEXT = f"""\
# A task for Outrider

{MARK}

"""


@dataclass(frozen=True, slots=True)
class Paper:
    """A document that carries an action: what it is for, and for which open item or turn."""

    kind: str
    item_id: str | None = None


def paper_of(folders: Folders, path: Path) -> Paper | None:
    """What the document at `path` is for; None if it is none of ours."""
    if path.suffix == ".md" and any(path.parent == one.path / FOLDER / _PLANS for one in folders.folders):
        return Paper("plan", str(path))
    if not folders.folders or path.parent != folders.folders[0].path / FOLDER:
        return None
    if path.name == TASK:
        return Paper("task")
    if path.name == SETUP:
        return Paper("setup")
    kind, _, rest = path.stem.partition("-")
    return Paper(kind, rest) if kind in {"answer", "review", "changes"} and rest else None


def written_below(text: str) -> str:
    """What the user wrote into a document."""
    return text.partition(MARK)[2].strip() if MARK in text else text.strip()


def note_below(text: str) -> str:
    """What the user wrote into the document of an item that is no edit; what it shows may hold a mark as well."""
    return text.rpartition(MARK)[2].strip() if MARK in text else ""


async def task_paper(folders: Folders) -> Path | str:
    """The task document, made where it is missing; a text says why it cannot be."""
    return await _write(folders, TASK, _TASK_TEXT, keep=True)


async def setup_paper(folders: Folders, text: str) -> Path | str:
    """The document in which a model is set up, always as it is written here: what stood there may be anybody's."""
    return await _write(folders, SETUP, text, keep=False)


async def note_conversation(folders: Folders, session_id: str) -> None:
    """Note which session the task document is about."""
    await _write(folders, _CONVERSATION, f"{session_id}\n", keep=False)


def noted_conversation(task: Path) -> str:
    """What was noted beside the task document: to be looked up, not to be believed; empty where nothing was. Blocks."""
    content = read_bytes(task.with_name(_CONVERSATION), _SHORT)
    return "" if isinstance(content, DiskProblem) else content.decode("utf-8", "replace").strip()


async def answer_paper(folders: Folders, item: Open) -> Path | str:
    """The document to answer a question in, or to write what a tool of the client gives."""
    quoted = "\n".join(f"> {line}" for line in f"{item.title}\n{item.detail}".strip().splitlines())
    return await _write(folders, f"answer-{item.id}.md", f"{quoted}\n\n{MARK}\n\n", keep=True)


async def review_paper(folders: Folders, item: Open, edit: UnderReview | None) -> Path | str:
    """The document that shows an item in full; an edit is reviewed in it, and what was written in it stays.

    Of another item that is what stands below the mark: above it is always what is asked for.
    """
    name = f"review-{item.id}.diff"
    if edit is None:
        # All of a command, behind a margin: no line of it reads like one of Outrider's.
        whole = (
            "\n".join(f"{MARGIN}{line}" for line in item.title.splitlines()) if item.summary else item.title
        )
        shown = "\n\n".join(part for part in (item.summary, whole, item.detail) if part).rstrip()
        before = await asyncio.to_thread(_below_in, folders, name)
        return await _write(folders, name, f"{shown}\n\n{_NOTE_HELP}\n{MARK}\n\n{before}", keep=False)
    return await _write(folders, name, await asyncio.to_thread(written, edit), keep=True)


async def changes_paper(folders: Folders, turn_id: str, made: UnderReview) -> Path | str:
    """The document that shows what a turn changed, as it is now, to leave some of it out."""
    text = await asyncio.to_thread(written, made)
    return await _write(folders, f"changes-{turn_id}.diff", text, keep=False)


async def plan_paper(folders: Folders, name: str, text: str, before: str | None) -> Path | str:
    """The document of a plan. One that says something else stays, and another name is taken; but one that says `before` is replaced."""
    if before is not None and folders.folders:
        real = await asyncio.to_thread(folders.folders[0].path.resolve)
        path = real / FOLDER / _PLANS / f"{name}.md"
        replaced = await asyncio.to_thread(
            replace, path, before.encode("utf-8", "replace"), text.encode("utf-8", "replace")
        )
        if replaced is None:
            return folders.folders[0].path / FOLDER / _PLANS / path.name
    return await _write(folders, f"{_PLANS}/{name}.md", text, keep=False, anew=True)


async def both_papers(
    folders: Folders, hunk: str, path: str, mine: str, what: str, other: str
) -> list[Path] | str:
    """Two documents with the versions of a file between which the user may choose. Those of before stay as they are.

    Args:
        folders: Where to put them.
        hunk: The id of the hunk that the choice is about.
        path: The file.
        mine: Its text as it is.
        what: Whose the other version is: `undo` or `redo`.
        other: Its text with the hunk taken back, or brought back, over what was written since.
    """
    papers: list[Path] = []
    for kind, text in (("mine", mine), (what, other)):
        name = f"{kind}-{hunk.replace('#', '-')}{PurePath(path).suffix}"
        paper = await _write(folders, name, text, keep=False, anew=True)
        if isinstance(paper, str):
            return paper
        papers.append(paper)
    return papers


def _below_in(folders: Folders, name: str) -> str:
    """What was written below the mark of a document, if there is one. Blocks."""
    if not folders.folders:
        return ""
    content = read_bytes(folders.folders[0].path / FOLDER / name, _LONGEST_NOTE)
    note = "" if isinstance(content, DiskProblem) else note_below(content.decode("utf-8", "replace"))
    return f"{note}\n" if note else ""


async def _write(folders: Folders, name: str, text: str, *, keep: bool, anew: bool = False) -> Path | str:
    if not folders.folders:
        return "no workspace folder is open"
    folder = folders.folders[0].path / FOLDER
    return await asyncio.to_thread(_write_now, folder, name, text, keep=keep, anew=anew)


def _write_now(folder: Path, name: str, text: str, *, keep: bool, anew: bool) -> Path | str:
    """Write a document below an open folder, so that a link in its place, or in that of `.outrider`, is never followed. Blocks.

    Args:
        folder: `.outrider`.
        name: The document's name in it.
        text: What it says.
        keep: Whether a document that is there stays as it is.
        anew: Whether another name is taken where one is there that says something else.
    """
    content = text.encode("utf-8", "replace")
    try:
        # The way to the workspace may lead through links; that folder and all below it may not.
        real = folder.parent.resolve() / folder.name
    except (OSError, RuntimeError) as problem:
        return f"{folder / name} cannot be written: {problem}"
    ignored = create(real / ".gitignore", _IGNORES, parents=True)
    if ignored is not None and ignored.kind != "exists":
        return f"{folder} {ignored.message}"
    if ignored is not None and read_bytes(real / ".gitignore", _SHORT) == _IGNORED_ALL:
        replace(real / ".gitignore", _IGNORED_ALL, _IGNORES)
    for path in _names(real / name) if anew else [real / name]:
        made = create(path, content, parents=True)
        before = b"" if made is None else read_bytes(path, _LONGEST_NOTE)
        problem = made if made is not None and made.kind != "exists" else None
        if problem is None and isinstance(before, DiskProblem):
            problem = before
        if anew and made is not None and problem is None and before != content:
            continue  # the user may have written in it
        if made is not None and problem is None and not keep and isinstance(before, bytes):
            problem = replace(path, before, content)
        if problem is not None and not (anew and problem.kind in {"vanished", "directory", "too_big"}):
            return f"{folder / path.name} {problem.message}"
        if problem is None:
            return folder / path.relative_to(real)
    return f"{folder / name} cannot be written: too many documents already have that name"


def _names(path: Path) -> Iterator[Path]:
    """A name and numbered ones."""
    for number in range(1, _MOST_NAMES + 1):
        yield path.with_name(f"{path.stem}{f'-{number}' if number > 1 else ''}{path.suffix}")
