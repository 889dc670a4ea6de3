"""The model that answered the loop. It waits on the tape for its time, and says what it said."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from outrider.models.catalog import Catalog, ModelProblem
from outrider.ports.events import LoggedEvent
from outrider.ports.model import (
    READ_ANEW,
    FailureKind,
    FellBack,
    FinishReason,
    Latency,
    Model,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    ProviderData,
    ReadAnew,
    ReasoningDelta,
    Retried,
    Switched,
    TextDelta,
    Tokens,
    ToolCall,
)
from outrider.ports.routing import Candidate, Need, Routing
from outrider.replay.tape import Tape
from outrider.replay.world import RecordedClock
from outrider_protocol.settings import EditFormat, Tiers

_AGAIN = frozenset({"model.retried", "model.fellBack", "model.switched"})


class RecordedModel:
    """Answers with what the model answered then."""

    def __init__(self, tape: Tape, clock: RecordedClock) -> None:
        self._tape = tape
        self._clock = clock

    async def route(self, need: Need) -> Routing | None:
        """The choice that was made then, where there was one."""
        ahead = self._tape.first_ahead("model.routed", "model.requested", "turn.finished")
        if ahead is None or ahead.type != "model.routed":
            return None
        return _routing(ahead)

    @property
    def name(self) -> str:
        """The model of the next request."""
        return self._of_request("model", "")

    @property
    def context_window(self) -> int:
        """The window of the next request."""
        for event in self._tape.ahead():
            if (
                event.type.startswith(("model.requested", "context.", "budget."))
                and "contextWindow" in event.data
            ):
                return event.data["contextWindow"]
        return 128_000

    @property
    def temperature(self) -> float | None:
        """That of the next request."""
        return self._of_request("temperature", None)

    @property
    def max_tokens(self) -> int | None:
        """That of the next request."""
        return self._of_request("maxTokens", None)

    @property
    def tool_format(self) -> str | None:
        """That of the next request."""
        return self._of_request("toolFormat", None)

    @property
    def edit_format(self) -> EditFormat | None:
        """That of the next request."""
        return self._of_request("editFormat", None)

    @property
    def vision(self) -> bool:
        """False: nobody looks at anything any more."""
        return False

    def broken_off(self, request: ModelRequest, characters: int) -> Tokens | None:
        """What stands in the log for it."""
        responded = self._tape.first_ahead("model.responded")
        return _tokens(responded.data) if responded else None

    def left_over(self) -> int:
        """What the script had left then."""
        closed = self._tape.first_ahead("session.closed")
        return closed.data.get("leftOver", 0) if closed else 0

    async def close(self) -> None:
        """There is nothing to let go of."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Give the recorded answer to the latest request."""
        tape = self._tape
        await tape.hang_if_over()
        message_id = next(
            e.data["messageId"] for e in tape.behind(tape.position) if e.type == "model.requested"
        )
        settled = tape.first_ahead("model.responded", "model.failed", messageId=message_id)
        withdrawn: LoggedEvent | None = None
        for event in list(tape.ahead()):
            if event is settled:
                break
            if event.data.get("messageId") != message_id:
                continue
            withdrawn = event if event.type == "model.reset" else withdrawn
            if withdrawn is not None and withdrawn.data["reason"] == READ_ANEW:
                yield TextDelta(withdrawn.data["text"])
                await tape.fed_before(withdrawn)
                yield ReadAnew()
                withdrawn = None
            elif event.type in _AGAIN:
                if withdrawn is not None:
                    yield TextDelta(withdrawn.data["text"])
                await tape.fed_before(withdrawn or event)
                yield _again(event)
                withdrawn = None
        if settled is None:
            await tape.hang()
            return
        shown = withdrawn.data["text"] if withdrawn else settled.data.get("text", "")
        for delta in (ReasoningDelta(settled.data.get("reasoning") or ""), TextDelta(shown)):
            if delta.text or withdrawn:
                yield delta
        if settled.data.get("finishReason") == "cancelled":
            await self._never(settled)
            return
        await tape.fed_before(settled)
        yield _answer(settled)

    async def _never(self, settled: LoggedEvent) -> None:
        """Hang; if nobody cancelled the turn, it was the time of this request that ran out."""
        ended = self._tape.first_ahead("turn.finished")
        if ended is not None and ended.data["outcome"] != "cancelled":
            self._clock.expire()
        await self._tape.hang()

    def _of_request(self, key: str, otherwise: Any) -> Any:
        requested = self._tape.first_ahead("model.requested")
        return requested.data.get(key, otherwise) if requested else otherwise


