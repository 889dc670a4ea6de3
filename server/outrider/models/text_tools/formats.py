"""The table of formats: what calls look like in each, how they are written, and with what its messages end.

Formats that differ only in markers and keys are rows made of the same handlers.

Sources: chat templates and tokenizer configurations of the model families, named in the modules that read them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, starmap
from typing import Any, Final

from outrider.models.text_tools.json_calls import (
    LLAMA_ENDS,
    MISTRAL,
    PYTHON_TAG,
    behind_name,
    lines_of_json,
    list_of_calls,
    llama_objects,
    marked,
    mistral_calls,
    python_tag,
    whole_json,
)
from outrider.models.text_tools.labelled import harmony, react
from outrider.models.text_tools.message import (
    Driver,
    Handlers,
    Markup,
    TextToolParser,
    left_out,
    prose,
    section_end,
    sections,
)
from outrider.models.text_tools.python_calls import BRACKETED, bare_list, bracketed_call, code_in, gemma_call
from outrider.models.text_tools.tagged import (
    FUNCTION,
    INVOKE,
    K3,
    K3_THOUGHT_END,
    M3_PREFIX,
    OWN,
    dsml,
    k3_thought_end,
    m3_section,
    pairs,
    suffixed_section,
    suffixed_section_end,
)
from outrider.models.text_tools.tools import Call, Item
from outrider.ports.model import ToolSpec

# How calls are read.

_TAG: Handlers = marked("<tool_call>", "</tool_call>")
_OTHER_TAG: Handlers = marked("<function_call>", "</function_call>")
_TAG_END: Handlers = {"</tool_call>": section_end("</tool_call>")}
_JSON_LIST: Handlers = {"[": whole_json}
_JSON_OBJECT: Handlers = {"{": whole_json}

_MARKS_OF_LISTS = {
    MISTRAL: "[/TOOL_CALLS]",
    "<TOOLCALL>": "</TOOLCALL>",  # Nemotron
    "<|START_ACTION|>": "<|END_ACTION|>",  # Command R
    "<longcat_tool_call>": "</longcat_tool_call>",
    "<|action_start|><|plugin|>": "<|action_end|>",  # InternLM 2
}
_LOOSE_TAGS = {f"<{tag}>": f"</{tag}>" for tag in ("tool", "tools", "response", "json", "JSON", "xml")}


def _all_marked(pairs: Mapping[str, str]) -> Handlers:
    """Handlers of JSON between markers, which counts only if it calls a known tool."""
    return {key: one for pair in pairs.items() for key, one in marked(*pair, known=True).items()}


_LISTS: Handlers = {
    **lines_of_json("<tool_calls>", "</tool_calls>", known=True),  # Jamba, Hunyuan A13B
    **_all_marked(_MARKS_OF_LISTS),
    "functools[": marked("functools", "", known=True)["functools"],  # Phi-4-mini
}

# Distilled models lose the odd characters of DeepSeek's tokens, or the token before `function`.
_DEEPSEEK_STYLES = [(bar, space) for bar in "｜|" for space in ("▁", "_", " ", "\\_")]


def _tokens(name: str) -> tuple[str, ...]:
    return tuple(f"<{bar}{name.replace(' ', space)}{bar}>" for bar, space in _DEEPSEEK_STYLES)


_DEEPSEEK_CALLS, _DEEPSEEK_SEPARATORS = _tokens("tool call begin"), _tokens("tool sep")
_DEEPSEEK = Markup(
    {
        **sections(
            {
                **dict(zip(_tokens("tool calls begin"), _tokens("tool calls end"), strict=True)),
                "<｜tool▁calls｜>": "<｜tool▁calls▁end｜>",
            },
            dict.fromkeys(
                (*_DEEPSEEK_CALLS, *(f"function{separator}" for separator in _DEEPSEEK_SEPARATORS)),
                behind_name(_DEEPSEEK_CALLS, _DEEPSEEK_SEPARATORS, _tokens("tool call end")),
            ),
        ),
        **{
            marker: handler
            for tags in (dsml("", "function_calls", "tool_calls"), dsml(" ", "calls"))
            for marker, handler in tags.handlers.items()
        },
        "<｜end▁of▁sentence｜>": section_end("<｜end▁of▁sentence｜>"),
    }
)
_K2_SECTIONS = {
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<|tool_call_section_begin|>": "<|tool_call_section_end|>",
}
_K2_CALL = "<|tool_call_begin|>"
_K2 = behind_name((_K2_CALL,), ("<|tool_call_argument_begin|>",), ("<|tool_call_end|>",), numbered=True)
_K3_CHANNELS = ("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>")
_KIMI = Markup(
    {
        **sections(_K2_SECTIONS, {_K2_CALL: _K2}),
        **K3.handlers,
        K3_THOUGHT_END: k3_thought_end,
        **{marker: left_out(marker) for marker in _K3_CHANNELS},
    },
    # Kimi calls in the middle of a thought.
    waking=(*_K2_SECTIONS, *K3.around, K3_THOUGHT_END, _K3_CHANNELS[0]),
)
_HUNYUAN: Handlers = {
    "<tool_calls:": suffixed_section,
    "</tool_calls:": suffixed_section_end,
    "<tool_call:": pairs("<tool_call:"),
}
_PYTHON_TOKENS: Handlers = {"<|python_start|>": code_in("<|python_start|>", "<|python_end|>")}
_LFM_TOKENS = ("<|tool_call_start|>", "<|tool_call_end|>")
_OLMO_TAGS = ("<function_calls>", "</function_calls>")

_HERMES = Markup(
    {**_TAG, **_OTHER_TAG, **FUNCTION.handlers, **_TAG_END, **_HUNYUAN},
    {**_all_marked(_LOOSE_TAGS), **_JSON_OBJECT},
)
_QWEN_3_CODER = Markup({**_TAG, **FUNCTION.handlers, **_TAG_END})
_LLAMA_3 = Markup(
    {
        PYTHON_TAG: python_tag,
        **_PYTHON_TOKENS,
        **FUNCTION.handlers,
        **{token: section_end(token) for token in LLAMA_ENDS},
        "{": llama_objects,
    },
    _JSON_LIST,
)
_PYTHONIC = Markup({**_PYTHON_TOKENS, _OLMO_TAGS[0]: code_in(*_OLMO_TAGS), "[": bare_list})
_LFM_2 = Markup(
    {
        _LFM_TOKENS[0]: code_in(*_LFM_TOKENS, loose=True),
        _LFM_TOKENS[1]: section_end(_LFM_TOKENS[1]),
        "[": bare_list,
    }
)
_MISTRAL = Markup({MISTRAL: mistral_calls, "[/TOOL_CALLS]": section_end("[/TOOL_CALLS]")}, _JSON_LIST)
_GLM = Markup(
    {**sections({"<tool_calls>": "</tool_calls>"}, {"<tool_call>": pairs("<tool_call>")}), **_HUNYUAN}
)
_GRANITE = Markup(
    {**marked("<|tool_call|>", "<|end_of_text|>"), **_TAG, **_OTHER_TAG, **_TAG_END}, _JSON_LIST
)
_MINIMAX = Markup(
    {**lines_of_json("<tool_calls>", "</tool_calls>"), **INVOKE.handlers, M3_PREFIX: m3_section}
)
_GEMMA = Markup(
    {
        "<start_function_call>": gemma_call("<start_function_call>", typed=True),
        "<|tool_call>": gemma_call("<|tool_call>"),
        "<call>": gemma_call("<call>", known=True),
        "```tool_code": code_in("```tool_code", "\n```"),
    },
    {"{": whole_json, "[": list_of_calls, "call:": gemma_call("call:", known=True)},
)
_BARE = Markup({**_LISTS, **_TAG}, {**_JSON_OBJECT, **_JSON_LIST}, fenced_behind_text=True)
_BRACKET = Markup({**dict.fromkeys(BRACKETED, bracketed_call), **_TAG, **FUNCTION.handlers})

# With what messages end: tokens that some servers leave in the text.

_CHATML = ("<|im_end|>", "<|endoftext|>")
_LLAMA = ("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|eom|>")
_EOS_MISTRAL = ("</s>", "[EOS]")
_EOS_DEEPSEEK = ("<｜end▁of▁sentence｜>",)
_EOS_KIMI = ("<|im_end|>", "<|end_of_msg|>", "[EOS]", "[EOT]")
_EOS_MINIMAX = ("[e~[", "<end_of_sentence>")
_EOS_GEMMA = ("<end_of_turn>", "<turn|>", "<eos>", "<start_function_response>", "<|tool_response>")
_OF_ALL = (_CHATML, _LLAMA, _EOS_MISTRAL, _EOS_DEEPSEEK, _EOS_KIMI, _EOS_MINIMAX, _EOS_GEMMA)
_ANY = tuple(dict.fromkeys((*chain(*_OF_ALL), "<|end|>", "<|return|>")))
"""For formats that belong to no family."""

# How calls and results are written.


def _json(one: Any) -> str:
    return json.dumps(one, ensure_ascii=False)


@dataclass(frozen=True)
class Written:
    """How calls are written; called with calls it writes them."""

    form: str
    """One call: with `{name}`, its place `{number}`, `{json}` (its name and arguments), `{parameters}` (the same under
    Llama's key), `{action}` (the same under ReAct's keys), `{arguments}`, `{python}` (its arguments as in Python),
    `{listed}` (the same in brackets) or `{fields}`."""
    before: str = ""
    between: str = "\n"
    after: str = ""
    field: str = ""
    """One of `{fields}`: an argument with its `{key}` and its `{text}`, or its `{lines}` if it may hold line breaks."""

    def __call__(self, calls: Sequence[Call]) -> str:
        """Write `calls`."""
        return self.before + self.between.join(starmap(self._one, enumerate(calls))) + self.after

    def _one(self, number: int, call: Call) -> str:
        name, given = call.name, call.arguments
        texts = {key: one if isinstance(one, str) else _json(one) for key, one in given.items()}
        fields = (
            self.field.format(key=key, text=text, lines=f"\n{text}\n" if "\n" in text else text)
            for key, text in texts.items()
        )
        listed = ", ".join(f"{key}={_json(one)}" for key, one in given.items())
        return self.form.format(
            name=name,
            number=number,
            json=_json({"name": name, "arguments": given}),
            parameters=_json({"name": name, "parameters": given}),
            action=_json({"action": name, "action_input": given}),
            arguments=_json(given),
            python=", ".join(f"{key}={one!r}" for key, one in given.items()),
            listed=listed and f": {listed}",
            fields="".join(fields),
        )


_RESPONSE = "<tool_response>\n{text}\n</tool_response>"
_PLAIN = "Result of {name}:\n{text}"
_OBSERVATION = "Observation: {text}"
_THINK_FIRST = "Begin each message with a line `Thought: …`. When you know the answer, write `Final Answer: …` in place of an action."
_EXAMPLE = Call("NAME", {"KEY": "VALUE"})
_INTRODUCTION = """\
# Tools

