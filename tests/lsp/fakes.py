"""What stands on both sides of the server in these tests: a house that does as it is told, and a client."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, ClassVar

from outrider.lsp.server import create_server
from outrider.ports.refusal import CommandError

Object = dict[str, Any]


async def eventually(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something that nobody announces."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.001)


class FakeBridge:
    """A house of a few commands; it writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.configured: list[Any] = []
        self.folders: list[Any] = []
        self.closed: list[str] = []
        self.cancelled: list[str] = []
        self.let_go = asyncio.Event()
        self.client: Any = None
        self.editor: Any = None
        self.documents: Any = None
        self.progress: Any = None
        self.commands: dict[str, Callable[[Any], Any]] = {
            "outrider.status": self._echo,
            "outrider.wait": self._wait,
            "outrider.run": self._raise,
            "outrider.steer": self._refuse,
            "outrider.doctor": lambda _: object(),
        }

    async def start(self, client, editor, documents, progress, outside):
        self.client, self.editor, self.documents, self.progress = client, editor, documents, progress
        return self

    async def execute(self, command, argument, work_done_token):
        self.calls.append((command, argument, work_done_token))
        result = self.commands[command](argument)
        return await result if asyncio.iscoroutine(result) else result

    async def code_actions(self, uri, start, end, diagnostics, only, automatic):
        self.calls.append(("code_actions", uri, start, end, diagnostics, only, automatic))
        command = {"title": "Outrider: explain selection", "command": "outrider.run"}
        return [{"title": "Outrider: explain selection", "kind": "source.outrider", "command": command}]

    async def configure(self, values):
        self.configured.append(values)

    async def folders_changed(self, folders):
        self.folders.append(folders)

    async def close(self, reason):
        self.closed.append(reason)

    def _echo(self, argument):
        return {"echo": argument}

    async def _wait(self, argument):
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled.append("wait")
            raise
        return {"done": True}

    def _raise(self, argument):
        raise RuntimeError("/home/somebody/secret.py is broken")

    def _refuse(self, argument):
        raise CommandError(-32803, "there is no running turn", {"reason": "no_running_turn"})


class Outbox:
    """Collects what the server sends; its backlog is whatever the test says."""

    def __init__(self) -> None:
        self.messages: list[Object] = []
        self.backlog = 0
        self.drained: list[Callable[[], None]] = []

    def send(self, body: bytes) -> None:
        self.messages.append(json.loads(body))

    def when_drained(self, callback: Callable[[], None]) -> None:
        self.drained.append(callback)

    def drain(self) -> None:
        self.backlog = 0
        callbacks, self.drained = self.drained, []
        for callback in callbacks:
            callback()


class Client:
    """A client inside the process: messages in, messages out. `conftest` closes what a test leaves open."""

    living: ClassVar[list["Client"]] = []

    def __init__(self, *, clock=None, admission=None, load=None, host=None, answered=None) -> None:
        self.bridge = FakeBridge()
        self.outbox = Outbox()
        self.server = create_server(
            self.outbox,
            load or (lambda: self.bridge.start),
            clock=clock,
            admission=admission,
            host=host,
            answered=answered,
        )
        self._ids = 0
        self._seen = 0
        self.living.append(self)

    async def close(self) -> None:
        self.living.remove(self)
        await self.server.close()

    def send(self, message: Any) -> None:
        self.server.protocol.receive(json.dumps(message).encode())

    def send_raw(self, body: bytes) -> None:
        self.server.protocol.receive(body)

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Any = None, msg_id: Any = None) -> Any:
        if msg_id is None:
            self._ids += 1
            msg_id = self._ids
        self.send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})
        return msg_id

    async def until(self, wanted: Callable[[Object], bool]) -> Object:
        """The first message, of those not looked at yet, that is as wanted."""
        async with asyncio.timeout(10):
            while True:
                while self._seen < len(self.outbox.messages):
                    message = self.outbox.messages[self._seen]
                    self._seen += 1
                    if wanted(message):
                        return message
                await asyncio.sleep(0)

    async def response(self, msg_id: Any) -> Object:
        async with asyncio.timeout(10):
            while True:
                for message in self.outbox.messages:
                    if "method" not in message and message["id"] == msg_id:
                        return message
                await asyncio.sleep(0)

    async def call(self, method: str, params: Any = None) -> Object:
        return await self.response(self.request(method, params))

    async def execute(self, command: str, *arguments: Any) -> Object:
        return await self.call("workspace/executeCommand", {"command": command, "arguments": list(arguments)})

    async def asked(self, method: str) -> Object:
        return await self.until(lambda message: message.get("method") == method)

    def answer(self, request: Object, result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    async def initialize(self, capabilities: Any = None, **params: Any) -> Object:
        answer = await self.call(
            "initialize", {"processId": None, "rootUri": None, "capabilities": capabilities or {}, **params}
        )
        self.notify("initialized", {})
        return answer
