"""The formats by id, and a message read in one of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from outrider.models.text_tools import (
    bare,
    deepseek,
    ends,
    gemma,
    harmony,
    hermes,
    kimi,
    minimax,
    own,
    python_calls,
    react,
    tokens,
    writing,
)
from outrider.models.text_tools.parallel import several
from outrider.models.text_tools.reading import Call, Item, Reading, prose
from outrider.models.text_tools.source import Wait
from outrider.models.text_tools.tools import Tools
from outrider.ports.model import ToolSpec

_RESPONSE = "<tool_response>\n{text}\n</tool_response>"
_PLAIN = "Result of {name}:\n{text}"
_OBSERVATION = "Observation: {text}"
_THINK_FIRST = "Begin each message with a line `Thought: …`. When you know the answer, write `Final Answer: …` in place of an action."


class TextToolParser:
    """Reads one message as it comes."""

    def __init__(
        self,
        read: Callable[[Reading], Wait[None]],
        tools: Iterable[ToolSpec] | None,
        end_tokens: tuple[str, ...] = ends.ANY,
        *,
        opened: bool = False,
    ) -> None:
        """Make a parser.

        Args:
            read: Reads a message in its format.
            tools: What may be called; None if nothing is known of it.
            end_tokens: What may end the message, and is left out.
            opened: Whether it begins within a thought.
        """
        self._ends = ends.Ends(end_tokens)
        self._reading = Reading(Tools(tools), opened=opened)
        self._sink = self._reading.sink
        self._steps = read(self._reading)

    def feed(self, text: str) -> list[Item]:
        """Read on.

        Args:
            text: What came.

        Returns:
            What is sure by now, in its order: text, reasoning, calls.
        """
        text = self._ends.feed(text)
        if not text:
            return []
        self._reading.source.push(text)
        next(self._steps)
        return self._taken()

    def told_apart(self) -> None:
        """Say that who serves the model gives its reasoning apart, so that the text is nothing but the answer."""
        self._sink.thinks = True

    def finish(self, *, cut_off: bool = False) -> list[Item]:
        """Read to the end.

        Args:
            cut_off: Whether the message ended at a limit: then a call that might go on is none.

        Returns:
            What was still open. What began as a call and was none comes as text, so nothing is lost.
        """
        self._reading.cut_off = cut_off
        self._reading.source.push(self._ends.finish())
        self._reading.source.end()
        for _ in self._steps:
            raise AssertionError("a parser waits for text after the end")
        self._sink.end()
        return self._taken()

    def _taken(self) -> list[Item]:
        """What was found since the last time, each call for itself."""
        items: list[Item] = []
        for item in self._sink.taken():
            within = (
                several(item.name, item.arguments, self._reading.tools) if isinstance(item, Call) else None
            )
            items += [item] if within is None else [Call(name, given) for name, given in within]
        return items


@dataclass(frozen=True)
class Format:
    """A way of writing calls as text."""

    id: str
    read: Callable[[Reading], Wait[None]]
    write: writing.Writer
    """Calls as a model of this format writes them; goes back as its own message."""
    result_form: str
    hint: str = ""
    end_tokens: tuple[str, ...] = ends.ANY
    """With which models of this format end a message."""

    def parser(self, tools: Iterable[ToolSpec] | None, *, opened: bool = False) -> TextToolParser:
        """What reads one message.

        Args:
            tools: What may be called. Calls without markup count only if they are of one of them; None if
                nothing is known of it, so that every name counts.
            opened: Whether the message begins within a thought.
        """
        return TextToolParser(self.read, tools, self.end_tokens, opened=opened)

    def prompt(self, tools: Sequence[ToolSpec]) -> str:
        """What tells a model of its tools and of this format, for the system message."""
        return writing.prompt(tools, self.write, self.result_form, self.hint)

    def result(self, name: str, text: str) -> str:
        """What a tool gave, as the model is told.

        Args:
            name: The tool.
            text: What it gave.
        """
        return self.result_form.replace("{name}", name).replace("{text}", text)


_JSON = writing.each(writing.as_json)
_PYTHON = writing.each(writing.python, before="[", between=", ", after="]")
_ALL = (
    Format(
        "hermes",
        hermes.hermes,
        writing.each(writing.hermes),
        _RESPONSE,
        end_tokens=(*ends.CHATML, *ends.LLAMA, "</s>"),
    ),
    Format(
        "qwen3-coder-xml",
        hermes.qwen3_coder,
        writing.each(writing.qwen3_coder),
        _RESPONSE,
        end_tokens=ends.CHATML,
    ),
    Format(
        "llama3-json",
        bare.llama3,
        writing.each(lambda call: writing.as_json(call, "parameters"), between="; "),
        _PLAIN,
        end_tokens=ends.LLAMA,
    ),
    Format("pythonic", python_calls.pythonic, _PYTHON, _PLAIN, end_tokens=(*ends.LLAMA, *ends.CHATML)),
    Format("llama4-pythonic", python_calls.pythonic, _PYTHON, _PLAIN, end_tokens=ends.LLAMA),
    Format(
        "mistral",
        tokens.mistral,
        writing.each(writing.mistral, between=""),
        "[TOOL_RESULTS]{text}[/TOOL_RESULTS]",
        end_tokens=ends.MISTRAL,
    ),
    Format(
        "deepseek",
        deepseek.deepseek,
        writing.each(
            writing.deepseek, before="<｜tool▁calls▁begin｜>", between="", after="<｜tool▁calls▁end｜>"
        ),
        "<｜tool▁output▁begin｜>{text}<｜tool▁output▁end｜>",
        end_tokens=ends.DEEPSEEK,
    ),
    Format("glm-xml", tokens.glm, writing.each(writing.glm), _RESPONSE, end_tokens=ends.GLM),
    Format("kimi", kimi.kimi, writing.kimi, "## Return of {name}\n{text}", end_tokens=ends.KIMI),
    Format(
        "granite",
        hermes.granite,
        writing.each(writing.as_json, before="<|tool_call|>[", between=", ", after="]"),
        _RESPONSE,
        end_tokens=ends.GRANITE,
    ),
    Format(
        "harmony",
        harmony.harmony,
        writing.each(writing.harmony, between="<|start|>assistant"),
        _PLAIN,
        end_tokens=ends.HARMONY,
    ),
    Format(
        "minimax-xml",
        minimax.minimax,
        writing.each(writing.invoke, before="<minimax:tool_call>\n", after="\n</minimax:tool_call>"),
        _RESPONSE,
        end_tokens=ends.MINIMAX,
    ),
    Format(
        "gemma",
        gemma.gemma,
        writing.each(writing.python, before="```tool_code\n", after="\n```"),
        "```tool_output\n{text}\n```",
        end_tokens=ends.GEMMA,
    ),
    Format(
        "lfm2",
        python_calls.lfm2,
        writing.each(writing.python, before="<|tool_call_start|>[", between=", ", after="]<|tool_call_end|>"),
        "<|tool_response_start|>{text}<|tool_response_end|>",
        end_tokens=ends.CHATML,
    ),
    Format(
        "json-array",
        bare.bare_json,
        writing.each(writing.as_json, before="[", between=", ", after="]"),
        _PLAIN,
    ),
    Format("bare-json", bare.bare_json, _JSON, _PLAIN),
    Format("react", react.react, writing.each(writing.react), _OBSERVATION, _THINK_FIRST),
    Format("react-json", react.react, writing.each(writing.react_json), _OBSERVATION, _THINK_FIRST),
    Format("bracket", own.bracket, writing.each(writing.bracket), "Observation [{name}]: {text}"),
    Format("outrider", own.outrider, writing.each(writing.own), '<result tool="{name}">\n{text}\n</result>'),
)
FORMATS: dict[str, Format] = {one.id: one for one in _ALL}
"""All formats, by id."""


def thoughts_parser(*, opened: bool = False) -> TextToolParser:
    """What reads a message without calls, to tell its thoughts from the answer.

    Args:
        opened: Whether the message begins within a thought.
    """
    return TextToolParser(_no_calls, [], (), opened=opened)


def _no_calls(reading: Reading) -> Wait[None]:
    yield from prose(reading, {})


def read_message(form: Format, text: str, tools: Iterable[ToolSpec] | None) -> list[Item]:
    """Read a message that is there as a whole."""
    parser = form.parser(tools)
    return [*parser.feed(text), *parser.finish()]


__all__ = ["FORMATS", "Call", "Format", "Item", "TextToolParser", "read_message", "thoughts_parser"]
