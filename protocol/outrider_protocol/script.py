"""The script of a scripted model: what it answers, call by call (`scripted:PATH`)."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from outrider_protocol.events import Usage, WireProviderData
from outrider_protocol.wire import Wire


class ScriptWire(Wire):
    """Scripts are written by hand: their keys are snake_case, as in the file."""

    model_config = ConfigDict(alias_generator=None)


class ScriptToolCall(ScriptWire):
    """A tool call. At most one of `input` and `arguments`."""

    name: str
    """The tool."""
    input: dict[str, Any] | None = None
    """The arguments."""
    arguments: str | None = None
    """Raw text in their place, for what is not valid JSON."""
    id: str | None = None
    """Its id; absent: one is made."""
    refused: str | None = None
    """Why it was not taken in, in a script that was made from a recorded session."""

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        if self.input is not None and self.arguments is not None:
            raise ValueError("`input` and `arguments` exclude each other")
        return self


class Expectation(ScriptWire):
    """What the request must look like, else the turn fails with `script_expectation`.

    Texts are one string or a list.
    """

    tools: list[str] | None = None
    """Names of the tools that are offered, in any order."""
    last_message_contains: str | list[str] | None = None
    """Texts that the last message contains."""
    messages_contain: str | list[str] | None = None
    """Texts that some message contains."""
    messages_lack: str | list[str] | None = None
    """Texts that no message contains."""
    message_count: int | None = None
    """How many messages it has."""
    tool_call_ids: list[str] | None = None
    """Ids of the calls whose results the messages hold, in order."""


class HttpFault(ScriptWire):
    """The provider answers with an HTTP error."""

    kind: Literal["http"]
    """This fault."""
    status: Annotated[int, Field(ge=400, le=599)]
    """The status."""
    body: str = ""
    """The body."""


class CutFault(ScriptWire):
    """The stream ends in the middle, after `after` characters of the text."""

    kind: Literal["cut"]
    """This fault."""
    after: Annotated[int, Field(ge=0)] = 0
    """Characters of text before it."""


class StallFault(ScriptWire):
    """The stream falls silent for `seconds` of the clock, after `after` characters of the text."""

    kind: Literal["stall"]
    """This fault."""
    after: Annotated[int, Field(ge=0)] = 0
    """Characters of text before it."""
    seconds: Annotated[float, Field(gt=0)] = 3600.0
    """How long it stays silent."""


class HangFault(ScriptWire):
    """Nothing more comes, after `after` characters of the text, until the turn is cancelled."""

    kind: Literal["hang"]
    """This fault."""
    after: Annotated[int, Field(ge=0)] = 0
    """Characters of text before it."""


class ScriptTurn(ScriptWire):
    """One answer of the model."""

    text: str = ""
    """What the model says."""
    reasoning: str | None = None
    """What it thinks."""
    tool_calls: list[ScriptToolCall] = Field(default_factory=list[ScriptToolCall])
    """What it calls."""
    finish_reason: Literal["stop", "tool_calls", "length", "content_filter", "refused"] | None = None
    """Absent: `tool_calls` where there are some, else `stop`."""
    chunk: Annotated[int, Field(ge=1)] | None = None
    """Characters of one delta; absent: the text comes in one piece."""
    delay: Annotated[float, Field(ge=0)] = 0.0
    """Seconds of the clock before the first delta and between deltas."""
    usage: Usage | None = None
    """What it reports as used."""
    provider_data: WireProviderData | None = None
    """What the model wants back word for word, as `model.responded` has it."""
    fault: Annotated[HttpFault | CutFault | StallFault | HangFault, Field(discriminator="kind")] | None = None
    """What goes wrong."""
    expect: Expectation | None = None
    """What the request must look like."""


class AgentScript(ScriptWire):
    """The answers of a sub-agent's model."""

    turns: list[ScriptTurn]
    """Its answers."""


class Script(ScriptWire):
    """A whole script."""

    turns: list[ScriptTurn]
    """Each answers one request of the main loop."""
    purposes: dict[str, list[ScriptTurn]] = Field(default_factory=dict[str, list[ScriptTurn]])
    """Answers for other purposes (`summary`, `compaction`, `title`). Where `reminder` is named, which needs none of its own, the
    model is told once in a turn what it left undone. Without them a summary is a fixed text, and the
    server compacts by itself."""
    agents: dict[str, AgentScript] = Field(default_factory=dict[str, AgentScript])
    """Scripts of sub-agents, by name."""
    context_window: Annotated[int, Field(ge=1)] = 128_000
    """Tokens of a request and its answer."""
