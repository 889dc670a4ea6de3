"""What a session changed, folded from its log: what is there to take back, and to bring back.

Edits are `edit.*` events; what its commands did to files that it knows are `workspace.changed` events.

A pure projection. It reads nothing but event data, keeps hashes and not texts, and decides nothing.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Literal, cast

from outrider.ports.events import Logged, LoggedEvent
from outrider.ports.model import content_hash
from outrider.workspace.history.records import ChangeRecord, Lasting, Operation, Part, are_a_move
from outrider.workspace.paths import Folder, Folders, folders_of
from outrider.workspace.text.encoding import BOM
from outrider_protocol import logged

Scope = Literal["hunk", "step", "turn", "session"]
Stands = Callable[[str, int], bool | None]
"""Whether a hunk, of a change and by its number, is in the text; None where only the log can say."""

_Change = logged.EditApplying | logged.EditApplied | logged.EditMerged | logged.WorkspaceChanged
_OfCall = logged.WorkspaceChanged | logged.WorkspaceTouched | logged.ToolStarted | logged.JobStarted


_ALLOWED = frozenset({"allow_once", "allow_session", "allow_always"})
_KEPT = frozenset({"keep"})
"""Another yes to a command says nothing of the files that it will change."""


class Journal:
    """The changes of one session, in the order they began."""

    def __init__(self) -> None:
        self._records: dict[str, ChangeRecord] = {}
        self._steps: Counter[str] = Counter()
        self._undone: dict[str, dict[int, int]] = {}
        """Of each change the hunks that are undone, and the seq of the event that says so."""
        self._last_undo: dict[str, str] = {}
        """Of each change that was undone, what undid it last."""
        self._put: dict[str, int] = {}
        """Of each change the seq of the event that put hunks of it into the text last."""
        self._redoing = False
        self._asked: list[tuple[int, Scope]] = []
        """The seq of each undo that somebody asked for, and how much it took."""
        self._given_up: set[str] = set()
        """The changes that their own call took back, because it could not do all that it was to do."""
        self._lasting: list[Lasting] = []
        self._modes: list[Lasting] = []
        """What commands did to permission bits together with the text, which an undo of that puts back as well."""
        self._commands: dict[str, str] = {}
        """The commands whose calls have no result yet, by call."""
        self._of_commands: set[tuple[str | None, str]] = set()
        """The calls that run commands, those of checks and hooks too, each with its turn."""
        self._agreed: set[tuple[str | None, str]] = set()
        """The calls of edits that the user said yes to, and those of commands of which they kept what was asked about."""
        self._running: dict[str, Lasting] = {}
        """What those of them changed that have begun, which only their end tells."""
        self._replaced: set[str] = set()
        self._folders = Folders(())
        """The folders that the session was begun or restored in last, by their real paths."""
        self._all_folders: list[Folders] = []
        """Those of each time, the latest first."""

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event; those of other types change nothing."""
        match event.type:
            case "session.started" | "session.restored":
                self._folders = _real_folders(event.data)
                self._all_folders.insert(0, self._folders)
                self._redoing = self._redoing and event.type == "session.started"
            case "model.responded" if event.turn_id is not None and event.data["purpose"] == "main":
                self._steps[event.turn_id] += 1
            case "edit.applying":
                self._begin(event, event.data["changeId"], event.data["operation"])
            case "edit.applied" | "edit.merged":
                self._begin(event, event.data["changeId"], event.data["operation"])
                self._in_place(event, event.data["changeId"], is_apart=event.type == "edit.applied")
            case "edit.rejected" if known := self._records.get(event.data["changeId"]):
                self._records[known.change_id] = replace(known, state="rejected")
            case "undo.requested":
                self._redoing = event.data["redo"]
                if not self._redoing:
                    self._asked.append((event.seq, event.data["scope"]))
            case "undo.finished":
                self._redoing = False
            case "workspace.changed" if "changeId" in event.data:
                if "mode" in event.data and "modeAfter" in event.data:
                    mode, after = event.data["mode"], event.data["modeAfter"]
                    reason = f"its mode was changed from {mode} to {after} by a command"
                    self._modes.append(self._left(event, event.data["path"], reason, int(mode, 8)))
                self._begin(event, event.data["changeId"], _operation(event.data))
                self._in_place(event, event.data["changeId"])
            case "workspace.changed" if event.data.get("by") == "command":
                if _is_replaced(event.data):
                    self._replaced.add(event.data["path"])
                self._last(event, event.data["path"], _why_lasting(event.data))
            case "workspace.renamed":
                self._renamed(event)
            case "workspace.touched":
                self._touched(event)
            case "tool.requested" if event.data["name"] == "run_command":
                given = event.data["input"]
                command = cast("dict[str, Any]", given).get("command") if isinstance(given, dict) else None
                self._commands[event.data["callId"]] = str(command or "")
                self._of_commands.add((event.turn_id, event.data["callId"]))
            case "approval.resolved" if event.data["by"] == "person" or "grant" in event.data:
                call = (event.turn_id, event.data["callId"])
                if event.data["decision"] in (_KEPT if call in self._of_commands else _ALLOWED):
                    self._agreed.add(call)
            case "hook.started" | "verify.started":
                self._of_commands |= {(event.turn_id, one["id"]) for one in event.data["calls"]}
            case "tool.started" if begun := self._commands.get(event.data["callId"]):
                left = self._left(event, f"what `{begun}` changed", "its end is not in the log")
                self._running[event.data["callId"]] = left
            case "tool.finished":
                self._commands.pop(event.data["callId"], None)
                left = self._running.pop(event.data["callId"], None)
                if left is not None and event.data["status"] == "interrupted":
                    reason = "the server stopped while it ran, so its changes are unknown"
                    self._lasting.append(replace(left, reason=reason))
            case "job.started":
                self._running.pop(event.data.get("callId", ""), None)
                reason = f"it ran in the background: `{event.data['command']}`"
                self._last(event, f"what the background job {event.data['jobId']} changed", reason)
            case _:
                pass

    def _touched(self, event: Logged[logged.WorkspaceTouched]) -> None:
        command = f"`{event.data['command']}`"
        for one in event.data["files"]:
            if one.get("kind") in {"link", "folder"}:
                self._last(event, one["path"], f"{_entry(one)} by {command}")
            elif "mode" in one and "modeAfter" in one:
                reason = f"its mode was changed from {one['mode']} to {one['modeAfter']} by {command}"
                # Of what is shut nothing is looked at for a patch.
                self._last(event, one["path"], reason, None if "kind" in one else int(one["mode"], 8))
            else:
                self._last(event, one["path"], f"{one['how']} by {command}; its content before is unknown")
        if more := event.data.get("more"):
            self._last(event, f"{more} further files", f"changed by {command}")
        if unseen := event.data.get("unseen"):
            self._last(event, "other files", f"what {command} changed is unknown: {unseen}")

    def _last(self, event: Logged[_OfCall], path: str, reason: str, mode: int | None = None) -> None:
        self._lasting.append(self._left(event, path, reason, mode))

    def _left(self, event: Logged[_OfCall], path: str, reason: str, mode: int | None = None) -> Lasting:
        step = self._steps[event.turn_id] if event.turn_id is not None else 0
        call_id, number = event.data.get("callId"), len(self._records)
        return Lasting(event.turn_id, call_id, step, path, reason, mode, number)

    def _in_place(self, event: Logged[_Change], change_id: str, *, is_apart: bool = False) -> None:
        """Take note that a change is in place.

        Args:
            event: What says so.
            change_id: The change.
            is_apart: Whether its text after is that of the change alone.
        """
        data, known = event.data, self._records[change_id]
        before, after = data.get("before"), data.get("after")
        is_apart = is_apart or before != known.before
        if after != known.planned and is_apart and known.undoes is None:
            # Only a part of it is in place, or what others wrote is told apart: its hunks are those that are.
            known = replace(known, hunks=tuple(range(1, len(data["hunks"]) + 1)))
        known = replace(
            known,
            state="applied",
            before=before,
            after=after,
            planned=after if is_apart else known.planned,
            made_folder=data.get("madeFolder"),
            on_disk=known.on_disk or (known.operation == "edit" and data.get("where") == "disk"),
        )
        self._take(known, event.seq)
        self._records[change_id] = known

    def _begin(self, event: Logged[_Change], change_id: str, operation: Operation) -> None:
        """Take note that a change begins, or began."""
        data = event.data
        if (known := self._records.get(change_id)) is not None:
            self._records[change_id] = replace(known, state="applying")
            return
        undone = self._records.get(data.get("undoes", ""))
        hunks = tuple(range(1, (len(data["hunks"]) if operation == "edit" else 1) + 1)) or (1,)
        if undone is not None:
            hunks = tuple(data.get("undoesHunks", undone.hunks))
        self._records[change_id] = ChangeRecord(
            change_id=change_id,
            session_id=event.session_id,
            turn_id=event.turn_id,
            call_id=data.get("callId"),
            step=self._steps[event.turn_id] if event.turn_id is not None else 0,
            path=data["path"],
            operation=operation,
            to=data.get("to"),
            before=data.get("before"),
            after=data.get("after"),
            planned=data.get("after"),
            undoes=data.get("undoes"),
            hunks=hunks,
            # What the editor took away can be brought back, too, though no undo of ours is there to be taken back.
            takes_away=undone is not None and self._takes_away(undone, operation, by_call="callId" in data),
            state="applying",
            encoding=data.get("encoding", "utf-8"),
            mode=int(data["mode"], 8) if "mode" in data else None,
            kept_mode=int(data["keptMode"], 8) if "keptMode" in data else None,
            hidden=tuple(data.get("hidden", ())),
            mode_after=int(data["modeAfter"], 8) if "modeAfter" in data else None,
            folder=data.get("folder"),
            folders={one["path"]: int(one["mode"], 8) for one in data.get("folders", ())},
            place=data.get("place", self.place_of(data["path"])),
            to_place=data.get("toPlace", self.place_of(data["to"])) if "to" in data else None,
            besides=tuple(data.get("besides", ())),
            on_disk=data.get("unshown", False),
            # A command itself edits nothing.
            puts_back=event.type != "workspace.changed"
            and (event.turn_id, data.get("callId")) in self._of_commands,
        )

    def _renamed(self, event: Logged[logged.WorkspaceRenamed]) -> None:
        """Take note of files that somebody renamed in the editor."""
        for number, one in enumerate(event.data["files"], 1):
            path, to = one["path"], one["to"]
            record = ChangeRecord(
                change_id=f"renamed_{event.seq}_{number}",
                session_id=event.session_id,
                turn_id=None,
                call_id=None,
                step=0,
                path=path,
                operation="rename",
                to=to,
                before=None,
                after=None,
                planned=None,
                undoes=None,
                hunks=(),
                takes_away=False,
                state="applied",
                place=one.get("place", self.place_of(path)),
                to_place=one.get("toPlace", self.place_of(to)),
                by_user=True,
            )
            self._records[record.change_id] = record
            if path in self._replaced:
                self._replaced = {*self._replaced - {path}, to}

    def _takes_away(self, undone: ChangeRecord, operation: Operation, *, by_call: bool) -> bool:
        whole = {"create", "delete"}
        if operation in whole and (first := self.root_of(undone).operation) in whole:
            # Also to make room for what is brought back.
            return operation != first
        return not undone.takes_away and not (self._redoing and not by_call)

    def led(self, path: str, before: str, after: str) -> bool:
        """Whether the edits alone led from one text of a file, as the disk has it, to another one."""
        plain = before.removeprefix(BOM)
        ends = {_hash(one) for one in (before, plain, plain.replace("\r\n", "\n"))}
        wanted: str | None = _hash(after)
        for record in reversed(self.records):
            if record.by_user and record.to == path:
                path = record.path
                continue
            if record.state != "applied" or record.path != path:
                continue
            if record.operation != "edit" or wanted != record.after or record.planned != record.after:
                return False
            wanted = record.before
            if wanted in ends:
                return True
        return False

    def place_of(self, path: str) -> str | None:
        """The real path of a file, as far as the session's folders tell it: as if there were no links in them."""
        return self._folders.straight(path)

    def path_at(self, place: str) -> str | None:
        """How the file of that real path is written; None for what never lay in a folder of the session."""
        paths = (folders.display_at(place) for folders in self._all_folders)
        return next((path for path in paths if path is not None), None)

    def path_now(self, path: str, number: int = 0) -> str:
        """The path of a file that had one when so many changes had begun, by what was renamed in the editor since."""
        for one in self.records[number:]:
            if one.by_user and one.path == path:
                path = one.to or path
        return path

    def _take(self, record: ChangeRecord, seq: int) -> None:
        """Take note of what an undo took back or brought back."""
        root = self.root_of(record)
        if not record.takes_away:
            self._put[root.change_id] = seq
        if root.change_id == record.change_id:
            return
        if record.call_id is not None:
            self._given_up.add(root.change_id)
        undone = self._undone.setdefault(root.change_id, {})
        for number in record.hunks:
            if record.takes_away:
                undone[number] = seq
                self._last_undo[root.change_id] = record.change_id
            else:
                undone.pop(number, None)

    @property
    def records(self) -> list[ChangeRecord]:
        """Every change that began, and every undo of one."""
        return list(self._records.values())

    def changes(self, turn_id: str | None = None) -> list[ChangeRecord]:
        """Every change that began, of one turn or of all."""
        return [one for one in self._records.values() if turn_id is None or one.turn_id == turn_id]

    def roots(self, turn_id: str | None = None) -> list[ChangeRecord]:
        """The changes that were made and that the user may have undone, without what took changes back."""
        return [
            one
            for one in self.changes(turn_id)
            if one.state == "applied"
            and (one.undoes is None or one.undoes not in self._records)
            and one.change_id not in self._given_up
            and not one.makes_room
        ]

    def lasting(self, turn_id: str | None = None) -> list[Lasting]:
        """What commands did that nothing takes back, in one turn or in all."""
        return _of_turn([*self._lasting, *self._running.values()], turn_id)

    def modes(self, turn_id: str | None = None) -> list[Lasting]:
        """What commands did to modes together with texts: that goes with the text, unless somebody changed it since."""
        return _of_turn(self._modes, turn_id)

    @property
    def replaced(self) -> frozenset[str]:
        """The files in whose place a command put something that is no text of theirs."""
        return frozenset(self._replaced)

    def left_by_undo(self, scope: Scope, id: str | None, parts: Sequence[Part]) -> list[Lasting]:  # noqa: A002
        """What commands did that an undo leaves.

        Args:
            scope: How much is taken back.
            id: What is, as in `to_undo`.
            parts: What that found.
        """
        if scope == "hunk":
            return []
        lasting = self.lasting()
        everything = [*lasting, *self._modes]
        if scope == "session":
            return everything
        chosen = {(one.record.turn_id, one.record.step) for one in parts}
        if id is not None:
            chosen |= {(one.turn_id, one.step) for one in lasting if id in {one.call_id, one.turn_id}}
        elif not chosen and lasting:
            chosen = {(lasting[-1].turn_id, lasting[-1].step)}
        turns = {turn_id for turn_id, _ in chosen}
        return [
            one
            for one in everything
            if ((one.turn_id, one.step) in chosen if scope == "step" else one.turn_id in turns)
        ]

    def record(self, change_id: str) -> ChangeRecord | None:
        """A change by its id; None where it is not known."""
        return self._records.get(change_id)

    def root_of(self, record: ChangeRecord) -> ChangeRecord:
        """The change that an undo, or the undo of one, is about in the end; a change itself."""
        while record.undoes is not None and record.undoes in self._records:
            record = self._records[record.undoes]
        return record

    def is_agreed(self, change_id: str) -> bool:
        """Whether the user said yes to what a change put into a file."""
        known = self._records.get(change_id)
        return known is None or known.puts_back or (known.turn_id, known.call_id) in self._agreed

    def last_undo(self, change_id: str) -> str | None:
        """What took hunks of a change back last."""
        return self._last_undo.get(change_id)

    def is_undone(self, change_id: str) -> bool:
        """Whether hunks of a change were taken back, as the log has it."""
        return bool(self._undone.get(change_id))

    def knows(self, id: str) -> bool:  # noqa: A002 - as on the wire
        """Whether an id names a hunk, a change, a call or a turn that changed something."""
        change_id, _, number = id.partition("#")
        hunks = {int(number)} if number.isdecimal() else set[int]()
        return any(
            id in {one.change_id, one.call_id, one.turn_id}
            or (change_id == one.change_id and hunks & set(one.hunks))
            for one in self.roots()
        ) or any(id in {one.call_id, one.turn_id} for one in self.lasting())

    def scope_of(self, id: str | None) -> Scope:  # noqa: A002 - as on the wire
        """How much an id names by itself: the hunks of a change, the step of a call, or a turn, as without an id."""
        if id is not None:
            change_id = id.partition("#")[0]
            for one in self.roots():
                if change_id == one.change_id:
                    return "hunk"
                if id == one.call_id:
                    return "step"
        return "turn"

    def to_undo(self, scope: Scope, id: str | None, stands: Stands | None = None) -> list[Part]:  # noqa: A002 - as on the wire
        """What to take back, the latest first; without undos, and with a put-back only if its own id is named.

        Args:
            scope: How much: one hunk, those of a step, of a turn, or all.
            id: The hunk, the change, a call or change of the step, or the turn; None for the latest that has any.
            stands: What the texts say; None: by the log alone.
        """
        standing: list[Part] = []
        for one in reversed(self._meant(scope, id)):
            gone = self._gone(one, stands)
            standing.append(Part(one, tuple(number for number in one.hunks if number not in gone)))
        found = self._chosen([one for one in standing if one.hunks], scope, id)
        return found or self._named(scope, id)[::-1]

    def to_redo(
        self,
        scope: Scope | None = None,
        id: str | None = None,  # noqa: A002 - as on the wire
        stands: Stands | None = None,
    ) -> list[Part]:
        """What to bring back, the earliest first. Without an id it is about what was undone last.

        Without a scope it is what `scope_of_redo` says: of a session what its last undo took, and not what was undone before.
        Nobody tells when an editor took something away: that counts as if it were when it was put there.
        """
        meant = self._meant(scope, id, redo=True)
        gone = {one.change_id: self._gone(one, stands) for one in meant}
        undone = [Part(one, tuple(sorted(numbers))) for one in meant if (numbers := gone[one.change_id])]
        if id is not None:
            much = scope or self.scope_of(id)
            found = self._chosen(undone, much, id) or self._named(much, id)
            return found[::-1] if much == "hunk" else found
        if not undone:
            return []
        if scope is None and (asked := self._whole_undo()) is not None:
            since = [
                Part(one.record, tuple(n for n in one.hunks if gone[one.record.change_id][n] > asked))
                for one in undone
            ]
            if found := [one for one in since if one.hunks]:
                return found
        scope = scope or "turn"
        last = max(undone, key=lambda one: max(gone[one.record.change_id].values()))
        if scope == "hunk":
            seqs = gone[last.record.change_id]
            return [Part(last.record, (max(last.hunks, key=lambda number: (seqs[number], -number)),))]
        return _like(undone, last, scope)

    def _meant(self, scope: Scope | None, id: str | None, *, redo: bool = False) -> list[ChangeRecord]:  # noqa: A002 - as on the wire
        """The changes that an undo or a redo may be about.

        What put a file back is none of them, nor is what the command had done to that file: nobody wanted that. One whose id names
        it is.
        """
        named = (id or "").partition("#")[0] if scope in {None, "hunk"} else ""
        roots = self.roots()
        put_back = {
            _file_of_call(one) for one in roots if one.puts_back and not self.is_undone(one.change_id)
        }

        def is_meant(one: ChangeRecord) -> bool:
            return _file_of_call(one) not in put_back and (redo or not one.puts_back)

        return [one for one in roots if one.change_id == named or is_meant(one)]

    def scope_of_redo(self) -> Scope:
        """How much a redo brings back that names nothing: a session that was taken back as a whole, else a turn."""
        return "turn" if self._whole_undo() is None else "session"

    def _whole_undo(self) -> int | None:
        """The seq of the undo that took what is undone last, if that was one of the whole session."""
        last = max((seq for hunks in self._undone.values() for seq in hunks.values()), default=0)
        asked = next(((seq, scope) for seq, scope in reversed(self._asked) if seq < last), None)
        return asked[0] if asked is not None and asked[1] == "session" else None

    def _gone(self, record: ChangeRecord, stands: Stands | None) -> dict[int, int]:
        """The hunks of a change that are not in the text, and since when, as far as the log knows."""
        undone = self._undone.get(record.change_id, {})
        there = {number: stands and stands(record.change_id, number) for number in record.hunks}
        return {
            number: undone.get(number, self._put.get(record.change_id, 0))
            for number, stands_now in there.items()
            if (number in undone if stands_now is None else not stands_now)
        }

    def _named(self, scope: Scope, id: str | None) -> list[Part]:  # noqa: A002 - as on the wire
        """What an id names, whether undone or not: the editor's own undo may have left it otherwise than the log says."""
        everything = [Part(one, one.hunks) for one in self._meant(scope, id)]
        return self._chosen(everything, scope, id) if id is not None else []

    def _chosen(self, parts: list[Part], scope: Scope, id: str | None) -> list[Part]:  # noqa: A002 - as on the wire
        if scope == "session" or not parts:
            return parts
        if id is None:
            return _only(parts[0], parts[0].hunks[-1]) if scope == "hunk" else _like(parts, parts[0], scope)
        change_id, _, number = id.partition("#")
        for one in parts:
            record = one.record
            if number and record.change_id == change_id:
                if scope == "hunk":
                    found = _only(one, int(number)) if number.isdecimal() else []
                    return found and _with_the_other(parts, one, found)
                return _like(parts, one, scope)
            if id in {record.change_id, record.call_id, record.turn_id}:
                return _with_the_other(parts, one, [one]) if scope == "hunk" else _like(parts, one, scope)
        return []