def _again(event: LoggedEvent) -> Retried | FellBack | Switched:
    data = event.data
    reason = cast("FailureKind", data["reason"])
    if event.type == "model.switched":
        return Switched(data["model"], data["toolFormat"], reason)
    if event.type == "model.retried":
        return Retried(data["model"], reason, data["attempt"], _tokens(data), data.get("wait"))
    return FellBack(data["from"], data["to"], reason, _tokens(data))


def _routing(event: LoggedEvent) -> Routing:
    data = event.data
    return Routing(
        reason=data["reason"],
        wanted=data["wanted"],
        tier=data.get("tier"),
        models=(data["model"], *data["others"]),
        tokens=data["tokens"],
        candidates=tuple(
            Candidate(one["model"], one.get("tier"), one.get("leftOut"), one.get("price"), one.get("score"))
            for one in data["candidates"]
        ),
        context_window=data["contextWindow"],
        by=data["by"],
    )


def _answer(settled: LoggedEvent) -> ModelResponse | ModelFailure:
    data = settled.data
    if settled.type == "model.failed":
        return ModelFailure(cast("FailureKind", data["kind"]), data["message"], tokens=_tokens(data))
    kept, latency = data.get("providerData"), data.get("latency")
    return ModelResponse(
        text=data["text"],
        tool_calls=tuple(ToolCall(c["id"], c["name"], c["arguments"]) for c in data["toolCalls"]),
        finish_reason=cast("FinishReason", data["finishReason"]),
        reasoning=data.get("reasoning"),
        tokens=_tokens(data),
        provider_data=kept and ProviderData(kept["model"], kept["blocks"]),
        latency=latency and Latency(latency["firstTokenMs"], latency.get("tokensPerSecond")),
    )


def _tokens(data: dict[str, Any]) -> Tokens | None:
    usage = data.get("usage")
    return usage and Tokens(
        usage.get("inputTokens", 0),
        usage.get("outputTokens", 0),
        usage.get("cachedTokens"),
        usage.get("reasoningTokens"),
        usage.get("cost"),
        usage.get("estimated", False),
    )


class RecordedCatalog(Catalog):
    """Has the one model, unless it could not be had then."""

    def __init__(self, tape: Tape, clock: RecordedClock) -> None:
        self._tape = tape
        self._clock = clock

    async def open(
        self,
        reference: str | None,
        *,
        cursor: int = 0,
        others: Sequence[str] = (),
        learned: Mapping[str, str] = MappingProxyType({}),
    ) -> Model | ModelProblem:
        """The recorded model."""
        return await self._recorded()

    async def open_tiers(
        self,
        tiers: Tiers,
        model: str | None,
        routing: object,
        *,
        cursors: Mapping[str, int] = MappingProxyType({}),
        learned: Mapping[str, str] = MappingProxyType({}),
    ) -> Model | ModelProblem:
        """The recorded model, which has the choices of then."""
        return await self._recorded()

    async def _recorded(self) -> Model | ModelProblem:
        await self._tape.hang_if_cut_off()
        for event in self._tape.ahead():
            if event.type == "model.requested":
                break
            if event.type == "turn.finished" and event.data["reason"] == "model_unavailable":
                return ModelProblem(event.data["summary"])
        return RecordedModel(self._tape, self._clock)

    async def close(self) -> None:
        """There is nothing to let go of."""
