"""Sees to it that a request fits its model: prunes, compacts and trims, in this order, and records each before the request.

What is decided follows from the conversation, the log and the window alone; only the words of a summary come from a
model. So a replay, and a process that goes on after a crash, come to the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from outrider.agent.context import compaction, pruning
from outrider.agent.context.budget import Budget
from outrider.agent.context.model_call import Asker
from outrider.agent.services import Services
from outrider.agent.state.record import Record
from outrider.models.routing.choose import ANSWER_RESERVE
from outrider.ports.model import Message, ModelFailure, ModelResponse, Part, PartKind
from outrider_protocol.events import (
    BudgetExhausted,
    ContextCompacted,
    ContextPruned,
    ContextTrimmed,
    TrimmedPart,
)  # fmt: skip

RUNGS: Final[tuple[tuple[PartKind, int], ...]] = (
    ("map", 0),
    ("open", 0),
    ("diagnostics", 0),
    ("files", 0),
    ("git", 0),
    ("project", 0),
    ("work", 0),
    ("instructions", 4_000),
    ("selection", 4_000),
    ("instructions", 0),
    ("selection", 0),
)
"""A kind of part, and how many characters of each are left. Who Outrider is, its mode, where it is and what the task
says are never cut."""
MARK: Final = "left out to save room]"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Messages with parts that were cut."""

    messages: list[Message]
    parts: list[tuple[PartKind, str | None, int]]
    """The parts that were cut, and how many characters of each are left."""


def trimmed(messages: Sequence[Message], wanted: int) -> Trimmed | None:
    """Cut parts, the least needed first and images before them, until so many bytes are saved; None where there is nothing to cut."""
    result, saved = list(messages), 0
    left: dict[tuple[PartKind, str | None], int] = {}
    for index, message in enumerate(result):
        # Which they were is told by what is open, and the model can read them again.
        if message.images and message.role == "user" and saved < wanted:
            left |= {("image", image.name): 0 for image in message.images}
            result[index] = replace(message, images=())
            saved += message.weight - result[index].weight
    for kind, length in RUNGS:
        if saved >= wanted:
            break
        for index, message in enumerate(result):
            parts = tuple(_cut(part, length) if part.kind == kind else part for part in message.parts)
            if parts == message.parts:
                continue
            for part, was in zip(parts, message.parts, strict=True):
                if part != was:
                    left[kind, part.name] = length
            result[index] = replace(message, text="".join(part.text for part in parts), parts=parts)
            saved += message.weight - result[index].weight
    return Trimmed(result, [(kind, name, length) for (kind, name), length in left.items()]) if left else None


def _cut(part: Part, length: int) -> Part:
    body = part.text.rstrip("\n")
    note = f"[{part.kind}{f' {part.name}' if part.name else ''}: {MARK}"
    if len(body) <= length + len(note) + 1:
        return part
    kept = f"{body[:length]}\n{note}" if length else note
    return replace(part, text=kept + part.text[len(body) :])


Reason = Literal["full", "overflow"]

PRUNE_AT: Final = 0.8
"""Share of the window from which old output is left out."""
PRUNE_TO: Final = 0.5
LEAST_SAVED: Final = 0.15
"""Share of the window that must be saved: each pruning makes the provider read all of it again. What saves less is summarised."""
PROTECTED: Final = 0.25
"""Share of the window that the latest output may have, which is never left out."""
COMPACT_AT: Final = 0.8
"""Share of the window from which older steps are summarised, where leaving out output was not enough."""
ROOM_AFTER: Final = 0.65
"""Share of the window that may be full after older steps were summarised."""
RECENT: Final = 0.3
"""Share of the window that the latest steps may have, which stay word for word."""
AFTER_OVERFLOW: Final = 0.6
"""What is sent after the provider found a request too long, as a share of that."""
SUMMARY_SECONDS: Final = 60.0
"""How long the model may take for a summary."""
SUMMARY_SHARE: Final = 0.1
"""Share of the window that a summary may have."""
RECORD_SHARE: Final = 0.7
"""Share of the window that the record of what is summarised may have."""
SHORTEST_RESULT: Final = 1_000
"""Characters to which a result of the last step may be cut."""


