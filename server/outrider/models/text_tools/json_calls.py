"""Calls whose arguments are JSON, and the markers that formats put around them.

    <tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>             `marked`: Hermes, Qwen, Granite …
    <|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.py"}…   `behind_name`: DeepSeek, Kimi K2
    [TOOL_CALLS]read_file[ARGS]{"path": "a.py"}                                             Mistral
    <|python_tag|>{"name": …}, NAME.call(…) or code                                         Llama 3
    [{"name": "read_file", "parameters": {"path": "a.py"}}]                                 nothing around it

Models drift: other tags around the same JSON, the function's name in its tag, or no tag at all. JSON without markup
of its own counts only for a known tool. A missing end tag does no harm, because the JSON tells where it ends.

Sources: NousResearch/Hermes-Function-Calling; chat templates of Qwen 2.5 and 3, Granite 3 and 4, Mistral v3 to v13
(mistral-common), DeepSeek V3, R1 and V3.1, Kimi K2, MiniMax M1, Jamba, Hunyuan A13B, Command R, Nemotron and
Phi-4-mini; prompt formats of Llama 3.1 to 3.3; xLAM; `tool_choice: required` of vLLM and SGLang.
"""

from typing import Any

from outrider.models.text_tools.message import Handler, Reading
from outrider.models.text_tools.python_calls import bare_list, one_call
from outrider.models.text_tools.source import Mismatch, Stops, Torn, value
from outrider.models.text_tools.tagged import FUNCTION, tagged_call
from outrider.models.text_tools.tools import (
    LONGEST_NAME,
    NAMESPACE,
    Call,
    Item,
    arguments_of,
    calls_in,
    named,
)
from outrider.ports.model import TextDelta


def json_calls(reading: Reading, *, known: bool = False, bare: bool = False) -> list[Item]:
    """Read a JSON value, and take it for one call or several; see `calls_in`."""
    return calls_in(value(reading.source), reading.tools, known=known, bare=bare)


def whole_json(reading: Reading) -> list[Item]:
    """Reads JSON without markup."""
    return json_calls(reading, known=True)


def list_of_calls(reading: Reading) -> list[Item]:
    """Reads a list of calls without markup, as JSON or as Python."""
    return whole_json(reading) if reading.source.behind_space(1) == "{" else bare_list(reading)


def _further(reading: Reading, *, known: bool = False, bare: bool = False) -> list[Item]:
    """Read the objects behind a call, with commas or semicolons between them at most; what is no call is text."""
    source = reading.source
    items: list[Item] = []
    while source.behind_space(also=",;") == "{":
        start = source.at
        source.space(",;")
        try:
            items += json_calls(reading, known=known, bare=bare)
        except Mismatch as mismatch:
            if isinstance(mismatch, Torn):
                source.upto("\n")
            return [*items, TextDelta(source.text[start : source.at])]
    return items


def marked(opening: str, end: str, *, known: bool = False) -> dict[str, Handler]:
    """The handler of JSON, or of a function's own tags, between two markers.

    Args:
        opening: The marker before it.
        end: The marker after it, which may be missing.
        known: Whether only known tools count.
    """

    def read(reading: Reading) -> list[Item]:
        source = reading.source
        source.must(opening)
        source.space()
        if source.peek() == "<":
            items: list[Item] = [tagged_call(reading, FUNCTION)]
        else:
            if source.standing("{{"):
                source.take(1)  # as early templates showed it
            items = json_calls(reading, known=known, bare=True)
            items += _further(reading, known=known, bare=True)
        source.space("}]")  # brackets too many
        source.literal(end)
        return items

    return {opening: read}


def lines_of_json(opening: str, end: str, *, known: bool = False) -> dict[str, Handler]:
    """The handler of calls between two markers, each on a line of its own; what is no call between them is text.

    Args:
        opening: The marker before them.
        end: The marker after them.
        known: Whether only known tools count.
    """

    def read(reading: Reading) -> list[Item]:
        source = reading.source
        source.must(opening)
        items: list[Item] = []
        while True:
            source.space()
            if source.literal(end) or not source.peek():
                break
            start = source.at
            try:
                items += json_calls(reading, known=known)
            except Mismatch:
                if not items:
                    raise
                source.upto("\n<")
                if source.at == start:
                    break
                line_end = "\n" if source.peek() == "\n" else ""
                items.append(TextDelta(source.text[start : source.at] + line_end))
        if not items:
            raise Mismatch
        return items

    return {opening: read}