def _real_folders(data: logged.SessionStarted | logged.SessionRestored) -> Folders:
    folders = folders_of((Path(uri).name, uri) for uri in data["folders"]).folders
    paths = data.get("realFolders") or [str(folder.path) for folder in folders]
    pairs = zip(folders, paths, strict=False)
    return Folders([Folder(folder.name, folder.uri, Path(path)) for folder, path in pairs])


def _entry(touched: logged.TouchedFile) -> str:
    """What became of a link or of a folder."""
    if "mode" in touched and "modeAfter" in touched:
        return f"the mode of the folder was changed from {touched['mode']} to {touched['modeAfter']}"
    what = f"the link, which led to {touched['to']}," if "to" in touched else f"the {touched.get('kind')}"
    return f"{what} was {touched['how']}"


def _operation(data: logged.WorkspaceChanged) -> Operation:
    """What a command did to a file."""
    if "before" not in data:
        return "create"
    return "edit" if "after" in data else "delete"


def _is_replaced(data: logged.WorkspaceChanged) -> bool:
    """Whether a command put something else than a text where one was."""
    return "before" in data and "after" not in data and not data.get("unsure", False)


def _why_lasting(data: logged.WorkspaceChanged) -> str:
    """Why nothing takes back what happened to a file while a command ran."""
    if data.get("unsure", False):
        how = {"create": "made", "edit": "changed", "delete": "deleted"}[_operation(data)]
        return f"{how} while a command ran, by the command or by someone else"
    if _is_replaced(data):
        return "a command replaced it with a link or with something that is not text"
    if "before" in data:
        return "a command wrote it in another encoding"
    return "changed by a command; its content before is unknown"


