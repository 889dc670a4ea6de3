"""The folders that come and go with the files of an undo."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from outrider.workspace.change import Change
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.records import ChangeRecord
from outrider.workspace.paths import folders_down


def emptied(record: ChangeRecord, made: Change) -> Iterator[str]:
    """The folders that go, if nothing else is in them, with a file that goes: they came with it, or went with it at first."""
    if made.operation not in {"delete", "rename"}:
        return
    there = made.located.display
    if there == (record.to or record.path):
        yield from made_for(record, there)
    yield from _at(record, record, there)


def made_for(record: ChangeRecord, path: str) -> Iterator[str]:
    """The folders that were made for a file."""
    if record.made_folder is not None:
        yield from folders_down(record.made_folder, path)


def brought_back(record: ChangeRecord, made: Change) -> Mapping[str, int]:
    """The folders that come with a file, where they went with it, with their permission bits."""
    if made.operation not in {"create", "rename"}:
        return {}
    return _at(record, record, made.to.display if made.to else made.located.display)


def modes_around(journal: Journal, record: ChangeRecord, made: Change) -> Mapping[str, int]:
    """The permission bits of the folders that a file came back to, though they went with another file of its call."""
    if made.operation not in {"create", "rename"} or record.call_id is None:
        return {}
    path = made.to.display if made.to else made.located.display
    modes: dict[str, int] = {}
    for one in journal.changes(record.turn_id):
        if one.call_id == record.call_id and one.operation == record.operation:
            modes |= _at(record, one, path)
    return modes


def _at(record: ChangeRecord, last: ChangeRecord, path: str) -> Mapping[str, int]:
    """The folders that went with the last file in them, as they are when another one of them is at `path`."""
    if last.folder is None or not PurePath(record.path).is_relative_to(last.folder):
        return {}
    below = PurePath(record.path).relative_to(last.folder)
    folder = PurePath(*PurePath(path).parts[: -len(below.parts)])
    return {str(folder / one): mode for one, mode in last.folders.items()}
