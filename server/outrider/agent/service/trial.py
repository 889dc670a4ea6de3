"""Asks one model to call a tool, and says what came of it: a real request, as small as one can be."""

from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Literal

from outrider.models.catalog import Catalog, ModelProblem
from outrider.models.text_tools.formats import handed_on
from outrider.ports.clock import Clock
from outrider.ports.model import (
    FailureKind,
    Message,
    ModelFailure,
    ModelRequest,
    ModelResponse,
    Switched,
    ToolSpec,
)

SECONDS: Final = 60.0
"""How long the answer may take."""
_TOOL: Final = ToolSpec(
    "report_ready",
    "Says that tools can be called.",
    {
        "type": "object",
        "properties": {"word": {"type": "string"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
_TASK: Final = (
    "This is a test by Outrider's doctor: can you call tools? "
    "Call the tool report_ready once, with the word `ready`, and say nothing else."
)


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it, for a user."""

    status: Literal["ok", "warn", "fail"]
    """`warn`: it answered, and called no tool."""
    detail: str
    failure: FailureKind | None = None
    """Of what kind it is, where there was no answer."""


async def try_tools(catalog: Catalog, clock: Clock, reference: str, seconds: float = SECONDS) -> Tried:
    """Ask a model to call a tool, and say what came of it.

    Args:
        catalog: Where it is.
        clock: Limits the time.
        reference: The model.
        seconds: How long the answer may take.
    """
    model = await catalog.open(reference, learned={reference: ""})
    if isinstance(model, ModelProblem):
        return Tried("fail", model.message, "setup")
    request = ModelRequest("probe", [Message("user", _TASK)], [_TOOL])
    form, answer, keep = model.tool_format, None, ""
    try:
        limit = clock.timeout(seconds)
        async with limit, aclosing(model.stream(request)) as items:
            async for item in items:
                if isinstance(item, Switched):
                    form = item.tool_format
                    keep = f'; to use this from the start, set models."{reference}".toolFormat = "{form}"'
                elif isinstance(item, ModelResponse | ModelFailure):
                    answer = item
    except TimeoutError:
        return Tried("fail", f"no answer in {seconds:g} s", "timeout")
    finally:
        await model.close()
    if not isinstance(answer, ModelResponse):
        if answer is None:
            return Tried("fail", "it ended without an answer", "protocol")
        return Tried("fail", answer.message, answer.kind)
    if not keep:
        catalog.forget_refusal(reference)
    how = "in the provider's own format" if form is None else f"as text, in the format {form}"
    if any(call.name == _TOOL.name for call in answer.tool_calls):
        return Tried("ok", f"calls tools {how}{keep}")
    written = handed_on(answer.text, [_TOOL], catalog.profile(reference).text_format)
    if written is not None:
        line = f'models."{reference}".toolFormat = "{written}"'
        return Tried("warn", f"asked for a tool call {how}, it wrote one in the format {written}: set {line}")
    other = "" if form is None else "; another `toolFormat` may work"
    return Tried("warn", f"asked for a tool call {how}, it made none{other}")
