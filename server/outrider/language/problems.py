"""Problems as language servers and editors report them: read as far as they have the shape, and compared."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from outrider.language.positions import place_of
from outrider.ports.editor import Encoding, Reported, Severity

MOST: Final = 10_000
"""Problems of one answer that are kept, errors first."""
MESSAGE_CHARACTERS: Final = 2000
NAME_CHARACTERS: Final = 100
"""Of a source and of a code."""

_SEVERITIES: Final[Mapping[Any, Severity]] = {1: "error", 2: "warning", 3: "information", 4: "hint"}
"""LSP 3.17, "DiagnosticSeverity"."""


RANK: Final[Mapping[Severity, int]] = {"error": 0, "warning": 1, "information": 2, "hint": 3}
_CATEGORIES: Final[Mapping[Any, Severity]] = {
    "error": "error",
    "warning": "warning",
    "suggestion": "hint",
    "message": "information",
}
"""What tsserver calls a severity."""


def of_workspace(documents: Sequence[Any], encoding: Encoding) -> list[Reported]:
    """The problems in reports of documents. What is wrong in a single one leaves that out."""
    return list(islice(_all(documents, encoding), MOST))


def _all(documents: Sequence[Any], encoding: Encoding) -> Iterator[Reported]:
    for document in documents:
        uri, items = _at(document, "uri"), _at(document, "items")
        if not isinstance(uri, str) or not isinstance(items, list):
            continue
        for item in cast("list[Any]", items):
            if (one := _one(uri, item, encoding)) is not None:
                yield one


def of_document(uri: str, items: Sequence[Any], encoding: Encoding) -> list[Reported]:
    """The problems of one document, errors first where there are too many."""
    found = [one for item in items if (one := _one(uri, item, encoding)) is not None]
    if len(found) > MOST:
        found.sort(key=lambda one: RANK[one.severity])
    return found[:MOST]


def of_tsserver(result: Any) -> list[Any] | None:
    """The problems in the answer of a request that was handed on to tsserver, as LSP writes them; None where it is none."""
    body = _at(result, "body")
    if _at(result, "success") is not True or not isinstance(body, list):
        return None
    return [
        {
            "range": {
                edge: {"line": _less(_at(one, edge, "line")), "character": _less(_at(one, edge, "offset"))}
                for edge in ("start", "end")
            },
            "severity": next(
                (n for n, name in _SEVERITIES.items() if name == _CATEGORIES.get(_at(one, "category"))), 1
            ),
            "message": _at(one, "text"),
            "source": "typescript",
            "code": _at(one, "code"),
        }
        for one in cast("list[Any]", body)
    ]


def difference(
    before: Mapping[str, Sequence[Reported]], after: Mapping[str, Sequence[Reported]], *, least: Severity
) -> tuple[list[Reported], list[Reported]]:
    """The problems that came and those that went, errors first.

    A problem that only moved to another line is the same one.

    Args:
        before: The problems of each document.
        after: Those of now.
        least: The least severity that counts.
    """
    introduced: list[Reported] = []
    fixed: list[Reported] = []
    for uri in before.keys() | after.keys():
        old = [one for one in before.get(uri, ()) if RANK[one.severity] <= RANK[least]]
        new = [one for one in after.get(uri, ()) if RANK[one.severity] <= RANK[least]]
        introduced += _without(new, old)
        fixed += _without(old, new)
    return sorted(introduced, key=_order), sorted(fixed, key=_order)


def _without(some: Sequence[Reported], others: Sequence[Reported]) -> Iterable[Reported]:
    """Those of `some` that are not among `others`: those that stand where another one stands go first."""
    places = {(_same(one), one.start.line) for one in others}
    left = Counter(map(_same, others))
    for one in sorted(some, key=lambda one: (_same(one), one.start.line) not in places):
        if left[_same(one)]:
            left[_same(one)] -= 1
        else:
            yield one


def _same(one: Reported) -> tuple[str, ...]:
    return one.severity, one.source, one.code, one.message


def _order(one: Reported) -> tuple[Any, ...]:
    return RANK[one.severity], one.uri, one.start.line, one.start.character


def _less(number: Any) -> Any:
    return number - 1 if isinstance(number, int) else number


def _one(uri: str, item: Any, encoding: Encoding) -> Reported | None:
    message = _message(_at(item, "message"))
    start = place_of(_at(item, "range", "start"))
    if message is None or start is None:
        return None
    severity = _at(item, "severity")
    return Reported(
        uri,
        start,
        # LSP 3.17, "Diagnostic": without a severity the client decides.
        _SEVERITIES.get(severity, "error") if isinstance(severity, int) else "error",
        message[:MESSAGE_CHARACTERS],
        _name(_at(item, "source")),
        _name(_at(item, "code")),
        encoding,
    )


def _message(value: Any) -> str | None:
    # LSP 3.18, "Diagnostic": a MarkupContent, where the client can do that.
    text = _at(value, "value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None


def _name(value: Any) -> str:
    is_name = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value)[:NAME_CHARACTERS] if is_name else ""


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(key)
    return value
