"""A fake editor that speaks ACP through the SDK's client: buffers, a user who answers, and an eye on the rules.

Each message of the agent goes through the SDK's types, so that one that they do not take fails the test; and against what
the protocol says besides: an update belongs to a session that is known, and says something while a prompt runs.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol, cast

from acp.client.connection import ClientSideConnection
from acp.exceptions import RequestError
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)

from acp import connect_to_agent
from outrider.ports.outside import Outside
from outrider.testing.acp.profiles import ACP_PROFILES, AcpProfile
from outrider.testing.editor.wire_client import WAIT_SECONDS
from outrider.transport.connection import Outgoing

Object = dict[str, Any]

_SAYING: Final = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"}
)
"""Updates that a client shows as part of a turn."""
_YES: Final = frozenset({"allow", "allow_once", "allow_always"})
"""The ids of options that avante takes for a yes."""


class AcpAgent(Protocol):
    """An agent of this process."""

    def receive(self, body: bytes) -> None:
        """Take a line."""
        ...

    async def close(self, reason: str = "closed") -> None:
        """Let go of everything."""
        ...


@dataclass(frozen=True, slots=True)
class Permission:
    """A request for permission."""

    title: str
    names: tuple[str, ...]
    """What the user can choose."""
    kinds: tuple[str, ...]
    call: Object
    """The tool call that it is about."""

    @property
    def text(self) -> str:
        """What is shown with it in words."""
        blocks = [one.get("content", {}) for one in self.call.get("content", ()) if one["type"] == "content"]
        return "\n".join(block.get("text", "") for block in blocks)

    @property
    def diffs(self) -> list[Object]:
        """The diffs that are shown with it."""
        return [one for one in self.call.get("content", ()) if one["type"] == "diff"]

    def key(self, kind: str, takes: str) -> str | None:
        """What a client's key for a kind chooses."""
        found = [name for name, one in zip(self.names, self.kinds, strict=True) if one == kind]
        return found[0 if takes == "first" else -1] if found else None


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer as it stands on the wire, however wrong."""

    result: Any


Said = str | None | Raw
"""The name of an option; None closes the question."""
Answers = Sequence[Said] | Callable[[Permission], Said | Awaitable[Said]]


@dataclass
class _Pipe:
    """What the agent writes to."""

    queue: "asyncio.Queue[Object | None]" = field(default_factory=asyncio.Queue["Object | None"])
    messages: list[Object] = field(default_factory=list[Object])
    backlog: int = 0

    def send(self, body: bytes) -> None:
        if b"\n" in body:
            raise AssertionError(f"a line end within a message: {body[:200]!r}")
        message = cast("Object", json.loads(body))
        self.messages.append(message)
        self.queue.put_nowait(message)

    def when_drained(self, callback: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(callback)


class _Transport:
    """The SDK's view of the way to the agent."""

    def __init__(self, editor: "AcpEditor") -> None:
        self._editor = editor

    async def send(self, message: Object) -> None:
        self._editor.send_raw(message)

    async def receive(self) -> Object | None:
        message = await self._editor.pipe.queue.get()
        if message is not None:
            self._editor.look_at(message)
            if message.get("method") in self._editor.lacks:
                return {**message, "method": f"unknown/{message['method']}"}
        return message

    async def close(self) -> None:
        pass


