"""Shows how two things differ, in lines: `-` is missing, `+` is there and should not be, `~` is different."""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from outrider.testing.places import holds

Object = dict[str, Any]

_SHOWN: Final = 300
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
    shown: list[tuple[bool, str]] = []
    kinds = [event["type"] for event in expected], [event["type"] for event in actual]
    matcher = difflib.SequenceMatcher(None, *kinds, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            for wanted, event in zip(expected[first:last], actual[start:end], strict=True):
                differences = differing(wanted["data"], event["data"])
                if differences:
                    shown.append((True, f"~ {event['seq']:>3} {event['type']}"))
                    shown += [(True, f"        {line}") for line in differences]
                else:
                    shown.append((False, f"  {event['seq']:>3} {event['type']}"))
            continue
        shown += [
            (True, f"-     {wanted['type']}{_short(wanted['data'])}   missing")
            for wanted in expected[first:last]
        ]
        shown += [
            (True, f"+ {event['seq']:>3} {event['type']}{_short(event['data'])}   extra")
            for event in actual[start:end]
        ]
    return "\n".join(_near(shown))


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
    return f" {_json(data)}" if data else ""


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
