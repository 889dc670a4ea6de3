"""Forms of calls that servers test their own parsers with, and that were read wrongly once."""

from typing import Any

import pytest

from models.text_tools.tools import outcome
from outrider.models.text_tools import FORMATS, tool_of

_FIELDS: dict[str, Any] = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "todos": {"type": "array"},
    "path": {"type": "string"},
}


def _tool(name: str, *fields: str) -> Any:
    schema = {"properties": {key: _FIELDS[key] for key in fields}, "required": list(fields[:1])}
    return tool_of({"name": name, "parameters": schema})


TOOLS = [
    _tool("get_weather", "city", "days"),
    _tool("get current weather", "city", "days"),
    _tool("todo_write", "todos"),
    _tool("read_file", "path"),
    _tool("add", "days"),
    _tool("now"),
]
PARIS = {"city": "Paris"}
WEATHER = [("get_weather", {"city": "Paris", "days": 3})]
RAW_TODOS = r"[{\"id\": \"1\", \"task\": \"C:\\\\a.txt\"}, {\"id\": \"2\", \"task\": \"Print \\\\n\"}]"
TODOS = [{"id": "1", "task": r"C:\a.txt"}, {"id": "2", "task": r"Print \n"}]
PAIRS = "<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3"


def suffixed(text: str) -> str:
    """The same with the suffix that some checkpoints of Hunyuan have."""
    return text.replace(">", ":opensource>")


HUNYUAN = f"<tool_calls><tool_call>get_weather<tool_sep>{PAIRS}</arg_value></tool_call></tool_calls>"
DEEPSEEK = (
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
    '```json\n{"city": "Paris"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
)
OLMO = "<function_calls>get_weather(city='Paris', days=3)\nnow()</function_calls>"
FORMS: list[tuple[str, str, list[tuple[str, Any]], str]] = [
    # The answer of a ReAct agent of LlamaIndex.
    ("react", "Thought: I know it.\nAnswer: 2\n", [], "2"),
    ("react", "Thought: I know it.\n**Answer:** It is:\n\nTwo.", [], "It is:\n\nTwo."),
    ("react", "Answer: this is how it begins.", [], "Answer: this is how it begins."),
    ("react", "Thought: Why?\n```\nx = {}\n\nFinal Answer: so.", [], "so."),
    ("react", 'Thought: a\nAction: add (adds days)\nAction Input: {"days": 1}\n', [("add", {"days": 1})], ""),
    ("react", 'Thought: a\nAction: add\nAction Input: Tool({"days": 1})\n', [("add", {"days": 1})], ""),
    ("react", "Action: read_file\nAction Input: a.py", [("read_file", {"path": "a.py"})], ""),
    *(
        (
            "react-json",
            f'Thought: x\n{fence}{{"action": "read_file", "action_input": "a.py"}}\n{fence.strip()}',
            [("read_file", {"path": "a.py"})],
            "",
        )
        for fence in ("", "```\n", "~~~\n")
    ),
    # Names with spaces.
    (
        "qwen3-coder-xml",
        "<function=get current weather>\n<parameter=city>\nParis\n</parameter>\n</function>",
        [("get current weather", PARIS)],
        "",
    ),
    (
        "qwen3-coder-xml",
        "<function=get_weather>\n<parameter=city of mine>\nParis\n</parameter>\n</function>",
        [("get_weather", {"city of mine": "Paris"})],
        "",
    ),
    (
        "minimax-xml",
        '<invoke name="get current weather"><parameter name="city" type="string">Paris</parameter></invoke>',
        [("get current weather", PARIS)],
        "",
    ),
    ("glm-xml", f"<tool_call>get current weather\n{PAIRS}</arg_value></tool_call>", [(TOOLS[1].name, WEATHER[0][1])], ""),
    ("glm-xml", "<tool_call>get some weather</tool_call>", [], "<tool_call>get some weather</tool_call>"),
    # GLM: values without their end tag, and what is escaped twice.
    ("glm-xml", f"<tool_call>get_weather\n{PAIRS.replace('</arg_value>', '')}</arg_value></tool_call>", WEATHER, ""),
    ("glm-xml", f"<tool_call>get_weather\n{PAIRS}</tool_call>", WEATHER, ""),
    ("glm-xml", f"<tool_call>get_weather\n{PAIRS.replace('</arg_value>', '')}\n</tool_call>\n", WEATHER, ""),
    ("glm-xml", "<tool_call>read_file<arg_key>path</arg_key><arg_value><arg_key>b</arg_key><arg_value></arg_value></tool_call>",
     [("read_file", {"path": "<arg_key>b</arg_key><arg_value>"})], ""),
    ("glm-xml", f"<tool_call>get_weather\n{PAIRS}</arg_valu></tool_call>", [], f"<tool_call>get_weather\n{PAIRS}</arg_valu></tool_call>"),
    ("glm-xml", rf"<tool_call>todo_write\n<arg_key>todos</arg_key>\n<arg_value>{RAW_TODOS}</arg_value>" + "\n</tool_call>", [("todo_write", {"todos": TODOS})], ""),
    # Hunyuan, with and without a suffix.
    *(("glm-xml", f"Sure.{text}", WEATHER, "Sure.") for text in (HUNYUAN, suffixed(HUNYUAN), suffixed(HUNYUAN.replace("<tool_sep>", "")))),
    ("hermes", suffixed(f"<think>a</think>{HUNYUAN}"), WEATHER, ""),
    # OLMo 3, Seed-OSS, DeepSeek with ASCII, and lists of JSON between markers.
    ("pythonic", f"Look. {OLMO}", [*WEATHER, ("now", {})], "Look."),
    ("pythonic", "<function_calls>I call:\nnow()</function_calls>", [("now", {})], "I call:"),
    ("qwen3-coder-xml", "<seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>", [("now", {})], ""),
    ("minimax-xml", '<function_calls>\n<invoke name="now">\n</invoke>\n</function_calls>', [("now", {})], ""),
    *(
        ("deepseek", DEEPSEEK.replace("｜", bar).replace("▁", space), [("get_weather", PARIS)], "")
        for bar in "｜|"
        for space in "▁_"
    ),
    *(
        ("json-array", f'Go.{begin}[{{"name": "get_weather", "arguments": {{"city": "Paris"}}}}]{end}', [("get_weather", PARIS)], "Go.")
        for begin, end in {
            "functools": "",
            "<tool_calls>": "</tool_calls>",
            "<TOOLCALL>": "</TOOLCALL>",
            "<|START_ACTION|>": "<|END_ACTION|>",
        }.items()
    ),
    ("gemma", "```tool_code\nread_file(path='```')\n```", [("read_file", {"path": "```"})], ""),
]  # fmt: skip


@pytest.mark.parametrize(("form", "text", "calls", "content"), FORMS)
def test_wire_form(form: str, text: str, calls: list[tuple[str, Any]], content: str) -> None:
    for pieces in ([text], list(text)):
        parser = FORMATS[form].parser(TOOLS)
        found = outcome([item for piece in pieces for item in parser.feed(piece)] + parser.finish())
        assert ([(one["name"], one["arguments"]) for one in found["calls"]], found["content"]) == (
            calls,
            content,
        )


def test_cut_off_without_its_end_tag_is_no_call() -> None:
    text = f"<tool_call>get_weather\n{PAIRS}"
    parser = FORMATS["glm-xml"].parser(TOOLS)
    assert outcome([*parser.feed(text), *parser.finish(cut_off=True)])["calls"] == []
