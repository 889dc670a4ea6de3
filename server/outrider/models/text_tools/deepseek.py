"""Calls of DeepSeek.

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME ```json {…} ```<｜tool▁call▁end｜>…   V3, R1
    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>       V3.1
    <｜DSML｜function_calls><｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">…           V3.2
    the same in `tool_calls` (V4), and with a space before each name, in ` calls` (V4.1)

Distilled models lose the tokens' odd characters, or the token before `function`.

Sources: chat templates of DeepSeek V3, R1 and V3.1; encodings of DeepSeek V3.2 and V4.
"""

import re

from outrider.models.text_tools import literal
from outrider.models.text_tools.reading import Handler, Reading, prose, section, section_end
from outrider.models.text_tools.shapes import arguments_of, named, take
from outrider.models.text_tools.source import Mismatch, Wait
from outrider.models.text_tools.xml import Tags, tagged

_SECTIONS = {
    "<｜tool▁calls▁begin｜>": "<｜tool▁calls▁end｜>",
    "<｜tool▁calls｜>": "<｜tool▁calls▁end｜>",
    "<｜tool_calls_begin｜>": "<｜tool_calls_end｜>",
    "<｜tool calls begin｜>": "<｜tool calls end｜>",
    "<｜tool\\_calls\\_begin｜>": "<｜tool\\_calls\\_end｜>",
}
_CALLS = (
    "<｜tool▁call▁begin｜>",
    "<｜tool_call_begin｜>",
    "<｜tool call begin｜>",
    "<｜tool\\_call\\_begin｜>",
)
_CALL_ENDS = ("<｜tool▁call▁end｜>", "<｜tool_call_end｜>", "<｜tool call end｜>", "<｜tool\\_call\\_end｜>")
_SEPARATORS = ("<｜tool▁sep｜>", "<｜tool_sep｜>", "<｜tool sep｜>", "<｜tool\\_sep｜>")
_OF_A_FUNCTION = tuple("function" + separator for separator in _SEPARATORS)
_NAME = re.compile(r"[^<\n{`]*")
_LONGEST_NAME = 256


def _dsml(space: str, *around: str) -> Tags:
    return Tags(
        openings=(f"<｜DSML｜{space}invoke name=",),
        end=f"</｜DSML｜{space}invoke>",
        argument_openings=(f"<｜DSML｜{space}parameter name=",),
        argument_end=f"</｜DSML｜{space}parameter>",
        around=tuple(f"</｜DSML｜{space}{name}>" for name in around),
        lines=False,
    )


_DSML = (_dsml("", "function_calls", "tool_calls"), _dsml(" ", "calls"))


def _call(reading: Reading) -> Wait[None]:
    source = reading.source
    yield from source.literal(*_CALLS)
    name = yield from source.run(_NAME, _LONGEST_NAME)
    yield from source.must(*_SEPARATORS)
    if name.strip() == "function":
        name = yield from source.run(_NAME, _LONGEST_NAME)
    yield from source.space()
    fenced = yield from source.literal("```json", "```")
    arguments = arguments_of((yield from literal.value(source)))
    if arguments is None:
        raise Mismatch
    yield from source.space()
    if fenced:
        yield from source.literal("```")
        yield from source.space()
    yield from source.literal(*_CALL_ENDS)
    take(reading, [named(name, arguments, reading.tools, known=False)])


_HANDLERS: dict[str, Handler] = {
    **{begin: section(begin, (*_CALLS, *_OF_A_FUNCTION), end) for begin, end in _SECTIONS.items()},
    **{end: section_end(end) for end in _SECTIONS.values()},
    **dict.fromkeys((*_CALLS, *_OF_A_FUNCTION), _call),
    **{
        end.replace("</", "<"): section(end.replace("</", "<"), tags.openings, end)
        for tags in _DSML
        for end in tags.around
    },
    **{end: section_end(end) for tags in _DSML for end in tags.around},
    **{opening: handler for tags in _DSML for opening, handler in tagged(tags).items()},
    "<｜end▁of▁sentence｜>": section_end("<｜end▁of▁sentence｜>"),
}


def deepseek(reading: Reading) -> Wait[None]:
    """Reads a message of DeepSeek."""
    yield from prose(reading, _HANDLERS)
