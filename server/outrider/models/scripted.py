"""The scripted model: answers that a file gives call by call, for tests, demonstrations and replays.

It fails as a real provider would (`failures`), waits only on the injected clock, and never makes up an answer
for the main loop: a script that runs out is a failure.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from outrider.models.failures import http_failure
from outrider.models.json_file import JsonProblem, keys_of, read_json, said_of
from outrider.ports.clock import Clock
from outrider.ports.ids import Ids
from outrider.ports.model import (
    FinishReason,
    Message,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    ProviderData,
    ReasoningDelta,
    TextDelta,
    Tokens,
    ToolCall,
)
from outrider_protocol.script import (
    CutFault,
    Expectation,
    HangFault,
    HttpFault,
    Script,
    ScriptToolCall,
    ScriptTurn,
    StallFault,
)
from outrider_protocol.settings import EditFormat

_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class ScriptProblem:
    """Why a file is not a script: the file, the place in it and what is wrong there."""

    message: str


async def load_script(path: Path) -> Script | ScriptProblem:
    """Read a script file (JSON, `outrider_protocol.script.Script`)."""
    return await asyncio.to_thread(_load, path)


def unmet_by(expected: Expectation, request: ModelRequest) -> str | None:
    """What of `expected` does not hold, and what came instead; None if all holds."""
    if expected.tools is not None:
        offered = sorted(tool.name for tool in request.tools)
        if sorted(expected.tools) != offered:
            return f"expected the tools {sorted(expected.tools)}, the request offers {offered}"
    count = len(request.messages)
    if expected.message_count is not None and expected.message_count != count:
        return f"expected {expected.message_count} messages, the request has {count}"
    if expected.tool_call_ids is not None:
        answered = [message.tool_call_id for message in request.messages if message.role == "tool"]
        if expected.tool_call_ids != answered:
            return f"expected results of the calls {expected.tool_call_ids}, the request has {answered}"
    texts = [_searched(message) for message in request.messages]
    last = texts[-1] if texts else ""
    for wanted in _listed(expected.last_message_contains):
        if wanted not in last:
            return f"expected the last message to contain {wanted!r}, it is {_excerpt(last)}"
    for wanted in _listed(expected.messages_contain):
        if not any(wanted in text for text in texts):
            return f"expected a message that contains {wanted!r}, none of {count} does; the last is {_excerpt(last)}"
    for unwanted in _listed(expected.messages_lack):
        for number, text in enumerate(texts):
            if unwanted in text:
                role = request.messages[number].role
                return f"expected no message that contains {unwanted!r}, messages[{number}] ({role}) does"
    return None


class ScriptedModel:
    """Plays a script for one session."""

    def __init__(
        self,
        name: str,
        script: Script,
        *,
        clock: Clock,
        ids: Ids,
        cursor: int = 0,
        first_token_seconds: float = 120.0,
        stall_seconds: float = 60.0,
    ) -> None:
        """Make a model.

        Args:
            name: What it is called, `scripted:PATH`.
            script: What it answers.
            clock: What its delays wait on.
            ids: Makes the ids of calls that have none in the script.
            cursor: How many answers to main-loop calls were used before.
            first_token_seconds: How long it may be silent before an answer.
            stall_seconds: How long it may be silent within an answer.
        """
        self._name = name
        self._script = script
        self._clock = clock
        self._ids = ids
        self._used = Counter({"main": cursor})
        self._first_token_seconds = first_token_seconds
        self._stall_seconds = stall_seconds

    @property
    def name(self) -> str:
        """`scripted:PATH`."""
        return self._name

    @property
    def context_window(self) -> int:
        """Tokens it says it can take."""
        return self._script.context_window

    @property
    def temperature(self) -> float | None:
        """None: a script has none."""
        return None

    @property
    def max_tokens(self) -> int | None:
        """None: a script has no limit of its own."""
        return None

    @property
    def tool_format(self) -> str | None:
        """None: a script has its calls beside the text."""
        return None

    @property
    def edit_format(self) -> EditFormat | None:
        """None: it uses what it uses."""
        return None

    def answers(self, purpose: str) -> bool:
        """Whether the script has answers for it."""
        return purpose in self._script.purposes

    def broken_off(self, request: ModelRequest, characters: int) -> Tokens | None:
        """None: a script uses what it says it uses."""
        return None

    def left_over(self) -> int:
        """Answers to main-loop calls that were not asked for."""
        return max(0, len(self._script.turns) - self._used["main"])

    async def close(self) -> None:
        """There is nothing to let go of."""

    @property
    def vision(self) -> bool:
        """False: nothing is known of it here."""
        return False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Give the next answer of the script for the purpose of `request`.

        Yields:
            Deltas, then one `ModelResponse` or one `ModelFailure`.
        """
        turn = self._next_turn(request)
        if isinstance(turn, ModelFailure):
            yield turn
            return
        if turn.expect is not None and (unmet := unmet_by(turn.expect, request)):
            number = self._used[request.purpose]
            yield ModelFailure(
                "script_expectation", f"{self._name}, {request.purpose} call {number}: {unmet}"
            )
            return
        if isinstance(turn.fault, HttpFault):
            if failure := await self._pause(turn.delay, began=False):
                yield failure
                return
            yield http_failure(turn.fault.status, turn.fault.body, source=self._name)
            return
        began = False
        for delta in _deltas(turn):
            if isinstance(delta, CutFault):
                yield ModelFailure(
                    "cut_stream", f"the stream of {self._name} ended in the middle of an answer"
                )
                return
            if isinstance(delta, HangFault):
                await asyncio.get_running_loop().create_future()
                return
            if failure := await self._pause(
                delta.seconds if isinstance(delta, StallFault) else turn.delay, began=began
            ):
                yield failure
                return
            if not isinstance(delta, StallFault):
                yield delta
                began = True
        if not began and turn.fault is None and (failure := await self._pause(turn.delay, began=False)):
            yield failure
            return
        yield self._response(turn)

    def _next_turn(self, request: ModelRequest) -> ScriptTurn | ModelFailure:
        purpose = request.purpose
        number = self._used[purpose]
        self._used[purpose] += 1
        if purpose == "main":
            turns = self._script.turns
        elif purpose in self._script.purposes:
            turns = self._script.purposes[purpose]
        else:
            return ScriptTurn(text=_fallback(request))
        if number < len(turns):
            return turns[number]
        which = "" if purpose == "main" else f" for {purpose}"
        return ModelFailure(
            "script_exhausted",
            f"the script {self._name} has {len(turns)} turn{'s' * (len(turns) != 1)}{which}; "
            f"call {number + 1} has no answer",
        )

    async def _pause(self, seconds: float, *, began: bool) -> ModelFailure | None:
        limit = self._stall_seconds if began else self._first_token_seconds
        if seconds <= 0:
            # Others may run between deltas, and a cancellation may come.
            await asyncio.sleep(0)
            return None
        try:
            async with self._clock.timeout(limit):
                await self._clock.sleep(seconds)
        except TimeoutError:
            return ModelFailure("stalled", f"nothing came from {self._name} for {limit:g} s")
        return None

    def _response(self, turn: ScriptTurn) -> ModelResponse:
        reasons: dict[str, FinishReason] = {"content_filter": "refused"}
        finish = turn.finish_reason or ("tool_calls" if turn.tool_calls else "stop")
        usage, kept = turn.usage, turn.provider_data
        return ModelResponse(
            text=turn.text,
            tool_calls=tuple(self._tool_call(call) for call in turn.tool_calls),
            finish_reason=reasons.get(finish, cast("FinishReason", finish)),
            reasoning=turn.reasoning or None,
            tokens=usage
            and Tokens(
                usage.input_tokens,
                usage.output_tokens,
                usage.cached_tokens,
                usage.reasoning_tokens,
                usage.cost,
                usage.estimated or False,
            ),
            provider_data=kept and ProviderData(kept.model, kept.blocks),
        )

    def _tool_call(self, call: ScriptToolCall) -> ToolCall:
        arguments = call.arguments
        if arguments is None:
            arguments = json.dumps(call.input or {}, ensure_ascii=False)
        return ToolCall(call.id or self._ids.new("call"), call.name, arguments)


