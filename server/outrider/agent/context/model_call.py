"""Asking the model: a request into the log, its answer out as it comes, and the whole of it into the log.

What was shown and what is logged are the same text on every path: an answer, a failure, a cancel.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Final, Literal

from outrider.agent.context.budget import Budget
from outrider.agent.context.offer import Offer
from outrider.agent.context.tokens import TOKENS_PER_BYTE
from outrider.agent.services import Services
from outrider.agent.state.record import Record
from outrider.agent.state.turn_state import usage_of
from outrider.models.searches import SEARCH, searches_of
from outrider.ports.events import StreamFrame
from outrider.ports.model import (
    READ_ANEW,
    FellBack,
    Limited,
    Message,
    Model,
    ModelFailure,
    ModelRequest,
    ModelResponse,
    ProviderData,
    ReadAnew,
    ReasoningDelta,
    Retried,
    Switched,
    TextDelta,
    ToolCall,
)
from outrider.ports.routing import Need, Router, Routing
from outrider_protocol.events import (
    AddedMessages,
    EventData,
    Latency,
    ModelFailed,
    ModelFellBack,
    ModelLimited,
    ModelRequested,
    ModelReset,
    ModelResponded,
    ModelRetried,
    ModelRouted,
    ModelSwitched,
    RouteCandidate,
    WebPage,
    WebSearch,
    WireProviderData,
    WireToolCall,
)

MOST_CALLS: Final = 200
"""Calls of one answer that are taken in."""
LONGEST_NAME: Final = 200
"""Characters of the name of a tool; providers take no longer ones back."""
MOST_ARGUMENTS: Final = 1_000_000
"""Characters that the arguments of all calls of one answer may have. No model of today can write more at once."""


class Asker:
    """Asks one model for one turn."""

    def __init__(
        self,
        services: Services,
        record: Record,
        model: Model,
        turn_id: str,
        offer: Offer,
        budget: Budget,
    ) -> None:
        """Ask `model` for the turn `turn_id` of the session of `record`; steps of the loop are offered the tools of `offer`."""
        self._services = services
        self._record = record
        self._model = model
        self._turn_id = turn_id
        self._budget = budget
        self.offers(offer)
        self._images: dict[str, bytes] = {}
        """The contents of the images of the latest request, and of those of the next one that the log does not have."""
        self._gone: set[str] = set()
        """Images that are not in the log any more."""
        self._limits_told: set[Limited] = set()
        self._routed: str | None = None
        """The purpose of the request that a model was chosen for."""

    def offers(self, offer: Offer) -> None:
        """Offer these tools from here on."""
        self._offer = offer
        self._budget.counter.tools = len(offer.everything)

    def bring(self, contents: Mapping[str, bytes]) -> None:
        """Take in the contents of images that the next request has and the log has not, by hash."""
        self._images.update(contents)

    @property
    def takes_reminders(self) -> bool:
        """Whether the model can be told what it left undone."""
        return self._model.takes_reminders

    async def route(self, purpose: str, messages: Sequence[Message]) -> None:
        """Choose which model gets the next request, where there is a choice, and record why.

        Args:
            purpose: As in `ask`, which chooses itself where nobody did before.
            messages: The conversation.
        """
        self._routed = purpose
        main, turn = purpose == "main", self._record.state.turns[self._turn_id]
        routing: Routing | None = None
        if isinstance(self._model, Router):
            need = Need(
                purpose=purpose,
                tokens=self._budget.context_tokens(messages) if main else _size(messages),
                tools=main and bool(self._offer),
                # Where no model takes images, none is shown any.
                vision=self._model.vision and any(message.images for message in messages),
                first_step=main and turn.steps == 0,
                after_reasoning=main and turn.only_thought,
            )
            routing = await self._model.route(need)
        if routing is None:
            if main:
                # One that stands in for another, or of which its server told more by now, may take less.
                self._budget.asks(self._model.name, self._model.context_window)
            return
        self._record.append(routed(purpose, routing), turn_id=self._turn_id)
        if main:
            self._budget.asks(routing.models[0], routing.context_window)

    async def prepare(self, messages: Sequence[Message]) -> None:
        """Do what a step's request may have to wait for, so that `ask` makes it at once.

        What the user says meanwhile must be seen before the request is recorded, else it would stand in the log
        before a request that does not have it.

        Args:
            messages: The conversation; what is added to it until then brings its images by `bring`.
        """
        if self._routed != "main":
            await self.route("main", messages)
        await self._contents_of_images(messages)

    async def ask(
        self, purpose: str, messages: Sequence[Message], steering: Sequence[str] = ()
    ) -> ModelResponse | ModelFailure:
        """Make one request.

        Args:
            purpose: `main` for a step of the loop, which is offered the tools and whose text is shown as it comes;
                else what the answer is for.
            messages: The conversation.
            steering: Ids of the steering texts that the model sees for the first time.
        """
        if self._routed != purpose:
            await self.route(purpose, messages)
        self._routed = None
        message_id = self._services.runtime.ids.new("msg")
        tools = self._offer.to(self._model.edit_format) if purpose == "main" else ()
        request = ModelRequest(
            purpose,
            messages,
            tools,
            self._model.temperature,
            self._model.max_tokens,
            images=await self._contents_of_images(messages),
            tokens=self._budget.context_tokens(messages) if purpose == "main" else _size(messages),
            thinking=self._record.state.turns[self._turn_id].thinking,
            conversation=self._record.state.session_id,
            failed=self._record.state.failed_calls,
            may_search=purpose == "main" and await self._may_search(),
        )
        self._record_request(message_id, request, steering)
        shown = _Shown(
            self._services, self._record.state.session_id, self._turn_id, message_id, live=purpose == "main"
        )
        try:
            async with aclosing(self._model.stream(request)) as items:
                async for item in items:
                    match item:
                        case TextDelta(text):
                            shown.text(text)
                        case ReasoningDelta(text):
                            shown.reasoning(text)
                        case ReadAnew():
                            if purpose == "main":
                                self._withdraw(shown, message_id, READ_ANEW)
                                await self._record.settled()
                            shown.forget()
                        case Limited(model, message):
                            if item not in self._limits_told:
                                self._limits_told.add(item)
                                await self._tell(
                                    ModelLimited(message_id=message_id, model=model, message=message)
                                )
                        case Switched() | Retried() | FellBack():
                            self._withdraw(shown, message_id, item.reason)
                            if isinstance(item, FellBack) and purpose == "main":
                                self._budget.asks(item.to, self._model.context_window)
                            await self._tell(_made_again(message_id, item))
                        case ModelResponse():
                            self._record_response(purpose, message_id, item)
                            return item
                        case ModelFailure():
                            self._withdraw(shown, message_id, item.kind)
                            self._record_failure(purpose, message_id, item)
                            return item
        except asyncio.CancelledError:
            text, reasoning = shown.whole("text"), shown.whole("reasoning")
            made = len(text) + len(reasoning)
            self._record.append(
                ModelResponded(
                    purpose=purpose,
                    message_id=message_id,
                    text=text,
                    reasoning=reasoning or None,
                    tool_calls=[],
                    finish_reason="cancelled",
                    usage=usage_of(self._model.broken_off(request, made)) if made else None,
                ),
                turn_id=self._turn_id,
            )
            raise
        silent = ModelFailure("protocol", f"{self._model.name} ended its stream without an answer")
        self._record_failure(purpose, message_id, silent)
        return silent

    async def _tell(self, event: EventData) -> None:
        """Record what comes in the middle of a request. Frames do not wait for the log: those that follow must not come first."""
        self._record.append(event, turn_id=self._turn_id)
        await self._record.settled()

    async def _contents_of_images(self, messages: Sequence[Message]) -> Mapping[str, bytes]:
        """The contents of the images of these messages; those that are not there any more are left out."""
        wanted = dict.fromkeys([image.hash for message in messages for image in message.images])
        missing = [digest for digest in wanted if digest not in self._images and digest not in self._gone]
        if missing:
            await self._record.settled()
        found = await self._services.runtime.store.blobs(missing) if missing else {}
        self._gone.update(digest for digest in missing if digest not in found)
        self._images = {
            digest: content
            for digest in wanted
            if (content := self._images.get(digest) or found.get(digest)) is not None
        }
        return self._images

    def _withdraw(self, shown: "_Shown", message_id: str, reason: str) -> None:
        """Take back what was shown, if anything was."""
        if shown.anything:
            reset = ModelReset(message_id=message_id, text=shown.whole("text"), reason=reason)
            self._record.append(reset, turn_id=self._turn_id)
            shown.forget()

    def _record_request(self, message_id: str, request: ModelRequest, steering: Sequence[str]) -> None:
        tools_hash, tools = self._offer.content(request.tools)
        known = self._record.stored
        blobs = {
            message.digest: message.encoded for message in request.messages if message.digest not in known
        }
        blobs |= {digest: content for digest, content in request.images.items() if digest not in known}
        self._record.append(
            ModelRequested(
                purpose=request.purpose,
                message_id=message_id,
                model=self._model.name,
                messages=self._named(request.messages),
                tools=[tool.name for tool in request.tools],
                tools_hash=tools_hash,
                temperature=request.temperature,
                max_tokens=request.max_tokens,
                context_window=self._model.context_window,
                steering=list(steering),
                tool_format=self._model.tool_format if request.tools else None,
                edit_format=self._model.edit_format if request.tools else None,
            ),
            turn_id=self._turn_id,
            blobs=blobs if tools_hash in known else {**blobs, tools_hash: tools},
        )

    def _named(self, messages: Sequence[Message]) -> list[str] | AddedMessages:
        """Name the messages of a request: only the new ones, where it goes on from those named last."""
        digests, state = [message.digest for message in messages], self._record.state
        known = len(state.requested)
        if known and digests[:known] == state.requested:
            return AddedMessages(after=state.requested_at, added=digests[known:])
        return digests

    async def _may_search(self) -> bool:
        """Whether a provider that shall search the web for a model may: it asks nobody, so a rule that denies or asks closes it."""
        if not any(one.web_search for one in self._services.runtime.settings().models.values()):
            return False
        ledger = self._services.policy.ledger
        await ledger.refresh()
        return not ledger.closes(SEARCH, "read")

    def _record_failure(self, purpose: str, message_id: str, failure: ModelFailure) -> None:
        failed = ModelFailed(
            purpose=purpose,
            message_id=message_id,
            kind=failure.kind,
            message=failure.message,
            usage=usage_of(failure.tokens),
        )
        self._record.append(failed, turn_id=self._turn_id)

    def _record_response(self, purpose: str, message_id: str, response: ModelResponse) -> None:
        before, own = self._record.state.call_ids, set[str]()
        calls: list[WireToolCall] = []
        kept, latency = response.provider_data, response.latency
        taken = _taken(response.tool_calls)
        if any(call.refused is not None for call in taken):
            kept = None  # it may hold the calls as the model wrote them
        for call in taken:
            # An id that was used before would give one call two results.
            is_new = call.id and call.id not in before and call.id not in own
            call_id = call.id if is_new else self._services.runtime.ids.new("call")
            own.add(call_id)
            calls.append(
                WireToolCall(id=call_id, name=call.name, arguments=call.arguments, refused=call.refused)
            )
        self._record.append(
            ModelResponded(
                purpose=purpose,
                message_id=message_id,
                text=response.text,
                reasoning=response.reasoning,
                tool_calls=calls,
                finish_reason=response.finish_reason,
                usage=usage_of(response.tokens),
                latency=latency
                and Latency(
                    first_token_ms=latency.first_token_ms, tokens_per_second=latency.tokens_per_second
                ),
                provider_data=kept and WireProviderData(model=kept.model, blocks=kept.blocks),
                searches=_searches(kept),
            ),
            turn_id=self._turn_id,
        )


def _searches(data: ProviderData | None) -> list[WebSearch] | None:
    found = [
        WebSearch(
            query=one.query,
            pages=[WebPage(url=url, title=title) for url, title in one.pages],
            problem=one.problem,
        )
        for one in searches_of(data)
    ]
    return found or None


def _taken(calls: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls of an answer without what is too much of them; one call stands for all that are too many."""
    room = MOST_ARGUMENTS
    taken: list[ToolCall] = []
    for call in calls[:MOST_CALLS]:
        length = len(call.arguments)
        if len(call.name) > LONGEST_NAME:
            why = f"There is no tool with so long a name: it has {len(call.name):,} characters."
            taken.append(ToolCall(call.id, call.name[:LONGEST_NAME], "{}", why))
        elif length <= room:
            room -= length
            taken.append(call)
        else:
            why = (
                f"The arguments of this call have {length:,} characters; at most {MOST_ARGUMENTS:,} are taken in one answer. "
                "Write the file in parts."
            )
            taken.append(ToolCall(call.id, call.name, "{}", why))
    if len(calls) > MOST_CALLS:
        why = (
            f"Not run, like all calls after it: the answer had {len(calls):,} calls; at most {MOST_CALLS} are taken in one "
            "answer. Make the others in the next answers."
        )
        first = calls[MOST_CALLS]
        taken.append(ToolCall(first.id, first.name, "{}", first.refused or why))
    return taken


