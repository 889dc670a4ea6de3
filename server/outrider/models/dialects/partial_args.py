"""The arguments of a call of Gemini that come piece by piece: each piece is a value, and the path where it stands.

    {"jsonPath": "$.files[0].name", "stringValue": "a.", "willContinue": true}

Outrider does not ask for them; a gateway may. What cannot be put together stays no JSON, so that the call is not run.

Source: "Streaming function call arguments" of the Vertex AI documentation.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from outrider.models.payload import encoded, string

_STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,9})\]|\['([^']*)'\]|\["([^"]*)"\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")
PIECE_KEYS = ("jsonPath", *_VALUES)
"""What is read of a piece."""
_NOWHERE: Any = object()


class PartialArgs:
    """The arguments of one call."""

    def __init__(self, begun: Mapping[str, Any]) -> None:
        """Begin with the arguments that came whole."""
        self._whole = dict(begun)
        self._broken = False

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take a piece, whose keys are written `likeThis`."""
        steps = _steps(string(piece.get("jsonPath")))
        name = next((name for name in _VALUES if name in piece), None)
        value = None if name is None or name == "nullValue" else piece[name]
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not steps or name is None or not _put(self._whole, steps, value):
            self._broken = True

    def text(self, *, ended: bool) -> str:
        """The arguments as JSON; what is not whole, or not `ended`, is cut off."""
        text = encoded(self._whole).decode()
        return text if ended and not self._broken else text[:-1]


def _steps(path: str) -> list[str | int]:
    found = list(_STEP.finditer(path, 1))
    if not path.startswith("$") or "".join(step[0] for step in found) != path[1:]:
        return []
    return [
        int(step[2]) if step[2] else next(part for part in step.groups() if part)
        for step in found
        if any(step.groups())
    ]


def _put(place: Any, steps: Sequence[str | int], value: object) -> bool:
    """Put `value` where `steps` lead, behind the text that is there; False if they lead nowhere."""
    *way, last = steps
    for step, following in zip(way, steps[1:], strict=True):
        place = _at(place, step, list[Any]() if isinstance(following, int) else dict[str, Any]())
    before = _at(place, last, "" if isinstance(value, str) else value)
    if before is _NOWHERE or (isinstance(value, str) and not isinstance(before, str)):
        return False
    place[last] = before + value if isinstance(value, str) else value
    return True


def _at(place: Any, step: str | int, otherwise: Any) -> Any:
    """What stands in `place` at `step`, which is `otherwise` if nothing stood there yet."""
    if isinstance(place, dict) and isinstance(step, str):
        return cast("dict[str, Any]", place).setdefault(step, otherwise)
    if isinstance(place, list) and isinstance(step, int):
        items = cast("list[Any]", place)
        if step == len(items):
            items.append(otherwise)
        return items[step] if step < len(items) else _NOWHERE
    return _NOWHERE
