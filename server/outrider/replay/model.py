"""The model that answered the loop: it waits for its time, and says what it said."""

from collections.abc import AsyncGenerator, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter
from pydantic.alias_generators import to_snake

from outrider.agent.state.state import SessionState
from outrider.models.catalog import ModelProblem
from outrider.ports.model import (
    READ_ANEW,
    FellBack,
    Limited,
    Model,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    ReadAnew,
    ReasoningDelta,
    Retried,
    Switched,
    TextDelta,
    Tokens,
)  # fmt: skip
from outrider.ports.routing import Need, Routing
from outrider.replay.ports import RecordedClock
from outrider.replay.tape import LoggedEvent, Tape

_T = TypeVar("_T")
_AGAIN: Mapping[str, type[Retried | FellBack | Switched | Limited]] = {
    "model.retried": Retried,
    "model.fellBack": FellBack,
    "model.switched": Switched,
    "model.limited": Limited,
}


class RecordedModel:
    """Answers with what the models of the log answered, and opens as they did."""

    vision = False
    """No image is looked at any more."""
    retry_in = None
    """It makes each request once."""

    def __init__(self, tape: Tape, clock: RecordedClock) -> None:
        self._tape = tape
        self._clock = clock

    async def open(self, reference: str, state: SessionState) -> Model | ModelProblem:
        """This model, unless it could not be had."""
        await self._tape.reached(self._tape.next)
        ahead = self._tape.first_ahead("model.requested", "turn.finished")
        if ahead is not None and ahead.data.get("reason") == "model_unavailable":
            return ModelProblem(ahead.data["summary"])
        return self

    async def route(self, need: Need) -> Routing | None:
        """The choice that was made, where there was one."""
        ahead = self._tape.first_ahead("model.routed", "model.requested", "turn.finished")
        if ahead is None or ahead.type != "model.routed":
            return None
        data, candidates = ahead.data, [{"tier": None} | _snake(one) for one in ahead.data["candidates"]]
        data = {"tier": None} | data | {"models": (data["model"], *data["others"]), "candidates": candidates}
        return _made(Routing, data)

    @property
    def name(self) -> str:
        """The model of the next request, like all that follows."""
        return self._of_request("model", "")

    @property
    def context_window(self) -> int:
        """Its window."""
        kinds = ("model.requested", "context.", "budget.")
        found = (one.data.get("contextWindow") for one in self._tape.ahead() if one.type.startswith(kinds))
        return next(filter(None, found), 128_000)

    @property
    def temperature(self) -> float | None:
        """Its temperature."""
        return self._of_request("temperature", None)

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of its answer."""
        return self._of_request("maxTokens", None)

    @property
    def tool_format(self) -> str | None:
        """How tools are written into its text."""
        return self._of_request("toolFormat", None)

    @property
    def edit_format(self) -> Any:
        """The tools for edits that suit it."""
        return self._of_request("editFormat", None)

    def _of_request(self, key: str, otherwise: Any) -> Any:
        requested = self._tape.first_ahead("model.requested")
        return requested.data.get(key, otherwise) if requested else otherwise

    def broken_off(self, request: ModelRequest, characters: int) -> Tokens | None:
        """What the log says that it used."""
        responded = self._tape.first_ahead("model.responded")
        return _tokens(responded.data) if responded else None

    def retry_now(self) -> bool:
        """False: nothing waits for that."""
        return False

    def left_over(self) -> int:
        """What the script had left."""
        closed = self._tape.first_ahead("session.closed")
        return closed.data.get("leftOver", 0) if closed else 0

    async def close(self) -> None:
        """It holds nothing."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Give the recorded answer to the latest request."""
        tape = self._tape
        requested = next((one for one in tape.behind() if one.type == "model.requested"), None)
        if requested is None or tape.is_over:
            await tape.reached(None)
            return
        message_id = requested.data["messageId"]
        settled = tape.first_ahead("model.responded", "model.failed", messageId=message_id)
        withdrawn: LoggedEvent | None = None
        for event in list(tape.ahead()):
            if event is settled or tape.is_over:
                break
            if event.data.get("messageId") != message_id:
                continue
            if event.type == "model.reset":
                withdrawn = event
            if withdrawn is not None and (event is not withdrawn or event.data["reason"] == READ_ANEW):
                yield TextDelta(withdrawn.data["text"])
            if event.type in _AGAIN or event.data.get("reason") == READ_ANEW:
                await tape.reached(withdrawn or event)
                yield _again(event)
                withdrawn = None
        if settled is None:
            await tape.reached(None)
            return
        shown = withdrawn.data["text"] if withdrawn else settled.data.get("text", "")
        for delta in (ReasoningDelta(settled.data.get("reasoning") or ""), TextDelta(shown)):
            if delta.text or withdrawn:
                yield delta
        if settled.data.get("finishReason") == "cancelled":
            ended = tape.first_ahead("turn.finished")
            if ended is not None and ended.data["outcome"] != "cancelled":
                self._clock.expire()  # nobody cancelled the turn: it was the time of this request that ran out
            await tape.reached(None)
        await tape.reached(settled)
        yield _answer(settled)


def _again(event: LoggedEvent) -> ModelItem:
    if event.type == "model.reset":
        return ReadAnew()
    from_ = {"model": event.data["from"]} if "from" in event.data else {}
    return _made(_AGAIN[event.type], event.data, tokens=_tokens(event.data), **from_)


def _answer(settled: LoggedEvent) -> ModelResponse | ModelFailure:
    kind = ModelFailure if settled.type == "model.failed" else ModelResponse
    return _made(kind, settled.data, tokens=_tokens(settled.data))


def _tokens(data: Mapping[str, Any]) -> Tokens | None:
    counted = data.get("usage")
    return counted and _made(Tokens, {key.removesuffix("Tokens"): value for key, value in counted.items()})


def _made(kind: type[_T], data: Mapping[str, Any], **more: Any) -> _T:
    """A value of a port, of the data of its event: fields by their names on the wire, and what else is given."""
    return _adapter(kind).validate_python(cast("dict[str, Any]", _snake(dict(data))) | more)


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _snake(value: Any) -> Any:
    if isinstance(value, dict):
        return {to_snake(key): _snake(one) for key, one in cast("dict[str, Any]", value).items()}
    return [_snake(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
