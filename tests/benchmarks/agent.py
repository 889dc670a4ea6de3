"""One of the two programs under measurement, with the differences of their wire hidden."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from client import NO_ANSWER, Child
from model_server import ModelServer

BARE = [str(Path(__file__).parent / "bare_agent.py")]
OUTRIDER = ["-m", "outrider", "serve"]


@dataclass
class Agent:
    """A running program. It is asked for nothing but turns, and its questions stay open."""

    bare: bool
    root: Path
    options: dict[str, Any]
    child: Child = field(default_factory=Child)
    turn: str = ""
    session: str = ""
    ended: int = 0
    """Turns that have finished."""
    finished: "asyncio.Future[float]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    texts: list[tuple[float, str]] = field(default_factory=list)
    """What was streamed, and when it came."""
    streaming: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the first text."""
    output: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the first output of a command."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the first question."""
    edits: int = 0
    """Edits of documents that were asked for; each makes a version."""
    awaited: int = 1
    """How many turns have to end before it counts as finished."""
    start_seconds: float = 0.0
    """From the spawn to the response to `initialize`."""

    async def __aenter__(self) -> Self:
        self.child.on_notification = self._on_notification
        self.child.on_request = self._on_request
        self.start_seconds = await self.child.start(BARE if self.bare else OUTRIDER, self.root, self.options)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.child.stop()

    async def run(self, server: ModelServer | None = None, **more: Any) -> None:
        """Start a turn; the bare agent is told the model server with it, Outrider has it in its options.

        Args:
            server: The model server.
            more: Further params of `outrider.run`.
        """
        if self.bare:
            assert server is not None
            address = f"http://127.0.0.1:{server.port}/v1"
            await self.child.command("bare.run", {"prompt": "go", "url": address})
        else:
            started = await self.child.command("outrider.run", {"prompt": "go", **more})
            self.turn, self.session = started["turnId"], started["sessionId"]

    def open(self, path: Path, text: str) -> None:
        """Open a document with a text that the disk may not have."""
        document = {"uri": path.as_uri(), "languageId": "python", "version": self.edits + 1, "text": text}
        self.child.notify("textDocument/didOpen", {"textDocument": document})

    async def cancel(self) -> float:
        """Cancel the turn; gives the seconds until its end was heard of."""
        begin = time.perf_counter()
        name, argument = ("bare.cancel", {}) if self.bare else ("outrider.cancel", {"turnId": self.turn})
        asking = asyncio.ensure_future(self.child.command(name, argument))
        end = await asyncio.wait_for(self.finished, 30)
        await asking
        return end - begin

    def _on_notification(self, method: str, params: Any) -> None:
        now = time.perf_counter()
        if method == "bare/stream" or (method == "outrider/stream" and params["kind"] == "text"):
            self.texts.append((now, params["text"]))
            self.streaming.set()
        elif method == "outrider/stream" and params["kind"] == "output":
            self.output.set()
        elif method == "bare/finished" or (method == "outrider/event" and params["type"] == "turn.finished"):
            self.ended += 1
            if self.ended == self.awaited:
                self.finished.set_result(now)

    def _on_request(self, method: str, params: Any) -> Any:
        if method == "workspace/applyEdit":
            for edit in params["edit"]["documentChanges"]:
                self.edits += 1
                self.child.notify("textDocument/didChange", {
                    "textDocument": {"uri": edit["textDocument"]["uri"], "version": self.edits + 1},
                    "contentChanges": [{"range": one["range"], "text": one["newText"]} for one in edit["edits"][::-1]],
                })  # fmt: skip
            return {"applied": True}
        assert method == "window/showMessageRequest", method
        self.asked.set()
        return NO_ANSWER


def outrider_options(state: Path, more: dict[str, Any]) -> dict[str, Any]:
    """Settings for Outrider: events and log on, as a client with a plugin has them."""
    return {"events": True, "stateDir": str(state), "limits": {"steps": 1001}, **more}


def model_options(server: ModelServer) -> dict[str, Any]:
    """Settings that lead Outrider to the model server."""
    settings = {"kind": "openai-chat", "baseUrl": f"http://127.0.0.1:{server.port}/v1"}
    return {"model": "local/m", "providers": {"local": {**settings, "contextWindow": 10_000_000}}}
