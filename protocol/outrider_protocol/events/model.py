"""Events of the model: which one is chosen, what it is sent, what it answers, and what failed."""

from typing import Annotated, Literal

from pydantic import Field

from outrider_protocol.events.base import EventData
from outrider_protocol.events.parts import Usage
from outrider_protocol.settings import Tier
from outrider_protocol.wire import Wire


class FailedAttempt(Wire):
    """An attempt that failed."""

    model: str
    reason: str
    """As in `model.retried`."""


class WireToolCall(Wire):
    """A tool call as the model wrote it."""

    id: str
    """Its id."""
    name: str
    """The tool."""
    arguments: str
    """The arguments, as the text the model wrote."""
    refused: str | None = None
    """Why the call was not taken in: its arguments were too long, or too many calls came before it in the answer. `arguments` is `{}` then,
    and this is the call's result."""


class RouteCandidate(Wire):
    """A model that was considered."""

    model: str
    tier: Tier | None = None
    """Its tier; absent for `model` of the settings."""
    left_out: str | None = None
    """Why it was not taken: `context_window`, `vision`, `tool_strength` or `failed`."""
    price: float | None = None
    """About what the request would cost; absent if unknown."""
    score: float | None = None
    """With `score`."""


class ModelRouted(EventData):
    """A model was chosen for the next request."""

    TYPE = "model.routed"
    purpose: str
    reason: Literal["first_step", "after_reasoning", "step", "side_task"]
    """Why that tier was wanted: `side_task` is what is not a step."""
    wanted: Tier
    """The tier wanted."""
    tier: Tier | None = None
    """The tier it came from; absent if it is `model` of the settings."""
    model: str
    others: list[str] = Field(default_factory=list[str])
    """Those to ask next if it fails."""
    candidates: list[RouteCandidate]
    """All candidates, the most wanted first."""
    tokens: int
    """About how many tokens the request has."""
    context_window: int
    """Tokens of a request and its answer."""
    by: Literal["order", "score"]
    """What decided among them."""


class SessionTitled(EventData):
    """A model was asked for a title, once, beside the first steps. `usage` counts with the turn that runs."""

    TYPE = "session.titled"
    model: str
    """Who was asked last."""
    routed: ModelRouted | None = None
    """How it was chosen."""
    failed: list[FailedAttempt] | None = None
    """Earlier attempts, in order."""
    title: str | None = None
    """One line of at most 80 characters; absent if there is none."""
    reason: str | None = None
    """Why there is none: the kind of failure, `no_title`, `timeout` or `cancelled`."""
    usage: Usage | None = None
    """What it cost, if known."""


class ModelSwitched(EventData):
    """The model gets and writes tool calls as text from now on, and the request is made again."""

    TYPE = "model.switched"
    message_id: str
    """The request."""
    model: str
    tool_format: str
    """One of `models.<name>.toolFormat`."""
    reason: str
    """`no_tools`: the provider refuses tools; `unread_calls`: an answer ended with a call that was not read."""


class AddedMessages(Wire):
    """The messages of an earlier event, and those added since. So a log grows linearly."""

    after: int = Field(ge=1)
    """The seq of that event: the latest `model.requested` for `main`, or `context.*` with messages."""
    added: list[str]
    """Content hashes of the messages added, in order."""


class ModelLimited(EventData):
    """A model cannot do something that the settings ask for. Once per turn for each."""

    TYPE = "model.limited"
    message_id: str
    """The request."""
    model: str
    message: str
    """What it cannot do, and what it is asked for instead."""