class AcpEditor:
    """One fake client."""

    def __init__(self, profile: AcpProfile | str, workspace: Path, *, answers: Answers = ()) -> None:
        """A client that works in `workspace`; `answers` are what its user says to questions, in order."""
        self.profile = ACP_PROFILES[profile] if isinstance(profile, str) else profile
        self.workspace = workspace
        self.answers = answers
        self.buffers: dict[Path, str] = {}
        """Texts that are not saved."""
        self.updates: list[Object] = []
        self.permissions: list[Permission] = []
        self.forms: list[Object] = []
        self.form_answers: list[Object] = []
        self.reads: list[Path] = []
        self.at_read: Callable[[], None] = lambda: None
        """Called before a text is given: what its user does meanwhile."""
        self.written: list[Path] = []
        self.withdrawn: list[Any] = []
        self.lacks: set[str] = set()
        """Requests that it does not know, whatever it says of itself."""
        self.violations: list[str] = []
        self.pipe = _Pipe()
        self._agent: AcpAgent | None = None
        self._known: set[str] = set()
        self._telling: set[str] = set()
        """Sessions that are being loaded."""
        self._prompts: dict[Any, str] = {}
        self._sent: dict[Any, Object] = {}
        self._calls: set[str] = set()
        self._changed = asyncio.Event()
        self.connection: ClientSideConnection
        """The SDK's side of it; there from `start` on."""

    # --- life ---------------------------------------------------------------------------------------------------

    async def start(self, build: Callable[[Outgoing], AcpAgent]) -> Any:
        """Reach an agent and say `initialize`; gives its answer."""
        self._agent = build(self.pipe)
        self.connection = connect_to_agent(cast("Any", self), _Transport(self), use_unstable_protocol=True)
        return await self.connection.initialize(
            protocol_version=1,
            client_capabilities=ClientCapabilities.model_validate(self.profile.capabilities),
            client_info=Implementation(name=self.profile.name, version=self.profile.version),
        )

    async def stop(self) -> None:
        """Close the agent's input, and raise what broke the rules."""
        if self._agent is not None:
            await self._agent.close()
        self.pipe.queue.put_nowait(None)
        await self.connection.close()
        if self.violations:
            raise AssertionError("the agent broke rules:\n  " + "\n  ".join(self.violations))

    def send_raw(self, message: Any) -> None:
        """Send a message, however wrong."""
        if isinstance(message, dict):
            self._note_sent(cast("Object", message))
        self.send_line(json.dumps(message).encode())

    def send_line(self, body: bytes) -> None:
        """Send exactly this line."""
        if self._agent is not None:
            self._agent.receive(body)

    # --- what the user does -------------------------------------------------------------------------------------

    async def new_session(self, **more: Any) -> str:
        """Begin a session; gives its id."""
        made = await self.connection.new_session(cwd=str(self.workspace), mcp_servers=[], **more)
        return made.session_id

    async def prompt(self, session_id: str, *blocks: str | Object) -> str:
        """Send a prompt, and wait for its end; gives the stop reason."""
        given = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
        answer = await self.request("session/prompt", {"sessionId": session_id, "prompt": given})
        return str(answer["stopReason"])

    async def request(self, method: str, params: Object) -> Object:
        """Send a request as it is; gives its result or raises RequestError."""
        connection = cast("Any", self.connection)._conn  # the SDK's client takes its own types alone
        return cast(
            "Object", await asyncio.wait_for(connection.send_request(method, params), WAIT_SECONDS * 3)
        )

    def type(self, path: str, text: str) -> None:
        """Have a buffer hold a text that is not saved."""
        self.buffers[self.workspace / path] = text

    async def until(self, predicate: Callable[[], bool]) -> None:
        """Wait for something that the agent does."""
        async with asyncio.timeout(WAIT_SECONDS * 3):
            while not predicate():
                self._changed.clear()
                await self._changed.wait()

    def said(self, kind: str = "agent_message_chunk") -> str:
        """All that the agent said so far."""
        chunks = [one for one in self.updates if one["sessionUpdate"] == kind]
        return "".join(one["content"].get("text", "") for one in chunks)

    def of(self, kind: str) -> list[Object]:
        """The updates of a kind."""
        return [one for one in self.updates if one["sessionUpdate"] == kind]

    # --- the rules ----------------------------------------------------------------------------------------------

    def _note_sent(self, message: Object) -> None:
        params, number = message.get("params"), message.get("id")
        if isinstance(params, dict) and isinstance(number, int) and "method" in message:
            self._sent[number] = message
            session_id = str(cast("Object", params).get("sessionId"))
            if message["method"] == "session/prompt":
                self._prompts[number] = session_id
            elif message["method"] == "session/load":
                self._telling.add(session_id)

    def look_at(self, message: Object) -> None:
        """Take in a message of the agent before the SDK does, as it tells of no order."""
        if message.get("method") == "session/update":
            self._look_at_update(message["params"])
        elif message.get("method") == "$/cancel_request":
            self.withdrawn.append(message["params"]["requestId"])
        elif "method" not in message:
            sent = self._sent.pop(message.get("id"), {})
            session_id = str(sent.get("params", {}).get("sessionId"))
            if sent.get("method") == "session/new" and "result" in message:
                self._known.add(message["result"]["sessionId"])
            elif sent.get("method") in {"session/load", "session/resume", "session/fork"}:
                self._telling.discard(session_id)
                self._known.add(message.get("result", {}).get("sessionId", session_id))
            self._prompts.pop(message.get("id"), None)
        self._changed.set()

    def _look_at_update(self, params: Object) -> None:
        session_id, update = params["sessionId"], params["update"]
        kind = update["sessionUpdate"]
        self.updates.append({**update, "sessionId": session_id})
        if session_id not in self._known | self._telling:
            self.violations.append(f"{kind} of {session_id}, which the client does not know yet")
        is_open = session_id in self._telling or session_id in self._prompts.values()
        if kind in _SAYING and not is_open:
            self.violations.append(f"{kind} outside of a prompt: {json.dumps(update)[:200]}")
        if kind == "tool_call":
            self._calls.add(update["toolCallId"])
        elif kind == "tool_call_update" and update["toolCallId"] not in self._calls:
            self.violations.append(f"an update of the unknown call {update['toolCallId']}")

    # --- what the agent asks ------------------------------------------------------------------------------------

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """It has been taken in."""

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Ask the user."""
        if session_id not in self._prompts.values():
            self.violations.append(f"a request for permission outside of a prompt: {tool_call.title}")
        call = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        self._calls.add(tool_call.tool_call_id)
        names = tuple(one.name for one in options)
        asked = Permission(tool_call.title or "", names, tuple(one.kind for one in options), call)
        self.permissions.append(asked)
        self._changed.set()
        said = await self._says(asked)
        if isinstance(said, Raw):
            return said.result
        if said is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next((one for one in options if one.name == said), None)
        if chosen is None:
            raise self._broken(f"{said!r} is not offered by {asked.title!r}; it offers {names}")
        taken = self._taken(options, chosen)
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=taken.option_id)
        )

    def _taken(self, options: list[PermissionOption], chosen: PermissionOption) -> PermissionOption:
        """What the client makes of the user's choice."""
        match self.profile.answers_by:
            case "option":
                return chosen
            case "kind":
                kind = chosen.kind
            case "yes":
                kind = "allow_once" if chosen.option_id in _YES else "reject_once"
        if kind == "reject_always":
            raise self._broken(f"there is no key for {chosen.name!r}")
        return [one for one in options if one.kind == kind][-1]

    async def _says(self, asked: Permission) -> Said:
        if callable(self.answers):
            said = self.answers(asked)
            return await said if isinstance(said, Awaitable) else said
        number = len(self.permissions) - 1
        if number >= len(self.answers):
            raise self._broken(f"nobody answers {asked.title!r}")
        return self.answers[number]

    def _broken(self, what: str) -> AssertionError:
        self.violations.append(what)  # the SDK makes an answer of what is raised
        return AssertionError(what)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        """Have the user fill in a form."""
        self.forms.append(
            {"message": message, **mode.model_dump(mode="json", by_alias=True, exclude_none=True)}
        )
        self._changed.set()
        if not self.form_answers:
            raise self._broken(f"nobody fills in {message!r}")
        return self.form_answers.pop(0)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        """Give the text of a file as this client does."""
        place = Path(path)
        self.at_read()
        self.reads.append(place)
        text = self.buffers.get(place) if self.profile.reads == "buffer" else None
        if text is None and self.profile.missing == "empty" and not await asyncio.to_thread(place.exists):
            text = ""
        if text is None:
            text = await asyncio.to_thread(_text_of, place)
        if self.profile.line_ends == "unified":
            text = text.replace("\r\n", "\n")
        if self.profile.last_line == "unended":
            text = text.removesuffix("\n")
        return ReadTextFileResponse(content=text)

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> WriteTextFileResponse:
        """Write a file as this client does."""
        place = Path(path)
        self.written.append(place)
        keeps_ends = self.profile.line_ends == "unified" and self.profile.writes == "buffer"
        await asyncio.to_thread(_write, place, content, keeps_ends=keeps_ends)
        self.buffers.pop(place, None)
        return WriteTextFileResponse()


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as problem:
        raise RequestError(-32002, f"cannot read it: {problem}") from problem


