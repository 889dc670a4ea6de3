"""The calls of an answer whose provider has tools, as they were meant: by names that are offered, each for itself."""

import json
from collections.abc import Sequence
from dataclasses import replace

from outrider.models.text_tools.parallel import several, without_prefix
from outrider.models.text_tools.shapes import arguments_of
from outrider.models.text_tools.tools import Tools
from outrider.ports.ids import Ids
from outrider.ports.model import ModelResponse, ToolCall, ToolSpec


def as_meant(answer: ModelResponse, offered: Sequence[ToolSpec], ids: Ids) -> ModelResponse:
    """The answer with `functions.NAME` called NAME, and a call of several at once as those calls.

    Args:
        answer: As the provider gave it.
        offered: The tools that the model knows; a name of one of them stays what it is.
        ids: Makes the ids of calls that stood in another one.
    """
    names = {tool.name for tool in offered}
    if not names or all(call.name in names for call in answer.tool_calls):
        return answer
    tools = Tools(offered)
    calls: list[ToolCall] = []
    for call in answer.tool_calls:
        found = several(call.name, arguments_of(call.arguments) or {}, tools)
        if found is None:
            calls.append(replace(call, name=without_prefix(call.name, tools)))
        else:
            calls += [
                ToolCall(ids.new("call"), name, json.dumps(given, ensure_ascii=False))
                for name, given in found
            ]
    # What goes back word for word counts the calls, so it is kept only where each is still one.
    kept = answer.provider_data if len(calls) == len(answer.tool_calls) else None
    return replace(answer, tool_calls=tuple(calls), provider_data=kept)