def _of_turn(left: Sequence[Lasting], turn_id: str | None) -> list[Lasting]:
    return [one for one in left if turn_id is None or one.turn_id == turn_id]


def _only(part: Part, number: int) -> list[Part]:
    return [Part(part.record, (number,))] if number in part.hunks else []


def _with_the_other(parts: list[Part], chosen: Part, found: list[Part]) -> list[Part]:
    """What was found of a change, with what a command that moved a file did to the other of its two paths."""
    moves = [one for one in parts if are_a_move(one.record, chosen.record)]
    # Of several equal files the one that has the name is more likely to be it.
    others = sorted(moves, key=lambda one: _name(one.record) != _name(chosen.record))[:1]
    # As an undo takes them: the file that comes back is first.
    return sorted([*found, *others], key=lambda one: one.record.operation == "create")


def _file_of_call(record: ChangeRecord) -> tuple[str | None, str | None, str]:
    return record.turn_id, record.call_id, record.path


def _name(record: ChangeRecord) -> str:
    return PurePath(record.path).name


def _like(parts: list[Part], chosen: Part, scope: Scope) -> list[Part]:
    return [one for one in parts if _same_part(one.record, chosen.record, scope)]


def _same_part(one: ChangeRecord, other: ChangeRecord, scope: Scope) -> bool:
    match scope:
        case "hunk":
            return one.change_id == other.change_id
        case "step":
            return (one.turn_id, one.step) == (other.turn_id, other.step)
        case "turn":
            return one.turn_id == other.turn_id
        case "session":
            return True


def _hash(text: str) -> str:
    return content_hash(text.encode("utf-8", "surrogatepass"))
