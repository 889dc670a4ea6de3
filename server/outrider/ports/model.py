"""What the loop says to a model and hears from it."""

import hashlib
import json
import math
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from outrider_protocol.choices import EditFormat

if TYPE_CHECKING:  # its model takes longer to load than all of the smallest commands
    from outrider_protocol.settings import Thinking

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "tool_calls", "length", "refused"]
FailureKind = Literal[
    "auth",
    "unknown_model",
    "rate_limit",
    "quota",
    "overloaded",
    "context_overflow",
    "bad_request",
    "no_tools",
    "no_images",
    "unread_calls",
    "refused",
    "connection",
    "setup",
    "timeout",
    "stalled",
    "cut_stream",
    "protocol",
    "script_exhausted",
    "script_expectation",
]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for; `arguments` is its JSON text as it came, valid or not."""

    id: str
    name: str
    arguments: str
    refused: str | None = None
    """Why it was not taken in, which is its result."""


@dataclass(frozen=True, slots=True)
class ProviderData:
    """What a model wants back word for word with its answer, such as signed reasoning. Only its own dialect reads it."""

    model: str
    """The model it came from, `provider/name`; no other gets it."""
    blocks: str
    """JSON text, of the shape its dialect gives it."""


FEWEST_IMAGE_TOKENS, MOST_IMAGE_TOKENS = 85, 1_600
PIXELS_PER_TOKEN = 750
"""How images are counted, whoever is asked: providers reckon by pixels too, and come to no more than that by default."""
BYTES_PER_TOKEN = 3.5
"""Of a text, for a model that has counted nothing yet; rather too few."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that belongs to a message. Its content lies in the store."""

    name: str
    """Its path."""
    hash: str
    """Content hash."""
    media_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    width: int
    height: int
    """Pixels."""
    size: int
    """Bytes."""

    @property
    def tokens(self) -> int:
        """About how many tokens it has."""
        by_pixels = math.ceil(self.width * self.height / PIXELS_PER_TOKEN)
        return min(max(by_pixels, FEWEST_IMAGE_TOKENS), MOST_IMAGE_TOKENS)


PartKind = Literal[
    "identity",
    "mode",
    "work",
    "environment",
    "commands",
    "permissions",
    "instructions",
    "memory",
    "prompt",
    "open",
    "selection",
    "diagnostics",
    "date",
    "git",
    "files",
    "project",
    "image",
    "map",
    "tools",
]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a message's text, and what it is. The parts of a message make up its text, in order.

    Each but the last ends with a line: they are stored as numbers of lines, which stay the same where a path or a secret
    in the text is replaced.
    """

    kind: PartKind
    text: str
    name: str | None = None
    """Which one of its kind, such as the path of a file."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation. It never changes, so its encoding is computed once."""

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """For role `tool`: the call this is the result of."""
    reasoning: str | None = None
    provider_data: ProviderData | None = None
    parts: tuple[Part, ...] = ()
    """What its text is made of, where that is known. No model is told of it."""
    images: tuple[Image, ...] = ()
    """What the model is shown with its text, if it takes images."""

    @classmethod
    def of_parts(cls, role: Role, parts: Sequence[Part]) -> "Message":
        """A message whose text is made of these parts."""
        return cls(role, "".join(part.text for part in parts), parts=tuple(parts))

    def reworded(self, change: Callable[[str], str]) -> "Message":
        """The message with its text, and the names of its parts, changed by what leaves lines lines."""
        text = change(self.text)
        listed = [
            {"kind": part.kind, "lines": part.text.count("\n"), "name": part.name and change(part.name)}
            for part in self.parts
        ]
        return replace(self, text=text, parts=tuple(_parts(text, listed)))

    @cached_property
    def encoded(self) -> bytes:
        """Canonical JSON of the message: what the store keeps, and what `digest` is taken of."""
        fields: dict[str, Any] = {"role": self.role, "text": self.text}
        if self.tool_calls:
            fields["toolCalls"] = [
                {"id": c.id, "name": c.name, "arguments": c.arguments} for c in self.tool_calls
            ]
        if self.tool_call_id is not None:
            fields["toolCallId"] = self.tool_call_id
        if self.reasoning is not None:
            fields["reasoning"] = self.reasoning
        if self.provider_data is not None:
            fields["providerData"] = {"model": self.provider_data.model, "blocks": self.provider_data.blocks}
        if self.parts:
            fields["parts"] = [
                {"kind": part.kind, "lines": part.text.count("\n")}
                | ({"name": part.name} if part.name else {})
                for part in self.parts
            ]
        if self.images:
            fields["images"] = [
                {
                    "name": one.name,
                    "hash": one.hash,
                    "mediaType": one.media_type,
                    "width": one.width,
                    "height": one.height,
                    "size": one.size,
                }
                for one in self.images
            ]
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    @cached_property
    def weight(self) -> int:
        """How long it counts as: the bytes of its encoding, and those of a text with as many tokens as its images have."""
        return len(self.encoded) + int(sum(image.tokens for image in self.images) * BYTES_PER_TOKEN)

    @cached_property
    def digest(self) -> str:
        """Content hash of the message."""
        return content_hash(self.encoded)

    @classmethod
    def decode(cls, encoded: bytes) -> "Message":
        """Build the message that `encoded` stands for."""
        fields = json.loads(encoded.decode("utf-8", "surrogatepass"))
        data = fields.get("providerData")
        return cls(
            role=fields["role"],
            text=fields["text"],
            tool_calls=tuple(
                ToolCall(c["id"], c["name"], c["arguments"]) for c in fields.get("toolCalls", ())
            ),
            tool_call_id=fields.get("toolCallId"),
            reasoning=fields.get("reasoning"),
            provider_data=data and ProviderData(data["model"], data["blocks"]),
            parts=tuple(_parts(fields["text"], fields.get("parts", ()))),
            images=tuple(images_of(fields.get("images", ()))),
        )


