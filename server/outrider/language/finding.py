"""Which language servers there are for a folder: looked for in the project first, then in PATH, then where the settings say.

Looking costs a few calls of the system for each row, in a thread, and starts nothing.
"""

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from outrider.language.table import LANGUAGES, TABLE, Row
from outrider_protocol.settings import ALL_SERVERS, LanguageServerSettings

_OF_PROJECT: Final = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Where a project keeps its own programs, in its folder."""


@dataclass(frozen=True, slots=True)
class Program:
    """A server that can be started."""

    row: Row
    argv: tuple[str, ...]
    rank: tuple[int, int]
    """How near it was found, and its place in the table: the smaller, the better."""


def rows_of(settings: Mapping[str, LanguageServerSettings]) -> list[Row]:
    """The table with what the settings change in it, and the servers that they add."""
    otherwise = settings.get(ALL_SERVERS)
    is_on = True if otherwise is None else otherwise.enabled
    rows = [_changed(row, settings.get(row.name), is_on=is_on) for row in TABLE]
    known = {row.name for row in TABLE}
    for name, given in settings.items():
        if name not in known and name != ALL_SERVERS and given.command:
            own = Row(name, (), tuple(given.languages), tuple(given.root_markers), "")
            rows.append(_changed(own, given, is_on=True))
    return rows


def _changed(row: Row, given: LanguageServerSettings | None, *, is_on: bool) -> Row:
    if given is None:
        return replace(row, enabled=is_on)
    return replace(
        row,
        languages=tuple(given.languages) or row.languages,
        markers=tuple(given.root_markers) or row.markers,
        settings={**row.settings, **given.settings},
        options={**row.options, **given.settings},
        enabled=given.enabled,
    )


def programs_in(
    folder: Path, rows: Sequence[Row], settings: Mapping[str, LanguageServerSettings], search_path: str
) -> list[Program]:
    """The servers that can be started for a folder, the best first. Blocks, for some looks at the disk.

    Args:
        folder: The workspace folder.
        rows: What `rows_of` gave.
        settings: The setting `languageServers`.
        search_path: The `PATH`.
    """
    found: list[Program] = []
    own = [str(folder / place) for place in _OF_PROJECT]
    for number, row in enumerate(rows):
        if not row.enabled:
            continue
        given = settings.get(row.name)
        ways = [(row.command, place) for place in [*own, search_path]] if row.command else []
        if given is not None and given.command:
            ways.append((tuple(given.command), os.pathsep.join([*own, search_path])))
        for rank, (command, places) in enumerate(ways):
            program = shutil.which(os.path.expanduser(command[0]), path=places)  # noqa: PTH111 - it may be no path
            if program is not None:
                found.append(Program(row, (os.path.abspath(program), *command[1:]), (rank, number)))  # noqa: PTH100 - a link stays one
                break
    return sorted(found, key=lambda one: one.rank)


def chosen(programs: Sequence[Program], language: str) -> list[Program]:
    """The servers that serve a language: the best one of each role."""
    fitting = [one for one in programs if language in one.row.languages]
    by_role = {one.row.role: one for one in reversed(fitting)}
    return [by_role[role] for role in ("types", "lint") if role in by_role]


def languages_of(folder: Path, extensions: Collection[str], rows: Sequence[Row]) -> set[str]:
    """The languages that a folder has, by the endings of its files and by the markers of the rows. Blocks."""
    found = {LANGUAGES[ending] for ending in extensions if ending in LANGUAGES}
    for row in rows:
        is_new = row.role == "types" and not found.intersection(row.languages)
        if is_new and any((folder / marker).exists() for marker in row.markers):
            found.update(row.languages[:1])
    return found
