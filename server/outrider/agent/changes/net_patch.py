"""What a session changed, as one patch that git takes. It only reads."""

import asyncio
import os
import stat
from dataclasses import dataclass, replace
from operator import itemgetter

from outrider.agent.changes.current_state import catch_up, histories_of, is_elsewhere, locate, mode_now
from outrider.agent.changes.listing import texts_of
from outrider.agent.services import Services
from outrider.ports.text import TextEncoding, one_line
from outrider.workspace.history.histories import LOST, TAKEN, FileHistory, Histories
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.patch import Shown, Side, end_in_file, file_patch
from outrider.workspace.history.records import ChangeRecord
from outrider.workspace.paths import is_link
from outrider.workspace.text.encoding import BOM, encode
from outrider_protocol.commands import LeftOut


@dataclass(frozen=True, slots=True)
class Patch:
    """What changes come to."""

    text: str
    """As `git apply` takes it; empty where there is nothing."""
    left_out: tuple[LeftOut, ...]
    """What was changed and is not in it."""


async def patch(services: Services, journal: Journal, turn_id: str | None = None) -> Patch:
    """What the changes of a session or of a turn come to, as a patch.

    What others wrote is in the text before and in the text after. So it applies where all but these changes is
    as it is here. Each file has its real path in it, by whatever links it was reached. Left out are files outside the
    session's folders, those in whose place something else is, such as a link, those that were deleted or renamed and
    whose path another file has now, and whatever has no text in the log.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    folded = await histories_of(services, journal)
    outside = _by_real_paths(journal, folded)
    problems = await catch_up(services, folded)
    roots = journal.roots(turn_id)
    sides: list[tuple[Side, Side]] = []
    left_out = [LeftOut(path=record.path, reason=LOST) for record in roots if record.change_id in folded.lost]
    # On a text that is not known the rest of its changes would not apply, and git would refuse all of the patch.
    unknown = {one.path for one in journal.lasting(turn_id) if one.mode is None}
    known, modes = _first_modes(journal, folded, turn_id)
    for file in folded.files:
        made = [record for record in roots if folded.of(record.change_id) is file]
        mode = known.get(id(file))
        if made and file.key in outside:
            left_out.append(LeftOut(path=outside[file.key], reason="it is not in a workspace folder"))
        if file.key in outside:
            continue
        is_here = file.real is None or not await is_elsewhere(services, file.real)
        if file.key in problems and is_here:
            # There is no telling what is in its place.
            if made:
                left_out.append(LeftOut(path=file.path, reason=problems[file.key]))
            continue
        left_out += _renamed_since(journal, file, made)
        old, new = await _sides(services, journal, folded, file, made)
        if mode is not None:
            old = replace(old, executable=_is_program(mode))
        if old.path not in unknown and new.path not in unknown:
            sides.append((old, new))
    files, taken = await _without_taken(services, _by_path(sides))
    left_out += [
        LeftOut(path=path, reason=f"{TAKEN}, so a patch could not restore it there") for path in taken
    ]
    for path, mode in modes.items():
        place = journal.place_of(path)
        if place is None or journal.path_at(place) is None:
            left_out.append(LeftOut(path=path, reason="it is not in a workspace folder"))
            continue
        located = await locate(services, path, place)
        disk = None if isinstance(located, str) else await services.workspace.overlay.on_disk(located)
        is_file = not isinstance(located, str) and not await asyncio.to_thread(is_link, located)
        if disk is not None and is_file:
            # Its content is the same on both sides, so it is not in the patch.
            old = Side(path, b"", executable=_is_program(mode))
            files.append((old, replace(old, executable=_is_program(disk.mode))))
    patches = await asyncio.to_thread(lambda: [file_patch(old, new) for old, new in _in_order(files)])
    left_out += await _without_text(services, journal, turn_id)
    return Patch("".join(patches), tuple({(one.path, one.reason): one for one in left_out}.values()))


async def _without_text(services: Services, journal: Journal, turn_id: str | None) -> list[LeftOut]:
    """What commands did that a patch cannot say: contents that are not known, and bits that are nothing to git."""
    left_out: list[LeftOut] = []
    for one in [*journal.lasting(turn_id), *journal.modes(turn_id)]:
        if one.mode is not None:
            now = await mode_now(services, journal.path_now(one.path, one.number))
            if now is None or now == one.mode or _is_program(now) != _is_program(one.mode):
                continue
        left_out.append(LeftOut(path=one.path, reason=one.reason))
    return left_out


def _by_path(sides: list[tuple[Side, Side]]) -> list[tuple[Side, Side]]:
    """What came where another file went is one with it: a path is in a patch once."""
    gone = {old.path: old for old, new in sides if new.content is None and old.content is not None}
    found: list[tuple[Side, Side]] = []
    for old, new in sides:
        if old.content is None and new.content is not None and new.path in gone:
            found.append((gone.pop(new.path), new))
        else:
            found.append((old, new))
    return [(old, new) for old, new in found if new.content is not None or old.path in gone]


async def _without_taken(
    services: Services, sides: list[tuple[Side, Side]]
) -> tuple[list[tuple[Side, Side]], list[str]]:
    """What git can take back here: the sides without those whose first path another file has now, and these paths."""
    taken: list[str] = []
    leaves = {old.path for old, new in sides if _leaves(old, new)}
    there = {path for path in leaves if await _is_file(services, path)}
    while True:
        come = {new.path for old, new in sides if _leaves(new, old)}
        found = {old.path for old, new in sides if _leaves(old, new) and old.path in there - come}
        if not found:
            return sides, taken
        taken += sorted(found)
        sides = [one for one in sides if one[0].path not in found or not _leaves(*one)]


def _leaves(old: Side, new: Side) -> bool:
    """Whether a file leaves its path."""
    return old.content is not None and (new.content is None or new.path != old.path)


async def _is_file(services: Services, path: str) -> bool:
    located = await locate(services, path, None)
    if isinstance(located, str) or located.path is None:
        return False
    return await asyncio.to_thread(os.path.lexists, located.path)


def _renamed_since(journal: Journal, file: FileHistory, made: list[ChangeRecord]) -> list[LeftOut]:
    """The renames among changes of a file which a later one hides, as the file has another name by now."""
    place, hidden = file.real, list[LeftOut]()
    for record in reversed(made if file.exists else ()):
        if record.operation != "rename" or journal.is_undone(record.change_id):
            continue
        if record.to_place == place:
            place = record.place
        else:
            reason = f"it was renamed to {one_line(record.to or '')}, and is now named {one_line(file.path)}"
            hidden.append(LeftOut(path=record.path, reason=reason))
    return hidden[::-1]


def _in_order(sides: list[tuple[Side, Side]]) -> list[tuple[Side, Side]]:
    """What leaves a path before what gets it: git looks at each file as those before it leave it, backwards too."""
    leaving = {one[0].path: one for one in sides if _leaves(*one)}
    ordered: dict[int, tuple[Side, Side]] = {}
    for one in sorted(sides, key=lambda sides: sides[1].content is not None):
        waiting: dict[int, tuple[Side, Side]] = {}
        following: tuple[Side, Side] | None = one
        while following is not None and not (id(following) in ordered or id(following) in waiting):
            waiting[id(following)] = following
            following = None if following[1].content is None else leaving.get(following[1].path)
        ordered |= dict(reversed(waiting.items()))
    return list(ordered.values())


def _by_real_paths(journal: Journal, folded: Histories) -> dict[str, str]:
    """Give each file its real path; what is in none of the session's folders is returned, by key."""
    outside: dict[str, str] = {}
    for file in folded.files:
        path = None if file.real is None else journal.path_at(file.real)
        if path is not None:
            file.path = path
        else:
            outside[file.key] = file.path
    return outside


