"""Models without a provider: a script, a JSON file, or what a recorded session answered."""

import asyncio
import json
import stat
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from outrider.models.http.failures import http_failure
from outrider.ports.clock import Clock
from outrider.ports.ids import Ids
from outrider.ports.model import (
    REMINDER,
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
from outrider.store.exported import ExportProblem, events_of, read_export
from outrider_protocol import logged
from outrider_protocol.choices import EditFormat
from outrider_protocol.events import Usage, WireProviderData
from outrider_protocol.export import Export
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

_LARGEST = 10_000_000
_MOST_ERRORS = 3
_QUOTE: Final = "'"
_TAGGED: Final[Mapping[str, str]] = {"do": "step"}
"""What the objects are that a key tells apart."""


@dataclass(frozen=True, slots=True)
class JsonProblem:
    """Why a file gives no JSON: the file, the place in it and what is wrong there."""

    message: str


def read_json(path: Path, *, called: str) -> object | JsonProblem:
    """The JSON data of a file (UTF-8, a byte order mark or not), at most 10 MB. Blocks.

    Args:
        path: The file. Anything but a regular file is refused.
        called: What it is, for the message where there is none.
    """
    try:
        # Looked at before it is opened: opening a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            return JsonProblem(f"{path}: not a regular file")
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return JsonProblem(f"{path}: there is no such {called}")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return JsonProblem(f"{path}: cannot be read: {reason}")
    if len(content) > _LARGEST:
        return JsonProblem(f"{path}: larger than {_LARGEST // 1_000_000} MB")
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_each_key_once)
    except UnicodeDecodeError as error:
        return JsonProblem(f"{path}: not UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        return JsonProblem(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}")
    except _TwiceError as error:
        return JsonProblem(f"{path}: {error}")
    except (ValueError, RecursionError) as error:
        return JsonProblem(f"{path}: not JSON: {error}")


class _TwiceError(Exception):
    """A key appears twice in one object; Python would take the last one in silence."""


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"the key {json.dumps(twice, ensure_ascii=False)} appears twice in one object")
    return found


def keys_of(model: type[BaseModel]) -> frozenset[str]:
    """Every key that a model and those within it have, as candidates for one that is misspelt."""
    schema = model.model_json_schema()
    objects: list[dict[str, Any]] = [schema, *schema.get("$defs", {}).values()]
    return frozenset(name for each in objects for name in each.get("properties", {}))


def places_of(error: ValidationError, data: object, known: Collection[str] = ()) -> list[tuple[str, str]]:
    """Each place in `data` where a model found something wrong, as in `turns[0].text`, and what is wrong there.

    Args:
        error: What the model found.
        data: What it looked at.
        known: Keys that may have been meant, for those that there are not; see `keys_of`.
    """
    places = [(_place(detail, data), _wrong(detail, known), detail["type"]) for detail in _details(error)]
    # Where a text or an object may stand, what is wrong within the object says more than that it is no text.
    return [
        (place, wrong)
        for place, wrong, kind in places
        if kind != "string_type"
        or not any(other.startswith((f"{place}.", f"{place}[")) for other, _, _ in places)
    ]


def said_of(error: ValidationError, data: object, known: Collection[str] = ()) -> str:
    """What a model found wrong in `data`, with the places, in one line; `known` is as in `places_of`."""
    return said_at(places_of(error, data, known))


def said_at(places: Sequence[tuple[str, str]]) -> str:
    """The first few of these places with what is wrong there, in one line."""
    said = [f"{place}: {wrong}" for place, wrong in places[:_MOST_ERRORS]]
    if len(places) > _MOST_ERRORS:
        said.append(f"and {len(places) - _MOST_ERRORS} more")
    return "; ".join(said)


def key(name: int | str) -> str:
    """A key as a part of a place."""
    return f".{name}" if str(name).isidentifier() else f"[{json.dumps(name, ensure_ascii=False)}]"


