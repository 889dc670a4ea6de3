"""The settings, as they stand in `initializationOptions`, the user's TOML file and `workspace/configuration`."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from outrider_protocol.wire import Wire

PermissionMode = Literal["read-only", "ask", "auto-edit", "full"]
"""What may happen without a question, from the narrowest to the widest."""

PERMISSION_MODES: tuple[PermissionMode, ...] = ("read-only", "ask", "auto-edit", "full")

Effect = Literal["read", "edit", "execute", "ask"]
"""What a tool does: look, change texts, do anything else, talk to the person."""

MOST_TOOLS = 64
"""Tools of clients that are registered at once."""
SCHEMA_BYTES = 32_768
"""Bytes of a tool's `inputSchema` as JSON."""

EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


ProviderKind = Literal["openai-chat", "openai-responses", "anthropic", "ollama", "gemini"]
"""The dialects that are spoken."""


ToolFormat = Literal[
    "native",
    "hermes", "qwen3-coder-xml", "llama3-json", "pythonic", "llama4-pythonic", "mistral", "deepseek", "glm-xml",
    "kimi", "granite", "harmony", "minimax-xml", "gemma", "lfm2", "json-array", "bare-json", "react", "react-json",
    "bracket", "outrider",
]  # fmt: skip
"""How a model calls tools: by the means of its provider, or in its text, and then how it is written there."""

EditFormat = Literal["replace", "patch", "whole"]
"""How a model says best what to change: by the old text and the new one, by a patch, or by whole files."""

ToolStrength = Literal["weak", "medium", "strong"]
"""How well a model gets on with tools."""

TOOL_STRENGTHS: tuple[ToolStrength, ...] = ("weak", "medium", "strong")

Tier = Literal["small", "mid", "frontier"]

TIERS: tuple[Tier, ...] = ("small", "mid", "frontier")

BY_TIERS = "tiers"
"""The `model` of a turn whose models are chosen step by step."""

Reference = Annotated[str, StringConstraints(min_length=1, pattern=r"[/:]")]
"""A model: `provider/name`, `scripted:PATH` or `recorded:PATH`."""