def _deltas(turn: ScriptTurn) -> Iterator[ReasoningDelta | TextDelta | CutFault | StallFault | HangFault]:
    """The deltas of a turn, with its fault at the place where it strikes."""
    for piece in _pieces(turn.reasoning or "", turn.chunk):
        yield ReasoningDelta(piece)
    fault = turn.fault
    if isinstance(fault, CutFault | StallFault | HangFault):
        for piece in _pieces(turn.text[: fault.after], turn.chunk):
            yield TextDelta(piece)
        yield fault
        rest = turn.text[fault.after :]
    else:
        rest = turn.text
    for piece in _pieces(rest, turn.chunk):
        yield TextDelta(piece)


def _pieces(text: str, chunk: int | None) -> list[str]:
    size = chunk or max(len(text), 1)
    return [text[start : start + size] for start in range(0, len(text), size)]


def _fallback(request: ModelRequest) -> str:
    """The answer to a purpose that is not scripted; the same request gives the same text."""
    if request.purpose == "compaction":
        return ""  # the house knows best what stands for its own steps
    if request.purpose != "summary":
        return f"The script has no answer for {request.purpose}."
    last = next((m for m in reversed(request.messages) if m.role == "assistant"), None)
    if last is None:
        step = "none"
    elif last.tool_calls:
        step = ", ".join(call.name for call in last.tool_calls)
    else:
        step = " ".join(last.text.split())[:_EXCERPT].rstrip(".") or "an empty answer"
    return f"Stopped before the task was finished. Last step: {step}."


def _searched(message: Message) -> str:
    """All of a message that the model sees."""
    return "\n".join([message.text, *(f"{call.name} {call.arguments}" for call in message.tool_calls)])


def _listed(texts: str | list[str] | None) -> list[str]:
    return [texts] if isinstance(texts, str) else texts or []


def _excerpt(text: str) -> str:
    return repr(text if len(text) <= _EXCERPT else "…" + text[-_EXCERPT:])


def _load(path: Path) -> Script | ScriptProblem:
    data = read_json(path, called="script")
    if isinstance(data, JsonProblem):
        return ScriptProblem(data.message)
    try:
        return Script.model_validate(data)
    except ValidationError as error:
        return ScriptProblem(f"{path}: {said_of(error, data, keys_of(Script))}")
