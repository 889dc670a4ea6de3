"""`outrider serve`: the language server on standard input and output, or on a TCP port.

Reads the command line and nothing else; imports no more than answering `initialize` needs.
"""

import asyncio
import contextlib
import gc
import linecache
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NoReturn

from outrider.lsp.contract import StartBridge
from outrider.lsp.options import Address, parse
from outrider.lsp.server import create_server
from outrider.lsp.tcp import Admission, TcpConnection
from outrider.ports.clock import SystemClock
from outrider.ports.framing import FrameReader, framed, may_be_exit
from outrider.ports.outside import Watched
from outrider.transport.early import Start, take_over
from outrider.transport.lifetime import Lifetime, live
from outrider.transport.log import log_to_stderr
from outrider.transport.stdio import StdioReader, StdioWriter

USAGE_ERROR: Final = 2
_FLUSH_SECONDS: Final = 0.3


def load_house(command_line: dict[str, Any], watched: Watched | None) -> StartBridge:
    """Import what builds the house. Takes a second; called in a thread.

    Args:
        command_line: Settings that stand above all others.
        watched: By what this process is watched for standing still.
    """
    # attrs leaves the source of every method that it generated for lsprotocol there, for tracebacks: 1.5 MB, which the
    # imports below can have.
    linecache.clearcache()

    gc.disable()  # as in `__main__`
    from outrider.lsp import bridge
    from outrider.processes import command_environment
    from outrider.processes.own_environment import hide_environment
    from outrider.surroundings import surroundings

    gc.freeze()
    gc.enable()
    outside = replace(surroundings(), command_line=command_line, watched=watched)
    hide_environment(outside.env, command_environment(outside.env))
    return lambda client, editor, documents, progress, _: bridge.start(
        client, editor, documents, progress, outside
    )


LoadHouse = Callable[[dict[str, Any], Watched | None], StartBridge]
"""Loads the house for the settings of the command line, and for what the process is watched by."""


def main(argv: Sequence[str], load: LoadHouse = load_house, start: Start | None = None) -> NoReturn:
    """Serve one client, and end the process.

    Args:
        argv: The arguments after `serve`.
        load: What loads the house for the settings of the command line.
        start: How the client began on standard input, if that was read already.
    """
    options = parse(argv)
    log_to_stderr(options.log_level)
    named = {"model": options.model, "permissionMode": options.permission_mode, "stateDir": options.state_dir}
    command_line = {key: value for key, value in named.items() if value is not None}

    def load_it(watched: Watched | None) -> StartBridge:
        return load(command_line, watched)

    if options.tcp is not None:
        serving = _serve_tcp(options.tcp, Admission(options.tcp_token), load_it, options.client)
    else:
        serving = _serve_stdio(load_it, options.client, start or Start(*take_over()))
    live(lambda: asyncio.run(serving))


async def _serve_stdio(
    load: Callable[[Watched | None], StartBridge], client: int | None, start: Start
) -> int:
    clock = SystemClock()
    lifetime = Lifetime(clock, client)
    writer = StdioWriter(start.writing, framed, lambda reason: lifetime.stop(1, reason))
    watched = lifetime.watched(start.reading)
    server = create_server(
        writer, partial(load, watched), clock=clock, host=lifetime, answered=start.answered
    )

    def end() -> None:
        lifetime.stop(0 if server.protocol.shutdown_requested else 1, "the client closed its end")

    StdioReader(
        start.reading,
        FrameReader(),
        server.protocol.receive,
        server.protocol.refuse,
        end,
        read=start.read,
        is_exit=may_be_exit,
        on_exit=lifetime.asked_to_end,
    )
    code, reason = await lifetime.ended()
    await server.close(reason)
    await writer.flush(_FLUSH_SECONDS)
    return code


async def _serve_tcp(
    address: Address, admission: Admission, load: Callable[[Watched | None], StartBridge], client: int | None
) -> int:
    clock = SystemClock()
    lifetime = Lifetime(clock, client)
    connected: asyncio.Future[TcpConnection] = asyncio.get_running_loop().create_future()

    def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result(TcpConnection(reader, writer))

    try:
        listener = await asyncio.start_server(connect, address.host, address.port)
    except OSError as error:
        sys.stderr.write(f"outrider serve: cannot listen on {address.host}:{address.port}: {error}\n")
        return USAGE_ERROR
    host, port = listener.sockets[0].getsockname()[:2]
    sys.stderr.write(f"outrider serve: listening on {host}:{port}\n")
    sys.stderr.flush()
    ended = asyncio.ensure_future(lifetime.ended())
    await asyncio.wait({connected, ended}, return_when=asyncio.FIRST_COMPLETED)
    listener.close()
    if not connected.done():
        return (await ended)[0]
    connection = connected.result()
    connection.on_lost = lambda reason: lifetime.stop(1, reason)
    watched = lifetime.watched(connection.descriptor)
    server = create_server(
        connection, partial(load, watched), clock=clock, host=lifetime, admission=admission
    )
    reading = asyncio.ensure_future(connection.read(server.protocol.receive, server.protocol.refuse))
    await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
    lifetime.stop(0 if server.protocol.shutdown_requested else 1, "the client closed its end")
    code, reason = await ended
    await server.close(reason)
    reading.cancel()
    await connection.close(_FLUSH_SECONDS)
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    return code
