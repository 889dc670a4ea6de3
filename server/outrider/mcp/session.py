"""One connection to an MCP server, with the official SDK: the only module that asks for it. Imported in a thread.

Both eras of the protocol are spoken: `server/discover` of 2026-07-28 is tried first, then `initialize`.
"""

import asyncio
import base64
import binascii
import hashlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, cast

import mcp_types as types
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp import Client
from outrider.mcp.around import Around
from outrider.mcp.configuration import ServerConfig
from outrider.mcp.http import over_http
from outrider.mcp.login import Login
from outrider.mcp.results import (
    Answer,
    Field,
    Given,
    Lists,
    Picture,
    Progress,
    PromptArgument,
    PromptDefinition,
    ToolDefinition,
    Wanted,
)
from outrider.mcp.stdio import over_pipes
from outrider.ports.text import visible

MOST_TOOLS: Final = 500
"""Of one server."""
MOST_PROMPTS: Final = 200
MOST_PAGES: Final = 20
MOST_DEFINED: Final = 4 * 1024 * 1024
"""Bytes of what a server says of all its tools."""
DESCRIPTION: Final = 2_000
"""Characters of a description."""
MOST_ROUNDS: Final = 10
"""How often one call may ask the user."""
LIST_SECONDS: Final = 30.0
MOST_LISTED: Final = 200
"""Resources that one answer lists."""

Ask = Callable[[Sequence[Wanted], str | None], Awaitable[Sequence[Answer]]]
"""Asks the user for what a server wants; the second is the state that the server gave, where an answer can come later."""


Check = Callable[[Mapping[str, Any]], str | None]
"""Says why a schema cannot be used."""


class ServerError(Exception):
    """Why a server could not be reached, or a request failed; fit for the user and the model."""


