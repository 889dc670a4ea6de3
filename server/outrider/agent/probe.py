"""Whether a model calls tools, found out by asking it to: one small request, made only where a person wants it."""

import asyncio
from contextlib import aclosing
from typing import Final, Literal

from outrider.agent.services import Services
from outrider.models.catalog import ModelProblem
from outrider.models.routing.choose import in_order
from outrider.models.text_tools.handed_on import handed_on
from outrider.ports.model import Message, ModelFailure, ModelRequest, ModelResponse, Switched, ToolSpec
from outrider_protocol.commands import Check
from outrider_protocol.settings import Settings

PROBE_SECONDS: Final = 60.0
"""How long the answer may take."""
AT_ONCE: Final = 4
"""Models that are asked at the same time."""
MOST_PROBED: Final = 16
"""Models that are asked at all: each request costs something."""
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


def models_of(settings: Settings) -> list[str]:
    """The models that a turn may ask, the one of its first step first."""
    listed = [one.model for one in in_order(settings.tiers, "frontier", settings.model)]
    return list(dict.fromkeys([*listed, *settings.fallback_models]))


async def try_all(services: Services) -> list[Check]:
    """Ask every model that a turn may ask to call a tool; gives what came of each, in the order of the settings.

    Args:
        services: The house.
    """
    models, free = models_of(services.settings()), asyncio.Semaphore(AT_ONCE)

    async def tried(reference: str) -> Check:
        async with free:
            return await try_tools(services, reference)

    checks = await asyncio.gather(*(tried(one) for one in models[:MOST_PROBED]))
    if left := models[MOST_PROBED:]:
        detail = f"more than {MOST_PROBED} models are set: not asked are {', '.join(left)}"
        return [*checks, Check(name="tools", status="warn", detail=detail)]
    return checks


async def try_tools(services: Services, reference: str) -> Check:
    """Ask a model to call a tool, and say what came of it.

    Args:
        services: The house.
        reference: The model.
    """

    def check(status: Literal["ok", "warn", "fail"], detail: str) -> Check:
        return Check(name="tools", status=status, detail=f"{reference}: {detail}")

    model = await services.catalog.open(reference, learned={reference: ""})
    if isinstance(model, ModelProblem):
        return check("fail", model.message)
    request = ModelRequest("probe", [Message("user", _TASK)], [_TOOL])
    form, answer, keep = model.tool_format, None, ""
    try:
        async with services.deadlines.timeout(PROBE_SECONDS), aclosing(model.stream(request)) as items:
            async for item in items:
                if isinstance(item, Switched):
                    form = item.tool_format
                    keep = f'; to have it so from the start set models."{reference}".toolFormat = "{form}"'
                elif isinstance(item, ModelResponse | ModelFailure):
                    answer = item
    except TimeoutError:
        return check("fail", f"no answer in {PROBE_SECONDS:g} s")
    finally:
        await model.close()
    if not isinstance(answer, ModelResponse):
        return check("fail", answer.message if answer is not None else "it ended without an answer")
    if not keep:
        services.catalog.forget_refusal(reference)
    how = "as its provider has them" if form is None else f"as text, in the format {form}"
    if any(call.name == _TOOL.name for call in answer.tool_calls):
        return check("ok", f"calls tools {how}{keep}")
    written = handed_on(answer.text, [_TOOL], services.catalog.profile(reference).text_format)
    if written is not None:
        line = f'models."{reference}".toolFormat = "{written}"'
        return check(
            "warn", f"was asked for a call, {how}, and wrote it as text, in the format {written}: set {line}"
        )
    other = "" if form is None else "; another `toolFormat` may suit it"
    return check("warn", f"was asked for a call, {how}, and made none{other}")