def _size(messages: Sequence[Message]) -> int:
    return int(sum(message.weight for message in messages) * TOKENS_PER_BYTE)


class _Shown:
    """What of an answer was shown so far."""

    def __init__(
        self, services: Services, session_id: str, turn_id: str, message_id: str, *, live: bool
    ) -> None:
        self._services, self._live = services, live
        self._ids = (session_id, turn_id, message_id)
        self._parts: dict[Literal["text", "reasoning"], list[str]] = {"text": [], "reasoning": []}
        self._lengths = {"text": 0, "reasoning": 0}

    def text(self, text: str) -> None:
        self._send("text", text)

    def reasoning(self, text: str) -> None:
        self._send("reasoning", text)

    @property
    def anything(self) -> bool:
        return any(self._parts.values())

    def forget(self) -> None:
        """Begin anew: it was withdrawn."""
        self._parts = {"text": [], "reasoning": []}
        self._lengths = {"text": 0, "reasoning": 0}

    def whole(self, kind: Literal["text", "reasoning"]) -> str:
        return "".join(self._parts[kind])

    def _send(self, kind: Literal["text", "reasoning"], text: str) -> None:
        self._parts[kind].append(text)
        if self._live:
            self._services.runtime.on_frame(StreamFrame(*self._ids, kind, self._lengths[kind], text))
        self._lengths[kind] += len(text)


