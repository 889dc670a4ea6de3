"""Messages in labelled parts: reasoning and acting in lines (ReAct), and the channels of gpt-oss (Harmony).

    Thought: I have to see the file.            Thought: …
    Action: read_file                           Action:
    Action Input: {"path": "a.py"}              ```json
                                                {"action": "read_file", "action_input": {"path": "a.py"}}
    …                                           ```
    Final Answer: …                             {"action": "Final Answer", "action_input": "…"}

A thought is reasoning, and an action is a call if there is such a tool. From `Observation:` on, a model makes up what
only the tool can tell: that is reasoning too, and nothing in it is a call. `Answer:` ends a thought as well.

    <|channel|>analysis<|message|>…<|end|>
    <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>
    <|start|>assistant<|channel|>final<|message|>…<|return|>

What is sent to a function is a call, on whatever channel; `analysis` is reasoning, everything else the answer.

Sources: Yao et al., "ReAct" (2022); ReAct and structured chat agents of LangChain and LlamaIndex; "OpenAI harmony
response format" of the openai/harmony repository.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from outrider.models.text_tools.message import (
    FENCES,
    THOUGHT_ENDS,
    THOUGHTS,
    Handler,
    Markup,
    Reading,
    attempt,
    code_block,
    fenced_calls,
    opened_thought,
    settled,
    stream,
    thought,
    thought_end,
    whole_message,
)
from outrider.models.text_tools.python_calls import call_of_text
from outrider.models.text_tools.source import (
    QUOTES,
    Mismatch,
    Source,
    Stops,
    Wait,
    listed,
    mapping,
    of_text,
    value,
)
from outrider.models.text_tools.tools import NAMESPACE, WRAPPERS, Item, Tools, arguments_of, named
from outrider.ports.model import TextDelta

_LABELS = ("Thought:", "Action:", "Action Input:", "Observation:", "Final Answer:", "Answer:")
_FORMS = {label: (label, f"**{label}**", f"**{label[:-1]}**:") for label in _LABELS}
_ALL_FORMS = tuple(form for label, forms in _FORMS.items() if label != "Answer:" for form in forms)
_STOPS = Stops((*_ALL_FORMS, *FENCES, *THOUGHTS, *THOUGHT_ENDS, "{"))
_NEXT_LABEL = Stops("\n" + form for form in _ALL_FORMS)
_UNMARKED = (*FENCES, "{")
"""How an action without a label may begin."""
_THOUGHT_STOPS = Stops("\n" + form for form in (*_ALL_FORMS, *_FORMS["Answer:"], *_UNMARKED))
_NO_MARKUP = Markup({})
_ACTION_KEYS = ("action", "tool", "name")
_INPUT_KEYS = ("action_input", "input", "arguments", "args", "parameters", "tool_input")
_FINAL = "final answer"
_NAME_MARKS = " \t\r`*\"'"


def react(reading: Reading) -> Wait[None]:
    """Reads a message in labelled lines."""
    source, sink = reading.source, reading.sink
    if reading.opened:
        yield from opened_thought(reading, _NO_MARKUP)
    while stop := (yield from stream(reading, _STOPS, sink.text)):
        label = stop.replace("*", "")
        if stop in THOUGHTS:
            yield from thought(reading, stop, _NO_MARKUP)
        elif stop in THOUGHT_ENDS:
            yield from thought_end(reading, stop)
        elif not source.on_blank_line:
            sink.text(source.take(len(stop)))
        elif label == "Thought:":
            source.take(len(stop))
            yield from _thought(reading)
        elif label == "Final Answer:":
            source.take(len(stop))
            sink.reasoning()
        elif label == "Observation:" and sink.calls:
            sink.reasoning()
            yield from stream(reading, Stops(()), sink.reasoning)
        elif label == "Action:":
            yield from attempt(reading, _action)
        elif stop in FENCES:
            yield from code_block(reading, stop, _UNLABELLED)
        elif stop == "{":
            yield from attempt(reading, lambda r: whole_message(r, _UNLABELLED))
        else:
            sink.text(source.take(len(stop)))


def _thought(reading: Reading) -> Wait[None]:
    """Read a thought from behind its label on, up to the next label or an action without one."""
    source, sink = reading.source, reading.sink
    sink.reasoning()
    yield from settled(reading, source.space)
    while stop := (yield from stream(reading, _THOUGHT_STOPS, sink.reasoning)):
        begin = stop[1:]
        if begin not in _UNMARKED:
            if begin in _FORMS["Answer:"]:
                source.take(len(stop))
            return
        found, at_label = yield from settled(reading, lambda begin=begin: _in_thought(reading, begin))
        if found:
            sink.add(found)
            return
        sink.reasoning(source.text[reading.start : source.at])
        if at_label:
            return


def _in_thought(reading: Reading, begin: str) -> tuple[list[Item], bool]:
    """Read an action without a label if it ends the message; also whether a label stands behind what was read."""
    source = reading.source
    source.take(1)
    found: list[Item] = []
    with suppress(Mismatch):
        if begin == "{":
            found = whole_message(reading, _UNLABELLED)
        else:
            _, found, _ = fenced_calls(reading, begin, _UNLABELLED)
    return found, not found and source.on_blank_line and bool(source.standing(*_ALL_FORMS))


def _action(reading: Reading) -> list[Item]:
    """Reads an action and its input."""
    source, tools = reading.source, reading.tools
    source.must(*_FORMS["Action:"])
    source.any_of(" \t")
    if _json_follows(source):
        return _actions_in(_json(source), tools)
    line = source.upto("\n").strip(_NAME_MARKS)
    name, inline = _inline(line)
    tool = tools.named_like(name)
    if not tool:
        raise Mismatch
    behind = source.at
    gap = source.space()
    if not source.literal(*_FORMS["Action Input:"]):
        # No input: it stands in brackets behind the name, or the tool needs none.
        ends = source.peek() == ""
        if inline is not None:
            source.at = behind
            if reading.cut_off and ends:
                raise Mismatch
            return [named(tool, _arguments_of_text(tools, tool, inline), tools, known=True)]
        if tools.required(tool) or reading.cut_off or (not ends and source.peek() not in "TAOF*"):
            raise Mismatch
        return [named(tool, {}, tools, known=True), TextDelta(gap)]
    source.any_of(" \t")
    if _json_follows(source):
        return [named(tool, arguments_of(_json(source)), tools, known=True)]
    text, label = source.until(_NEXT_LABEL)
    if reading.cut_off and not label:
        raise Mismatch
    return [named(tool, _arguments_of_text(tools, tool, text), tools, known=True)]


def _inline(line: str) -> tuple[str, str | None]:
    """The name in a line, and what stands behind it in brackets; None without brackets."""
    source = Source(line)
    name = source.word(".-")
    source.space()
    if name and source.literal("[", "(") and line.endswith(("]", ")")):
        return name, line[source.at : -1]
    return line, None


def _json_follows(source: Source) -> bool:
    """Whether an object follows, in a code block or not."""
    following = source.behind_space()
    if following not in ("`", "~"):
        return following == "{"
    source.space()
    return bool(source.standing(*FENCES))


def _json(source: Source) -> Any:
    """Read a JSON value, in a code block or not."""
    source.space()
    fence = source.literal(*FENCES)
    if fence:
        source.upto("\n")
    found = value(source)
    if fence:
        source.space()
        source.literal(fence)
    return found


def _arguments_of_text(tools: Tools, name: str, text: str) -> Mapping[str, Any]:
    """The arguments that an input is: by name as in Python, or one without a name if the tool takes just one.

    Raises:
        Mismatch: If it is neither.
    """
    text = text.strip()
    _, inline = _inline(text)
    if inline and inline.startswith("{") and (arguments := arguments_of(inline)) is not None:
        return arguments  # written as a call of something
    parameters, required = tools.parameters(name), tools.required(name)
    key, equals, rest = text.partition("=")
    if equals and not rest.startswith("=") and key.rstrip() in parameters:
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
    if len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES:
        try:
            text = str(of_text(text, python=True))
        except Mismatch:
            text = text[1:-1]
    return {wanted[0]: tools.argument(name, wanted[0], text)}


def _actions_in(found: Any, tools: Tools) -> list[Item]:
    """The actions that a JSON value is; the final answer is text.

    Raises:
        Mismatch: If there is none in it.
    """
    items: list[Item] = []
    many = listed(found)
    for action in [found] if many is None else many:
        fields = mapping(action) or {}
        name = next((fields[key] for key in _ACTION_KEYS if isinstance(fields.get(key), str)), "")
        key = next((key for key in _INPUT_KEYS if key in fields), "")
        given = fields.get(key)
        if name.casefold() == _FINAL:
            items.append(
                TextDelta(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
            )
            continue
        tool = tools.named_like(name) if name else None
        if not tool or not key:
            raise Mismatch
        arguments = mapping(given)
        if arguments is None:
            arguments = _arguments_of_text(tools, tool, "" if given is None else str(given))
        items.append(named(tool, arguments, tools, known=True))
    if not items:
        raise Mismatch
    return items


def _object(reading: Reading) -> list[Item]:
    """Reads an action without its label."""
    return _actions_in(value(reading.source), reading.tools)


_UNLABELLED: dict[str, Handler] = {"{": _object, "[": _object}


# Harmony.

_OPENINGS = ("<|start|>", "<|channel|>")
_MESSAGE = "<|message|>"
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_OUTSIDE = Stops((*_OPENINGS, *_ENDS))
_HEADER = Stops((_MESSAGE, *_ENDS, "\n"))
_NO_TOOLS = ("", "assistant", "user", "browser", "python")
"""Who else is addressed: the sides of a conversation, and tools that a server brings along."""
_BEGINNINGS = (" to=functions.", "to=functions.", "analysis<|message|>", "final<|message|>")
"""How a text begins if `<|start|>assistant` or `<|channel|>` stands in the prompt already."""


def harmony(reading: Reading) -> Wait[None]:
    """Reads a message of gpt-oss, which may be several of its own."""
    source, sink = reading.source, reading.sink
    spoken = False
    if (yield from settled(reading, lambda: source.standing(*_BEGINNINGS))):
        spoken = yield from _part(reading, spoken)
    while stop := (yield from stream(reading, _OUTSIDE, sink.text)):
        if stop in _ENDS:
            source.take(len(stop))
        else:
            spoken = yield from _part(reading, spoken)


def _part(reading: Reading, spoken: bool) -> Wait[bool]:
    """Read one part, from its header on; give whether there was an answer up to here."""
    source, sink = reading.source, reading.sink
    found = yield from settled(reading, lambda: _header(reading))
    if isinstance(found, list):
        sink.add(found)
        return spoken
    if found is None:
        sink.text(source.text[reading.start : source.at])
        return True
    if found == "analysis":
        sink.reasoning()
    elif spoken:
        sink.text("\n")
    yield from stream(reading, _OUTSIDE, sink.reasoning if found == "analysis" else sink.text)
    return spoken or found != "analysis"


def _header(reading: Reading) -> list[Item] | str | None:
    """Read the header of a part, and its body if it is a call.

    Returns:
        The call; the channel of a part whose body follows; None for what is no part, or a call that cannot be read.
    """
    source, tools = reading.source, reading.tools
    head, stop = source.until(_HEADER)
    if stop != _MESSAGE:
        return None
    source.take(len(_MESSAGE))
    name, channel = _word_behind(head, "to=", ".:/-"), _word_behind(head, "<|channel|>")
    if not (name.startswith(NAMESPACE) or name in WRAPPERS or (name not in _NO_TOOLS and tools.knows(name))):
        return channel or head.strip()
    body, end = source.until(_OUTSIDE)
    if reading.cut_off and not end:
        return None
    try:
        arguments = arguments_of(of_text(body) if body.strip() else {})
        return [named(name.removeprefix(NAMESPACE), arguments, tools)]
    except Mismatch:
        return None


def _word_behind(head: str, marker: str, also: str = "") -> str:
    """The word that follows a marker in a header; `""` if none does."""
    source = Source(head.partition(marker)[2])
    source.space()
    return source.word(also)