class ProviderSettings(Wire):
    """One place that serves models."""

    kind: ProviderKind
    """The dialect it speaks."""
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]
    """Address with the version segment; requests go to `{baseUrl}/chat/completions` and the like."""
    api_key_env: EnvName | None = None
    """Name of the environment variable that holds the key; never the key itself."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers of each request."""
    context_window: Annotated[int, Field(ge=1)] = 128_000
    """Tokens the model can take, its answer included."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """The most tokens of one answer; absent leaves it to the provider."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Sampling temperature; absent leaves it to the provider."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further top-level keys of each request body, as the provider names them."""
    connect_seconds: Annotated[float, Field(gt=0)] = 10.0
    """How long a connection may take to be made."""
    first_token_seconds: Annotated[float, Field(gt=0)] = 120.0
    """How long the first byte of an answer may take."""
    stall_seconds: Annotated[float, Field(gt=0)] = 60.0
    """How long a stream that has begun may stay silent."""
    proxy: str | None = None
    """Proxy for this provider; absent means the one of the environment."""
    ca_file: str | None = None
    """PEM file of further certificate authorities."""


class Price(Wire):
    """What a million tokens cost, in one currency for all models."""

    input: Annotated[float, Field(ge=0)]
    """Of a request."""
    output: Annotated[float, Field(ge=0)]
    """Of an answer, its reasoning included."""
    cached: Annotated[float, Field(ge=0)] | None = None
    """Of a request, where the provider has them in its cache; absent: as `input`."""


class ModelSettings(Wire):
    """What the person knows of one model. What is absent is asked of its provider or taken from a table."""

    tool_format: ToolFormat | None = None
    """How it calls tools."""
    context_window: Annotated[int, Field(ge=1)] | None = None
    """Tokens it can take, its answer included."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """The most tokens of one answer."""
    vision: bool | None = None
    """Whether it takes images."""
    reasoning: bool | None = None
    """Whether it thinks before it answers."""
    tool_strength: ToolStrength | None = None
    """How well it gets on with tools."""
    price: Price | None = None
    """What it costs."""
    edit_format: EditFormat | None = None
    """Which tools for edits it is offered."""


class Tiers(Wire):
    """Models by what they are good for, each list in the order they are asked; a list in a list is of equals."""

    small: list[Reference | list[Reference]] = Field(default_factory=list[Reference | list[Reference]])
    """For summaries and titles."""
    mid: list[Reference | list[Reference]] = Field(default_factory=list[Reference | list[Reference]])
    """For most steps."""
    frontier: list[Reference | list[Reference]] = Field(default_factory=list[Reference | list[Reference]])
    """For the first step of a turn, and the one after a step that came to nothing but thoughts."""


class Routing(Wire):
    """How one is chosen among the models of `tiers`."""

    by: Literal["order", "score"] = "order"
    """`order`: as they are listed. `score`: by cost, quality and latency."""
    weights: Literal["text", "voice"] = "text"
    """Of a score: what counts how much; `voice` is for those who wait for each word."""
    tool_strength: ToolStrength = "weak"
    """What a step that is offered tools asks for at least."""


class Limits(Wire):
    """Budgets of one turn and time-outs. A spent budget ends the turn as `budget_exhausted` with a summary."""

    steps: Annotated[int, Field(ge=1)] = 100
    """Model responses in one turn."""
    seconds: Annotated[float, Field(gt=0)] = 3600.0
    """Wall time of one turn without the time spent waiting for the person."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Input and output tokens of one turn."""
    cost: Annotated[float, Field(gt=0)] | None = None
    """Cost of one turn in the provider's currency; of what is known of it, where only a part is."""
    ask_seconds: Annotated[float, Field(gt=0)] = 120.0
    """How long a question holds the client's question slot; then the turn parks and the question stays open."""
    command_seconds: Annotated[float, Field(gt=0)] = 600.0
    """Total time of one command."""
    command_idle_seconds: Annotated[float, Field(gt=0)] = 120.0
    """How long a command may print nothing."""
    job_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """Total time of one background job."""
    job_idle_seconds: Annotated[float, Field(gt=0)] = 1800.0
    """How long a background job may print nothing."""
    output_bytes: Annotated[int, Field(ge=1024)] = 64_000
    """Bytes of one tool's output the model sees; head and tail are kept."""


class LimitsPatch(Wire):
    """Some of the limits: what a layer of settings or a single run changes. Field by field as in `Limits`."""

    steps: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    cost: Annotated[float, Field(gt=0)] | None = None
    ask_seconds: Annotated[float, Field(gt=0)] | None = None
    command_seconds: Annotated[float, Field(gt=0)] | None = None
    command_idle_seconds: Annotated[float, Field(gt=0)] | None = None
    job_seconds: Annotated[float, Field(gt=0)] | None = None
    job_idle_seconds: Annotated[float, Field(gt=0)] | None = None
    output_bytes: Annotated[int, Field(ge=1024)] | None = None


SandboxMode = Literal["off", "auto", "required"]

SANDBOX_MODES: tuple[SandboxMode, ...] = ("off", "auto", "required")
"""From the widest to the narrowest."""

NamedPath = Annotated[str, StringConstraints(pattern=r"^(/|~/)")]
"""A path that is absolute, or begins in the home."""


class SandboxSettings(Wire):
    """What holds commands to the workspace; a mode alone may stand for the whole."""

    mode: SandboxMode = "auto"
    """`auto`: commands run in a sandbox where the system can do it. `required`: they do not run without one."""
    network: bool = False
    """Whether commands in the sandbox reach the network."""
    readable: list[NamedPath] = Field(default_factory=list)
    """Further paths that they can read, in the home and in other places that are hidden from them."""
    writable: list[NamedPath] = Field(default_factory=list)
    """Further paths that they can write."""

    @model_validator(mode="before")
    @classmethod
    def _mode_alone(cls, given: Any) -> Any:
        return {"mode": given} if isinstance(given, str) else given