def _first_modes(
    journal: Journal, folded: Histories, turn_id: str | None
) -> tuple[dict[int, int], dict[str, int]]:
    """The permission bits that files had before all changes of theirs: by file of the history, and of others by path.

    A command changed those of the file that was at a path then; by now another one may be there.
    """
    records = journal.records
    numbers = {one.change_id: number for number, one in enumerate(records)}
    changed = [
        (one.number, one.path, journal.place_of(one.path), one.mode)
        for one in journal.lasting(turn_id)
        if one.mode is not None
    ]
    changed += [
        (numbers[one.change_id], one.path, one.place, one.mode)
        for one in journal.roots(turn_id)
        if one.mode_after is not None and one.mode is not None
    ]
    files, others = dict[int, int](), dict[str, int]()
    for number, path, place, mode in sorted(changed, key=itemgetter(0), reverse=True):
        file = _file_then(records, folded, number, place)
        if file is None:
            others[path] = mode
        else:
            files[id(file)] = mode
    return files, others


def _file_then(
    records: list[ChangeRecord], folded: Histories, number: int, place: str | None
) -> FileHistory | None:
    """The file of the history that was at a real path when so many changes had begun."""
    for one in reversed(records[:number]):
        if one.state == "applied" and place in {one.place, one.to_place}:
            is_gone = place == one.place if one.operation == "rename" else one.after is None
            return None if is_gone else folded.of(one.change_id)
    for one in records[number:]:
        if one.state == "applied" and place in {one.place, one.to_place}:
            was_there = place == one.place and (one.by_user or one.before is not None)
            return folded.of(one.change_id) if was_there else None
    return None