class Session:
    """An open connection."""

    def __init__(self, client: Client, config: ServerConfig, gone: asyncio.Event, check: Check) -> None:
        self._client = client
        self._config = config
        self._check = check
        self._one = asyncio.Lock()
        self._ask: Ask | None = None
        self.gone = gone
        """Set when the server is gone."""
        self.why_gone = ""
        self.changed = asyncio.Event()
        """Set when the server says that its lists are others."""

    @property
    def protocol(self) -> str:
        """The revision that is spoken."""
        return self._client.protocol_version

    @property
    def version(self) -> str:
        """The server's own."""
        info = self._client.server_info
        return visible(info.version[:60]) if info is not None else ""

    @property
    def is_modern(self) -> bool:
        """Whether the revision is one of those without a handshake."""
        return self.protocol in MODERN_PROTOCOL_VERSIONS

    async def lists(self) -> Lists:
        """What the server has.

        Raises:
            ServerError: It does not say.
        """
        able, client, problems = self._client.server_capabilities, self._client, list[str]()
        tools = await self._pages("tools", client.list_tools, MOST_TOOLS, problems) if able.tools else []
        prompts = (
            await self._pages("prompts", client.list_prompts, MOST_PROMPTS, problems) if able.prompts else []
        )
        # Some hundred schemas take a second to check.
        defined = await asyncio.to_thread(_tools, cast("list[types.Tool]", tools), self._check)
        if len(defined) < len(tools):
            problems.append(
                f"its tools are defined in more than {MOST_DEFINED // 1024**2} MB: the first {len(defined)} of them are used"
            )
        return Lists(
            tools=defined,
            prompts=[_prompt(one) for one in cast("list[types.Prompt]", prompts)],
            has_resources=able.resources is not None,
            problems=problems,
        )

    async def _pages(self, what: str, ask: Any, most: int, problems: list[str]) -> list[Any]:
        """What a list has on all its pages; of one that is too long the beginning, which `problems` tell then."""
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            page = await _answered(ask(cursor=cursor, cache_mode="bypass"), LIST_SECONDS)
            found += getattr(page, what)
            cursor = page.next_cursor
            if cursor is None or len(found) > most:
                break
        named = what.replace("_", " ")
        if len(found) > most:
            problems.append(f"it lists more than {most} {named}: the first {most} are used")
        elif cursor is not None:
            problems.append(f"it lists its {named} on more than {MOST_PAGES} pages: the others are not read")
        return found[:most]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        ask: Ask,
        on_progress: Callable[[Progress], None],
        state: str | None = None,
        answers: Mapping[str, Answer] | None = None,
    ) -> Given:
        """Have a tool do something. The caller bounds the time.

        Args:
            name: The tool, as the server calls it.
            arguments: Its arguments.
            ask: Asks the user in the middle.
            on_progress: Is told how far it has come.
            state: Of a call that was cut off while it asked: what the server gave then.
            answers: What the user said to that.

        Raises:
            ServerError: The server did not answer.
        """

        async def told(progress: float, total: float | None, message: str | None) -> None:
            on_progress(Progress(progress, total, visible((message or "")[:200])))

        async def send(responses: Any, request_state: str | None) -> Any:
            session: Any = self._client.session  # its overloads tell two parameters apart by literals
            return await session.call_tool(
                name,
                dict(arguments),
                progress_callback=told,
                input_responses=responses,
                request_state=request_state,
                allow_input_required=True,
            )

        # In the older revisions nothing tells to which call a question belongs: one at a time.
        async with self._one:
            self._ask = ask
            try:
                responses = {key: _response(one) for key, one in (answers or {}).items()} or None
                result = await _answered(send(responses, state), None)
                result = await self._driven(result, send, ask)
            finally:
                self._ask = None
        return given(result.content, result.structured_content, is_error=result.is_error)

    async def _driven(self, result: Any, send: Any, ask: Ask) -> Any:
        """Answer what the server wants, as often as it may ask."""
        for _ in range(MOST_ROUNDS):
            if not isinstance(result, types.InputRequiredResult):
                return result
            wanted: list[Wanted] = []
            for key, request in (result.input_requests or {}).items():
                if not isinstance(request, types.ElicitRequest):
                    raise ServerError(f"it asked for {request.method}, which Outrider gives no server")
                wanted.append(_wanted(key, request.params))
            if not wanted:
                await asyncio.sleep(0.1)
                result = await _answered(send(None, result.request_state), None)
                continue
            answers = await ask(wanted, result.request_state)
            responses = {one.key: _response(said) for one, said in zip(wanted, answers, strict=True)}
            result = await _answered(send(responses, result.request_state), None)
        raise ServerError(f"it asked more than {MOST_ROUNDS} times in one call")

    async def elicited(self, params: Any) -> Any:
        """A question of a server of the older revisions."""
        if self._ask is None:
            return types.ErrorData(
                code=types.INVALID_REQUEST, message="no call is running that could ask the user"
            )
        (answer,) = await self._ask([_wanted("", params)], None)
        return _response(answer)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt.

        Raises:
            ServerError: The server did not give it.
        """
        result = await _answered(self._client.session.get_prompt(name, dict(arguments)), self._config.seconds)
        parts: list[str] = []
        for message in result.messages:
            text = given([message.content], None, is_error=False).text
            parts.append(text if message.role == "user" else f"[The assistant said:]\n{text}")
        return "\n\n".join(parts)

    async def resources(self) -> Given:
        """The resources and templates of the server, as a list."""
        able, problems = (self._client.list_resources, self._client.list_resource_templates), list[str]()
        listed = await self._pages("resources", able[0], MOST_LISTED, problems)
        templates: list[Any] = []
        with suppress(ServerError):  # a server may have none, and not know the request
            templates = await self._pages("resource_templates", able[1], MOST_LISTED, problems)
        lines = [_line(str(one.uri), one.name, one.description) for one in listed]
        lines += [_line(one.uri_template, one.name, one.description) for one in templates]
        lines += [f"[{problem}]" for problem in problems]
        return Given("\n".join(lines) or "There are no resources.")

    async def resource(self, uri: str) -> Given:
        """The content of a resource.

        Raises:
            ServerError: The server did not give it.
        """
        result = await _answered(self._client.read_resource(uri, cache_mode="bypass"), self._config.seconds)
        return given(
            [types.EmbeddedResource(type="resource", resource=one) for one in result.contents],
            None,
            is_error=False,
        )

    async def completions(self, prompt: str, argument: str, value: str) -> list[str]:
        """What an argument of a prompt may be."""
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        result = await _answered(self._client.complete(reference, {"name": argument, "value": value}), 5.0)
        return [visible(one) for one in result.completion.values[:100]]

    async def watch(self) -> None:
        """Take note of what the server says of its lists, as long as it is there."""
        if not self.is_modern:
            await self.gone.wait()
            return
        while not self.gone.is_set():
            try:
                async with self._client.listen(
                    tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
                ) as changes:
                    async for _ in changes:
                        self.changed.set()
            except (ListenNotSupportedError, MCPError, SubscriptionLost, TimeoutError):
                pass
            with suppress(TimeoutError):
                await asyncio.wait_for(self.gone.wait(), 30.0)

    async def noted(self, message: Any) -> None:
        """A notification of the server."""
        if isinstance(
            message,
            types.ToolListChangedNotification
            | types.PromptListChangedNotification
            | types.ResourceListChangedNotification,
        ):
            self.changed.set()


@asynccontextmanager
async def opened(
    config: ServerConfig, around: Around, login: Login | None, said: Callable[[str], None]
) -> AsyncGenerator[Session]:
    """Reach a server.

    Args:
        config: Which.
        around: The house.
        login: How the user logs in to it; None for a server over pipes.
        said: Is told what it writes to standard error.

    Raises:
        ServerError: It cannot be reached. `LoginNeededError` and failures of the SDK come as groups: see `reason`.
    """
    gone = asyncio.Event()
    holder: list[Session] = []

    def ended(why: str) -> None:
        for session in holder:
            session.why_gone = why
        gone.set()

    async def elicited(context: Any, params: Any) -> Any:  # noqa: ARG001 - as above
        return await holder[0].elicited(params)

    async def noted(message: Any) -> None:
        if holder:
            await holder[0].noted(message)

    async def roots(context: Any) -> types.ListRootsResult:  # noqa: ARG001 - the SDK calls it by this name
        return types.ListRootsResult(
            roots=[types.Root(uri=cast("Any", uri), name=name) for name, uri in around.folders()]
        )

    if config.argv:
        transport: Any = over_pipes(config, around, said, ended)
    else:
        transport = over_http(config, around, login.provider if login is not None else None)
    client = Client(
        transport,
        client_info=types.Implementation(name="outrider", version=around.version),
        elicitation_callback=elicited,
        list_roots_callback=roots,
        message_handler=noted,
        cache=None,
    )
    async with client:
        session = Session(client, config, gone, around.schema_problem)
        holder.append(session)
        yield session
        gone.set()


async def _answered(asking: Any, seconds: float | None) -> Any:
    try:
        async with asyncio.timeout(seconds):
            return await asking
    except TimeoutError:
        raise ServerError(f"it did not answer for {seconds:g} s") from None
    except MCPError as error:
        raise ServerError(visible(error.error.message[:1000])) from error
    except ValidationError as error:
        raise ServerError(f"its answer does not fit the protocol: {error.errors()[0]['msg']}") from error


def reason(error: BaseException) -> str:
    """Why something failed, for the user: of a group the first cause."""
    first = next(iter(causes(error)), error)
    if isinstance(first, MCPError):
        return visible(first.error.message[:1000])
    return visible(str(first)[:1000]) or type(first).__name__


def causes(error: BaseException) -> list[BaseException]:
    """An error with its cause, or those of a group."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    if inner:
        return [one for part in inner for one in causes(part)]
    return [error, *([error.__cause__] if error.__cause__ is not None else [])]