You work with tools. Each line is one: its name, what it does, and the JSON Schema of its arguments.

{tools}

To call a tool, write this and nothing after it, with the tool's name and its arguments in place:

{example}

For several calls at once, write them one after the other, in the same way. What they give comes in the next
message, like this:

{result}

Never write a result yourself, and never call a tool only to show how it is done. When no call is needed any
more, answer without one."""


@dataclass(frozen=True)
class Format:
    """A way of writing calls as text."""

    id: str
    markup: Markup | Driver
    """What calls look like between text, or what reads a whole message."""
    write: Written
    """Writes calls as a model of this format does; they go back as its own message."""
    result_form: str
    """How a result goes back, with `{name}` and `{text}`."""
    end_tokens: tuple[str, ...] = _ANY
    """With what models of this format end a message."""
    hint: str = ""
    """What else a model must know."""

    def parser(self, tools: Iterable[ToolSpec] | None, *, opened: bool = False) -> TextToolParser:
        """What reads one message.

        Args:
            tools: What may be called. Calls without markup count only if they are of one of these tools; None if
                the tools are not known, so that every name counts.
            opened: Whether the message begins within a thought.
        """
        read = partial(prose, markup=self.markup) if isinstance(self.markup, Markup) else self.markup
        return TextToolParser(read, tools, self.end_tokens, opened=opened)

    def prompt(self, tools: Sequence[ToolSpec]) -> str:
        """The part of the system message that describes tools and this format to a model."""
        lines = (
            _json({"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)})
            for tool in tools
        )
        example, result = self.write([_EXAMPLE]), self.result(_EXAMPLE.name, "…")
        text = _INTRODUCTION.format(tools="\n".join(lines), example=example, result=result)
        return f"{text}\n\n{self.hint}" if self.hint else text

    def result(self, name: str, text: str) -> str:
        """The result `text` of the tool `name`, as the model gets it."""
        return self.result_form.format(name=name, text=text)


_PYTHON = "{name}({python})"
_PYTHON_LIST = Written(_PYTHON, "[", ", ", "]")
# fmt: off
_ALL = (
    Format("hermes", _HERMES, Written("<tool_call>\n{json}\n</tool_call>"),
           _RESPONSE, (*_CHATML, *_LLAMA, "</s>")),
    Format("qwen3-coder-xml", _QWEN_3_CODER,
           Written("<tool_call>\n<function={name}>\n{fields}</function>\n</tool_call>",
                   field="<parameter={key}>\n{text}\n</parameter>\n"),
           _RESPONSE, _CHATML),
    Format("llama3-json", _LLAMA_3, Written("{parameters}", between="; "), _PLAIN, _LLAMA),
    Format("pythonic", _PYTHONIC, _PYTHON_LIST, _PLAIN, (*_LLAMA, *_CHATML)),
    Format("llama4-pythonic", _PYTHONIC, _PYTHON_LIST, _PLAIN, _LLAMA),
    Format("mistral", _MISTRAL, Written("[TOOL_CALLS]{name}[ARGS]{arguments}", between=""),
           "[TOOL_RESULTS]{text}[/TOOL_RESULTS]", _EOS_MISTRAL),
    Format("deepseek", _DEEPSEEK,
           Written("<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
                   "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"),
           "<｜tool▁output▁begin｜>{text}<｜tool▁output▁end｜>", _EOS_DEEPSEEK),
    Format("glm-xml", _GLM,
           Written("<tool_call>{name}\n{fields}</tool_call>",
                   field="<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>\n"),
           _RESPONSE, ("<|endoftext|>", "<|user|>", "<|observation|>")),
    Format("kimi", _KIMI,
           Written("<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>",
                   "<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"),
           "## Return of {name}\n{text}", _EOS_KIMI),
    Format("granite", _GRANITE, Written("{json}", "<|tool_call|>[", ", ", "]"),
           _RESPONSE, ("<|end_of_text|>", "<|endoftext|>")),
    Format("harmony", harmony,
           Written("<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>",
                   between="<|start|>assistant"),
           _PLAIN, ("<|endoftext|>",)),
    Format("minimax-xml", _MINIMAX,
           Written('<invoke name="{name}">\n{fields}</invoke>',
                   "<minimax:tool_call>\n", after="\n</minimax:tool_call>",
                   field='<parameter name="{key}">{lines}</parameter>\n'),
           _RESPONSE, _EOS_MINIMAX),
    Format("gemma", _GEMMA, Written(_PYTHON, "```tool_code\n", after="\n```"),
           "```tool_output\n{text}\n```", _EOS_GEMMA),
    Format("lfm2", _LFM_2, Written(_PYTHON, "<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
           "<|tool_response_start|>{text}<|tool_response_end|>", _CHATML),
    Format("json-array", _BARE, Written("{json}", "[", ", ", "]"), _PLAIN),
    Format("bare-json", _BARE, Written("{json}"), _PLAIN),
    Format("react", react, Written("Action: {name}\nAction Input: {arguments}"), _OBSERVATION, hint=_THINK_FIRST),
    Format("react-json", react, Written("Action:\n```json\n{action}\n```"), _OBSERVATION, hint=_THINK_FIRST),
    Format("bracket", _BRACKET, Written("[USE {name} tool{listed}]"), "Observation [{name}]: {text}"),
    Format("outrider", Markup(OWN.handlers),
           Written('<call tool="{name}">\n{fields}</call>', field='<arg name="{key}">\n{text}\n</arg>\n'),
           '<result tool="{name}">\n{text}\n</result>'),
)
# fmt: on
FORMATS: dict[str, Format] = {one.id: one for one in _ALL}
"""All formats, by id."""


def thoughts_parser(*, opened: bool = False) -> TextToolParser:
    """What reads a message without calls, to tell its thoughts from the answer.

    Args:
        opened: Whether the message begins within a thought.
    """
    return TextToolParser(partial(prose, markup=Markup({})), [], (), opened=opened)


def read_message(form: Format, text: str, tools: Iterable[ToolSpec] | None) -> list[Item]:
    """Read a message that is complete."""
    parser = form.parser(tools)
    return [*parser.feed(text), *parser.finish()]


_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "qwen3-coder-xml": ("<function=",),
    "hermes": ("<tool_call>", "<function_call>"),
    "llama3-json": ("<|python_tag|>",),
    "llama4-pythonic": ("<|python_start|>", "<function_calls>"),
    "mistral": ("[TOOL_CALLS]",),
    "deepseek": ("<｜", "<|tool▁"),
    "glm-xml": ("<arg_key>", "<tool_call:"),
    "kimi": ("<|tool_call_begin|>",),
    "granite": ("<|tool_call|>",),
    "harmony": ("<|channel|>",),
    "minimax-xml": ("<invoke name=",),
    "gemma": ("```tool_code", "<start_function_call>", "<|tool_call>"),
    "lfm2": ("<|tool_call_start|>",),
    "outrider": ("<call tool=",),
}
"""What stands in a call of these formats and hardly in anything else; the narrower ones first."""


def handed_on(
    text: str, tools: Sequence[ToolSpec], likely: str | None = None, *, marked: bool = False
) -> str | None:
    """The format of calls that nobody read: a server handed them on as text, or the model writes another format.

    Args:
        text: The answer.
        tools: The tools that were offered; other names are no calls.
        likely: The format that is tried first.
        marked: Whether nothing counts but the likely format and those that cannot be mistaken for anything else.

    Returns:
        The format of the calls with which the answer ends; None if it ends with none. Behind a call that is only shown
        something is said.
    """
    if not any(tool.name in text for tool in tools):
        return None
    with_marks = [form for form, marks in _MARKS.items() if any(mark in text for mark in marks)]
    forms = [likely] if likely in FORMATS else []
    for form in dict.fromkeys([*forms, *with_marks, *(() if marked else FORMATS)]):
        if any(isinstance(last, Call) for last in read_message(FORMATS[form], text, tools)[-1:]):
            return form
    return None
