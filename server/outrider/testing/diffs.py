"""Shows how two things differ, in lines: `-` is missing, `+` is there and should not be, `~` is different."""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from outrider.testing.scenario_folder import holds

Object = dict[str, Any]

_SHOWN: Final = 300
_SHOWN_OF_A_ROW: Final = 120
_COUNTED: Final = frozenset({"seq", "ts"})
_ID: Final = re.compile(r"\b(ses|turn|msg|open|call|chg|pend)_\d+\b")
_AROUND: Final = 3
"""Lines that agree which are shown before and after those that do not."""


def text_diff(expected: str, actual: str) -> str:
    """The lines in which two texts differ, with those around them."""
    lines = difflib.unified_diff(
        _lines(expected), _lines(actual), "expected", "actual", n=_AROUND, lineterm=""
    )
    return "\n".join(lines)


def event_diff(expected: Sequence[Object], actual: Sequence[Object]) -> str:
    """Two lists of events beside each other.

    Args:
        expected: Objects with `type` and `data`, of which `data` is what the event's data must hold.
        actual: Events as they are logged.
    """
    wanted = [_Row("", event["type"], event["data"]) for event in expected]
    came = [_Row(str(event["seq"]), event["type"], event["data"]) for event in actual]
    return _aligned(wanted, came, differing)


def line_diff(expected: str, actual: str) -> str:
    """Two transcripts beside each other, line by line."""

    def both_ways(wanted: Object, came: Object) -> list[str]:
        return [*differing(wanted, came), *(f"{place}: not expected" for place in _unexpected(wanted, came))]

    rows = _rows(expected), _rows(actual)
    if [row.label for row in rows[0]] != [row.label for row in rows[1]]:
        # One line more or less counts all later ones anew; what is counted says nothing then.
        rows = _uncounted(rows[0]), _uncounted(rows[1])
    return _aligned(*rows, both_ways)


@dataclass(frozen=True, slots=True)
class _Row:
    number: str
    label: str
    """What rows are aligned by."""
    data: Object


def _rows(text: str) -> list[_Row]:
    rows: list[_Row] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            data: Any = json.loads(line)
        except ValueError:
            data = {"line": line}
        row = cast("Object", data if isinstance(data, dict) else {"line": line})
        event = cast("Object", row.get("event") or {})
        label = event.get("type") or f"{row.get('method', 'line')} to the {row.get('to', 'file')}"
        rows.append(_Row(str(number), label, event or row))
    return rows


def _uncounted(rows: Sequence[_Row]) -> list[_Row]:
    """The rows without their place in the log, their time, and the numbers of ids."""
    return [
        replace(
            row, data={name: _unnumbered(value) for name, value in row.data.items() if name not in _COUNTED}
        )
        for row in rows
    ]


def _unnumbered(value: Any) -> Any:
    match value:
        case str():
            return _ID.sub(r"\1_…", value)
        case dict():
            return {name: _unnumbered(item) for name, item in cast("Object", value).items()}
        case list():
            return [_unnumbered(item) for item in cast("list[Any]", value)]
        case _:
            return value


def _aligned(
    expected: Sequence[_Row], actual: Sequence[_Row], compare: Callable[[Object, Object], list[str]]
) -> str:
    shown: list[tuple[bool, str]] = []
    labels = [row.label for row in expected], [row.label for row in actual]
    matcher = difflib.SequenceMatcher(None, *labels, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind != "equal":
            shown += [(True, f"-     missing: {row.label}{_short(row.data)}") for row in expected[first:last]]
            shown += [
                (True, f"+ {row.number:>3} extra: {row.label}{_short(row.data)}") for row in actual[start:end]
            ]
            continue
        for wanted, came in zip(expected[first:last], actual[start:end], strict=True):
            differences = compare(wanted.data, came.data)
            shown.append((bool(differences), f"{'~' if differences else ' '} {came.number:>3} {came.label}"))
            shown += [(True, f"        {line}") for line in differences]
    return "\n".join(_near(shown))


def _unexpected(wanted: Object, came: Object, path: str = "") -> Iterator[str]:
    for name, value in came.items():
        place = f"{path}.{name}" if path else name
        if name not in wanted:
            yield f"{place} = {_json(value)}"
        elif isinstance(value, dict) and isinstance(wanted[name], dict):
            yield from _unexpected(wanted[name], cast("Object", value), place)


def differing(expected: Mapping[str, Any], actual: Mapping[str, Any], path: str = "") -> list[str]:
    """Each key of `expected` that is different in `actual`, with both values."""
    lines: list[str] = []
    for name, wanted in expected.items():
        place = f"{path}.{name}" if path else name
        if name not in actual:
            lines.append(f"{place}: expected {_json(wanted)}, and there is no such key")
        elif isinstance(wanted, dict) and isinstance(actual[name], dict):
            lines += differing(cast("Object", wanted), cast("Object", actual[name]), place)
        elif not holds(wanted, actual[name]):
            lines.append(f"{place}: expected {_json(wanted)}")
            lines.append(f"{' ' * len(place)}  got      {_json(actual[name])}")
    return lines


def _near(lines: Sequence[tuple[bool, str]]) -> list[str]:
    """The lines that say something and those around them; a mark for what is left out."""
    near = {
        other
        for number, (differs, _) in enumerate(lines)
        if differs
        for other in range(number - _AROUND, number + _AROUND + 1)
    }
    shown: list[str] = []
    for number, (_, line) in enumerate(lines):
        if number in near:
            shown.append(line)
        elif not shown or shown[-1] != "  …":
            shown.append("  …")
    return shown


def _lines(text: str) -> list[str]:
    # Line ends are part of what is compared.
    lines = text.replace("\r\n", "␍\n").replace("\r", "␍").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "  (no line end)"]


def _short(data: Mapping[str, Any]) -> str:
    return f" {_json(data, _SHOWN_OF_A_ROW)}" if data else ""


def _json(value: Any, most: int = _SHOWN) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[:most] + "…"


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that did not hold."""

    where: str
    """The step, the answer or the expectation, as a place in the scenario file."""
    expected: str
    actual: str
    diff: str = ""
    """How the two differ, line by line, where that says more than the two do."""

    def __str__(self) -> str:
        """The failure in lines: `where`, and below it the difference, or both sides."""
        said = self.diff or f"expected: {self.expected}\nactual:   {self.actual}"
        return f"{self.where}\n" + "\n".join(f"  {line}" for line in visible(said).split("\n"))


def counted(count: int, noun: str) -> str:
    """`1 answer`, `2 answers`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_NAMES: Final[Mapping[int, str]] = {
    **{code: chr(0x2400 + code) for code in range(32) if code != 10},
    127: "␡",
    **{code: f"\\x{code:02x}" for code in range(128, 160)},
    **{
        code: f"\\u{code:04x}"
        for code in (0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
    },
}


def visible(text: str) -> str:
    """`text` with control characters, and those that turn the writing around, made visible; line ends stay."""
    return text.translate(_NAMES).encode("utf-8", "backslashreplace").decode("utf-8")
