"""The folders that come and go with the files of an undo."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath

from outrider.workspace.change import Change
from outrider.workspace.history.journal import ChangeRecord
from outrider.workspace.paths import folders_down


def emptied(record: ChangeRecord, made: Change) -> Iterator[str]:
    """The folders that go, if nothing else is in them, with a file that goes: they came with it, or went with it at first."""
    if made.operation not in {"delete", "rename"}:
        return
    there = made.located.display
    if record.made_folder is not None and there == (record.to or record.path):
        yield from folders_down(record.made_folder, there)
    yield from _at(record, there)


def brought_back(record: ChangeRecord, made: Change) -> Mapping[str, int]:
    """The folders that come with a file, where they went with it, with their permission bits."""
    if made.operation not in {"create", "rename"}:
        return {}
    return _at(record, made.to.display if made.to else made.located.display)


def _at(record: ChangeRecord, path: str) -> Mapping[str, int]:
    """The folders that went with a file, as they are when that is at `path`."""
    if record.folder is None:
        return {}
    below = PurePath(record.path).relative_to(record.folder)
    folder = PurePath(*PurePath(path).parts[: -len(below.parts)])
    return {str(folder / one): mode for one, mode in record.folders.items()}
