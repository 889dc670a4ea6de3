"""JSON-RPC as this server speaks it: a subclass of pygls's protocol with its traps closed.

Every request gets exactly one response, whatever it looks like and however its handler ends; no message of a
client raises here, leaves anything behind, or shows up as a pop-up. Handlers are pygls features. They get the
typed params of lsprotocol, except for the methods in `RAW_METHODS`, which get the JSON as it came.

It overrides private names of pygls 2.1; `tests/lsp/test_protocol.py` has one regression test for each trap.
"""

import asyncio
import inspect
import itertools
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard, cast

import cattrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

from outrider.ports.clock import Clock
from outrider.ports.refusal import CommandError
from outrider.transport.connection import Outgoing
from outrider_protocol import INVALID_PARAMS, REQUEST_CANCELLED

logger = logging.getLogger(__name__)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
SERVER_NOT_INITIALIZED: Final = -32002

FIRST_ID: Final = 1_000_000_000
"""Ids of our requests: numbers, because some clients take no strings, and far from those of any client."""

RAW_METHODS: Final = frozenset(
    {
        # Structuring it would take longer than the rest of the answer.
        types.INITIALIZE,
        # Some clients send null, which means nothing here.
        types.INITIALIZED,
        # What is in the arguments and settings is anybody's JSON.
        types.WORKSPACE_EXECUTE_COMMAND,
        types.WORKSPACE_DID_CHANGE_CONFIGURATION,
    }
)

Withdraw = Literal["never", "cancelled", "always"]
"""When a client is told that nobody waits for its answer any more."""

_MOST_LATE: Final = 64
_SNAKE: Final = re.compile(r"_([a-z])")

MsgId = str | int


@dataclass(frozen=True, slots=True)
class Reply:
    """The client's result of a request."""

    result: Any


@dataclass(frozen=True, slots=True)
class NoReply:
    """A request that has no result."""

    why: Literal["error", "unsupported", "timeout", "closed"]
    message: str


class _MalformedError(JsonRpcException):
    """A response that is neither a result nor an error."""


class _ClosedError(JsonRpcException):
    """The connection went away before a response came."""


def decode(body: bytes) -> Any:
    """Read JSON as RFC 8259 has it: UTF-8, no NaN or Infinity. Raises ValueError or RecursionError."""
    return json.loads(body.decode("utf-8"), parse_constant=_no_constant)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