def _write(path: Path, text: str, *, keeps_ends: bool) -> None:
    if keeps_ends and path.is_file() and b"\r\n" in path.read_bytes():
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    path.write_bytes(text.encode())


@asynccontextmanager
async def start_client(
    profile: AcpProfile | str,
    workspace: Path,
    settings: Mapping[str, Any],
    *,
    answers: Answers = (),
) -> AsyncGenerator[AcpEditor, None]:
    """A client with an agent in this process, which reads nothing of this process's home.

    Args:
        profile: Which client, or its name.
        workspace: Where it works; the agent's home lies beside it.
        settings: The settings, as on the command line.
        answers: What the user says to questions.

    Raises:
        AssertionError: The agent broke rules; not raised over another failure, but added to it as a note.
    """
    from outrider.acp.agent import Agent
    from outrider.testing.scenario import surroundings_of

    env = surroundings_of(workspace)
    outside = Outside(
        env=env,
        state_dir=Path(env["XDG_STATE_HOME"]) / "outrider",
        user_settings=Path(env["XDG_CONFIG_HOME"]) / "outrider" / "settings.toml",
        cache_dir=Path(env["HOME"]) / ".cache" / "outrider",
        command_line=dict(settings),
    )
    editor = AcpEditor(profile, workspace, answers=answers)
    try:
        await editor.start(lambda outgoing: Agent(outgoing, outside=outside))
        yield editor
    except BaseException as failure:
        try:
            await editor.stop()
        except AssertionError as broken:
            failure.add_note(str(broken))
        raise
    await editor.stop()
