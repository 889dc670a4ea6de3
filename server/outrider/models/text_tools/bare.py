"""Calls as plain JSON, with little or nothing around it: Llama 3, lists, bare objects, fenced blocks.

    {"name": "read_file", "parameters": {"path": "a.py"}}; {"name": "list_dir", "parameters": {}}

Only a call of a tool that there is counts. It must begin a line, or be a code block of its own, and nothing may
follow it. Llama 3 begins its answer with it, and may go on; behind other text it stands on a line of its own.

Sources: prompt formats of Llama 3.1 to 3.3; xLAM; `tool_choice: required` of vLLM and SGLang.
"""

import re
from typing import Any

from outrider.models.text_tools.hermes import TOOL_CALL, whole_json
from outrider.models.text_tools.python_calls import call, in_tokens
from outrider.models.text_tools.reading import Handler, Reading, Sink, prose, put, section_end
from outrider.models.text_tools.shapes import further_calls, json_calls, named, take
from outrider.models.text_tools.source import Mismatch, Stops, Wait
from outrider.models.text_tools.xml import FUNCTION, tagged

_WHOLE: dict[str, Handler] = {"{": whole_json, "[": whole_json}
_LINE_SPACE = re.compile(r"[ \t\r]*")
_SEPARATOR = re.compile(r"[\s;,]*")
_INTERPRETERS = ("ipython", "python", "code_interpreter")
_ENDS = Stops(["<|eom_id|>", "<|eot_id|>"])
_END_OF_TURN = {token: section_end(token) for token in _ENDS.all}
_PYTHON_TAG = "<|python_tag|>"


def bare_json(reading: Reading) -> Wait[None]:
    """Reads a message whose calls are plain JSON."""
    listed = {"[TOOL_CALLS]": _behind("[TOOL_CALLS]"), **TOOL_CALL}
    yield from prose(reading, listed, whole=_WHOLE, fenced_behind_text=True)


def _behind(marker: str) -> Handler:
    def handler(reading: Reading) -> Wait[None]:
        yield from reading.source.must(marker)
        yield from json_calls(reading, known=True)

    return handler


def llama3(reading: Reading) -> Wait[None]:
    """Reads a message of Llama 3."""
    python = {_PYTHON_TAG: _python_tag, "<|python_start|>": in_tokens("<|python_start|>", "<|python_end|>")}
    yield from prose(
        reading, {**python, **tagged(FUNCTION), **_END_OF_TURN, "{": _objects}, whole={"[": whole_json}
    )


def _objects(reading: Reading) -> Wait[None]:
    """Reads calls at the beginning of the answer, or on lines of their own."""
    source, sink, trial = reading.source, reading.sink, Sink()
    if sink.fresh:
        sink.text((yield from _in_a_row(reading)))
        return
    if not source.on_blank_line:
        raise Mismatch
    reading.sink = trial
    try:
        gap = yield from _in_a_row(reading)
    finally:
        reading.sink = sink
    gap += yield from source.run(_LINE_SPACE)
    if not source.on_blank_line and (yield from source.peek()) not in ("", "\n", "<"):
        raise Mismatch
    put(trial.taken(), sink)
    sink.text(gap)


def _in_a_row(reading: Reading) -> Wait[str]:
    """Reads calls that follow each other, with semicolons between them; gives what stands behind them."""
    source = reading.source
    yield from json_calls(reading, known=True)
    while True:
        mark = source.record()
        separator = yield from source.run(_SEPARATOR)
        if ";" not in separator and "," not in separator:
            return separator
        try:
            if (yield from source.peek()) != "{":
                raise Mismatch
            yield from json_calls(reading, known=True)
        except Mismatch:
            return source.since(mark)


def _python_tag(reading: Reading) -> Wait[None]:
    """Reads what stands behind the tag: JSON, a built-in tool's call, or code for the interpreter."""
    source, tools = reading.source, reading.tools
    yield from source.must(_PYTHON_TAG)
    yield from source.space()
    if (yield from source.peek()) == "{":
        yield from json_calls(reading)
        yield from further_calls(reading)
        return
    mark = source.record()
    try:
        found: Any = yield from call(source)
    except Mismatch:
        found = None
    parts = [source.since(mark)]
    end = yield from source.until(_ENDS, parts.append)
    if end:
        yield from source.must(end)
    rest = "".join(parts)[len(parts[0]) :]
    if found and not rest.strip() and (found.name.endswith(".call") or tools.has(found.name)):
        take(reading, [named(found.name.removesuffix(".call"), found.arguments, tools, known=False)])
        return
    interpreter = next((name for name in _INTERPRETERS if tools.has(name)), "")
    if not interpreter or reading.cut_off or not "".join(parts).strip():
        raise Mismatch
    argument = next(iter(tools.parameters(interpreter)), "code")
    take(reading, [named(interpreter, {argument: "".join(parts)}, tools, known=True)])
