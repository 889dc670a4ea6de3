"""Which language servers there are for a folder: looked for in the project first, then in PATH, then where the settings say.

Looking costs a few calls of the system for each row, in a thread, and starts nothing.
"""

import json
import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

from outrider.language.table import LANGUAGES, TABLE, Row
from outrider_protocol.settings import ALL_SERVERS, LanguageServerSettings

_OF_PROJECT: Final = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Where a project keeps its own programs, in its folder."""
_LARGEST_MANIFEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Program:
    """A server that can be started."""

    row: Row
    argv: tuple[str, ...]
    rank: tuple[int, int]
    """How near it was found, and its place in the table: the smaller, the better."""

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """Which one of a folder it is, whatever is set about it."""
        return self.row.name, self.argv


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
    everywhere = [*own, *search_path.split(os.pathsep)]
    interpreter = next(filter(os.path.exists, (f"{place}/python" for place in own[:2])), None)
    for number, row in enumerate(rows):
        if not row.enabled:
            continue
        given = settings.get(row.name)
        ways = [
            (min(rank, len(own)), row.command, place) for rank, place in enumerate(everywhere) if row.command
        ]
        if given is not None and given.command:
            ways.append((len(own) + 1, tuple(given.command), os.pathsep.join(everywhere)))
        row = _for_project(row, interpreter)  # noqa: PLW2901 - the same one
        seen = set[str]()
        for rank, command, places in ways:
            program = shutil.which(os.path.expanduser(command[0]), path=places)  # noqa: PTH111 - it may be no path
            if program is None or (real := os.path.realpath(program)) in seen:
                continue
            seen.add(real)
            # What the user names is theirs to know.
            if command != row.command or _can_serve(row, Path(program)):
                argv = (os.path.abspath(program), *command[1:])  # noqa: PTH100 - a link stays one
                found.append(Program(row, argv, (rank, number)))
    return sorted(found, key=lambda one: one.rank)


def _for_project(row: Row, interpreter: str | None) -> Row:
    """A row that says where the interpreter of the project is, unless the user said it."""
    if not row.interpreter or interpreter is None:
        return row
    section, _, key = row.interpreter.partition(".")
    said: Any = row.settings.get(section)
    known = cast("Mapping[str, Any]", said) if isinstance(said, Mapping) else dict[str, Any]()
    return replace(row, settings={**row.settings, section: {key: interpreter, **known}})


def _can_serve(row: Row, program: Path) -> bool:
    """Whether the version of a program can do what its row wants. One that does not tell is believed. Blocks."""
    if not row.since:
        return True
    text = _version(row.package, program)
    parts = [part for part in text.split(".")[: len(row.since)] if part.isdecimal()]
    return not parts or tuple(map(int, parts)) >= row.since[: len(parts)]


def _version(package: str, program: Path) -> str:
    """The version of the package that a program is of, by what lies around it; empty where that says nothing. Blocks."""
    real = Path(os.path.realpath(program))
    for folder in (program.parent.parent / package, *real.parents):
        manifest = _manifest(folder / "package.json")
        if manifest.get("name") == package:
            return str(manifest.get("version"))
    for place in dict.fromkeys((program, real)):
        named = (place.parent.parent / "lib").glob(f"python*/site-packages/{package}-*.dist-info")
        if (one := next(named, None)) is not None:
            return one.name.removeprefix(f"{package}-").removesuffix(".dist-info")
    return ""


def _manifest(file: Path) -> Mapping[str, Any]:
    """The content of a `package.json`; empty if it cannot be read."""
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_MANIFEST:
            return {}
        said: Any = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def chosen(programs: Sequence[Program], language: str, failed: Collection[object] = ()) -> list[Program]:
    """The servers that serve a language: the best one of each role, of those that did not fail for good where there is one.

    Args:
        programs: What `programs_in` gave.
        language: The language.
        failed: The keys of those that failed for good.
    """
    fitting = [one for one in programs if language in one.row.languages]
    fitting.sort(key=lambda one: one.key in failed)
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
