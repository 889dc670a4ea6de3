"""Reasoning and acting in labelled lines.

    Thought: I have to see the file.            Thought: …
    Action: read_file                           Action:
    Action Input: {"path": "a.py"}              ```json
                                                {"action": "read_file", "action_input": {"path": "a.py"}}
    …                                           ```
    Final Answer: …                             {"action": "Final Answer", "action_input": "…"}

A thought is reasoning, an action a call if there is such a tool. From `Observation:` on, a model makes up what
only the tool can tell: that is reasoning too, and nothing in it is a call.

Sources: Yao et al., "ReAct" (2022); ReAct and structured chat agents of LangChain.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.python_calls import call_of_text
from outrider.models.text_tools.reading import (
    FENCES,
    THOUGHT_END,
    THOUGHTS,
    Handler,
    Reading,
    attempt,
    closing_calls,
    code_block,
    opened_thought,
    standing,
    thought,
    thought_end,
)
from outrider.models.text_tools.shapes import arguments_of, named, take
from outrider.models.text_tools.source import Mismatch, Source, Stops, Wait
from outrider.models.text_tools.tools import Tools

_LABELS = ("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:")
_FORMS = {label: (label, f"**{label}**", f"**{label[:-1]}**:") for label in _LABELS}
_ALL_FORMS = tuple(form for forms in _FORMS.values() for form in forms)
_STOPS = Stops([*_ALL_FORMS, *FENCES, *THOUGHTS, THOUGHT_END, "{"])
_THOUGHT_ENDS = {opening: Stops([end]) for opening, end in THOUGHTS.items()}
_NEXT_LABEL = Stops("\n" + form for form in _ALL_FORMS)
_LINE = re.compile(r"[^\n]*")
_LINE_SPACE = re.compile(r"[ \t]*")
_LONGEST_NAME = 256
_CALL = re.compile(r"([\w.-]+)\s*[\[(](.*)[\])]", re.DOTALL)
_BY_NAME = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_ACTION_KEYS = ("action", "tool", "name")
_INPUT_KEYS = ("action_input", "input", "arguments", "args", "parameters", "tool_input")
_FINAL = "final answer"
_NAME_MARKS = " \t\r`*\"'"


def react(reading: Reading) -> Wait[None]:
    """Reads a message in labelled lines."""
    source, sink = reading.source, reading.sink
    if reading.opened:
        yield from opened_thought(reading, Stops([THOUGHT_END]))
    while True:
        stop = yield from source.until(_STOPS, sink.text)
        if not stop:
            return
        label = stop.replace("*", "")
        if stop in THOUGHTS:
            yield from thought(reading, stop, _THOUGHT_ENDS[stop])
        elif stop == THOUGHT_END:
            yield from thought_end(reading)
        elif not source.on_blank_line:
            sink.text(source.take(len(stop)))
        elif label == "Thought:":
            source.take(len(stop))
            sink.reasoning("")
            yield from source.space()
            yield from source.until(_NEXT_LABEL, sink.reasoning)
        elif label == "Final Answer:":
            source.take(len(stop))
            sink.reasoning("")
        elif label == "Observation:" and sink.calls:
            sink.reasoning("")
            yield from source.rest(sink.reasoning)
        elif label == "Action:":
            yield from attempt(reading, _action)
        elif stop in FENCES:
            yield from code_block(reading, stop, _UNLABELLED)
        elif stop == "{":
            source.record()
            yield from closing_calls(reading, _UNLABELLED)
        else:
            sink.text(source.take(len(stop)))


def _action(reading: Reading) -> Wait[None]:
    """Reads an action and its input."""
    source, tools = reading.source, reading.tools
    yield from source.must(*_FORMS["Action:"])
    yield from source.run(_LINE_SPACE)
    if (yield from _json_follows(source)):
        _take_action(reading, (yield from _json(source)))
        return
    line = (yield from source.run(_LINE)).strip(_NAME_MARKS)
    inline = _CALL.fullmatch(line)
    name = tools.named_like(inline.group(1) if inline else line)
    if not name:
        raise Mismatch
    if inline:
        if reading.cut_off and not (yield from source.peek()):
            raise Mismatch
        take(reading, [named(name, _arguments_of_text(tools, name, inline.group(2)), tools, known=True)])
        return
    mark = source.record()
    yield from source.space()
    if not (yield from source.literal(*_FORMS["Action Input:"])):
        if tools.required(name) or reading.cut_off or (yield from source.peek()) not in ("", *"TAOF*"):
            raise Mismatch
        take(reading, [named(name, {}, tools, known=True)])
        reading.sink.text(source.since(mark))
        return
    yield from source.run(_LINE_SPACE)
    if (yield from _json_follows(source)):
        arguments = arguments_of((yield from _json(source)))
    else:
        parts: list[str] = []
        label = yield from source.until(_NEXT_LABEL, parts.append)
        if reading.cut_off and not label:
            raise Mismatch
        arguments = _arguments_of_text(tools, name, "".join(parts))
    if arguments is None:
        raise Mismatch
    take(reading, [named(name, arguments, tools, known=True)])


def _json_follows(source: Source) -> Wait[bool]:
    following = yield from source.behind_space()
    if following == "{":
        return True
    if following not in ("`", "~"):
        return False
    yield from source.space()
    return bool((yield from standing(source, FENCES)))


def _json(source: Source) -> Wait[Any]:
    """A JSON value, in a code block or not."""
    yield from source.space()
    fence = yield from source.literal(*FENCES)
    if fence:
        yield from source.run(_LINE)
    found = yield from literal.value(source)
    if fence:
        yield from source.space()
        yield from source.literal(fence)
    return found


def _arguments_of_text(tools: Tools, name: str, text: str) -> Mapping[str, Any]:
    """The arguments that an input is: by name as in Python, or one without a name if the tool takes just one.

    Raises:
        Mismatch: If it is neither.
    """
    text = text.strip()
    parameters, required = tools.parameters(name), tools.required(name)
    named_first = _BY_NAME.match(text)
    if named_first and named_first.group(1) in parameters:
        found = call_of_text(f"_({text})")
        if found is None:
            raise Mismatch
        return found.arguments
    wanted = list(parameters) if len(parameters) == 1 else list(required)
    if len(wanted) != 1:
        if required or text.strip("`{}()").lower() not in ("", "none", "null", "n/a"):
            raise Mismatch
        return {}
    if not text:
        if required:
            raise Mismatch
        return {}
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        try:
            text = str(literal.of_text(text, python=True))
        except Mismatch:
            text = text[1:-1]
    return {wanted[0]: tools.argument(name, wanted[0], text)}


def _take_action(reading: Reading, found: Any) -> None:
    """Take the actions that a JSON value is; the final answer is text.

    Raises:
        Mismatch: If there is none in it.
    """
    listed = literal.listed(found)
    actions = [found] if listed is None else listed
    if not actions:
        raise Mismatch
    for action in actions:
        fields = literal.mapping(action)
        if fields is None:
            raise Mismatch
        name = next((fields[key] for key in _ACTION_KEYS if isinstance(fields.get(key), str)), "")
        given = next((fields[key] for key in _INPUT_KEYS if key in fields), None)
        if name.casefold() == _FINAL:
            reading.sink.text(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
            continue
        tool = reading.tools.named_like(name) if name else None
        if not tool or not any(key in fields for key in _INPUT_KEYS):
            raise Mismatch
        arguments = literal.mapping(given)
        if arguments is None:
            arguments = _arguments_of_text(reading.tools, tool, "" if given is None else str(given))
        take(reading, [named(tool, arguments, reading.tools, known=True)])


def _object(reading: Reading) -> Wait[None]:
    """Reads an action without its label."""
    _take_action(reading, (yield from literal.value(reading.source)))


_UNLABELLED: dict[str, Handler] = {"{": _object, "[": _object}
