"""Shows the failures of checks at their lines, in every client: `textDocument/publishDiagnostics` (LSP 3.17).

A failure belongs to the line it names. It moves with that line, and goes when the line is changed or removed, when a check that
covers its own is run again, and with its session.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from outrider.agent.services import Services
from outrider.lsp.editor import ClientEditor
from outrider.ports.events import LoggedEvent
from outrider.ports.text import Place, one_line
from outrider.tools.diagnostics import OWN_SOURCE
from outrider.tools.run_command.checks import covers
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.paths import Located
from outrider.workspace.text.lines import Encoding, Lines, split_lines, without_end
from outrider_protocol import logged

_SEVERITIES: Final[Mapping[str, int]] = {"error": 1, "warning": 2}
"""LSP 3.17, "DiagnosticSeverity"."""
_MOST: Final = 1_000
"""Failures that are shown at once."""
_FARTHEST: Final = 1_000
"""Lines that one may have moved."""
_LONGEST_CODE: Final = 60

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Failure:
    """A failure that is shown."""

    session_id: str
    command: str
    """The check."""
    path: str
    line: int
    """Where it is now, from 1."""
    column: int | None
    message: str
    severity: str
    text: str | None = None
    """The line that it names; None where nobody has looked yet."""


class CheckFailures:
    """The failures that the client shows."""

    def __init__(self, editor: ClientEditor, services: Services) -> None:
        """Begin with none."""
        self._editor = editor
        self._services = services
        self._failures: list[_Failure] = []
        self._shown: dict[str, list[dict[str, Any]]] = {}
        """By URI, what the client was sent."""
        self._uris: dict[str, str] = {}
        """By path, the URI under which it is shown."""
        self._to_look_at: set[str] = set()
        self._looking: asyncio.Task[None] | None = None
        self._is_closed = False
        services.workspace.documents.subscribe(self._on_document)

    def on_event(self, event: LoggedEvent) -> None:
        """Take note of what an event says of checks and files."""
        match event.type:
            case "tool.finished" if (ran := event.data.get("ran")) is not None:
                self._ran(event.session_id, ran)
            case "edit.applied" | "edit.merged" | "workspace.changed" if self._failures:
                self._look_at({event.data["path"]})
            case "workspace.touched" if self._failures:
                self._look_at({one["path"] for one in event.data["files"]})
            case "session.closed":
                self._keep([one for one in self._failures if one.session_id != event.session_id])
            case _:
                pass

    async def close(self) -> None:
        """Look at nothing more."""
        self._is_closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _ran(self, session_id: str, ran: logged.Ran) -> None:
        """A check was run: what it covers is known anew."""
        command = ran["command"]
        program = command.split()[:1]
        kept = [
            one
            for one in self._failures
            if not (
                one.command == command
                or covers(command, one.command)
                or (program == one.command.split()[:1] and covers(command, " ".join([*program, one.path])))
            )
        ]
        new = [
            _Failure(
                session_id,
                command,
                one["path"],
                one["line"],
                one.get("column"),
                one["message"],
                one["severity"],
            )
            for one in ran.get("failures", ())
        ]
        self._keep([*kept, *new][-_MOST:])

    def _keep(self, failures: list[_Failure]) -> None:
        paths = {one.path for one in [*self._failures, *failures]}
        self._failures = failures
        self._look_at(paths)

    def _on_document(self, uri: str) -> None:
        if self._failures:
            self._look_at({self._services.workspace.folders.display_of(uri)})

    def _look_at(self, paths: set[str]) -> None:
        self._to_look_at |= paths & {*self._uris, *(one.path for one in self._failures)}
        if self._to_look_at and not self._is_closed and (self._looking is None or self._looking.done()):
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        """Find where the failures of some files are now, and tell the client where that has changed."""
        while self._to_look_at:
            paths, self._to_look_at = sorted(self._to_look_at), set()
            for path in paths:
                try:
                    await self._show(path)
                except Exception:  # what is wrong with one file must not hide the others
                    log.exception("the failures in %s cannot be shown", path)

    async def _show(self, path: str) -> None:
        workspace = self._services.workspace
        located = await workspace.folders.locate(path)
        here = [one for one in self._failures if one.path == path]
        if not isinstance(located, Located):
            return
        read = await workspace.texts.read(located) if here else None
        document = await workspace.overlay.document_of(located)
        if read is not None and not isinstance(read, ReadProblem):
            lines = [without_end(line) for line in split_lines(read.text)]
            gone = [one for one in here if not _follow(one, lines)]
            shown = _diagnostics(
                [one for one in here if one not in gone], read.text, lines, workspace.documents.encoding
            )
        else:
            gone, shown = here, []
        self._failures = [one for one in self._failures if one not in gone]
        uri = located.uri if document is None else document.uri
        before = self._uris.pop(path, uri)
        if before != uri:
            self._send(before, [])
        if shown:
            self._uris[path] = uri
        self._send(uri, shown)

    def _send(self, uri: str, diagnostics: list[dict[str, Any]]) -> None:
        if self._shown.get(uri, []) == diagnostics:
            return
        self._shown[uri] = diagnostics
        if not diagnostics:
            del self._shown[uri]
        self._editor.publish_diagnostics(uri, diagnostics)


def _follow(failure: _Failure, lines: Sequence[str]) -> bool:
    """Find the line of a failure; False where it is gone."""
    if failure.text is None:
        failure.line = max(1, min(failure.line, len(lines)))
        failure.text = lines[failure.line - 1] if lines else ""
        return True
    for far in range(_FARTHEST):
        for number in {failure.line - far, failure.line + far}:
            if 0 < number <= len(lines) and lines[number - 1] == failure.text:
                failure.line = number
                return True
        if failure.line - far < 1 and failure.line + far > len(lines):
            return False
    return False


def _diagnostics(
    failures: Sequence[_Failure], text: str, lines: Sequence[str], encoding: Encoding
) -> list[dict[str, Any]]:
    """The failures of a file as LSP writes them."""
    known = Lines(text)
    starts = [0]
    for line in split_lines(text):
        starts.append(starts[-1] + len(line))
    found: list[dict[str, Any]] = []
    for one in sorted(failures, key=lambda each: (each.line, each.message)):
        content = lines[one.line - 1] if lines else ""
        begin, end = _span(content, one.column)
        start = starts[one.line - 1] if lines else 0
        places = (known.place_of(start + begin, encoding), known.place_of(start + end, encoding))
        found.append(
            {
                "range": {"start": _position(places[0]), "end": _position(places[1])},
                "severity": _SEVERITIES[one.severity],
                "source": OWN_SOURCE,
                "code": _shortened(one.command),
                "message": one.message,
            }
        )
    return found


def _span(content: str, column: int | None) -> tuple[int, int]:
    """The characters of a line that are marked: from the column on, else all but the space around them."""
    end = len(content.rstrip())
    begin = len(content) - len(content.lstrip())
    if column is not None and begin <= column - 1 < end:
        begin = column - 1
    return min(begin, end), end


def _position(place: Place) -> dict[str, int]:
    return {"line": place.line, "character": place.character}


def _shortened(command: str) -> str:
    shown = one_line(command)
    return shown if len(shown) <= _LONGEST_CODE else f"{shown[: _LONGEST_CODE - 1]}…"
