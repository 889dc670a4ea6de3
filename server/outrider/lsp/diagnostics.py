"""The answer to `outrider/diagnostics`: read as far as it has the shape, and no further."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from outrider.ports.editor import Reported, Severity
from outrider.ports.text import Place

MOST: Final = 10_000
"""Diagnostics of one answer that are read."""
MESSAGE_CHARACTERS: Final = 2000
NAME_CHARACTERS: Final = 100
"""Of a source and of a code."""

_SEVERITIES: Final[Mapping[Any, Severity]] = {1: "error", 2: "warning", 3: "information", 4: "hint"}
"""LSP 3.17, "DiagnosticSeverity"."""


def reported(result: Any) -> list[Reported] | None:
    """The diagnostics in a client's answer; None where it is none. What is wrong in a single one leaves that out."""
    documents = _at(result, "diagnostics")
    if not isinstance(documents, list):
        return None
    found: list[Reported] = []
    for one in _all(cast("list[Any]", documents)):
        found.append(one)
        if len(found) == MOST:
            break
    return found


def _all(documents: list[Any]) -> Iterator[Reported]:
    for document in documents:
        uri, items = _at(document, "uri"), _at(document, "items")
        if not isinstance(uri, str) or not isinstance(items, list):
            continue
        for item in cast("list[Any]", items):
            if (one := _one(uri, item)) is not None:
                yield one


def _one(uri: str, item: Any) -> Reported | None:
    message = _message(_at(item, "message"))
    line, character = _at(item, "range", "start", "line"), _at(item, "range", "start", "character")
    if message is None or not _is_place(line) or not _is_place(character):
        return None
    severity = _at(item, "severity")
    return Reported(
        uri,
        Place(line, character),
        # LSP 3.17, "Diagnostic": without a severity the client decides.
        _SEVERITIES.get(severity, "error") if isinstance(severity, int) else "error",
        message[:MESSAGE_CHARACTERS],
        _name(_at(item, "source")),
        _name(_at(item, "code")),
    )


def _message(value: Any) -> str | None:
    # LSP 3.18, "Diagnostic": a MarkupContent, where the client can do that.
    text = _at(value, "value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _is_place(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _name(value: Any) -> str:
    is_name = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value)[:NAME_CHARACTERS] if is_name else ""


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(key)
    return value