def _tools(tools: Sequence[types.Tool], check: Check) -> list[ToolDefinition]:
    """The tools that a server has, as far as their definitions are not too long together."""
    found: list[ToolDefinition] = []
    room = MOST_DEFINED
    for tool in tools:
        schema: dict[str, Any] = dict(tool.input_schema)
        hints = tool.annotations.model_dump(mode="json") if tool.annotations is not None else None
        whole = [tool.name, tool.title, tool.description, schema, hints]
        said = json.dumps(whole, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
        room -= len(said)
        if room < 0:
            break
        found.append(_tool(tool, schema, hashlib.sha256(said).hexdigest(), check(schema)))
    return found


def _tool(tool: types.Tool, schema: dict[str, Any], digest: str, unusable: str | None) -> ToolDefinition:
    hints = tool.annotations
    told = (
        [
            word
            for word, holds in (
                ("only reads", hints.read_only_hint),
                ("destroys nothing", hints.destructive_hint is False),
                ("reaches other systems", hints.open_world_hint),
            )
            if holds
        ]
        if hints is not None
        else []
    )
    return ToolDefinition(
        name=tool.name,
        description=_cut(tool.description or tool.title or tool.name),
        schema=schema,
        digest=digest,
        unusable=unusable,
        says=", ".join(told),
    )


def _prompt(prompt: types.Prompt) -> PromptDefinition:
    return PromptDefinition(
        prompt.name,
        _cut(prompt.description or prompt.title or ""),
        tuple(
            PromptArgument(visible(one.name), _cut(one.description or ""), bool(one.required))
            for one in prompt.arguments or ()
        ),
    )


def _cut(text: str) -> str:
    text = visible(text)
    return text if len(text) <= DESCRIPTION else f"{text[: DESCRIPTION - 1]}…"


def _line(uri: str, name: str, description: str | None) -> str:
    about = " ".join(visible(description or "").split())[:200]
    return f"- {visible(uri)}: {visible(name)}{f' ({about})' if about else ''}"


def given(content: Sequence[Any], structured: Any, *, is_error: bool) -> Given:
    """What came of a request, as a model can be given it."""
    texts: list[str] = []
    pictures: list[Picture] = []
    for block in content:
        match block:
            case types.TextContent():
                texts.append(block.text)
            case types.ImageContent():
                _picture(block.data, block.mime_type, f"image {len(pictures) + 1}", texts, pictures)
            case types.AudioContent():
                texts.append(f"[audio, {visible(block.mime_type)}: not shown]")
            case types.ResourceLink():
                texts.append(_line(str(block.uri), block.name, block.description))
            case types.EmbeddedResource(resource=types.TextResourceContents() as one):
                texts.append(f"[{visible(str(one.uri))}]\n{one.text}")
            case types.EmbeddedResource(resource=types.BlobResourceContents() as one):
                _picture(one.blob, one.mime_type or "", visible(str(one.uri)), texts, pictures)
            case _:
                texts.append("[content of a kind that Outrider does not know: not shown]")
    text = "\n".join(texts)
    if structured is not None and not _says_the_same(texts, structured):
        text = f"{text}\n{json.dumps(structured, ensure_ascii=False, indent=1)}".lstrip()
    return Given(text, tuple(pictures), is_error)


def _says_the_same(texts: Sequence[str], structured: Any) -> bool:
    """Whether a text has the structured content already, alone or as what servers wrap a plain value in."""
    if isinstance(structured, dict) and list(cast("dict[str, Any]", structured)) == ["result"]:
        structured = cast("dict[str, Any]", structured)["result"]
        if str(structured) in texts:
            return True
    for text in texts:
        with suppress(ValueError, RecursionError):
            if json.loads(text) == structured:
                return True
    return False


def _picture(data: str, media_type: str, name: str, texts: list[str], pictures: list[Picture]) -> None:
    if not media_type.startswith("image/"):
        texts.append(f"[{name}, {visible(media_type) or 'binary'}, {len(data) * 3 // 4} bytes: not shown]")
        return
    try:
        pictures.append(Picture(name, media_type, base64.b64decode(data, validate=True)))
    except (binascii.Error, ValueError):
        texts.append(f"[{name}: it is not valid base64]")


def _wanted(key: str, params: Any) -> Wanted:
    message = visible(str(params.message)[:2000])
    if isinstance(params, types.ElicitRequestURLParams):
        return Wanted(key, message, url=params.url)
    schema: Any = params.requested_schema
    if not isinstance(schema, dict):
        schema = schema.model_dump(by_alias=True, exclude_none=True)
    properties: Any = cast("dict[str, Any]", schema).get("properties") or {}
    needed: Any = cast("dict[str, Any]", schema).get("required") or []
    return Wanted(
        key, message, tuple(_field(name, one, name in needed) for name, one in list(properties.items())[:20])
    )


def _field(name: str, said: Any, required: bool) -> Field:
    schema = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    kind: Any = schema.get("type")
    items = cast("dict[str, Any]", schema.get("items") or {})
    options = _options(items if kind == "array" else schema)
    known = {"integer": "integer", "number": "number", "boolean": "boolean"}
    found: Any = "choices" if kind == "array" else "choice" if options else known.get(kind, "text")
    return Field(
        name=visible(name),
        title=visible(str(schema.get("title") or name)[:200]),
        description=visible(str(schema.get("description") or "")[:500]),
        kind=found,
        required=required,
        options=options,
        schema=schema,
    )


def _options(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    named: Any = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(named, list):
        pairs = [cast("dict[str, Any]", one) for one in cast("list[Any]", named) if isinstance(one, dict)]
        return tuple(
            (visible(str(one.get("const"))), visible(str(one.get("title") or one.get("const"))))
            for one in pairs
        )
    values: Any = schema.get("enum")
    if not isinstance(values, list):
        return ()
    titles: Any = schema.get("enumNames")
    texts = [visible(str(one)) for one in cast("list[Any]", values)[:50]]
    called = [visible(str(one)) for one in cast("list[Any]", titles)] if isinstance(titles, list) else texts
    return tuple(zip(texts, called, strict=False))


def _response(answer: Answer) -> types.ElicitResult:
    content = dict(answer.values) if answer.action == "accept" and answer.values else None
    return types.ElicitResult(action=answer.action, content=content)
