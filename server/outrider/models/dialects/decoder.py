"""What the decoders of all dialects have in common: payloads in, model items out.

Strict on meaning, lenient on form. A payload never raises; a stream that breaks off is never taken for a whole
answer.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, cast

from outrider.models.answer import Answer, Told
from outrider.models.http.failures import unreadable
from outrider.models.http.payload import encoded, parsed, string
from outrider.ports.ids import Ids
from outrider.ports.model import ModelFailure, ModelItem, Tokens

END_OF_STREAM = b"[DONE]"
"""The data of the last event of some dialects; not every server sends it."""
_SIGN_OF_LIFE = re.compile(
    rb"\W*(?:openrouter\W+)?(?:ping|pong|keep\W?alive|heart\W?beat|processing|waiting|no-?op)(?:\W|[\dTZ])*",
    re.IGNORECASE,
)
"""What keeps a connection open, with the time perhaps, from servers that put it where the data belong. Whatever else is no JSON
is an error, or a piece of the answer that is torn."""


class Decoder(ABC):
    """Decodes one stream. After a `ModelFailure` it must not be fed any more."""

    def __init__(self, ids: Ids, *, source: str, model: str) -> None:
        """Make a decoder.

        Args:
            ids: Names calls that came without an id.
            source: Who answers, for messages.
            model: The model's full name, which gets back what has to go back to it.
        """
        self._source = source
        self._answer = Answer(ids, model)
        self._tokens: Tokens | None = None
        self._told = Told()
        self._fed = False
        self._done = False

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that nothing is lost if the connection breaks now."""

    @property
    def may_end_here(self) -> bool:
        """Whether the answer counts as complete if the stream ends by itself now; where it breaks off, `is_whole` does."""
        return self.is_whole

    @abstractmethod
    def _take(self, chunk: dict[str, Any], items: list[ModelItem]) -> None:
        """Take a payload that is an object; a failure is the last item that is added."""

    @abstractmethod
    def _end(self, items: list[ModelItem]) -> None:
        """Add what was held back, then the response or the failure; the answer is whole."""

    @property
    def is_over(self) -> bool:
        """Whether the provider said that nothing more comes."""
        return self._done

    @property
    def told(self) -> Told:
        """What the provider said in its own words."""
        return self._told

    @property
    def tokens(self) -> Tokens | None:
        """What the provider counted so far; None where it has said nothing."""
        return self._tokens

    def feed(self, payload: bytes) -> list[ModelItem]:
        """Take the data of one event, or one line; gives the deltas it holds, or a failure as the last item."""
        items: list[ModelItem] = []
        try:
            chunk = parsed(payload)
        except ValueError:
            self._take_unreadable(payload.strip(), items)
            return items
        self._fed = True
        if isinstance(chunk, dict):
            self._take(cast("dict[str, Any]", chunk), items)
        elif isinstance(chunk, list):
            # The whole stream as one list, from a server that does not stream.
            for one in cast("list[Any]", chunk):
                if isinstance(one, dict) and not _failed(items):
                    self._take(cast("dict[str, Any]", one), items)
        return items

    def finish(self) -> list[ModelItem]:
        """Say that the stream ended; gives what was held back, then the response or the failure."""
        items: list[ModelItem] = []
        if self.may_end_here:
            self._end(items)
        else:
            what = "ended in the middle of an answer" if self._fed else "ended before an answer came"
            items.append(ModelFailure("cut_stream", f"the stream of {self._source} {what}"))
        return items

    def _take_unreadable(self, payload: bytes, items: list[ModelItem]) -> None:
        if payload == END_OF_STREAM:
            self._done = True
            return
        lines = payload.splitlines()
        if len(lines) > 1:
            # Servers that forget the empty line between events.
            for line in lines:
                if not _failed(items):
                    items += self.feed(line)
        elif payload and not _SIGN_OF_LIFE.fullmatch(payload):
            items.append(unreadable(payload, source=self._source))


def _failed(items: list[ModelItem]) -> bool:
    return bool(items) and isinstance(items[-1], ModelFailure)


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
