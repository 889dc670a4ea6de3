"""`outrider serve`: the language server on standard input and output, or on a TCP port.

Reads the command line and nothing else; imports no more than answering `initialize` needs.
"""

import argparse
import asyncio
import contextlib
import gc
import linecache
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from outrider.lsp.admission import WITHOUT_TOKEN, Admission
from outrider.lsp.contract import LoadBridge, StartBridge
from outrider.lsp.lifetime import Lifetime
from outrider.lsp.log import LEVELS, log_to_stderr
from outrider.lsp.server import create_server
from outrider.lsp.stdio import StdioReader, StdioWriter, take_over
from outrider.lsp.tcp import Address, TcpConnection, address_of
from outrider.ports.clock import SystemClock

USAGE_ERROR: Final = 2
_FLUSH_SECONDS: Final = 0.3
_MODES: Final = ("read-only", "ask", "auto-edit", "full")


def load_house(command_line: dict[str, Any]) -> StartBridge:
    """Import what builds the house. Takes a second; called in a thread.

    Args:
        command_line: Settings that stand above all others.
    """
    # attrs leaves the source of every method that it generated for lsprotocol there, for tracebacks: 1.5 MB, which the
    # imports below can have.
    linecache.clearcache()

    from outrider import app
    from outrider.lsp import bridge
    from outrider.processes import command_environment
    from outrider.processes.own_environment import hide_environment

    gc.freeze()  # what is imported by now stays for good: the collector need not walk over it in every step
    outside = replace(app.surroundings(), command_line=command_line)
    hide_environment(outside.env, command_environment(outside.env))
    return lambda client, editor, documents, progress, _: bridge.start(
        client, editor, documents, progress, outside
    )


def main(argv: Sequence[str], load: Callable[[dict[str, Any]], StartBridge] = load_house) -> int:
    """Serve one client; gives the exit code.

    Args:
        argv: The arguments after `serve`.
        load: What loads the house for the settings of the command line.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if problem := _problem(options):
        parser.error(problem)
    log_to_stderr(options.log_level)
    named = {"model": options.model, "permissionMode": options.permission_mode, "stateDir": options.state_dir}
    command_line = {key: value for key, value in named.items() if value is not None}

    def load_it() -> StartBridge:
        return load(command_line)

    if options.tcp is not None:
        return asyncio.run(_serve_tcp(options.tcp, Admission(options.tcp_token), load_it, options.client))
    return asyncio.run(_serve_stdio(load_it, options.client))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="outrider serve", description="Run the language server.")
    parser.add_argument(
        "--stdio", action="store_true", help="use standard input and output (always, without --tcp)"
    )
    parser.add_argument("--tcp", metavar="HOST:PORT", type=_address, help="listen for one client instead")
    parser.add_argument(
        "--tcp-token", metavar="TOKEN", help="what the client must give as initializationOptions.tcpToken"
    )
    parser.add_argument("--model", metavar="MODEL", help="provider/name or scripted:PATH")
    parser.add_argument("--permission-mode", choices=_MODES, help="what may happen without a question")
    parser.add_argument("--state-dir", metavar="PATH", help="folder of the log")
    # LSP 3.17, "Implementation Considerations": how a client says who it is before it can say `initialize`.
    parser.add_argument(
        "--clientProcessId", metavar="PID", type=int, dest="client", help="end with that process"
    )
    parser.add_argument("--log-level", choices=LEVELS, default="warning", help="what goes to standard error")
    return parser


def _address(text: str) -> Address:
    try:
        return address_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _problem(options: argparse.Namespace) -> str | None:
    if options.tcp is None:
        return "--tcp-token goes with --tcp" if options.tcp_token is not None else None
    if options.tcp_token == "":
        return "--tcp-token must not be empty"
    if options.tcp_token is not None:
        return None
    if options.permission_mode not in (None, *WITHOUT_TOKEN):
        return f"--permission-mode {options.permission_mode} over TCP needs --tcp-token"
    if not options.tcp.is_local:
        return f"{options.tcp.host} can be reached from other machines: it needs --tcp-token"
    return None


async def _serve_stdio(load: LoadBridge, client: int | None) -> int:
    clock = SystemClock()
    reading, writing = take_over()
    lifetime = Lifetime(clock, client)
    writer = StdioWriter(writing, lambda reason: lifetime.stop(1, reason))
    server = create_server(writer, load, clock=clock, host=lifetime)

    def end() -> None:
        lifetime.stop(0 if server.protocol.shutdown_requested else 1, "the client closed its end")

    StdioReader(reading, server.protocol.receive, server.protocol.refuse, end)
    code, reason = await lifetime.ended()
    await server.close(reason)
    await writer.flush(_FLUSH_SECONDS)
    return code


async def _serve_tcp(address: Address, admission: Admission, load: LoadBridge, client: int | None) -> int:
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
    server = create_server(connection, load, clock=clock, host=lifetime, admission=admission)
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
