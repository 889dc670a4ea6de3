"""Doing a change of a closed file: what it is about to meet, the change itself, and whether it is there. All of it blocks."""

import os
from pathlib import PurePath

from outrider.workspace.disk import disk
from outrider.workspace.disk.disk import DiskProblem, folder_files
from outrider.workspace.documents.overlay import SIZE_LIMIT
from outrider.workspace.documents.unsaved_elsewhere import HeldFiles
from outrider.workspace.edits.change import Change
from outrider.workspace.paths import IS_LINK, Located
from outrider.workspace.text.encoding import Decoded, decode, encode


def write(change: Change, held: HeldFiles | None) -> DiskProblem | None:
    """Do a change on disk and look whether it is there. Blocks."""
    path, to = change.located.resolved, change.to.resolved if change.to else None
    if path is None:
        raise ValueError("a change on disk needs a path")
    if problem := in_the_way(change, held):
        return problem
    if change.operation == "create":
        new = encode(change.after or "", change.encoding)
        return disk.create(path, new, parents=change.located.inside, mode=change.mode)
    before = disk.read_bytes(path, SIZE_LIMIT)
    if isinstance(before, DiskProblem):
        return before
    decoded = decode(before)
    if not isinstance(decoded, Decoded) or decoded.text != change.before:
        return DiskProblem("changed", disk.CHANGED)
    match change.operation:
        case "edit":
            new = encode(change.after or "", decoded.encoding)
            return disk.replace(path, before, new)
        case "delete":
            problem = disk.delete(path, before)
        case "rename":
            if to is None:
                raise ValueError("a rename needs a new path")
            parents = change.to is not None and change.to.inside
            problem = disk.rename(path, to, before, parents=parents)
    if problem is None:
        move_folders(change)
    return problem


def in_the_way(change: Change, held: HeldFiles | None) -> DiskProblem | None:
    """What a change would do harm to, as far as it can be seen before. Blocks."""
    path, to = change.located.resolved, change.to.resolved if change.to else None
    for one in (path, to):
        if held is not None and one is not None and (holder := held.holder(one)) is not None:
            name = "" if one == path or change.to is None else f"would replace {change.to.shown}, which "
            return DiskProblem("failed", f"{name}has unsaved changes in another editor (process {holder})")
    if change.operation in {"delete", "rename"} and change.located.path and change.located.path.is_symlink():
        return DiskProblem("failed", IS_LINK)
    if to is not None and os.path.lexists(to):
        return DiskProblem("exists", "already exists")
    if change.folder is not None and path is not None and change.folder.resolved is not None:
        others = folder_files(change.folder.resolved, 2)
        if isinstance(others, DiskProblem) or others != [path]:
            return DiskProblem("changed", f"is no longer the last file of {change.folder.shown}")
    return None


def is_there(change: Change) -> bool:
    """Whether a file is still where a rename or a deletion found it. Blocks."""
    return change.located.resolved is not None and os.path.lexists(change.located.resolved)


def missing_folder(located: Located) -> str | None:
    """The topmost folder that has to be made for a file, as it is shown. Blocks."""
    path, name, missing = located.path, PurePath(located.display), None
    while located.inside and path is not None and len(name.parts) > 1 and not os.path.lexists(path.parent):
        path, name = path.parent, name.parent
        missing = str(name)
    return missing


def move_folders(change: Change) -> None:
    """Take away the folder that goes with its last file, or give it its new name. Blocks."""
    path, to = change.located.resolved, change.to.resolved if change.to else None
    if change.folder is None or change.folder.resolved is None or path is None:
        return
    old = change.folder.resolved
    if to is not None:
        new = to.parents[len(path.relative_to(old).parts) - 1]
        disk.make_folders(new / below for below in change.folders)
        disk.set_folder_modes({new / below: mode for below, mode in change.folders.items()})
    disk.remove_folders(old / below for below in change.folders)
