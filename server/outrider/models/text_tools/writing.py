"""How each format writes calls and results, and how a model is told of it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from outrider.models.text_tools.reading import Call
from outrider.ports.model import ToolSpec

Writer = Callable[[Sequence[Call]], str]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def as_json(call: Call, arguments: str = "arguments") -> str:
    """A call as a JSON object."""
    return _json({"name": call.name, arguments: call.arguments})


def each(form: Callable[[Call], str], *, before: str = "", between: str = "\n", after: str = "") -> Writer:
    """Writes calls one after another.

    Args:
        form: How one is written.
        before: What stands before the first.
        between: What stands between two.
        after: What stands after the last.
    """

    def write(calls: Sequence[Call]) -> str:
        return before + between.join(map(form, calls)) + after

    return write


def hermes(call: Call) -> str:
    """A call as JSON in a tag."""
    return f"<tool_call>\n{as_json(call)}\n</tool_call>"


def qwen3_coder(call: Call) -> str:
    """A call in tags, as Qwen3-Coder writes it."""
    arguments = "".join(
        f"<parameter={key}>\n{_text(one)}\n</parameter>\n" for key, one in call.arguments.items()
    )
    return f"<tool_call>\n<function={call.name}>\n{arguments}</function>\n</tool_call>"


def invoke(call: Call) -> str:
    """A call in tags, as MiniMax M2 writes it."""
    arguments = "".join(
        f'<parameter name="{key}">{_on_lines(_text(one))}</parameter>\n'
        for key, one in call.arguments.items()
    )
    return f'<invoke name="{call.name}">\n{arguments}</invoke>'


def own(call: Call) -> str:
    """A call in Outrider's own format."""
    arguments = "".join(f'<arg name="{key}">\n{_text(one)}\n</arg>\n' for key, one in call.arguments.items())
    return f'<call tool="{call.name}">\n{arguments}</call>'


def _on_lines(text: str) -> str:
    return f"\n{text}\n" if "\n" in text else text


def python(call: Call) -> str:
    """A call as Python."""
    return f"{call.name}({', '.join(f'{key}={one!r}' for key, one in call.arguments.items())})"


def mistral(call: Call) -> str:
    """A call behind Mistral's token."""
    return f"[TOOL_CALLS]{call.name}[ARGS]{_json(call.arguments)}"


def deepseek(call: Call) -> str:
    """A call of DeepSeek V3.1."""
    return f"<｜tool▁call▁begin｜>{call.name}<｜tool▁sep｜>{_json(call.arguments)}<｜tool▁call▁end｜>"


def glm(call: Call) -> str:
    """A call of GLM."""
    arguments = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{_text(one)}</arg_value>\n"
        for key, one in call.arguments.items()
    )
    return f"<tool_call>{call.name}\n{arguments}</tool_call>"


def kimi(calls: Sequence[Call]) -> str:
    """Calls of Kimi, numbered."""
    written = "".join(
        f"<|tool_call_begin|>functions.{call.name}:{number}"
        f"<|tool_call_argument_begin|>{_json(call.arguments)}<|tool_call_end|>"
        for number, call in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>"


def harmony(call: Call) -> str:
    """A call of gpt-oss."""
    return (
        f"<|channel|>commentary to=functions.{call.name} "
        f"<|constrain|>json<|message|>{_json(call.arguments)}<|call|>"
    )


def react(call: Call) -> str:
    """An action in two lines."""
    return f"Action: {call.name}\nAction Input: {_json(call.arguments)}"


def react_json(call: Call) -> str:
    """An action as JSON."""
    return f"Action:\n```json\n{_json({'action': call.name, 'action_input': call.arguments})}\n```"


def bracket(call: Call) -> str:
    """A call in brackets."""
    arguments = ", ".join(f"{key}={_json(one)}" for key, one in call.arguments.items())
    return f"[USE {call.name} tool{': ' if arguments else ''}{arguments}]"


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


def prompt(tools: Sequence[ToolSpec], write: Writer, result: str, hint: str) -> str:
    """What tells a model of its tools.

    Args:
        tools: The tools.
        write: How it calls them.
        result: How it is told what they gave, with `{name}` and `{text}` in it.
        hint: What else it has to know.

    Returns:
        Text for the system message.
    """
    lines = [
        _json({"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)})
        for tool in tools
    ]
    text = _INTRODUCTION.format(
        tools="\n".join(lines),
        example=write([_EXAMPLE]),
        result=result.format(name=_EXAMPLE.name, text="…"),
    )
    return f"{text}\n\n{hint}" if hint else text