def _parts(text: str, listed: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    lines = text.split("\n")
    for one in listed[:-1]:
        own, lines = lines[: one["lines"]], lines[one["lines"] :]
        yield Part(one["kind"], "".join(f"{line}\n" for line in own), one.get("name"))
    for one in listed[-1:]:
        yield Part(one["kind"], "\n".join(lines), one.get("name"))


def images_of(listed: Sequence[Mapping[str, Any]]) -> Iterator[Image]:
    """Images as they stand in the log."""
    for one in listed:
        yield Image(one["name"], one["hash"], one["mediaType"], one["width"], one["height"], one["size"])


def content_hash(content: bytes) -> str:
    """Name of a content in the blob store: the first 32 hex digits of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]
    effect: Literal["read", "edit", "execute", "ask"] | None = None
    """What one does that comes and goes: the log keeps it with the definition. None for those that are always there."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `purpose` is `main` for the loop, else what the answer is for (`summary`, `compaction`, `title`)."""

    purpose: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    tokens: int | None = None
    """About how many it has, the tools included; None where nobody counted."""
    at_most: int | None = None
    """Tokens that an answer for its purpose may have at most, whoever is asked."""
    thinking: "Thinking | None" = None
    """How much the model is to think; None: as is set for it."""
    conversation: str | None = None
    """What the requests of one conversation have in common, for providers whose cache goes by a key."""
    failed: AbstractSet[str] = frozenset()
    """Ids of the calls whose results are errors."""
    images: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """The contents of the images of its messages, by hash, as far as they are there."""
    may_search: bool = False
    """Whether the provider may search the web for it, where that is set for the model."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one response, as the provider counted them unless `estimated`. `cost` is None where it is unknown."""

    input: int = 0
    output: int = 0
    cached: int | None = None
    reasoning: int | None = None
    cost: float | None = None
    estimated: bool = False
    """Whether nobody counted them: they are what so long texts have about."""

    @property
    def counted(self) -> bool:
        """Whether the provider counted anything."""
        return not self.estimated and bool(self.input or self.output)


@dataclass(frozen=True, slots=True)
class Latency:
    """How fast an answer came."""

    first_token_ms: float
    """From the request to the first of its text or reasoning."""
    tokens_per_second: float | None = None
    """From there to its end; None where it is too short to tell."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """The whole answer; the last thing of a stream that went well."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: FinishReason
    reasoning: str | None = None
    tokens: Tokens | None = None
    provider_data: ProviderData | None = None
    latency: Latency | None = None


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """Why there is no answer; the last thing of a stream that went wrong. `message` holds no key and no URL query."""

    kind: FailureKind
    message: str
    retry_after: float | None = None
    """Seconds after which the provider wants to be asked again."""
    tokens: Tokens | None = None
    """What it cost all the same, where the provider said so."""


@dataclass(frozen=True, slots=True)
class Retried:
    """The request is made again; what came of the answer so far is withdrawn."""

    model: str
    reason: FailureKind
    attempt: int
    """From 2."""
    tokens: Tokens | None = None
    """What the attempt before it cost, where the provider said so."""
    wait: float | None = None
    """Seconds that are waited before it; None: it is made at once."""
    attempts: int | None = None
    """The most that are made; None where that is not limited by the settings."""
    message: str | None = None
    """What the provider said."""


@dataclass(frozen=True, slots=True)
class FellBack:
    """The request goes to another model; what came of the answer so far is withdrawn."""

    model: str
    """The one that failed."""
    to: str
    reason: FailureKind
    tokens: Tokens | None = None
    """What the attempt before it cost, where the provider said so."""


@dataclass(frozen=True, slots=True)
class Switched:
    """Tools are written into the model's text from here on, and the request is made again.

    Its provider does not take them, or an answer ended with a call that was not read (`unread_calls`).
    """

    model: str
    tool_format: str
    reason: FailureKind


@dataclass(frozen=True, slots=True)
class Limited:
    """The model cannot do something that the settings ask for, and does something else instead."""

    model: str
    message: str
    """What, as a sentence that begins with the model's name."""


@dataclass(frozen=True, slots=True)
class ReadAnew:
    """What came of the answer so far was something else than it was shown as, and is withdrawn; it follows as what it is.

    So it is with thoughts whose beginning stood in the prompt: that they were thoughts is seen at their end.
    """


REMINDER: Final = "reminder"
"""Why a model is asked once more that would have ended its turn; the purpose by which a script says that it takes that."""
READ_ANEW: Final = "read_anew"
"""Why it is withdrawn, in the log."""


ModelItem = (
    TextDelta
    | ReasoningDelta
    | ReadAnew
    | Limited
    | Retried
    | FellBack
    | Switched
    | ModelResponse
    | ModelFailure
)


class Model(Protocol):
    """A model that answers requests."""

    @property
    def name(self) -> str:
        """`provider/name` or `scripted:PATH`."""
        ...

    @property
    def context_window(self) -> int:
        """Tokens it can take, its answer included."""
        ...

    @property
    def temperature(self) -> float | None:
        """Sampling temperature of its requests, None for the provider's own."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of one answer, None for the provider's own."""
        ...

    @property
    def tool_format(self) -> str | None:
        """How tools and calls are written into its text, None where they go beside it."""
        ...

    @property
    def takes_reminders(self) -> bool:
        """Whether it can be told what it left undone; a script only if it was written for that."""
        ...

    @property
    def edit_format(self) -> EditFormat | None:
        """The kind of tools for edits that suits it, None for all."""
        ...

    @property
    def vision(self) -> bool:
        """Whether it takes images, as far as that is known."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask. The last item is a `ModelResponse` or a `ModelFailure`, and never both; cancelling closes the connection."""
        ...

    def broken_off(self, request: ModelRequest, characters: int) -> Tokens | None:
        """About what a request used that was cancelled after so many characters of its answer; None where nobody can tell."""
        ...

    @property
    def retry_in(self) -> float | None:
        """Seconds until a request that failed is made again; None where none waits for that."""
        ...

    def retry_now(self) -> bool:
        """Make a request that failed again at once; False where none waits for that."""
        ...

    def left_over(self) -> int:
        """Scripted answers that were not asked for; 0 for every other model."""
        ...

    async def close(self) -> None:
        """Let go of its connections."""
        ...