class ClientTool(Wire):
    """A tool that the client runs: its calls go there as `outrider/tool`."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
    """What the model calls it by; none of Outrider's own."""
    description: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """What the model is told about it."""
    input_schema: dict[str, Any]
    """JSON Schema of its arguments, which are an object."""
    effect: Effect
    """The client's word for what it does. `read` and `ask` go at once, the others need a yes."""


class StoreSettings(Wire):
    """How long the log keeps the texts of changed files, by which changes are taken back."""

    keep_days: Annotated[float, Field(ge=0)] = 90.0
    """Days after the last event of a session."""
    max_bytes: Annotated[int, Field(ge=0)] = 1024**3
    """Bytes of all of them, as they are stored. Above that those of the sessions that were not used for longest go."""


class RepositoryMapSettings(Wire):
    """The names that the workspace's files define, of which the model is told those that matter for what is at hand."""

    enabled: bool | None = None
    """Whether turns get one. Absent: they do, but for those of a repeatable run: whether it is ready in time is up to chance. In
    a workspace that nobody vouches for they never do."""
    tokens: Annotated[int, Field(ge=100, le=100_000)] = 1_500
    """About how many tokens one may have; in a small context window it has less."""


class TestingClock(Wire):
    """A clock that stands still: it moves by `stepMs` at each reading and by every delay a script asks for."""

    start: Annotated[AwareDatetime, Field(strict=False)] = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    step_ms: Annotated[int, Field(ge=0)] = 1


class TestingSettings(Wire):
    """Makes a run repeatable to the byte. Only with a scripted or recorded model."""

    clock: TestingClock | None = None
    """Absent: the real clock."""
    ids: Literal["sequential"] | None = None
    """`sequential` counts per kind (`ses_1`, `turn_1`, …); absent: random ids."""


class Settings(Wire):
    """Everything that can be set."""

    model: str | None = None
    """`provider/name`, `scripted:PATH` or `recorded:PATH` (relative to the first workspace folder)."""
    fallback_models: list[str] = Field(default_factory=list)
    """Models that are asked in this order when that one cannot answer."""
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    """Providers by the name that stands before the `/` of `model`."""
    models: dict[str, ModelSettings] = Field(default_factory=dict[str, ModelSettings])
    """What is known of models, by their reference."""
    tiers: Tiers = Tiers()
    """Models to choose from, step by step. Where there are none, `model` answers everything."""
    routing: Routing = Routing()
    """How it is chosen."""
    model_titles: bool = True
    """Whether sessions whose models are those of `tiers` get a title of the tier `small`, where it has a model."""
    permission_mode: PermissionMode = "ask"
    """What may happen without a question."""
    limits: Limits = Limits()
    """Budgets and time-outs."""
    sandbox: SandboxSettings = SandboxSettings()
    """What holds commands to the workspace."""
    command_environment: list[EnvName] = Field(default_factory=list)
    """Names of further environment variables that commands get."""
    state_dir: str | None = None
    """Folder of the log; absent means the user's state folder."""
    store: StoreSettings = StoreSettings()
    """How long texts are kept."""
    recording: bool = False
    """Whether each session is kept as a file that `recorded:PATH` plays."""
    repository_map: RepositoryMapSettings = RepositoryMapSettings()
    """The repository map."""
    events: bool = False
    """Whether the client wants `outrider/event` and `outrider/stream`."""
    code_lens: bool = True
    """Whether clients that show code lenses get them at changes."""
    trusted: bool | None = None
    """Whether the client vouches for the workspace. False: it runs read-only."""
    tools: Annotated[list[ClientTool], Field(max_length=MOST_TOOLS)] = Field(default_factory=list[ClientTool])
    """Tools that the client runs."""
    testing: TestingSettings | None = None
    """Fixed clock and ids."""

    @property
    def draws_maps(self) -> bool:
        """Whether turns get a repository map."""
        enabled = self.repository_map.enabled
        return self.trusted is not False and (self.testing is None if enabled is None else enabled)
