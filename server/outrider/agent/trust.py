"""Whether the workspace is trusted: by the client's word, by what the user said of its folders, or by nobody yet.

Of a folder that nobody vouches for nothing is taken up that it brings for the agent, and each effect wants its own yes. Where
something is left out for that, the user is asked once. A no from anywhere beats every yes. The commands that the settings of a
trusted folder name are asked about once, too; an MCP server again, after a session changed what it may run.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from outrider.agent.interaction.inbox import Refusal
from outrider.permissions.policy.decide import narrowest
from outrider.permissions.policy.trust import (
    MOST_CHANGES,
    NamedCommand,
    Trust,
    TrustFile,
    TrustProblem,
    Word,
    least,
)
from outrider.ports.editor import Answered, Editor, ItemReply, Unanswered
from outrider.ports.text import one_line, spelled_out, spelled_out_for_a_yes
from outrider.workspace.paths import Folder, is_within
from outrider.workspace.workspace import View
from outrider_protocol import ALLOW_COMMANDS, IGNORE_COMMANDS, STAY_READ_ONLY, TRUST_ITEM, TRUST_WORKSPACE
from outrider_protocol.choices import PermissionMode
from outrider_protocol.commands import FolderTrust, TrustParams, TrustResult
from outrider_protocol.events import Open
from outrider_protocol.requests import AskReply
from outrider_protocol.settings import Settings

log = logging.getLogger(__name__)

TITLES: Final = (TRUST_WORKSPACE, STAY_READ_ONLY)
OF_COMMANDS: Final = (ALLOW_COMMANDS, IGNORE_COMMANDS)


@dataclass(slots=True)
class InForce:
    """The settings that hold, and what they are made of."""

    base: Settings
    """Without what the workspace says."""
    mode_is_said: bool
    """Whether the client or the command line named the permission mode."""
    said: Settings
    """With what the workspace says, without what trust does to them."""
    now: Settings
    """As they hold."""


@dataclass(slots=True)
class _Asked:
    """A question about a folder, or about commands of its settings."""

    item: Open
    is_said: Callable[[], bool]
    """Whether it needs no answer any more, because that was said in another window or by command."""
    keep: Callable[[bool], Coroutine[Any, Any, None]]
    """Writes a yes or a no down."""
    unanswered: str
    """What is said where the editor gives no answer."""
    answer: "asyncio.Future[str]"
    later: Sequence["_Later"] = ()
    """Of commands: what sessions changed after the user was asked."""


@dataclass(slots=True)
class _Later:
    command: NamedCommand
    changed: dict[str, None] = field(default_factory=dict[str, None])


class WorkspaceTrust:
    """The trust of one house in its workspace folders."""

    def __init__(
        self,
        file: TrustFile,
        editor: Editor,
        workspace: View,
        settings: InForce,
    ) -> None:
        """Begin with nothing asked; `refresh` reads the file.

        Args:
            file: What the user said.
            editor: Where they are asked.
            workspace: What it is about.
            settings: What else it depends on.
        """
        self.file = file
        self._editor = editor
        self._workspace = workspace
        self._settings = settings
        self.on_change: Callable[[], None] = lambda: None
        """Told when something else holds."""
        self.on_asked: Callable[[], None] = lambda: None
        """Told when somebody is asked: no event of a session tells of it."""
        self._asked: dict[str, _Asked] = {}
        self._one = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._refused: set[str] = set()
        """Folders of which a no could not be written down: it holds here all the same."""
        self._unsaved: dict[str, bool] = {}
        """What was said of commands, by their digest, and could not be written down."""
        self._changed: dict[str, dict[str, None]] = {}
        """What sessions changed since a yes, by the digest of the command, where that could not be written down."""
        self._noting: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()
        """Held while an answer or a change is written down: no change falls between."""

    def of(self, folder: Path) -> Trust:
        """What holds for a workspace folder."""
        word = self._settings.said.trusted
        said = self.file.of(os.path.realpath(folder))
        if word is False or said == "read-only" or str(folder) in self._refused:
            return "read-only"
        return "trusted" if word else said

    def trusts(self, folder: Path) -> bool:
        """Whether what a workspace folder brings for the agent is taken up."""
        return self.of(folder) == "trusted"

    def widest(self, said: PermissionMode) -> PermissionMode:
        """The permission mode that holds where `said` is the one of the settings.

        A workspace is as trusted as the least of its folders. Where nobody vouches, a mode of the user's file, which is for
        every workspace, lets nothing go that they are not asked about; one that the client named is meant for this one.
        """
        match self._least:
            case "read-only":
                return "read-only"
            case "unknown" if not self._settings.mode_is_said:
                return narrowest(said, "ask")
            case _:
                return said

    @property
    def is_refused(self) -> bool:
        """Whether somebody said that the workspace is not to be trusted."""
        return self._least == "read-only"

    @property
    def _least(self) -> Trust:
        return least([self.of(folder.path) for folder in self._workspace.folders.folders])

    def narrows(self) -> PermissionMode | None:
        """The permission mode of the settings, where it does not hold because nobody vouches."""
        said = self._settings.said.permission_mode
        return said if self.widest(said) not in {said, "read-only"} else None

    async def refresh(self, *others: Callable[[], bool]) -> bool:
        """Read the file where it has changed.

        Args:
            others: What else is read in the same thread, as each way into a thread and back has its price.

        Returns:
            Whether any of them has changed.
        """

        def look() -> tuple[bool, list[bool]]:
            return self.file.refresh_now(), [other() for other in others]

        changed, others_changed = await asyncio.to_thread(look)
        if changed:
            self.on_change()
        return changed or any(others_changed)

    async def listed(self, params: TrustParams) -> TrustResult | TrustProblem:
        """What was said of folders, after `params` is done."""
        await self.file.refresh()
        done: object = None
        if params.folder is not None:
            folder = Path(params.folder)
            if params.action == "forget":
                done = await self.file.forget(folder)
            elif not folder.is_absolute() or not await asyncio.to_thread(folder.is_dir):
                return TrustProblem(f"{folder} is not the absolute path of a folder", "invalid")
            else:
                kept = "trusted" if params.action == "trust" else "read-only"
                done = await self.file.keep(folder, kept, below=bool(params.below))
        self.on_change()
        if isinstance(done, TrustProblem):
            return done
        here = [str(folder.path) for folder in self._workspace.folders.folders]
        return TrustResult(
            path=str(self.file.path),
            folders=[folder_trust(word) for word in self.file.words],
            workspace=[FolderTrust(path=path, trust=self.of(Path(path))) for path in here],
            problem=self.file.problem,
        )

    # --- asking --------------------------------------------------------------------------------------------------

    @property
    def open(self) -> list[Open]:
        """The questions that wait."""
        waiting = [asked for asked in self._asked.values() if not asked.answer.done()]
        return [asked.item for asked in waiting if not asked.is_said()]

    def open_in(self, turn_id: str | None) -> list[Open]:
        """Those that were asked in a turn."""
        return [item for item in self.open if item.turn_id == turn_id]

    async def ask(
        self, folder: Folder, withheld: Sequence[str], session_id: str, turn_id: str, seconds: float
    ) -> None:
        """Ask about a folder that nobody vouches for, once; without an answer it stays as it is, and the question open.

        Args:
            folder: The folder.
            withheld: What does not count there, each a clause such as `its AGENTS.md is left out`.
            session_id: The session that it matters to.
            turn_id: Its turn.
            seconds: How long a question holds the turn.
        """
        told, name = "; ".join(withheld), spelled_out(str(folder.path))

        async def keep(yes: bool) -> None:
            kept = await self.file.keep(folder.path, "trusted" if yes else "read-only")
            if isinstance(kept, TrustProblem):
                self._refused |= set() if yes else {str(folder.path)}
                self._say_unsaved(kept)

        def is_said() -> bool:
            return self.of(folder.path) != "unknown"

        unanswered = f"{name} is not trusted yet: {told}. To trust it, run `outrider trust add {name}`."
        await self._ask_once(_item(folder, told, turn_id), is_said, keep, unanswered, session_id, seconds)

    def is_allowed(self, command: NamedCommand) -> bool | None:
        """Whether a command of a folder's settings may run; None where the user did not say."""
        said = self.file.allows(command)
        said = self._unsaved.get(command.digest) if said is None else said
        return None if said and command.runs_unconfined and self._changed.get(command.digest) else said

    def was_allowed(self, command: NamedCommand) -> bool:
        """Whether the user said yes to a command, whatever changed since then."""
        return bool(
            self.is_allowed(command)
            or self.file.allows(command, as_it_was=True)
            or self._unsaved.get(command.digest)
        )

    async def still_allows(self, command: NamedCommand) -> bool:
        """Whether a command may be started now, after all that sessions of this and of other processes changed."""
        await self._noted()
        await self.refresh()
        return self.is_allowed(command) is True

    def note_soon(self, places: Sequence[str], names: Sequence[str]) -> None:
        """See to it that `note_changes` is done before anything is started."""
        task = asyncio.ensure_future(self.note_changes(places, names))
        self._noting.add(task)
        task.add_done_callback(self._noting.discard)

    async def note_changes(self, places: Sequence[str], names: Sequence[str]) -> None:
        """Note that a session changed what MCP servers may run: the user is asked about those again before they start.

        Args:
            places: Absolute paths of what changed.
            names: What changed, in words.
        """
        if not places:
            return
        roots = [folder.path for folder in self._workspace.folders.folders]
        told = [one_line(name) for name in names]
        async with self._writing:
            concerns = await asyncio.to_thread(_concerned, places, roots)
            for later in (one for asked in self._asked.values() for one in asked.later):
                if concerns(later.command.folder):
                    later.changed |= dict.fromkeys(told)
            problem = await asyncio.to_thread(self.file.note_changes_now, concerns, told)
            digests = {digest for digest, yes in self._unsaved.items() if yes}
            if problem is not None:
                self._say_unsaved(problem)
                digests |= {one.command.digest for one in self.file.commands if concerns(one.command.folder)}
            for digest in digests:
                self._changed.setdefault(digest, {}).update(dict.fromkeys(told))

    async def _noted(self) -> None:
        if self._noting:
            await asyncio.wait(set(self._noting))

    async def allowed(
        self, commands: Sequence[NamedCommand], session_id: str, turn_id: str, seconds: float
    ) -> Sequence[NamedCommand]:
        """Those of some commands that the user lets run, who is asked about each of them once.

        Args:
            commands: Commands that the settings of trusted workspace folders name.
            session_id: The session that they matter to.
            turn_id: Its turn.
            seconds: How long a question holds the turn; without an answer the commands do not run, and the question stays open.
        """
        await self._noted()
        await self.refresh()
        if unsaid := [one for one in commands if self.is_allowed(one) is None]:
            told = "; ".join(f"`{one.in_a_line}`" for one in unsaid)

            later = [_Later(one) for one in unsaid]

            async def keep(yes: bool) -> None:
                async with self._writing:
                    changed = {one.command: list(one.changed)[:MOST_CHANGES] for one in later}
                    kept = await self.file.keep_commands(changed, allowed=yes)
                    for one in later:
                        self._changed.pop(one.command.digest, None)
                        self._unsaved.pop(one.command.digest, None)
                        if kept is not None:
                            self._unsaved[one.command.digest] = yes
                            self._changed[one.command.digest] = one.changed
                if kept is not None:
                    self._say_unsaved(kept)

            def is_said() -> bool:
                return all(self.is_allowed(one) is not None for one in unsaid)

            unanswered = spelled_out(
                f"these commands of the workspace's settings do not run until you allow them: {told}. "
                "To allow them, answer the open question in the editor, or give a task in a terminal, as in `outrider chat`: it asks."
            )
            changed = {
                one.digest: [*self.file.changed_since(one), *self._changed.get(one.digest, ())]
                for one in unsaid
                if one.runs_unconfined
            }
            differs = {one.digest: self.file.differs_in(one) for one in unsaid}
            item = _item_of_commands(unsaid, changed, differs, turn_id)
            await self._ask_once(item, is_said, keep, unanswered, session_id, seconds, later)
        return [one for one in commands if self.is_allowed(one)]

    async def _ask_once(
        self,
        item: Open,
        is_said: Callable[[], bool],
        keep: Callable[[bool], Coroutine[Any, Any, None]],
        unanswered: str,
        session_id: str,
        seconds: float,
        later: Sequence[_Later] = (),
    ) -> None:
        async with self._one:  # another session may be at it
            if is_said() or item.id in self._asked:
                return
            answer = asyncio.get_running_loop().create_future()
            asked = _Asked(item, is_said, keep, unanswered, answer, later)
            self._asked[item.id] = asked
            self.on_asked()
            left = asyncio.Event()
            asking = self._watch(self._ask_in_editor(asked, session_id, seconds, left))
            keeping = self._watch(self._keep(asked))
            asked.answer.add_done_callback(lambda _: asking.cancel())
            waiting = self._watch(left.wait())
            try:
                await asyncio.wait({keeping, waiting}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                asked.answer.cancel()
                self._asked.pop(item.id, None)
                raise
            finally:
                waiting.cancel()
            if not asked.answer.done():
                self._editor.say("warning", f"Outrider: {asked.unanswered}")

    def answer(self, item_id: str, title: str) -> Refusal | None:
        """Take an answer that came in another way; None: it was taken."""
        asked = next((one for one in self._asked.values() if one.item.id == item_id), None)
        if asked is None or asked.answer.done():
            return Refusal("unknown_id", f"there is no open item {item_id!r}")
        if title not in asked.item.options:
            return Refusal("invalid", f"{item_id} takes one of {', '.join(asked.item.options)}")
        asked.answer.set_result(title)
        return None

    async def close(self) -> None:
        """Give up what is asked; what changed is written down."""
        await self._noted()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _ask_in_editor(
        self, asked: _Asked, session_id: str, seconds: float, left: asyncio.Event
    ) -> None:
        try:
            if self._editor.traits.takes_items:
                reply = await self._editor.ask_item(
                    session_id, asked.item.to_wire(), seconds=seconds, overdue=left.set
                )
                if isinstance(reply, ItemReply):
                    self._take(asked, _title_of(reply))
                if not (isinstance(reply, Unanswered) and reply.why == "unsupported"):
                    return
            titles = list(asked.item.options)
            if self._editor.traits.reject_first:
                titles.reverse()
            answer = await self._editor.ask(
                spelled_out_for_a_yes(f"{asked.item.title}\n{asked.item.detail}"),
                titles,
                seconds=seconds,
                late=lambda title: self._take(asked, title),
                still_open=lambda: not asked.answer.done(),
            )
            if isinstance(answer, Answered):
                self._take(asked, answer.title)
        finally:
            if not asked.answer.done():
                left.set()

    def _take(self, asked: _Asked, title: str) -> None:
        if title in asked.item.options and not asked.answer.done():
            asked.answer.set_result(title)

    async def _keep(self, asked: _Asked) -> None:
        """Wait for the answer, and write it down."""
        await asked.keep(await asked.answer == asked.item.options[0])
        if asked.later:  # once more, when files have changed
            self._asked.pop(asked.item.id, None)
        self.on_change()

    def _say_unsaved(self, problem: TrustProblem) -> None:
        self._editor.say("warning", f"Outrider did not save your answer: {problem.message}")

    def _watch(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            log.error("a trust question failed", exc_info=problem)


def folder_trust(word: Word) -> FolderTrust:
    """What was said of a folder, for the wire."""
    return FolderTrust.from_wire(word.to_wire())


def _title_of(reply: ItemReply) -> str:
    try:
        return AskReply.from_wire(reply.value).answer or ""
    except ValidationError:
        return ""


def _concerned(places: Sequence[str], roots: Sequence[Path]) -> Callable[[str], bool]:
    """Whether a server of a folder may run something at some places: what lies in it, or beside it in the workspace. Blocks."""
    real, here = [os.path.realpath(one) for one in places], [os.path.realpath(one) for one in roots]
    is_here = any(is_within(place, root) for place in real for root in here)
    return lambda folder: (
        any(is_within(place, folder) for place in real)
        or (is_here and any(is_within(folder, root) for root in here))
    )


def _item_of_commands(
    commands: Sequence[NamedCommand],
    changed: Mapping[str, Sequence[str]],
    differs: Mapping[str, Sequence[str]],
    turn_id: str,
) -> Open:
    """The question about commands of a folder's settings, known by what they are.

    Args:
        commands: The commands.
        changed: What sessions changed since a yes, by their digests.
        differs: In what they are others than those that had one, by their digests.
        turn_id: The turn that asks.
    """
    known_by = hashlib.sha256("".join(sorted(one.digest for one in commands)).encode()).hexdigest()[:10]
    lines: list[str] = []
    for one in commands:
        lines.append(f"{one.key} in {one.folder}: {one.shown}")
        if names := changed.get(one.digest):
            more = ", …" if len(names) >= MOST_CHANGES else ""
            lines.append(f"You allowed it. Since then Outrider changed {', '.join(names)}{more}")
        if parts := differs.get(one.digest):
            lines.append(f"You allowed another one of this name. It differs in {', '.join(parts)}")
    listed = "\n".join(lines)
    ends = "it is changed"
    if any(one.runs_unconfined for one in commands):
        ends += "; a server starts without one until Outrider changes files there, too"
    return Open(
        id=f"{TRUST_ITEM}{known_by}",
        kind="question",
        turn_id=turn_id,
        title="The settings of this workspace name commands. May Outrider run them?",
        detail=spelled_out(
            f"{listed}\n“{ALLOW_COMMANDS}”: each runs without a further question, until {ends}."
            f"\n“{IGNORE_COMMANDS}”: they do not run. You are not asked about them again."
        ),
        options=list(OF_COMMANDS),
    )


def _item(folder: Folder, withheld: str, turn_id: str) -> Open:
    name = str(folder.path)
    known_by = hashlib.sha256(os.path.realpath(name).encode("utf-8", "surrogateescape")).hexdigest()[:10]
    return Open(
        id=f"{TRUST_ITEM}{known_by}",
        kind="question",
        turn_id=turn_id,
        title=f"Do you trust {name}?",
        detail=spelled_out(
            f"You have not decided yet. Until then, {withheld}.\n“{TRUST_WORKSPACE}”: use this folder's AGENTS.md and what "
            f"else it has for agents, and apply your permission mode here; its servers and hooks are asked about.\n“{STAY_READ_ONLY}”: do not edit files or run "
            f"commands there. To undo this later, run `outrider trust forget {name}`."
        ),
        options=list(TITLES),
    )
