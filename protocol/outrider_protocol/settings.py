"""The settings, as they stand in `initializationOptions`, the user's TOML file and `workspace/configuration`."""

from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import (
    AwareDatetime,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from outrider_protocol.choices import EditFormat, Effect, PermissionMode, ProviderKind
from outrider_protocol.wire import Wire

MOST_TOOLS = 64
"""Tools of clients that are registered at once."""
SCHEMA_BYTES = 32_768
"""Bytes of a tool's `inputSchema` as JSON."""

EnvName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


ToolFormat = Literal[
    "native",
    "hermes", "qwen3-coder-xml", "llama3-json", "pythonic", "llama4-pythonic", "mistral", "deepseek", "glm-xml",
    "kimi", "granite", "harmony", "minimax-xml", "gemma", "lfm2", "json-array", "bare-json", "react", "react-json",
    "bracket", "outrider",
]  # fmt: skip
"""How a model calls tools: through its provider, or as text in one of these formats."""

ToolStrength = Literal["weak", "medium", "strong"]
"""How well a model gets on with tools."""

TOOL_STRENGTHS: tuple[ToolStrength, ...] = ("weak", "medium", "strong")

Tier = Literal["small", "mid", "frontier"]

TIERS: tuple[Tier, ...] = ("small", "mid", "frontier")

BY_TIERS = "tiers"
"""The `model` of a turn whose models are chosen step by step."""

Reference = Annotated[str, StringConstraints(min_length=1, pattern=r"[/:]")]
"""A model: `provider/name`, `scripted:PATH` or `recorded:PATH`."""


def is_script(reference: str) -> bool:
    """Whether that is a model whose answers come from a file."""
    return reference.startswith(("scripted:", "recorded:"))


NamedPath = Annotated[str, StringConstraints(pattern=r"^(/|~/)")]
"""A path that is absolute, or begins in the home."""


class KeyringEntry(Wire):
    """An entry of the system's keyring."""

    username: Annotated[str, StringConstraints(min_length=1)]
    """Under which name the key is kept."""
    service: Annotated[str, StringConstraints(min_length=1)] = "outrider"
    """Under which service it is kept."""


KeyHeader = Literal["authorization", "x-api-key", "api-key", "x-goog-api-key"]
"""Headers that carry a key; `authorization` carries it as a bearer token."""


class ProviderSettings(Wire):
    """One place that serves models."""

    kind: ProviderKind
    """The API it speaks: chat completions, which most providers offer; OpenAI's responses; Anthropic's messages;
    Ollama's own; Google's `generateContent`."""
    base_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]
    """`http(s)` address with the version segment. Requests go to `{baseUrl}/chat/completions`, `/responses`,
    `/messages` or `/models/NAME:streamGenerateContent`. Ollama has no version; `/api` may be left out."""
    api_key_env: EnvName | None = None
    """Name of the environment variable with the key. The key itself can be given nowhere. At most one of this and the
    next three."""
    api_key_command: list[str] | None = None
    """Program and arguments that print the key; a string is a command line for `/bin/sh`. It runs again when the key
    is refused."""
    api_key_file: NamedPath | None = None
    """File with the key, absolute or `~/…`, readable by its owner alone."""
    api_key_keyring: KeyringEntry | None = None
    """Entry of the system's keyring with the key; a string is its `username`."""
    api_key_header: KeyHeader | None = None
    """Header that carries the key; absent: the usual one of the provider."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers of each request."""
    context_window: Annotated[int, Field(ge=1)] = 128_000
    """Tokens of a request and its answer. Sent to Ollama; absent there: 32768, or the model's maximum if that is less.
    """
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """The most tokens of one answer; absent leaves it to the provider."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Sampling temperature; absent leaves it to the provider."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further top-level keys of each request body. They override Outrider's own; `generationConfig` (Gemini) and
    `options` (Ollama) are merged."""
    connect_seconds: Annotated[float, Field(gt=0)] = 10.0
    """How long a connection may take to be made."""
    first_token_seconds: Annotated[float, Field(gt=0)] | None = None
    """Time to the first byte of an answer. Absent: 300; no limit for addresses of this machine and for `ollama`."""
    stall_seconds: Annotated[float, Field(gt=0)] = 300.0
    """Longest silence within an answer."""
    proxy: str | None = None
    """Absent: `HTTP_PROXY` or `HTTPS_PROXY` by the scheme of `baseUrl`, else `ALL_PROXY` (lower case too); never for
    loopback addresses and those in `NO_PROXY`."""
    ca_file: str | None = None
    """PEM file of further certificate authorities; absent: `SSL_CERT_FILE` of the environment."""
    cache_marks: bool | None = None
    """Whether `openai-chat` requests mark what a prompt cache should keep; absent: where providers document it."""

    @model_validator(mode="before")
    @classmethod
    def _texts_alone(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast("dict[str, Any]", given)
        command, entry = fields.get("apiKeyCommand"), fields.get("apiKeyKeyring")
        if isinstance(command, str) and command.strip():
            fields = {**fields, "apiKeyCommand": ["/bin/sh", "-c", command]}
        if isinstance(entry, str):
            fields = {**fields, "apiKeyKeyring": {"username": entry}}
        return fields

    @model_validator(mode="after")
    def _one_key(self) -> "ProviderSettings":
        given = (self.api_key_env, self.api_key_command, self.api_key_file, self.api_key_keyring)
        if sum(one is not None for one in given) > 1:
            raise ValueError("give one of apiKeyEnv, apiKeyCommand, apiKeyFile and apiKeyKeyring")
        if self.api_key_command is not None and not any(self.api_key_command[:1]):
            raise ValueError("apiKeyCommand names no program")
        return self


Thinking = Literal["off", "low", "medium", "high", "max"] | Annotated[int, Field(ge=1)]
"""How much a model thinks before it answers: a level, or a number of tokens."""


class RetrySettings(Wire):
    """How long a request is repeated that failed for a passing reason: overload, rate limit, a broken connection."""

    seconds: Annotated[float, Field(ge=0)] = 600.0
    """Longest time from the first failure to the last attempt."""
    attempts: Annotated[int, Field(ge=1)] = 10
    """The most attempts of one request, the first included. A model that a fallback can stand in for gets at most two."""


class Price(Wire):
    """What a million tokens cost, in one currency for all models."""

    input: Annotated[float, Field(ge=0)]
    """Of a request."""
    output: Annotated[float, Field(ge=0)]
    """Of an answer, its reasoning included."""
    cached: Annotated[float, Field(ge=0)] | None = None
    """Of a request, where the provider has them in its cache; absent: as `input`."""


class ModelSettings(Wire):
    """What you know of a model."""

    tool_format: ToolFormat | None = None
    """How it calls tools: through its provider (`native`), or as text in one of these formats."""
    context_window: Annotated[int, Field(ge=1)] | None = None
    """Tokens of a request and its answer."""
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    """The most tokens of one answer."""
    vision: bool | None = None
    """Whether it takes images."""
    reasoning: bool | None = None
    """Whether it thinks before it answers."""
    tool_strength: ToolStrength | None = None
    """How well it works with tools."""
    price: Price | None = None
    """What it costs."""
    edit_format: EditFormat | None = None
    """Which edit tools it gets: `replace` without `apply_patch`; `patch` without `edit_file` and `insert_lines`;
    `whole` without any of the three; absent: all."""
    thinking: Thinking | None = None
    """How much it thinks, in place of the setting `thinking`."""
    web_search: bool = False
    """Whether its provider searches the web for it (`anthropic`, `openai-responses`, `gemini` from Gemini 3 on), when and for what it wants:
    the provider sees what it looks for, and may open pages. Not while a rule denies or asks about `web_search`."""


class TierSettings(Wire):
    """The models of one tier; a list alone stands for `models`."""

    models: list[Reference | list[Reference]] = Field(default_factory=list[Reference | list[Reference]])
    """Names of models in the order they are asked; a list within it is of equals."""
    thinking: Thinking | None = None
    """How much they think in this tier, in place of what is set for the model."""

    @model_validator(mode="before")
    @classmethod
    def _models_alone(cls, given: Any) -> Any:
        return {"models": cast("list[Any]", given)} if isinstance(given, list) else given


class Tiers(Wire):
    """Models by what they are good for."""

    small: TierSettings = Field(default_factory=TierSettings)
    """For summaries and titles."""
    mid: TierSettings = Field(default_factory=TierSettings)
    """For most steps."""
    frontier: TierSettings = Field(default_factory=TierSettings)
    """For the first step of a turn, and for one after a step that gave only reasoning."""


class Routing(Wire):
    """How one is chosen among the models of `tiers`."""

    by: Literal["order", "score"] = "order"
    """`order`: as listed. `score`: by cost, quality and latency."""
    tool_strength: ToolStrength = "weak"
    """The least strength for a step with tools."""


class Limits(Wire):
    """Budgets of one turn and time-outs. A spent budget ends the turn as `budget_exhausted` with a summary."""

    steps: Annotated[int, Field(ge=1)] = 100
    """Answers of the model in a turn."""
    seconds: Annotated[float, Field(gt=0)] = 3600.0
    """Time of a turn, without waiting for the user or a client tool."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Input and output tokens of one turn."""
    cost: Annotated[float, Field(gt=0)] | None = None
    """Cost of a turn in the provider's currency; if only a part is known, of that part."""
    ask_seconds: Annotated[float, Field(gt=0)] = 120.0
    """How long a question holds the editor's dialog, and a client tool may take; then the turn parks."""
    command_seconds: Annotated[float, Field(gt=0)] = 600.0
    """Total time of one command."""
    command_idle_seconds: Annotated[float, Field(gt=0)] = 120.0
    """How long a command may neither print nor compute, if the call sets no time limit."""
    job_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """Total time of one background job."""
    job_idle_seconds: Annotated[float, Field(gt=0)] = 1800.0
    """The same for a background job."""
    output_bytes: Annotated[int, Field(ge=1024)] = 64_000
    """Bytes of a tool's output that the model gets; head and tail are kept."""


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


AllowedHost = Annotated[
    str,
    StringConstraints(
        pattern=r"^((\*\.)?[^\s*/:@\[\]]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?)$", max_length=260
    ),
]


def _in_one_sentence(given: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """A value of `sandbox.network`; what is wrong with one is said of the whole, not of one of the two that it may be."""
    try:
        return handler(given)
    except ValidationError as error:
        raise PydanticCustomError(
            "hosts",
            "must be true, false or a list of hosts such as `pypi.org`, `*.example.org`, `example.org:8080` or `10.0.0.1`",
        ) from error


class SandboxSettings(Wire):
    """What commands can reach; a string stands for `mode`."""

    mode: SandboxMode = "auto"
    """`off`: never. `auto`: where the system can. `required`: nothing runs without one."""
    network: Annotated[bool | list[AllowedHost], WrapValidator(_in_one_sentence)] = False
    """Whether commands in the sandbox reach the network; or the only hosts that they reach, by the proxy variables: `pypi.org`,
    `*.example.org` for those below it, `host:port` (else 80 and 443). An address of this machine or a private network must be listed itself, also
    where a listed name stands for it. On Linux, where the system gives commands a network of their own."""
    readable: list[NamedPath] = Field(default_factory=list)
    """Further paths to read, absolute or `~/…`."""
    writable: list[NamedPath] = Field(default_factory=list)
    """Further paths to write."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The only hosts that commands reach; none where they reach all or nobody."""
        return () if isinstance(self.network, bool) else tuple(self.network)

    @model_validator(mode="before")
    @classmethod
    def _mode_alone(cls, given: Any) -> Any:
        return {"mode": given} if isinstance(given, str) else given


class ClientTool(Wire):
    """A tool that the client runs: its calls go there as `outrider/tool`."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
    """A letter, then up to 63 letters, digits, `_` and `-`; unique."""
    description: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    """What the model is told about it, at most 4096 characters."""
    input_schema: dict[str, Any]
    """JSON Schema (2020-12 by default) of its arguments: an object, at most 32768 bytes, without references to
    anything outside and `$schema` only at the top. Patterns are RE2 (no look-around or back-references);
    `patternProperties` cannot stand beside `unevaluatedProperties`."""
    effect: Effect
    """What it does, by the client's word. `read` and `ask` need no approval."""


class StoreSettings(Wire):
    """How long the log keeps the texts of changed files, which undo needs."""

    keep_days: Annotated[float, Field(ge=0)] = 90.0
    """Days after the last event of a session."""
    max_bytes: Annotated[int, Field(ge=0)] = 1024**3
    """Bytes of all of them as stored. Above that the sessions unused for longest lose theirs."""


class RepositoryMapSettings(Wire):
    """The names that the workspace's files define, of which the model is told those that matter for what is at hand."""

    enabled: bool | None = None
    """Whether turns get one. Absent: in workspaces of 20 files or more, but not with `testing`, because its timing is
    not deterministic. Never with `trusted: false`."""
    tokens: Annotated[int, Field(ge=100, le=100_000)] = 1_500
    """About how many tokens it may have; never more than a sixteenth of the context window, or half of that in one of less than 24,000."""


class TestingClock(Wire):
    """A clock that stands still: it moves by `stepMs` at each reading and by every delay a script asks for."""

    start: Annotated[AwareDatetime, Field(strict=False)] = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    """Where it begins."""
    step_ms: Annotated[int, Field(ge=0)] = 1
    """Milliseconds it moves at each reading."""


class TestingSettings(Wire):
    """Makes a run repeatable to the byte. Only with a scripted or recorded model."""

    clock: TestingClock | None = None
    """Absent: the real clock."""
    ids: Literal["sequential"] | None = None
    """`sequential` counts per kind (`ses_1`, `turn_1`, …); absent: random ids."""
    sandboxes: list[Literal["bubblewrap", "landlock", "sandbox-exec"]] | None = None
    """The only ways to confine commands that are tried; absent: all that the system has."""


class WebSettings(Wire):
    """What the tool `fetch_url` may read."""

    hosts: list[Annotated[str, StringConstraints(min_length=1)]] = Field(default_factory=list)
    """Hosts whose pages are read without a question: a name, `*.example.org` for those below it, `*` for all. Hosts of this machine
    and of private networks must be named themselves."""


HookPoint = Literal["sessionStart", "turnStart", "beforeTool", "afterTool", "turnEnd", "sessionEnd"]


class HookSettings(Wire):
    """A command that runs at a point of a session. It gets JSON on its standard input, and may answer with a line of JSON.

    `{"decision": "refuse" | "ask", "reason", "arguments", "text"}`: refuse the call or the task, have you asked about it, change its
    arguments, tell the model something. Exit code 2 refuses, too. No answer allows anything. A refusal at `turnEnd` has the model go on
    with the reason, three times in a turn at most; `again` in the JSON says that it did.
    """

    on: HookPoint
    """When it runs. `turnStart` is before the prompt is sent; `sessionEnd` takes 3 s at most, and undo does not cover what it changes."""
    command: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    """What is run, by bash in the first workspace folder, with the permissions and the sandbox of commands."""
    tools: list[str] = Field(default_factory=list[str])
    """With `beforeTool` and `afterTool`: the tools; absent: all."""
    on_failure: Literal["ignore", "refuse"] = "ignore"
    """What a hook that fails, or cannot run, means. Either way it is named."""


Autonomy = Literal["cautious", "balanced", "decisive"]

TrialDiagnostics = Literal["off", "errors", "all"]
"""Which problems of an edit are looked for before it is asked for."""


class LanguageServerSettings(Wire):
    """A language server that you add, or what you change about a known one."""

    command: list[Annotated[str, StringConstraints(min_length=1)]] = Field(default_factory=list[str])
    """Program and arguments; a string is a program alone. Of a known server it is used where neither the project nor `PATH` has it."""
    languages: list[str] = Field(default_factory=list[str])
    """What it serves, by LSP's names of languages, such as `python`; absent: as known."""
    root_markers: list[str] = Field(default_factory=list[str])
    """Files of a folder that say that it wants this server; absent: as known."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Its `initializationOptions`, and what it gets for `workspace/configuration` by section."""
    enabled: bool = True
    """Whether it may be started."""

    @model_validator(mode="before")
    @classmethod
    def _program_alone(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = cast("dict[str, Any]", given)
        command = fields.get("command")
        return {**fields, "command": [command]} if isinstance(command, str) else fields


ALL_SERVERS = "*"
"""The name in `languageServers` that stands for those that are not named."""


class Settings(Wire):
    """Everything that can be set."""

    model: str | None = None
    """`provider/name`; `scripted:PATH`, relative to the first workspace folder, a [script](#script); or
    `recorded:PATH`, an exported session whose answers are played."""
    thinking: Thinking | None = None
    """How much models think before they answer; absent: as they do by default."""
    verify: list[Annotated[str, StringConstraints(min_length=1)]] = Field(default_factory=list)
    """Commands that decide whether a task is done, such as `pytest -q`; see `acceptance` of `outrider.run`."""
    reminders: bool = True
    """Whether a model that stops is told, once in a turn, of a change that nothing has checked and of open points of its
    plan."""
    retry: RetrySettings = Field(default_factory=RetrySettings)
    """How long a request is repeated that failed for a passing reason."""
    fallback_models: list[str] = Field(default_factory=list)
    """Models to ask, in this order, when `model` cannot answer. Not used for a task that names its model."""
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    """Providers, by the name before the `/` of `model`."""
    models: dict[str, ModelSettings] = Field(default_factory=dict[str, ModelSettings])
    """What you know of models, by full name (`provider/name`). The rest is asked of the provider, looked up or
    assumed."""
    tiers: Tiers = Field(default_factory=Tiers)
    """Models to choose from, step by step. A list alone is the `models` of a tier."""
    routing: Routing = Field(default_factory=Routing)
    """How it is chosen."""
    model_titles: bool = True
    """Whether `tiers.small` is asked for a title of each session that uses the tiers."""
    permission_mode: PermissionMode = "ask"
    """What may happen without a question: reading in the workspace (`read-only`, which allows nothing else, and
    `ask`), edits in the workspace too (`auto-edit`), sandboxed commands without network too, which can be undone
    except in ignored files and files over 1 MB (`auto`), everything (`full`)."""
    autonomy: Autonomy = "balanced"
    """How often the model may ask you in a turn: `cautious` 5 times, `balanced` 3, `decisive` once. After that it assumes,
    says so, and goes on. Approvals do not count."""
    limits: Limits = Field(default_factory=Limits)
    """Budgets of a turn, and time-outs. A spent budget ends the turn as `budget_exhausted`."""
    sandbox: SandboxSettings = Field(default_factory=SandboxSettings)
    """What commands can reach. A string stands for its `mode`."""
    command_environment: list[EnvName] = Field(default_factory=list)
    """Environment variables that commands get besides those that programs need."""
    state_dir: str | None = None
    """Folder of the log; absent: the user's state folder."""
    store: StoreSettings = Field(default_factory=StoreSettings)
    """How long the texts of changed files are kept."""
    recording: bool = False
    """Whether each session is kept as a file that `recorded:PATH` plays."""
    repository_map: RepositoryMapSettings = Field(default_factory=RepositoryMapSettings)
    """The map of the workspace that turns get."""
    language_servers: dict[str, LanguageServerSettings] = Field(
        default_factory=dict[str, LanguageServerSettings]
    )
    """Language servers by name; `*` stands for all that are not named, and with `testing` is off unless it is set. They are started in
    trusted folders only, in a read-only sandbox without network."""
    trial_diagnostics: TrialDiagnostics = "errors"
    """Which problems an approval of an edit says it introduces and fixes: none, errors, or warnings too."""
    events: bool = False
    """Whether the client wants `outrider/event` and `outrider/stream`."""
    code_lens: bool = True
    """Whether clients that show code lenses get them at changes."""
    trusted: bool | None = None
    """Whether the client vouches for the workspace. False: read-only; absent: by what the user said of its folders."""
    tools: Annotated[list[ClientTool], Field(max_length=MOST_TOOLS)] = Field(default_factory=list[ClientTool])
    """Tools that the client runs, at most 64. A tool with an error is left out with a message that names the key."""
    mcp_servers: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """MCP servers by name, in the form of `mcpServers` that other programs use: `command`, `args`, `env` and `cwd`, or `url` and
    `headers`; `timeout` (milliseconds without progress, 120000 by default), `enabled`, `includeTools`, `excludeTools`. `${NAME}` and
    `${NAME:-default}` stand for variables of your environment, unless `expand` is false. What is not taken is named by `outrider.servers`. Those of a trusted
    workspace are in its `.outrider/settings.toml`, `.mcp.json`, `.vscode/mcp.json`, `.cursor/mcp.json`, `.gemini/settings.json`
    or `.github/mcp.json`."""
    web: WebSettings | None = None
    """Pages of the web that the model may read (`fetch_url`); absent: it has no such tool. Rules for `fetch_url` with a `host` count
    too; any other host is asked about."""
    hooks: list[HookSettings] = Field(default_factory=list[HookSettings])
    """Commands that run at points of a session, such as a formatter after an edit. Those of a trusted workspace are in its
    `.outrider/settings.toml`, or as Claude Code (`.claude/settings.json`), Gemini CLI (`.gemini/settings.json`) and Copilot
    (`.github/hooks/*.json`) have them."""
    memory: bool | None = None
    """Whether the model may propose lines for `memory.md` (`remember`), in the user's configuration folder or in `.outrider/` of the
    workspace. You are asked about each. Absent: where such a file exists. Sessions begin with what stands in the files."""
    skills: bool = True
    """Whether skills are looked for: in `skills/` of the user's configuration folder and of trusted workspaces, and where other
    agents keep theirs, such as `.claude/skills` and `.agents/skills`."""
    testing: TestingSettings | None = None
    """Makes runs repeatable; only with a scripted or recorded model."""

    @property
    def servers(self) -> dict[str, LanguageServerSettings]:
        """`language_servers`, with what holds for those that are not named."""
        otherwise = LanguageServerSettings(enabled=self.testing is None)
        return {ALL_SERVERS: otherwise, **self.language_servers}

    @property
    def draws_maps(self) -> bool:
        """Whether turns get a repository map."""
        enabled = self.repository_map.enabled
        return self.trusted is not False and (self.testing is None if enabled is None else enabled)


class WorkspaceFile(Wire):
    """`.outrider/settings.toml` of a workspace folder, which is read only if you trust the folder.

    You are asked once about each command in it. Your answer holds until the command is changed.
    """

    verify: list[Annotated[str, StringConstraints(min_length=1)]] = Field(default_factory=list)
    """Commands that decide whether a task is done, as in the setting `verify`; they run in that folder."""
    mcp_servers: dict[str, dict[str, Any]] = Field(default_factory=dict[str, dict[str, Any]])
    """MCP servers, as in the setting `mcpServers`; they run in that folder."""
    hooks: list[HookSettings] = Field(default_factory=list[HookSettings])
    """Hooks, as in the setting `hooks`."""


WORKSPACE: dict[str, str] = {
    "model": "another model of a provider configured elsewhere",
    "permissionMode": "narrower only",
    "limits": "smaller only",
    "sandbox": "narrower only",
    "sandbox.network": "`false` or fewer hosts",
    "sandbox.readable": "fewer only",
    "sandbox.writable": "fewer only",
    "events": "yes",
    "codeLens": "yes",
    "trusted": "`false` only",
}
"""What counts from `workspace/configuration`, by key; nothing of any other key."""
