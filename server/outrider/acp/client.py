"""The client at the other end: requests to it, and updates of a session. Nothing it does or leaves undone raises here."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    SessionNotification,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)
from pydantic import BaseModel

from outrider.acp.capabilities import ClientCapabilities
from outrider.acp.wire import METHOD_NOT_FOUND, SENT, LineTransport
from outrider.ports.clock import Clock

logger = logging.getLogger(__name__)

CANCEL_REQUEST: Final = "$/cancel_request"
"""ACP, "Cancellation"."""
SESSION_UPDATE: Final = "session/update"

Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)


@dataclass(frozen=True, slots=True)
class Reply:
    """The client's result of a request."""

    result: Any


@dataclass(frozen=True, slots=True)
class NoReply:
    """A request that has no result."""

    why: Literal["error", "unsupported", "timeout", "closed"]
    message: str


class Client:
    """One client. Updates go out in order with everything else, without waiting."""

    def __init__(
        self, connection: Connection, transport: LineTransport, can: ClientCapabilities, clock: Clock
    ) -> None:
        """Speak with a client over a connection; `clock` counts what it may take."""
        self._connection = connection
        self._transport = transport
        self._clock = clock
        self.outgoing = transport.outgoing
        self.can = can

    def update(self, session_id: str, update: Update) -> None:
        """Send `session/update`."""
        params = serialized(SessionNotification(session_id=session_id, update=update))
        self._transport.post({"jsonrpc": "2.0", "method": SESSION_UPDATE, "params": params})

    async def request(
        self,
        method: str,
        params: BaseModel,
        *,
        seconds: float,
        overdue: Callable[[], None] | None = None,
    ) -> Reply | NoReply:
        """Ask the client. Who stops waiting takes the request back.

        Args:
            method: The method.
            params: Its params.
            seconds: How long it may take.
            overdue: Called when that time is over, and the answer is waited for all the same; None: it is not.
        """
        asking = asyncio.ensure_future(self._ask(method, params))
        try:
            try:
                async with self._clock.timeout(seconds):
                    return await asyncio.shield(asking)
            except TimeoutError:
                if overdue is None:
                    return NoReply("timeout", f"the client did not answer {method} within {seconds:g} s")
                overdue()
            return await asyncio.shield(asking)
        finally:
            asking.cancel()  # does nothing to one that is done

    async def _ask(self, method: str, params: BaseModel) -> Reply | NoReply:
        sent: list[int] = []
        SENT.set(sent)  # this is a task of its own
        try:
            return Reply(await self._connection.send_request(method, serialized(params)))
        except asyncio.CancelledError:
            # The SDK says nothing to the client, which would go on asking its user.
            for number in sent:
                self._transport.post(
                    {"jsonrpc": "2.0", "method": CANCEL_REQUEST, "params": {"requestId": number}}
                )
            raise
        except RequestError as error:
            return NoReply("unsupported" if error.code == METHOD_NOT_FOUND else "error", str(error))
        except ConnectionError as error:
            return NoReply("closed", str(error))


def serialized(model: BaseModel) -> dict[str, Any]:
    """A message of the SDK as JSON; what is absent is left out."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
