"""The model that answered the loop: it waits for its time, and says what it said."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast

from pydantic import TypeAdapter
from pydantic.alias_generators import to_snake

from outrider.agent.state.state import SessionState
from outrider.models.catalog import ModelProblem
from outrider.ports import model
from outrider.ports.model import ModelItem, ModelRequest, ModelResponse, TextDelta, Tokens
from outrider.ports.routing import Need, Routing
from outrider.replay.tape import LoggedEvent, Recorded

_T = TypeVar("_T")
_AGAIN: Final[Mapping[str, type[Any]]] = {
    "model.retried": model.Retried, "model.fellBack": model.FellBack,
    "model.switched": model.Switched, "model.limited": model.Limited,
}  # fmt: skip


class RecordedModel(Recorded):
    """Answers with what the models of the log answered, and opens as they did."""

    vision = False
    """No image is looked at any more."""
    retry_in = None
    """It makes each request once."""

    async def open(self, reference: str, state: SessionState) -> "RecordedModel | ModelProblem":
        """This model, unless it could not be had."""
        await self._tape.reached(self._tape.next)
        ahead = self._tape.first_ahead("model.requested", "turn.finished")
        is_absent = ahead is not None and ahead.data.get("reason") == "model_unavailable"
        return ModelProblem(ahead.data["summary"]) if ahead is not None and is_absent else self

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
        return self._of_request("temperature")

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of its answer."""
        return self._of_request("maxTokens")

    @property
    def tool_format(self) -> str | None:
        """How tools are written into its text."""
        return self._of_request("toolFormat")

    @property
    def takes_reminders(self) -> bool:
        """Whether it was reminded at this point."""
        phase = self._tape.first_ahead("turn.phase")
        return phase is not None and phase.data["reason"] == model.REMINDER

    @property
    def edit_format(self) -> Any:
        """The tools for edits that suit it."""
        return self._of_request("editFormat")

    def _of_request(self, key: str, otherwise: Any = None) -> Any:
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
                yield TextDelta(event.data["text"])
            if event.type in _AGAIN or event.data.get("reason") == model.READ_ANEW:
                await tape.reached(withdrawn or event)
                yield _again(event)
                withdrawn = None
        if settled is None:
            await tape.reached(None)
            return
        if reasoning := settled.data.get("reasoning"):
            yield model.ReasoningDelta(reasoning)
        if (text := settled.data.get("text")) and not withdrawn:
            yield TextDelta(text)
        if settled.data.get("finishReason") == "cancelled":
            if not tape.is_cancelled:
                raise asyncio.CancelledError  # it was the time of this request that ran out: see `RecordedClock`
            await tape.reached(None)
        await tape.reached(settled)
        kind = model.ModelFailure if settled.type == "model.failed" else ModelResponse
        yield _made(kind, settled.data, tokens=_tokens(settled.data))


def _again(event: LoggedEvent) -> ModelItem:
    if event.type == "model.reset":
        return model.ReadAnew()
    from_ = {"model": event.data["from"]} if "from" in event.data else {}
    return _made(_AGAIN[event.type], event.data, tokens=_tokens(event.data), **from_)


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
