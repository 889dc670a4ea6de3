"""Scripts as Python values: what the model of a test answers, call by call.

A script is checked when it is made, so that a slip in it is an error of the line that has it and not a turn that fails.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict, cast

from pydantic import ValidationError

from outrider.models.scripted import keys_of, said_of
from outrider_protocol.script import Script, ScriptTurn

SCRIPT_REASONS: Final = frozenset({"script_exhausted", "script_expectation"})
"""Reasons of turns that failed because their script did not fit, which is a fault of the test."""

_SHOWN = 60
"""Characters of a turn that a message shows."""


class Call(TypedDict):
    """A tool call of the model, as in a script file."""

    name: str
    input: NotRequired[dict[str, Any]]
    """The arguments of the tool."""
    arguments: NotRequired[str]
    """In their place: raw text, for arguments that are no JSON object."""
    id: NotRequired[str]
    """Absent: one is counted."""


class Turn(TypedDict, total=False):
    """One answer of the model, as in a script file; `protocol/reference.md` has every key ("Script")."""

    text: str
    tool_calls: Sequence[Call]
    reasoning: str
    finish_reason: str
    chunk: int
    delay: float
    usage: Mapping[str, Any]
    fault: Mapping[str, Any]
    expect: Mapping[str, Any]


def call(tool: str, /, *, call_id: str | None = None, **arguments: Any) -> Call:
    """A tool call: `call("read_file", path="a.py")`. It can stand alone as a turn, or in `say`.

    Args:
        tool: Name of the tool.
        call_id: Its id; absent, one is counted.
        arguments: The arguments, as the tool has them.
    """
    made = Call(name=tool, input=arguments)
    if call_id is not None:
        made["id"] = call_id
    return made


def say(
    text: str,
    *calls: Call,
    reasoning: str | None = None,
    finish_reason: str | None = None,
    chunk: int | None = None,
    delay: float | None = None,
    usage: Mapping[str, Any] | None = None,
    fault: Mapping[str, Any] | None = None,
    expect: Mapping[str, Any] | None = None,
) -> Turn:
    """A turn: `say("Done.")`, or with calls `say("I look at both.", call(…), call(…))`.

    Args:
        text: The model's text; a text without calls ends the agent's turn.
        calls: Tool calls beside it.
        reasoning: What the model thinks before it.
        finish_reason: Why it ends: `length`, `content_filter` or `refused`; absent, as the calls have it.
        chunk: Characters of one piece of the stream; absent, the text comes as a whole.
        delay: Seconds of the fixed clock before the first piece and between pieces.
        usage: The tokens that are counted, such as `{"inputTokens": 900, "outputTokens": 12}`.
        fault: How it fails: `{"kind": "http", "status": 500}`, `{"kind": "cut", "after": 4}`, `{"kind": "stall"}`.
        expect: What the request must look like, such as `{"last_message_contains": "hours"}`.
    """
    turn = Turn(text=text)
    if calls:
        turn["tool_calls"] = list(calls)
    given: dict[str, Any] = {
        "reasoning": reasoning,
        "finish_reason": finish_reason,
        "chunk": chunk,
        "delay": delay,
        "usage": usage,
        "fault": fault,
        "expect": expect,
    }
    turn.update(cast("Turn", {key: value for key, value in given.items() if value is not None}))
    return turn


class ScriptedModel:
    """A model that answers what a script says: the script of a test, checked."""

    def __init__(
        self,
        turns: Sequence[Turn | Call],
        *,
        purposes: Mapping[str, Sequence[Turn]] | None = None,
        agents: Mapping[str, Mapping[str, Any]] | None = None,
        context_window: int | None = None,
    ) -> None:
        """Check a script.

        Args:
            turns: The answers to the main loop, in order; a call alone is a turn without text.
            purposes: Answers to requests for other purposes, such as `summary`.
            agents: Scripts of sub-agents, by their name.
            context_window: Tokens that the model says it can take; absent, 128 000.

        Raises:
            ValueError: It is no script: the place in it, and what is wrong there.
        """
        data: dict[str, Any] = {"turns": [_turn(one) for one in turns]}
        if purposes is not None:
            data["purposes"] = {
                purpose: [_turn(one) for one in answers] for purpose, answers in purposes.items()
            }
        if agents is not None:
            data["agents"] = agents
        if context_window is not None:
            data["context_window"] = context_window
        try:
            # Through JSON: what is checked is what the file will hold.
            self.data: dict[str, Any] = json.loads(json.dumps(data))
            self._script = Script.model_validate(self.data)
        except ValidationError as problem:
            raise ValueError(f"the script: {said_of(problem, data, keys_of(Script))}") from None
        except (TypeError, ValueError) as problem:
            raise ValueError(f"the script: not JSON: {problem}") from None

    def __len__(self) -> int:
        """How many answers the main loop has."""
        return len(self._script.turns)

    def left_after(self, used: int) -> list[str]:
        """The turns from the number `used` on, each with its place, for a message."""
        return [f"turns[{number}]: {_shown(turn)}" for number, turn in enumerate(self._script.turns)][used:]


def _turn(one: object) -> object:
    # A call has a key `name`, and a turn has none.
    if isinstance(one, Mapping) and "name" in one:
        return {"tool_calls": [cast("Call", one)]}
    return cast("object", one)


def _shown(turn: ScriptTurn) -> str:
    calls = "".join(
        f" {made.name}({made.arguments or json.dumps(made.input or {}, ensure_ascii=False)})"
        for made in turn.tool_calls
    )
    shown = f"{turn.text!r}{calls}" if turn.text else calls.strip() or "''"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
