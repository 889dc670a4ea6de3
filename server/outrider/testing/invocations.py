"""What the model was asked, rebuilt from the log: nobody has to stand between the agent and its model to see it.

It reads the log of a state folder through a connection that cannot write, while a server may be writing it.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from outrider.ports.events import Logged, LoggedEvent, messages_of
from outrider.ports.model import Message, ToolSpec
from outrider.store.reader import Reader
from outrider.store.schema import FILE_NAME, open_reader
from outrider_protocol import logged


@dataclass(frozen=True, slots=True)
class Invocation:
    """One request to the model, equal to what was sent."""

    purpose: str
    """`main` for a step of the loop, else what the answer was for, such as `summary`."""
    mode: Literal["stream", "complete"]
    """Whether the answer was asked for piece by piece, or as a whole. Every request of today is a stream."""
    messages: Sequence[Message]
    """All of the conversation that went along, the system message first."""
    tools: Sequence[ToolSpec]
    """The tools that were offered, in their order."""
    temperature: float | None
    """None: the provider's own."""
    max_tokens: int | None
    """The most tokens of the answer; None: the provider's own limit."""
    model: str
    """As in the setting `model`."""
    turn_id: str | None
    """The turn it was made for."""

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools that were offered."""
        return [tool.name for tool in self.tools]

    @property
    def last(self) -> Message:
        """The last message: what is new, mostly."""
        return self.messages[-1]


async def read_events(state_dir: Path, session_id: str) -> list[LoggedEvent]:
    """The events of a session that are committed by now; none where there is no such log or session.

    Raises:
        StoreReadError: The log is damaged or cannot be read.
    """
    return (await _read(state_dir, session_id, with_requests=False))[0]


async def read_invocations(state_dir: Path, session_id: str) -> list[Invocation]:
    """What the model was asked in a session, in order.

    Args:
        state_dir: The setting `stateDir` of the server that ran the session, or runs it.
        session_id: The session.

    Raises:
        StoreReadError: The log is damaged or cannot be read.
        LookupError: The log names a content that it does not have.
    """
    events, contents = await _read(state_dir, session_id, with_requests=True)
    return [
        _rebuilt(event, messages_of(event, lambda seq: events[seq - 1]), contents)
        for event in events
        if event.type == "model.requested"
    ]


async def _read(
    state_dir: Path, session_id: str, *, with_requests: bool
) -> tuple[list[LoggedEvent], dict[str, bytes]]:
    path = state_dir / FILE_NAME
    if not await asyncio.to_thread(path.exists):
        return [], {}
    reader = Reader(await asyncio.to_thread(open_reader, path), path)
    try:
        events, _ = await reader.events(session_id, 1, None)
        digests = [
            digest
            for event in events
            if with_requests and event.type == "model.requested"
            for digest in (*messages_of(event, lambda seq: events[seq - 1]), event.data["toolsHash"])
        ]
        return events, await reader.blobs(digests)
    finally:
        await reader.close()


def _rebuilt(
    event: Logged[logged.ModelRequested], digests: Sequence[str], contents: Mapping[str, bytes]
) -> Invocation:
    data = event.data

    def content(digest: str) -> bytes:
        if digest not in contents:
            raise LookupError(f"event {event.seq} of {event.session_id} names {digest}, which is not stored")
        return contents[digest]

    listed: list[dict[str, Any]] = json.loads(content(data["toolsHash"]))
    return Invocation(
        purpose=data["purpose"],
        mode="stream",
        messages=tuple(Message.decode(content(digest)) for digest in digests),
        tools=tuple(ToolSpec(tool["name"], tool["description"], tool["schema"]) for tool in listed),
        temperature=data.get("temperature"),
        max_tokens=data.get("maxTokens"),
        model=data["model"],
        turn_id=event.turn_id,
    )