class LspProtocol(LanguageServerProtocol):
    """One connection with a client."""

    def __init__(self, server: Any, converter: cattrs.Converter) -> None:
        """Made by pygls; `connect` makes it usable."""
        super().__init__(server, converter)
        self._outgoing: Outgoing | None = None
        self._clock: Clock | None = None
        self._answered: MsgId | None = None
        self._stage: Literal["new", "open", "closing"] = "new"
        self._running: dict[MsgId, asyncio.Task[Any]] = {}
        self._last: asyncio.Task[Any] | None = None
        self._reactions: set[asyncio.Task[Any]] = set()
        self._ids = itertools.count(FIRST_ID)
        self._late: OrderedDict[MsgId, Callable[[Any], None]] = OrderedDict()
        self._encoder = json.JSONEncoder(
            ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=self._serialize_message
        )

    def connect(self, outgoing: Outgoing, clock: Clock, answered: MsgId | None = None) -> None:
        """Give the way to the client, the clock for what it may take, and the id of `initialize` if it is answered."""
        self._answered = answered
        self._outgoing = outgoing
        self._clock = clock

    def _register_builtin_features(self) -> None:
        # pygls's own keep a second copy of the documents; `server.py` registers ours as ordinary features.
        pass

    @property
    def shutdown_requested(self) -> bool:
        """Whether `shutdown` was asked for."""
        return self._shutdown

    @property
    def _is_closing(self) -> bool:
        return self._stage == "closing"

    # What comes in

    def receive(self, body: bytes) -> None:
        """Take the body of a frame."""
        try:
            message = decode(body)
        except RecursionError:
            self.refuse("the message is nested too deeply")
        except ValueError as error:
            self.refuse(f"the message is not JSON: {error}")
        else:
            self.handle_message(message)

    def refuse(self, problem: str) -> None:
        """Answer what could not be read as a message."""
        logger.warning("%s", problem)
        self._fail(None, PARSE_ERROR, problem)

    def handle_message(self, message: Any) -> None:
        """Take a message as JSON. Nothing it holds raises."""
        if not isinstance(message, dict):
            self._fail(
                None, INVALID_REQUEST, "a message must be one object; batch requests are not supported"
            )
            return
        fields = cast("dict[str, Any]", message)
        msg_id, method = fields.get("id"), fields.get("method")
        if "method" not in fields and ("result" in fields or "error" in fields or msg_id is not None):
            self._settle(fields)
        elif "id" in fields and not _is_id(msg_id):
            self._fail(None, INVALID_REQUEST, "the id of a request must be a number or a string")
        elif fields.get("jsonrpc") != self.VERSION or not isinstance(method, str):
            self._fail(msg_id, INVALID_REQUEST, "a message needs jsonrpc 2.0 and the name of a method")
        elif _is_id(msg_id):
            self._handle_request(msg_id, method, fields.get("params"))
        else:
            self._handle_notification(method, fields.get("params"))

    def _handle_request(self, msg_id: MsgId, method_name: str, params: Any) -> None:
        handler = self._handler(method_name)
        if refusal := self._refusal(method_name):
            self._fail(msg_id, *refusal)
        elif handler is None:
            self._fail(msg_id, METHOD_NOT_FOUND, f"there is no method {_short(method_name)}")
        elif msg_id in self._running:
            self._fail(msg_id, INVALID_REQUEST, "a request with that id is already running")
        else:
            if method_name == types.SHUTDOWN:
                self._shutdown, self._stage = True, "closing"
            self._execute(msg_id, method_name, handler, params)

    def _refusal(self, method: str) -> tuple[int, str] | None:
        match self._stage:
            case "new" if method != types.INITIALIZE:
                return SERVER_NOT_INITIALIZED, "the first request must be initialize"
            case "open" if method == types.INITIALIZE:
                return INVALID_REQUEST, "initialize may be sent only once"
            case "closing":
                return INVALID_REQUEST, "only exit may follow shutdown"
            case _:
                return None

    def _execute(self, msg_id: MsgId, method: str, handler: Callable[[Any], Any], params: Any) -> None:
        try:
            result = handler(self._structured(method, params))
        except Exception as error:  # noqa: BLE001 - whatever a handler raises becomes the response
            self._fail_with(msg_id, method, error)
            return
        if method == types.INITIALIZE:
            self._stage = "open"
            if msg_id == self._answered:
                return
        if not inspect.isawaitable(result):
            self._respond(msg_id, result)
            return
        task = asyncio.get_running_loop().create_task(self._answer(msg_id, method, result))
        if method == types.SHUTDOWN:
            self._last = task  # which ends the others and is ended by nobody
        else:
            self._running[msg_id] = task
        task.add_done_callback(lambda done: self._executed(msg_id, done, result))

    async def _answer(self, msg_id: MsgId, method: str, work: Awaitable[Any]) -> None:
        # The response goes out in the same step in which the work ends, before anything it set off.
        try:
            result = await work
        except Exception as error:  # noqa: BLE001 - whatever a handler raises becomes the response
            self._fail_with(msg_id, method, error)
        else:
            self._respond(msg_id, result)

    def _executed(self, msg_id: MsgId, task: asyncio.Task[Any], work: Awaitable[Any]) -> None:
        self._running.pop(msg_id, None)
        if inspect.iscoroutine(work):
            work.close()  # it was never begun if the cancel came first
        if task.cancelled():
            self._fail(msg_id, REQUEST_CANCELLED, "the request was cancelled")

    def _handle_notification(self, method_name: str, params: Any) -> None:
        if method_name == types.CANCEL_REQUEST:
            msg_id = cast("dict[str, Any]", params).get("id") if isinstance(params, dict) else None
            if _is_id(msg_id) and (task := self._running.get(msg_id)):
                task.cancel()
            return
        if self._stage != "open" and method_name != types.EXIT:
            logger.debug("%s came before initialize or after shutdown", method_name)
            return
        handler = self._handler(method_name)
        if handler is None:
            logger.debug("there is no notification %s", _short(method_name))
            return
        try:
            result = handler(self._structured(method_name, params))
        except CommandError as error:
            logger.warning("%s is ignored: %s", method_name, error.message)
        except Exception:
            logger.exception("%s failed", method_name)
        else:
            if inspect.isawaitable(result):
                task = asyncio.get_running_loop().create_task(_reaction(method_name, result))
                self._reactions.add(task)
                task.add_done_callback(self._reactions.discard)

    def _handler(self, method: str) -> Callable[[Any], Any] | None:
        features: dict[str, Callable[[Any], Any]] = cast("Any", self.fm).features
        return features.get(method)

    def _structured(self, method: str, params: Any) -> Any:
        methods: dict[str, tuple[Any, ...]] = cast("Any", types).METHOD_TO_TYPES
        params_type = methods.get(method, (None, None, None))[2]
        if method in RAW_METHODS or params_type is None:
            return params
        if not isinstance(params, dict):
            raise invalid_params("params", "must be an object")
        try:
            return self._converter.structure(params, params_type)
        except Exception as error:  # noqa: BLE001 - what cattrs raises depends on what the client sent
            problem, _, path = cattrs.transform_error(error, path="params")[0].rpartition(" @ ")
            raise invalid_params(_SNAKE.sub(lambda match: match[1].upper(), path), problem) from None

    def _settle(self, message: Mapping[str, Any]) -> None:
        msg_id = message.get("id")
        result, error = message.get("result"), message.get("error")
        if not _is_id(msg_id):
            logger.warning("the client reports: %s", _short(str(error)))
            return
        if (future := self._request_futures.pop(msg_id, None)) is None:
            if late := self._late.pop(msg_id, None):
                late(result if "result" in message and error is None else None)
            else:
                logger.debug("a response to %s, which is not an open request", msg_id)
        elif "result" in message and error is None and message.get("jsonrpc") == self.VERSION:
            future.set_result(result)
        else:
            future.set_exception(_failure(message))

    # What goes out

    def as_json(self, value: Any) -> Any:
        """A value of lsprotocol as JSON."""
        return self._converter.unstructure(value)

    def _send(self, message: dict[str, Any]) -> None:
        if self._outgoing is None:
            return
        text = self._encoder.encode(message)
        try:
            body = text.encode("utf-8")
        except UnicodeEncodeError:  # half a surrogate pair: only an escape can say it
            body = json.dumps(json.loads(text)).encode("ascii")
        self._outgoing.send(body)

    def _respond(self, msg_id: MsgId, result: Any) -> None:
        try:
            self._send({"jsonrpc": self.VERSION, "id": msg_id, "result": result})
        except (ValueError, TypeError, AttributeError, RecursionError):
            logger.exception("the result of %s cannot be written", msg_id)
            self._fail(msg_id, INTERNAL_ERROR, "the result cannot be written as JSON")

    def _fail(self, msg_id: Any, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self._send({"jsonrpc": self.VERSION, "id": msg_id, "error": error})

    def _fail_with(self, msg_id: MsgId, method: str, error: Exception) -> None:
        if isinstance(error, CommandError | JsonRpcException):
            self._fail(msg_id, error.code, error.message, error.data)
        else:
            logger.error("%s failed", method, exc_info=error)
            self._fail(
                msg_id, INTERNAL_ERROR, f"{method} failed because of an error in the server; see its log"
            )

    def notify(self, method: str, params: Any | None = None) -> None:
        """Send a notification; `params` is JSON or a type of lsprotocol."""
        self._send({"jsonrpc": self.VERSION, "method": method, "params": params})

    def notify_in_json(self, method: str, params: str) -> None:
        """Send a notification of which `params` is JSON text already, without lone surrogates."""
        if self._outgoing is not None:
            message = f'{{"jsonrpc":"{self.VERSION}","method":{json.dumps(method)},"params":{params}}}'
            self._outgoing.send(message.encode("utf-8"))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MsgId | None = None,
    ) -> Future[Any]:
        """Send a request. The future gets the result as JSON, or a JsonRpcException."""
        number = next(self._ids) if msg_id is None else msg_id
        future: Future[Any] = Future()
        if callback is not None:
            future.add_done_callback(lambda done: callback(done.result()))
        self._request_futures[number] = future
        self._send({"jsonrpc": self.VERSION, "id": number, "method": method, "params": params})
        return future

    async def request(
        self,
        method: str,
        params: Any,
        *,
        seconds: float,
        late: Callable[[Any], None] | None = None,
        withdraw: Withdraw = "never",
    ) -> Reply | NoReply:
        """Ask the client for something. Nothing is left behind, whether it answers or not.

        Args:
            method: The request.
            params: Its params, as JSON.
            seconds: How long to wait.
            late: Called with a result that comes when nobody waits for it any more; with None for an error.
            withdraw: When the client is told that nobody waits for it any more (`$/cancelRequest`): always, or only when
                this wait is cancelled, so that after the time-out a late result is still of use.
        """
        if self._clock is None or self._is_closing:
            return NoReply("closed", "the connection is closed")
        number = next(self._ids)
        future = asyncio.wrap_future(self.send_request(method, params, msg_id=number))
        withdraws = withdraw != "never"
        try:
            async with self._clock.timeout(seconds):
                return Reply(await future)
        except TimeoutError:
            withdraws = withdraw == "always"
            return NoReply("timeout", f"no answer to {method} in {seconds:g} s")
        except _ClosedError as error:
            return NoReply("closed", error.message)
        except JsonRpcException as error:
            return NoReply("unsupported" if error.code == METHOD_NOT_FOUND else "error", error.message)
        finally:
            if self._request_futures.pop(number, None) is not None:
                if late is not None:
                    self._late[number] = late
                    while len(self._late) > _MOST_LATE:
                        self._late.popitem(last=False)
                if withdraws and not self._is_closing:
                    self.notify(types.CANCEL_REQUEST, {"id": number})

    async def long_request(
        self, method: str, params: Any, *, seconds: float, overdue: Callable[[], None]
    ) -> Reply | NoReply:
        """Ask the client for something that may take its time. Who stops waiting takes it back (`$/cancelRequest`).

        Args:
            method: The request.
            params: Its params, as JSON.
            seconds: When to call `overdue`; the wait goes on.
            overdue: Told that there is no answer yet.
        """
        if self._clock is None or self._is_closing:
            return NoReply("closed", "the connection is closed")
        number = next(self._ids)
        future = asyncio.wrap_future(self.send_request(method, params, msg_id=number))
        try:
            try:
                async with self._clock.timeout(seconds):
                    return Reply(await asyncio.shield(future))
            except TimeoutError:
                overdue()
            return Reply(await future)
        except _ClosedError as error:
            return NoReply("closed", error.message)
        except JsonRpcException as error:
            return NoReply("unsupported" if error.code == METHOD_NOT_FOUND else "error", error.message)
        finally:
            if self._request_futures.pop(number, None) is not None:
                future.cancel()
                # A server that ends leaves the client at work: the next one asks for what came of it.
                if not self._is_closing:
                    self.notify(types.CANCEL_REQUEST, {"id": number})

    # The end

    async def cancel_requests(self) -> None:
        """Take no more work, cancel what is being done but for `shutdown`, and wait until it is."""
        self._stage = "closing"
        tasks = [*self._running.values(), *self._reactions]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def disconnect(self) -> None:
        """Give up on every answer of the client."""
        futures = list(self._request_futures.values())
        self._request_futures.clear()
        for future in futures:
            if not future.done():
                future.set_exception(_ClosedError("the connection was closed"))


def invalid_params(path: str, problem: str) -> CommandError:
    """The error for params that are not as they should be; `path` says where."""
    return CommandError(INVALID_PARAMS, f"{path}: {problem}", {"path": path, "problem": problem})


def _is_id(value: Any) -> TypeGuard[MsgId]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _failure(message: Mapping[str, Any]) -> JsonRpcException:
    error = message.get("error")
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    code, text = fields.get("code"), fields.get("message")
    if "result" in message or not isinstance(code, int) or not isinstance(text, str):
        return _MalformedError("the client's response is neither a result nor an error")
    return JsonRpcException(text, code)


async def _reaction(method: str, work: Awaitable[Any]) -> None:
    try:
        await work
    except Exception:
        logger.exception("%s failed", method)


def _short(text: str) -> str:
    return ascii(text[:80])