def _is_program(mode: int | None) -> bool:
    """Whether git takes a file of these permission bits for a program."""
    return mode is not None and bool(mode & stat.S_IXUSR)


async def _sides(
    services: Services, journal: Journal, folded: Histories, file: FileHistory, made: list[ChangeRecord]
) -> tuple[Side, Side]:
    """A file without these changes and with them: the bytes that the disk had, or has when all is saved."""
    place = file.real
    for record in reversed(made):
        if record.operation == "rename" and record.to_place == place:
            place = record.place
    path = (None if place is None else journal.path_at(place)) or file.path
    before = await asyncio.to_thread(file.text_without, {record.change_id for record in made})
    located = await locate(services, file.path, file.real)
    disk = None
    if not isinstance(located, str) and not folded.is_taken(file):
        disk = await services.workspace.overlay.on_disk(located)
    gone = file.gone if file.text is None else None
    # Of an open document the disk knows what the editor hides, of a deleted file what was deleted.
    exact = disk.text if disk is not None else file.deleted
    shown = Shown(exact, file.text if file.exists else before)
    now = disk or gone
    encoding: TextEncoding = now.encoding if now is not None else "utf-8"
    first = made[0].encoding if made and made[0].encoding != "utf-8" else encoding
    executable = was_executable = now is not None and _is_program(now.mode)
    last_end = "" if file.text is None or exact is None else end_in_file(shown.of(file.text), exact)
    new = _bytes(shown, file.text, encoding, last_end)
    end = next((one for one in made if one.operation == "delete" and file.is_on(one.change_id, 1)), None)
    if end is not None:
        # It was another file then, whatever was made in its place since.
        shown, first, was_executable = (
            await _as_deleted(services, file, end, made),
            end.encoding,
            _is_program(end.mode),
        )
    # Who wrote the last line is who ended it.
    is_same_line = (
        file.text is not None and before is not None and _last_line(file.text) == _last_line(before)
    )
    old = _bytes(shown, before, first, last_end if is_same_line else "")
    # A file that comes or goes has one path: where it is, or where it was before all of it.
    path = path if old is not None else file.path
    return Side(path, old, was_executable), Side(file.path if new is not None else path, new, executable)


async def _as_deleted(
    services: Services, file: FileHistory, end: ChangeRecord, made: list[ChangeRecord]
) -> Shown:
    """How the file that a deletion took away was on disk."""
    texts = await texts_of(services, [end])
    since = {one.change_id for one in made[made.index(end) :]}
    return Shown(texts.get(end.before or ""), await asyncio.to_thread(file.text_without, since))


def _last_line(text: str) -> str:
    return text.rpartition("\n")[2]


def _bytes(shown: Shown, text: str | None, encoding: TextEncoding, last_end: str = "") -> bytes | None:
    if text is None:
        return None
    # Half a character, which only a document can hold, cannot be saved.
    whole = (shown.of(text) + last_end).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    # What has no mark cannot have been UTF-16: a command may have made it so.
    return encode(whole, encoding if whole.startswith(BOM) else "utf-8")