class ModelRequested(EventData):
    """A request is about to go to the model."""

    TYPE = "model.requested"
    purpose: str
    """`main`, `summary`, …"""
    message_id: str
    """What the answer and its frames will be called."""
    model: str
    messages: list[str] | AddedMessages
    """Content hashes of all its messages in order, or of those added since an earlier event."""
    tools: list[str]
    """Names of the tools offered."""
    tools_hash: str
    """Content hash of their definitions."""
    temperature: float | None = None
    """Sampling temperature, if set."""
    max_tokens: int | None = None
    """Most tokens of the answer, if set."""
    context_window: int | None = None
    """Tokens of the request and its answer; absent in old logs."""
    steering: list[str] = Field(default_factory=list[str])
    """Steering texts that it brings for the first time."""
    tool_format: str | None = None
    """How tools and calls are written as text; absent: beside the messages."""
    edit_format: str | None = None
    """Which edit tools are offered; absent: all."""


class Latency(Wire):
    """How fast an answer came."""

    first_token_ms: Annotated[float, Field(ge=0)]
    """From the request to its first text or reasoning."""
    tokens_per_second: Annotated[float, Field(ge=0)] | None = None
    """From there on; absent if it is too short."""


class WireProviderData(Wire):
    """What a model wants back word for word, such as signed reasoning."""

    model: str
    """The model it came from; no other gets it."""
    blocks: str
    """JSON text, for that model alone."""


class WebPage(Wire):
    """A page that a search found or opened."""

    url: str
    """Its address."""
    title: str | None = None
    """If the provider tells it."""


class WebSearch(Wire):
    """What a provider did on the web for a model."""

    query: str | None = None
    """What it searched for; absent if it opened a page."""
    pages: list[WebPage] = Field(default_factory=list[WebPage])
    """What it found or opened, 20 at most."""
    problem: str | None = None
    """Why it failed, in the provider's word."""


class ModelResponded(EventData):
    """The model answered."""

    TYPE = "model.responded"
    purpose: str = "main"
    message_id: str
    """Its id."""
    text: str
    """The whole text."""
    reasoning: str | None = None
    """What it thought."""
    tool_calls: list[WireToolCall]
    """What it calls."""
    finish_reason: str
    """`stop`, `tool_calls`, `length`, `refused`, or `cancelled` with what had arrived."""
    usage: Usage | None = None
    """What it used."""
    latency: Latency | None = None
    """Absent for scripts."""
    provider_data: WireProviderData | None = None
    """What the model wants back word for word."""
    searches: list[WebSearch] | None = None
    """What the provider did on the web for it (`webSearch`), 20 at most. It is in `providerData` too."""


class ModelFailed(EventData):
    """There is no answer."""

    TYPE = "model.failed"
    purpose: str
    message_id: str
    """The request."""
    kind: str
    """A reason of a failed turn, see [how a turn ends](#how-a-turn-ends)."""
    message: str
    """What went wrong."""
    usage: Usage | None = None
    """What it cost all the same, if the provider said so."""


class ModelReset(EventData):
    """Text that was shown is withdrawn; drop it. Frames of the same `messageId` may follow."""

    TYPE = "model.reset"
    message_id: str
    """The answer."""
    text: str
    """The text."""
    reason: str
    """The kind of failure, or `read_anew`: the text turned out to be reasoning."""


class ModelRetried(EventData):
    """A request is made again."""

    TYPE = "model.retried"
    message_id: str
    """The request."""
    model: str
    reason: str
    """The kind of failure."""
    attempt: int
    """Counted from 1."""
    usage: Usage | None = None
    """What the attempt before cost, if the provider said so."""
    wait: float | None = None
    """Seconds from `ts` on; absent: at once."""
    attempts: int | None = None
    """The most attempts that are made."""
    message: str | None = None
    """What the provider said."""


class ModelFellBack(EventData):
    """The request goes to another model, which keeps the rest of the turn."""

    TYPE = "model.fellBack"
    message_id: str
    """The request."""
    from_: str = Field(validation_alias="from", serialization_alias="from")
    """The model that failed."""
    to: str
    """The next one."""
    reason: str
    """The kind of failure."""
    usage: Usage | None = None
    """What the attempt before cost, if the provider said so."""