def routed(purpose: str, routing: Routing) -> ModelRouted:
    """A choice, as it stands in the log."""
    return ModelRouted(
        purpose=purpose,
        reason=routing.reason,
        wanted=routing.wanted,
        tier=routing.tier,
        model=routing.models[0],
        others=list(routing.models[1:]),
        candidates=[
            RouteCandidate(
                model=one.model, tier=one.tier, left_out=one.left_out, price=one.price, score=one.score
            )
            for one in routing.candidates
        ],
        tokens=routing.tokens,
        context_window=routing.context_window,
        by=routing.by,
    )


def _made_again(message_id: str, item: Switched | Retried | FellBack) -> EventData:
    """The event that says how a request is made once more."""
    match item:
        case Switched(model, tool_format, reason):
            return ModelSwitched(message_id=message_id, model=model, tool_format=tool_format, reason=reason)
        case FellBack(model, to, reason, tokens):
            return ModelFellBack(
                message_id=message_id, from_=model, to=to, reason=reason, usage=usage_of(tokens)
            )
        case Retried(model, reason, attempt, tokens, wait, attempts, message):
            return ModelRetried(
                message_id=message_id,
                model=model,
                reason=reason,
                attempt=attempt,
                usage=usage_of(tokens),
                wait=wait and round(wait, 1),
                attempts=attempts,
                message=message,
            )