def _details(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _wrong(detail: ErrorDetails, known: Collection[str]) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            close = get_close_matches(str(detail["loc"][-1]), known, 1)
            return "there is no such key" + (f"; did you mean `{close[0]}`?" if close else "")
        case "missing":
            return "is missing"
        case "union_tag_not_found":
            return f"`{context['discriminator'].strip(_QUOTE)}` is missing"
        case "union_tag_invalid":
            named = context["discriminator"].strip(_QUOTE)
            there_are = context["expected_tags"].replace(_QUOTE, "")
            return f"there is no {_TAGGED.get(named, named)} {context['tag']!r}; there are {there_are}"
        case _:
            return detail["msg"].removeprefix("Value error, ")


def _place(detail: ErrorDetails, data: object) -> str:
    # pydantic's locations also name members of unions, which are not in the file. The member that `do` names is
    # such a name even where the object has a key that is called the same.
    location, path, tagged = detail["loc"], "", False
    for number, part in enumerate(location):
        if isinstance(data, Mapping) and not tagged and cast("Mapping[Any, Any]", data).get("do") == part:
            tagged = True
            continue
        tagged = False
        if isinstance(part, int) and isinstance(data, list):
            path += f"[{part}]"
            data = cast("list[Any]", data)[part]
        elif isinstance(data, Mapping) and part in data:
            path += key(part)
            data = cast("Mapping[Any, Any]", data)[part]
        elif detail["type"] == "missing" and number == len(location) - 1:
            path += key(part)
    return path.removeprefix(".") or "the file"


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
    def takes_reminders(self) -> bool:
        """Whether the script names the purpose `reminder`."""
        return REMINDER in self._script.purposes

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

    @property
    def retry_in(self) -> float | None:
        """None: it makes each request once."""
        return None

    def retry_now(self) -> bool:
        """False: it makes each request once."""
        return False

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
        return ToolCall(call.id or self._ids.new("call"), call.name, arguments, call.refused)


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


_STATUS_OF: dict[str, int] = {
    "auth": 401,
    "unknown_model": 404,
    "rate_limit": 429,
    "quota": 402,
    "overloaded": 503,
    "bad_request": 400,
}
"""HTTP status of the failures that came as one."""


def load_recorded(path: Path) -> Script | ScriptProblem:
    """Read a file that `outrider export` wrote, and give its model's answers. Blocks."""
    export = read_export(path)
    return ScriptProblem(export.message) if isinstance(export, ExportProblem) else script_of(export)


def script_of(export: Export) -> Script:
    """The answers of a session's model, call by call, failures and an answer that was cut off by a cancel included."""
    purposes: dict[str, list[ScriptTurn]] = {}
    withdrawn: dict[str, str] = {}
    window = 128_000
    for event in events_of(export):
        match event.type:
            case "model.requested":
                window = event.data.get("contextWindow", window)
            case "model.reset":
                withdrawn[event.data["messageId"]] = event.data["text"]
            case "model.responded":
                purposes.setdefault(event.data["purpose"], []).append(_answer(event.data))
            case "model.failed" if not event.data["kind"].startswith("script_"):
                shown = withdrawn.get(event.data["messageId"], "")
                purposes.setdefault(event.data["purpose"], []).append(_failure(event.data, shown))
            case _:
                pass
    return Script(
        turns=purposes.pop("main", []),
        purposes=purposes,
        context_window=window,
    )


def _answer(data: logged.ModelResponded) -> ScriptTurn:
    reason = data["finishReason"]
    kept = data.get("providerData")
    cut_off = reason == "cancelled"
    finish = cast("Literal['stop', 'tool_calls', 'length', 'refused']", reason)
    return ScriptTurn(
        text=data["text"],
        reasoning=data.get("reasoning"),
        tool_calls=[
            ScriptToolCall(
                name=call["name"], arguments=call["arguments"], id=call["id"], refused=call.get("refused")
            )
            for call in data["toolCalls"]
        ],
        finish_reason=None if cut_off else finish,
        usage=Usage.from_wire(data["usage"]) if "usage" in data else None,
        provider_data=kept and WireProviderData.from_wire(kept),
        fault=HangFault(kind="hang", after=len(data["text"])) if cut_off else None,
    )


def _failure(data: logged.ModelFailed, shown: str) -> ScriptTurn:
    kind = data["kind"]
    if kind in _STATUS_OF:
        return ScriptTurn(fault=HttpFault(kind="http", status=_STATUS_OF[kind], body=data["message"]))
    if kind == "stalled":
        return ScriptTurn(text=shown, fault=StallFault(kind="stall", after=len(shown)))
    return ScriptTurn(text=shown, fault=CutFault(kind="cut", after=len(shown)))