def behind_name(
    openings: tuple[str, ...], separators: tuple[str, ...], ends: tuple[str, ...], *, numbered: bool = False
) -> Handler:
    """Reads NAME, a separator, and the arguments, which may stand in a code block.

    Args:
        openings: What may stand before the name.
        separators: What stands behind the name.
        ends: What may stand behind the arguments.
        numbered: Whether the name is an id like `functions.NAME:0`; without the number it must be a known tool.
    """
    name_ends = "<" if numbered else "<\n{`"

    def read(reading: Reading) -> list[Item]:
        source, tools = reading.source, reading.tools
        source.literal(*openings)
        name = source.upto(name_ends, LONGEST_NAME).strip()
        source.must(*separators)
        if name == "function":
            name = source.upto(name_ends, LONGEST_NAME).strip()
        source.space()
        fenced = source.literal("```json", "```")
        arguments = arguments_of(None if source.standing(*ends) else value(source))
        source.space()
        if fenced:
            source.literal("```")
            source.space()
        source.literal(*ends)
        if arguments is None:
            raise Mismatch
        if numbered:
            bare = name.removeprefix(NAMESPACE)
            called, colon, number = bare.rpartition(":")
            if colon and number.isdecimal() and (tools.has(called) or not any(map(str.isspace, called))):
                return [named(called, arguments, tools)]
            name = (tools.only(arguments) or "") if bare.isdecimal() else bare
        return [named(name, arguments, tools, known=numbered)]

    return read


# Mistral.

MISTRAL = "[TOOL_CALLS]"
_PARTS = ("[ARGS]", "[CALL_ID]")


def mistral_calls(reading: Reading) -> list[Item]:
    """Reads calls behind Mistral's token."""
    source = reading.source
    while source.literal(MISTRAL):
        source.space()
    if source.peek() in ("[", "{"):
        return [*json_calls(reading), *_further(reading)]
    name = source.word(".:/-", LONGEST_NAME)
    if source.space() and source.peek() == "[" and not source.standing(*_PARTS):
        return [*json_calls(reading), TextDelta(name)]
    items: list[Item] = [_mistral_call(reading, name)]
    while True:
        start = source.at
        source.space(",")
        name = source.word(".:/-", LONGEST_NAME)
        try:
            if not name or not (source.peek() == "{" or source.standing(*_PARTS)):
                raise Mismatch
            items.append(_mistral_call(reading, name))
        except Mismatch:
            return [*items, TextDelta(source.text[start : source.at])]


def _mistral_call(reading: Reading, name: str) -> Call:
    """Read a call from behind its name on."""
    source, tools = reading.source, reading.tools
    if not source.peek() and not reading.cut_off and tools.has(name) and not tools.required(name):
        return named(name, {}, tools)
    if source.literal("[CALL_ID]"):
        source.word("-", LONGEST_NAME)
    source.literal("[ARGS]")
    return named(name, arguments_of(value(source)), tools)


# Llama 3.

PYTHON_TAG = "<|python_tag|>"
LLAMA_ENDS = ("<|eom_id|>", "<|eot_id|>")
_INTERPRETERS = ("ipython", "python", "code_interpreter")
_END_STOPS = Stops(LLAMA_ENDS)


def llama_objects(reading: Reading) -> list[Item]:
    """Reads calls of Llama 3 at the beginning of its answer, or on lines of their own."""
    source = reading.source
    if reading.sink.fresh:
        items, gap = _in_a_row(reading)
        return [*items, TextDelta(gap)]
    if not source.on_blank_line:
        raise Mismatch
    items, gap = _in_a_row(reading)
    gap += source.any_of(" \t\r")
    if not source.on_blank_line and source.peek() not in ("", "\n", "<"):
        raise Mismatch
    return [*items, TextDelta(gap)]


def _in_a_row(reading: Reading) -> tuple[list[Item], str]:
    """Read calls with semicolons between them; also what stands behind them."""
    source = reading.source
    items = whole_json(reading)
    while True:
        start = source.at
        separator = source.space(";,")
        if ";" not in separator and "," not in separator:
            return items, separator
        try:
            if source.peek() != "{":
                raise Mismatch
            items += whole_json(reading)
        except Mismatch:
            return items, source.text[start : source.at]


def python_tag(reading: Reading) -> list[Item]:
    """Reads what stands behind Llama's tag: JSON, a call of a built-in tool, or code for the interpreter."""
    source, tools = reading.source, reading.tools
    source.must(PYTHON_TAG)
    source.space()
    if source.peek() == "{":
        return [*json_calls(reading), *_further(reading)]
    start = source.at
    found: Call | None = None
    try:
        found = one_call(source)
    except Mismatch:
        source.at = start
    rest, end = source.until(_END_STOPS)
    code = source.text[start : source.at]
    source.literal(end)
    if found and not rest.strip() and (found.name.endswith(".call") or tools.has(found.name)):
        return [named(found.name.removesuffix(".call"), found.arguments, tools)]
    interpreter = next((name for name in _INTERPRETERS if tools.has(name)), "")
    if not interpreter or reading.cut_off or not code.strip():
        raise Mismatch
    arguments: dict[str, Any] = {next(iter(tools.parameters(interpreter)), "code"): code}
    return [named(interpreter, arguments, tools)]
