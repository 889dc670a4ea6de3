"""Events of the model: which one is chosen, what it is sent, what it answers, and what failed."""

from typing import Annotated, Literal

from pydantic import Field

from outrider_protocol.events.base import EventData
from outrider_protocol.events.parts import Usage
from outrider_protocol.settings import Tier
from outrider_protocol.wire import Wire


class FailedAttempt(Wire):
    """A model was asked, failed, and it or another one was asked again."""

    model: str
    reason: str


class WireToolCall(Wire):
    """A tool call as the model asked for it; `arguments` is its JSON text, unparsed."""

    id: str
    name: str
    arguments: str


class RouteCandidate(Wire):
    """A model that a request could have gone to."""

    model: str
    tier: Tier | None = None
    """The tier it was found in; absent for `model` of the settings."""
    left_out: str | None = None
    """Why it was not taken: `context_window`, `vision`, `tool_strength`, `failed`; absent where it could be."""
    price: float | None = None
    """What the request would about cost; absent where the price is unknown."""
    score: float | None = None
    """Where models are chosen by score."""


class ModelRouted(EventData):
    """It was chosen which model gets the next request."""

    TYPE = "model.routed"
    purpose: str
    reason: Literal["first_step", "after_reasoning", "step", "side_task"]
    """Why that tier was wanted: no word of any text has a part in it."""
    wanted: Tier
    tier: Tier | None = None
    """The tier it came from; absent where it is `model` of the settings."""
    model: str
    others: list[str] = Field(default_factory=list[str])
    """Those that are asked next, should it fail."""
    candidates: list[RouteCandidate]
    """All that were looked at, the most wanted first."""
    tokens: int
    """About how many tokens the request has."""
    context_window: int
    """Tokens that the chosen one can take, its answer included."""
    by: Literal["order", "score"]
    """What decided among those that could be taken."""


class SessionTitled(EventData):
    """A model was asked for a title of the session, once and beside its first steps."""

    TYPE = "session.titled"
    model: str
    """Who was asked last."""
    routed: ModelRouted | None = None
    """How it was chosen who is asked."""
    failed: list[FailedAttempt] | None = None
    """What was tried before, in its order."""
    title: str | None = None
    """One line of at most 80 characters; absent where none came that could be used."""
    reason: str | None = None
    """Why there is none: the kind of the failure, `no_title`, `timeout` or `cancelled`."""
    usage: Usage | None = None
    """What it cost, where that is known."""


class ModelSwitched(EventData):
    """A model does not take tools as its provider has them, and gets and makes calls as text from now on."""

    TYPE = "model.switched"
    message_id: str
    model: str
    tool_format: str
    """One of those of the setting `models.<model>.toolFormat`."""
    reason: str
    """The kind of the failure that said so."""


class ModelRequested(EventData):
    """A request is about to go to the model."""

    TYPE = "model.requested"
    purpose: str
    """`main`, `summary`, …"""
    message_id: str
    """What the answer, and its frames, will be called."""
    model: str
    messages: list[str]
    """Content hashes of the messages, in order; each text is stored once."""
    tools: list[str]
    """Names of the tools offered."""
    tools_hash: str
    """Content hash of their definitions."""
    temperature: float | None = None
    max_tokens: int | None = None
    context_window: int | None = None
    """Tokens that a request and its answer may have together; absent in logs of old."""
    steering: list[str] = Field(default_factory=list[str])
    """Ids of the steering texts that this request brings to the model for the first time."""
    tool_format: str | None = None
    """How tools and calls are written into its text; absent where they go beside it."""
    edit_format: str | None = None
    """The kind of tools for edits that is offered; absent: all."""


class Latency(Wire):
    """How fast an answer came."""

    first_token_ms: Annotated[float, Field(ge=0)]
    """From the request to the first of its text or reasoning."""
    tokens_per_second: Annotated[float, Field(ge=0)] | None = None
    """From there to its end; absent where it is too short to tell."""


class WireProviderData(Wire):
    """What a model wants back word for word with its answer, such as signed reasoning."""

    model: str
    """The model it came from; no other gets it."""
    blocks: str
    """JSON text, for that model alone."""


class ModelResponded(EventData):
    """The model answered."""

    TYPE = "model.responded"
    purpose: str = "main"
    message_id: str
    text: str
    reasoning: str | None = None
    tool_calls: list[WireToolCall]
    finish_reason: str
    usage: Usage | None = None
    latency: Latency | None = None
    """Absent for scripts."""
    provider_data: WireProviderData | None = None


class ModelFailed(EventData):
    """There is no answer: the provider failed, or the connection to it."""

    TYPE = "model.failed"
    purpose: str
    message_id: str
    kind: str
    """`rate_limit`, `cut_stream`, `script_exhausted`, …"""
    message: str
    usage: Usage | None = None
    """What it cost all the same, where the provider said so."""


class ModelReset(EventData):
    """Text that was already shown is withdrawn."""

    TYPE = "model.reset"
    message_id: str
    text: str
    reason: str


class ModelRetried(EventData):
    """A request is made again."""

    TYPE = "model.retried"
    message_id: str
    model: str
    reason: str
    attempt: int
    usage: Usage | None = None
    """What the one before it cost, where the provider said so."""
    wait: float | None = None
    """Seconds that are waited before it; absent where it is made at once."""


class ModelFellBack(EventData):
    """A request goes to another model."""

    TYPE = "model.fellBack"
    message_id: str
    from_: str = Field(validation_alias="from", serialization_alias="from")
    to: str
    reason: str
    usage: Usage | None = None
    """What the one before it cost, where the provider said so."""
