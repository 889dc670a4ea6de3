"""What a client gives with a session, its folders and MCP servers, and with a prompt: blocks that become a task in words.

A block that cannot be used is refused by its place, so that nothing that the user attached is lost without a word.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    HttpMcpServer,
    ImageContentBlock,
    McpServerStdio,
    ResourceContentBlock,
    SseMcpServer,
    TextContentBlock,
    TextResourceContents,
)
from pydantic import TypeAdapter, ValidationError

from outrider.acp.capabilities import as_list, as_object
from outrider.agent.interaction.quoting import code_block
from outrider.mcp.configuration import word_for
from outrider.ports.patterns import linear
from outrider.ports.text import visible
from outrider.workspace.images import BYTES_LIMIT, image_head
from outrider.workspace.paths import Folders, path_of

MOST_BLOCKS: Final = 1000
MOST_CHARACTERS: Final = 4_000_000
"""Of the texts of a prompt together: no model takes more, and the log keeps it."""
MOST_ATTACHED: Final = 60_000
"""Characters of an attached file up to which its text stands in the prompt; the model can read a longer one."""
_ENDINGS: Final = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}

Block = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
_BLOCKS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "text": TypeAdapter(TextContentBlock),
    "image": TypeAdapter(ImageContentBlock),
    "audio": TypeAdapter(AudioContentBlock),
    "resource_link": TypeAdapter(ResourceContentBlock),
    "resource": TypeAdapter(EmbeddedResourceContentBlock),
}
_SERVERS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "stdio": TypeAdapter(McpServerStdio),
    "http": TypeAdapter(HttpMcpServer),
    "sse": TypeAdapter(SseMcpServer),
}
_OPENED: Final = "<previous_user_message>"
_CLOSED: Final = "</previous_user_message>"
_LINES = linear("acp.lines", r"^L(?P<first>\d{1,9})(?:[:-]L?(?P<last>\d{1,9}))?")
"""A stretch of lines in the fragment of a URI, as Zed writes it."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that came with a prompt."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the user sent."""

    text: str
    command: str
    """The first text alone, which may be a slash command."""
    pictures: tuple[Picture, ...]
    uris: tuple[str, ...]
    """Files that are attached."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why a prompt cannot be taken, and where."""

    path: str
    problem: str


def prompt_of(given: Any, folders: Folders) -> Prompt | Flaw:
    """Read the blocks of a `session/prompt` (ACP, "Content").

    Args:
        given: `params.prompt`, any JSON.
        folders: The workspace folders, for the names of files.
    """
    listed = as_list(given)
    if not listed:
        return Flaw("prompt", "must be a list with at least one block")
    if len(listed) > MOST_BLOCKS:
        return Flaw("prompt", f"has {len(listed)} blocks; the limit is {MOST_BLOCKS}")
    blocks: list[Block] = []
    for number, one in enumerate(listed):
        block = _block(one, f"prompt[{number}]")
        if isinstance(block, Flaw):
            return block
        blocks.append(block)
    blocks = _without_history(blocks)
    reading = _Reading(folders)
    for number, block in enumerate(blocks):
        if (flaw := reading.take(block, f"prompt[{number}]")) is not None:
            return flaw
    text = reading.text()
    if len(text) > MOST_CHARACTERS:
        return Flaw("prompt", f"has {len(text)} characters; the limit is {MOST_CHARACTERS}")
    if not text.strip():
        return Flaw("prompt", "says nothing")
    first = blocks[0].text if isinstance(blocks[0], TextContentBlock) else ""
    return Prompt(text, first.strip(), tuple(reading.pictures), tuple(dict.fromkeys(reading.uris)))


def _without_history(blocks: list[Block]) -> list[Block]:
    """What the user sent now, where a client sends the messages before it again: the session has them.

    avante.nvim (lua/avante/llm.lua) does so in a session that goes on: the newest message first, each in a tag, then how many they are.
    """
    said = [block.text for block in blocks if isinstance(block, TextContentBlock)]
    *messages, last = said or [""]
    is_history = (
        len(said) == len(blocks)
        and bool(messages)
        and last.startswith("<system_context>Continuing from previous session")
        and all(one.startswith(_OPENED) and one.endswith(_CLOSED) for one in messages)
    )
    if not is_history:
        return blocks
    newest = messages[0].removeprefix(_OPENED).removesuffix(_CLOSED)
    return [TextContentBlock(type="text", text=newest)]


def _block(given: Any, place: str) -> Block | Flaw:
    kind = as_object(given).get("type")
    adapter = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if adapter is None:
        known = ", ".join(_BLOCKS)
        return Flaw(f"{place}.type", f"{ascii(kind)[:80]} is not a kind of content; there are {known}")
    try:
        return adapter.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join([place, *(str(part) for part in first["loc"])])
        return Flaw(where, first["msg"])