class Fitting:
    """Looks after the length of one turn's requests."""

    def __init__(
        self,
        services: Services,
        record: Record,
        asker: Asker,
        budget: Budget,
        conversation: list[Message],
        turn_id: str,
        *,
        take_in: Callable[[], None],
    ) -> None:
        """Look after `conversation`, which is changed in its place; `take_in` adds to it what came since."""
        self._services = services
        self._record = record
        self._asker = asker
        self._budget = budget
        self._conversation = conversation
        self._turn_id = turn_id
        self._take_in = take_in

    async def fit(self) -> BudgetExhausted | None:
        """Make the conversation fit the model that is asked next; gives the account where it cannot."""
        if calls := pruning.too_many_images(self._conversation):
            self._record_pruned("full", calls, pruning.without_images(self._conversation, calls))
        window = self._budget.context_window
        if self._tokens >= PRUNE_AT * window:
            self._prune("full", PRUNE_TO * window, PROTECTED * window)
        if self._tokens >= COMPACT_AT * window:
            await self._compact("full", window)
            self._shorten("full", COMPACT_AT * window)
        if self._tokens >= (1 - ANSWER_RESERVE) * window:
            self._trim("full", (1 - ANSWER_RESERVE) * window)
        if self._budget.too_long(self._conversation) is not None:
            await self._compact("full", window, keep_last=False)
        return self._budget.too_long(self._conversation)

    async def shrink(self) -> bool:
        """Make it shorter because the provider found it too long; False where nothing can be left out."""
        self._budget.counter.forget()  # no count that was believed can be right
        before = self._tokens
        self._budget.overflowed(before)
        wanted = AFTER_OVERFLOW * min(before, self._budget.context_window)
        self._prune("overflow", wanted, 0)
        if self._tokens > wanted:
            await self._compact("overflow", wanted)
            self._shorten("overflow", wanted)
        if self._tokens > wanted:
            self._trim("overflow", wanted)
        if self._tokens >= before:
            await self._compact("overflow", wanted, keep_last=False)
        # What is still longer than the window, or than what was too long, need not be asked again.
        return self._tokens < self._budget.context_window

    @property
    def _tokens(self) -> int:
        return self._budget.context_tokens(self._conversation)

    def _prune(self, reason: Reason, target: float, protected: float) -> None:
        counter, before = self._budget.counter, self._tokens
        least = 0 if reason == "overflow" else LEAST_SAVED * self._budget.context_window
        touches = self._record.state.memory.touches
        wanted = counter.bytes_in(before - target)
        left_out = pruning.to_prune(self._conversation, touches, wanted, counter.bytes_in(protected))
        messages = pruning.pruned(self._conversation, left_out)
        saved = counter.of(_size(self._conversation) - _size(messages))
        if left_out and saved >= least:
            self._record_pruned(reason, list(left_out), messages)

    def _shorten(self, reason: Reason, target: float) -> None:
        """Cut the results of the last step, where that alone is too long."""
        if self._tokens < target:
            return
        results = [message for message in self._conversation if message.role == "tool"]
        size = sum(message.weight for message in results)
        too_many = self._budget.counter.bytes_in(self._tokens - target)
        limit = max((size - too_many) // max(len(results), 1), SHORTEST_RESULT)
        calls = [message.tool_call_id or "" for message in results if pruning.is_longer(message, limit)]
        messages = pruning.shortened(self._conversation, calls, limit)
        if _size(messages) < _size(self._conversation):
            self._record_pruned(reason, calls, messages)

    def _record_pruned(self, reason: Reason, calls: list[str], messages: list[Message]) -> None:
        before = self._tokens
        blobs = self._replace(messages)
        self._record.append(
            ContextPruned(
                call_ids=calls,
                reason=reason,
                before=before,
                after=self._tokens,
                messages=[message.digest for message in messages],
                context_window=self._budget.context_window,
            ),
            turn_id=self._turn_id,
            blobs=blobs,
        )

    async def _compact(self, reason: Reason, window: float, *, keep_last: bool = True) -> None:
        prompt, counter = self._record.state.turns[self._turn_id].prompt, self._budget.counter
        limit = min(compaction.SUMMARY_LIMIT, counter.bytes_in(SUMMARY_SHARE * window))
        # With a small window the tools and what stays at the beginning may be most of it.
        rest = counter.bytes_in(ROOM_AFTER * window) - counter.tools - _size(self._conversation[:2]) - limit
        most = min(counter.bytes_in(RECENT * window), rest)
        found = compaction.cut(self._conversation, prompt, most, keep_last=keep_last)
        if found is None:
            return
        before = self._tokens
        length = len(self._conversation)
        state = self._record.state
        whole = await self._originals(found.dropped)
        said = compaction.record_head(prompt, state.plan, state.memory.said.get(self._turn_id, ()))
        summary = await self._summary(said, whole, limit)
        self._take_in()
        known = compaction.state_of(state.memory, state.plan, list(state.open.values()), self._turn_id)
        by = "house" if summary is None else "model"
        told = compaction.stand_in(summary or compaction.own_summary(whole, limit), known)
        came_meanwhile = self._conversation[length:]
        blobs = self._replace([*found.kept, told, *found.recent, *came_meanwhile])
        self._record.append(
            ContextCompacted(
                before=before,
                after=self._tokens,
                reason=reason,
                by=by,
                messages=[message.digest for message in self._conversation],
                context_window=self._budget.context_window,
            ),
            turn_id=self._turn_id,
            blobs=blobs,
        )

    async def _originals(self, dropped: Sequence[Message]) -> list[Message]:
        """Messages as they were before output was left out of them, as far as the log has them."""
        originals = self._record.state.originals
        wanted = {digest for one in dropped if (digest := originals.get(one.digest)) is not None}
        if not wanted:
            return list(dropped)
        await self._record.settled()
        found = await self._services.runtime.store.blobs(wanted)
        return [
            Message.decode(found[digest])
            if (digest := originals.get(one.digest)) is not None and digest in found
            else one
            for one in dropped
        ]

    async def _summary(self, head: str, dropped: Sequence[Message], limit: int) -> str | None:
        """The words of a model; None where none can be had.

        Args:
            head: What the record begins with.
            dropped: What is summarised.
            limit: Characters of the summary.
        """
        room = self._budget.counter.bytes_in(RECORD_SHARE * self._budget.context_window)
        request = [
            Message("system", compaction.INSTRUCTION),
            Message("user", f"{head}\n\n{compaction.record_of(dropped, room - len(head.encode()))}"),
        ]
        response = await self._ask(request)
        if not isinstance(response, ModelResponse) or response.finish_reason == "refused":
            return None
        return response.text.strip()[:limit] or None

    async def _ask(self, request: Sequence[Message]) -> ModelResponse | ModelFailure | None:
        try:
            async with self._services.runtime.clock.timeout(SUMMARY_SECONDS):
                return await self._asker.ask("compaction", request)
        except TimeoutError:
            return None

    def _trim(self, reason: Reason, target: float) -> None:
        before = self._tokens
        found = trimmed(self._conversation, self._budget.counter.bytes_in(before - target) + 1)
        if found is None:
            return
        given = [
            old
            for old, new in zip(self._conversation, found.messages, strict=True)
            if old is not new and old.digest != new.digest
        ]
        blobs = self._replace(found.messages)
        # One that was not sent yet is in the log by this alone.
        blobs |= {one.digest: one.encoded for one in given if one.digest not in self._record.stored}
        self._record.append(
            ContextTrimmed(
                parts=[TrimmedPart(kind=kind, name=name, left=left) for kind, name, left in found.parts],
                reason=reason,
                before=before,
                after=self._tokens,
                given=[message.digest for message in given],
                messages=[message.digest for message in found.messages],
                context_window=self._budget.context_window,
            ),
            turn_id=self._turn_id,
            blobs=blobs,
        )

    def _replace(self, messages: Sequence[Message]) -> dict[str, bytes]:
        """Make these the conversation; gives those of them that the log does not have."""
        self._conversation[:] = messages
        self._budget.counter.forget()
        stored = self._record.stored
        return {one.digest: one.encoded for one in messages if one.digest not in stored}


def _size(messages: Sequence[Message]) -> int:
    return sum(message.weight for message in messages)
