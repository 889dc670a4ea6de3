"""What is peculiar about servers that speak the chat completions dialect: one table, looked up by their address.

A server that is not in it gets what the OpenAI API reference says. What only some models of a server want is not
here but in `extraBody` of its settings.
"""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

SHORT_ID = 9
"""Characters of an id for Mistral, which takes nothing else."""


@dataclass(frozen=True, slots=True)
class ChatServer:
    """How a server differs."""

    name: str = "other"
    key_header: Literal["authorization", "api-key"] = "authorization"
    """Where the key stands."""
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
    answer_after_tools: str | None = None
    """What stands between results and a text of the person, for a server that refuses one right after the other."""


CHAT_SERVERS: tuple[tuple[tuple[str, ...], ChatServer], ...] = (
    (
        ("api.openai.com",),
        ChatServer("openai", id_length=40, answer_limit="max_completion_tokens", thoughts_in_text=False),
    ),
    (
        (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
        ChatServer("azure", key_header="api-key", id_length=40, answer_limit="max_completion_tokens"),
    ),
    (("openrouter.ai",), ChatServer("openrouter", further=(("usage", {"include": True}),))),
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
)
"""By the end of the host's name. vLLM, llama.cpp, LM Studio and LiteLLM are at home anywhere and keep to the reference."""


def chat_server(base_url: str) -> ChatServer:
    """The server at an address."""
    try:
        host = (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        host = ""
    for ends, server in CHAT_SERVERS:
        if any(host == end.removeprefix(".") or host.endswith("." + end.removeprefix(".")) for end in ends):
            return server
    return ChatServer()