class _Reading:
    """A prompt on its way into words."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._said: list[str] = []
        self._attached: list[str] = []
        self.pictures: list[Picture] = []
        self.uris: list[str] = []

    def text(self) -> str:
        """All of it: what was written, with the names of what is attached in its place, then the texts of that."""
        return "\n\n".join(["".join(self._said).strip(), *self._attached]).strip()

    def take(self, block: Block, place: str) -> Flaw | None:
        match block:
            case TextContentBlock():
                self._said.append(block.text)
            case ResourceContentBlock():
                self._name(block.uri, block.name)
            case ImageContentBlock():
                return self._picture(block.data, block.uri, f"{place}.data")
            case AudioContentBlock():
                return Flaw(f"{place}.type", "audio cannot be used: the agent does not offer it")
            case EmbeddedResourceContentBlock():
                return self._resource(block.resource, f"{place}.resource")
        return None

    def _resource(self, resource: TextResourceContents | BlobResourceContents, place: str) -> Flaw | None:
        if isinstance(resource, BlobResourceContents):
            if (resource.mime_type or "").startswith("image/"):
                return self._picture(resource.blob, resource.uri, f"{place}.blob")
            self._name(resource.uri, resource.uri)
            return None
        shown = self._name(resource.uri, resource.uri)
        if len(resource.text) <= MOST_ATTACHED:
            self._attached.append(f"{shown}:\n{code_block(resource.text.rstrip())}")
        elif path_of(_plain(resource.uri)) is None:
            cut = code_block(resource.text[:MOST_ATTACHED])
            left = len(resource.text) - MOST_ATTACHED
            self._attached.append(f"{shown}, without its last {left} characters:\n{cut}")
        return None

    def _name(self, uri: str, name: str) -> str:
        """Put the name of something attached where it stands; gives it."""
        path = path_of(_plain(uri))
        if path is None:
            shown = name if name == uri else f"{name} ({uri})"
            self._said.append(shown)
            return shown
        # The fragment may name a stretch of it; the file itself is found without.
        shown = f"{self._folders.display_of(path.as_uri()) if path.is_absolute() else path}"
        lines = _LINES.match(urlsplit(uri).fragment)
        if lines is not None:
            last = lines["last"]
            shown += f" (line {lines['first']})" if last is None else f" (lines {lines['first']} to {last})"
        self.uris.append(_plain(uri))
        self._said.append(f"@{shown}")
        return shown

    def _picture(self, data: str, uri: str | None, place: str) -> Flaw | None:
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return Flaw(place, "is not base64")
        if len(content) > BYTES_LIMIT:
            return Flaw(place, f"is an image of {len(content)} bytes; the limit is {BYTES_LIMIT}")
        head = image_head(content)
        if head is None:
            return Flaw(place, "is no PNG, JPEG, GIF or WebP image")
        path = path_of(_plain(uri)) if uri else None
        stem = Path(path.name).stem if path is not None and path.name else f"image-{len(self.pictures) + 1}"
        name = f"{stem}{_ENDINGS[head.media_type]}"
        self.pictures.append(Picture(name, content))
        self._said.append(f"[{name}]")
        return None


def _plain(uri: str) -> str:
    """A URI without its query and its fragment, which name a part of the file."""
    return uri.partition("#")[0].partition("?")[0]


def folders_of_request(cwd: Any, additional: Any) -> Sequence[Path] | Flaw:
    """The folders of a session, the first one that in which commands run (ACP, "Working Directory")."""
    given: list[Any] = [cwd, *as_list(additional)]
    if additional is not None and not isinstance(additional, list):
        return Flaw("additionalDirectories", "must be a list of absolute paths")
    folders: list[Path] = []
    for number, one in enumerate(given):
        place = "cwd" if number == 0 else f"additionalDirectories[{number - 1}]"
        if not isinstance(one, str) or "\0" in one or not Path(one).is_absolute():
            return Flaw(place, "must be an absolute path")
        if Path(one) not in folders:
            folders.append(Path(one))
    return folders


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The MCP servers of a client."""

    servers: Mapping[str, Mapping[str, Any]]
    """In the form of the setting `mcpServers`."""
    left_out: Sequence[str] = ()
    """Which are not used, and why; for the user."""


def servers_of_request(given: Any, cwd: Path) -> HandedOver | Flaw:
    """The MCP servers that a client hands over (ACP, "MCP Servers").

    Args:
        given: The param.
        cwd: Where those run that are programs.
    """
    if given is not None and not isinstance(given, list):
        return Flaw("mcpServers", "must be a list")
    servers: dict[str, Mapping[str, Any]] = {}
    left_out: list[str] = []
    for number, one in enumerate(as_list(given)):
        kind = as_object(one).get("type", "stdio")
        shape = _SERVERS.get(kind) if isinstance(kind, str) else None
        try:
            read = (shape or _SERVERS["stdio"]).validate_python(one)
        except ValidationError as error:
            first = error.errors()[0]
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
            return Flaw(f"mcpServers[{number}]{place}", first["msg"])
        # Clients let their users name a server as they like; a rule can only name it by a word.
        name = word_for(read.name) or f"server-{number + 1}"
        if name in servers:
            left_out.append(
                f"The MCP server {visible(read.name)} is not used: another one is called {name}, too."
            )
            continue
        if isinstance(read, McpServerStdio):
            env = {each.name: each.value for each in read.env}
            made = {"command": read.command, "args": read.args, "env": env, "cwd": str(cwd)}
        elif isinstance(read, HttpMcpServer):
            headers = {each.name: each.value for each in read.headers}
            made = {"type": read.type, "url": read.url, "headers": headers}
        else:
            left_out.append(
                f"The MCP server {name} is not used: it speaks SSE; use stdio or streamable HTTP."
            )
            continue
        # Its variables are the client's: it has put in what they stand for, and what is left is meant as it is.
        servers[name] = {**made, "expand": False}
    return HandedOver(servers, left_out)
