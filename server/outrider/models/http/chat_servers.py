"""What is peculiar about servers that speak the chat completions dialect: one table, looked up by their address.

A server that is not in it gets what the OpenAI API reference says. What only some models of a server want is not
here but in `extraBody` of its settings.
"""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from outrider_protocol.settings import KeyHeader

SHORT_ID = 9
"""Characters of an id for Mistral, which takes nothing else."""


@dataclass(frozen=True, slots=True)
class ChatServer:
    """How a server differs."""

    name: str = "other"
    key_header: KeyHeader = "authorization"
    """The header that carries the key."""
    key_in_every_dialect: bool = False
    """Whether that holds for the other dialects too, which the server speaks at other paths."""
    answer_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the limit of an answer is called."""
    usage_asked: bool = True
    """Whether usage comes only when `stream_options` asks for it."""
    further: tuple[tuple[str, object], ...] = ()
    """Further keys of each request."""
    reasoning_back: Literal["reasoning_content"] | None = None
    """Where the reasoning goes back with an answer, for a server that refuses calls whose reasoning is missing."""
    id_length: int | None = None
    """Characters that the id of a call may have; with `SHORT_ID` it must have as many."""
    thoughts_in_text: bool = True
    """Whether it may leave thoughts in the text; where it never does, their tags are what the model wrote of them."""
    conversation_key: str | None = None
    """The key of a request that names its conversation, so that its requests find the same cache."""
    marked: tuple[str, ...] = ()
    """Parts of the names of models whose prompts are cached only as far as they are marked (`cache_control`)."""
    answer_after_tools: str | None = None
    """What stands between results and a text of the user, for a server that refuses one right after the other."""

    def takes_marks(self, model: str) -> bool:
        """Whether requests to a model mark what a cache should keep."""
        return any(part in model.lower() for part in self.marked)


CHAT_SERVERS: tuple[tuple[tuple[str, ...], ChatServer], ...] = (
    (
        ("api.openai.com",),
        ChatServer(
            "openai",
            id_length=40,
            answer_limit="max_completion_tokens",
            thoughts_in_text=False,
            # "Prompt caching" of the OpenAI guides.
            conversation_key="prompt_cache_key",
        ),
    ),
    (
        (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
        ChatServer(
            "azure",
            key_header="api-key",
            id_length=40,
            answer_limit="max_completion_tokens",
            conversation_key="prompt_cache_key",
        ),
    ),
    (
        ("openrouter.ai",),
        ChatServer(
            "openrouter",
            further=(("usage", {"include": True}),),
            # "Prompt Caching" of the OpenRouter guides, and `session_id` of its API reference.
            conversation_key="session_id",
            marked=("claude", "qwen"),
        ),
    ),
    # "Context cache" of Alibaba Cloud Model Studio: its open models are not cached.
    ((".aliyuncs.com",), ChatServer("dashscope", marked=("-max", "-plus", "-flash"))),
    # "Automatic caching" of the Vercel AI Gateway.
    (("ai-gateway.vercel.sh",), ChatServer("vercel", marked=("claude",))),
    (("api.groq.com",), ChatServer("groq", answer_limit="max_completion_tokens")),
    (
        (".mistral.ai",),
        ChatServer("mistral", usage_asked=False, id_length=SHORT_ID, answer_after_tools="Go on."),
    ),
    ((".deepseek.com",), ChatServer("deepseek", reasoning_back="reasoning_content", thoughts_in_text=False)),
    (
        (".moonshot.ai", ".moonshot.cn"),
        ChatServer("moonshot", reasoning_back="reasoning_content", thoughts_in_text=False),
    ),
    ((".z.ai", ".bigmodel.cn"), ChatServer("zhipu", reasoning_back="reasoning_content")),
    (("api.x.ai",), ChatServer("xai", thoughts_in_text=False)),
    # "Use an Amazon Bedrock API key" and "Generate responses using OpenAI APIs" of the Bedrock user guide.
    ((".api.aws", ".amazonaws.com"), ChatServer("bedrock", key_in_every_dialect=True)),
    # "Authenticate" of the Vertex AI documentation: an access token, whatever the dialect.
    (
        ("aiplatform.googleapis.com", "-aiplatform.googleapis.com", ".rep.googleapis.com"),
        ChatServer("vertex", key_in_every_dialect=True, marked=("claude",)),
    ),
)
"""By the end of the host's name. vLLM, llama.cpp, LM Studio and LiteLLM are at home anywhere and keep to the reference."""


# A model of Anthropic behind chat completions is behind a gateway; LiteLLM, the one that people run themselves, documents the
# marks ("Prompt Caching"). The setting `cacheMarks` says where it is otherwise.
_OTHER = ChatServer(marked=("claude",))


def chat_server(base_url: str) -> ChatServer:
    """The server at an address."""
    try:
        host = (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        host = ""
    for ends, server in CHAT_SERVERS:
        if any(_is_at(host, end) for end in ends):
            return server
    return _OTHER


def _is_at(host: str, end: str) -> bool:
    """Whether a host has that name, or one below it; an end with a hyphen is part of a name."""
    if end.startswith("-"):
        return host.endswith(end)
    return host == end.removeprefix(".") or host.endswith("." + end.removeprefix("."))
