"""`outrider acp`: the agent on standard input and output. Reads the command line and nothing else."""

import argparse
import asyncio
import gc
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NoReturn

from outrider.late_dataclasses import compile_methods_late
from outrider.ports.clock import SystemClock
from outrider.ports.outside import Outside, Watched
from outrider.transport.early import Start
from outrider.transport.lifetime import Lifetime, live
from outrider.transport.log import log_to_stderr
from outrider.transport.stdio import StdioReader, StdioWriter

_FLUSH_SECONDS: Final = 0.3
_MODES: Final = ("read-only", "ask", "auto-edit", "auto", "full")
_LEVELS: Final = ("debug", "info", "warning", "error")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line; what is wrong with it ends the process with a usage message.

    Args:
        argv: The arguments after `acp`.
    """
    parser = argparse.ArgumentParser(
        prog="outrider acp",
        description="Be an agent of the Agent Client Protocol on standard input and output.",
        allow_abbrev=False,
    )
    parser.add_argument("--model", metavar="MODEL", help="provider/name")
    parser.add_argument("--permission-mode", choices=_MODES, help="what Outrider may do without asking")
    parser.add_argument("--state-dir", metavar="PATH", help="folder of the log")
    parser.add_argument(
        "--log-level", choices=_LEVELS, default="warning", help="what to log to standard error"
    )
    return parser.parse_args(argv)


def main(options: argparse.Namespace, start: Start) -> NoReturn:
    """Serve one client, and end the process.

    Args:
        options: The command line.
        start: How the client began.
    """
    log_to_stderr(options.log_level)
    named = {"model": options.model, "permissionMode": options.permission_mode, "stateDir": options.state_dir}
    command_line = {key: value for key, value in named.items() if value is not None}
    live(lambda: asyncio.run(_serve(start, command_line)))


async def _serve(start: Start, command_line: dict[str, Any]) -> int:
    lifetime = Lifetime(SystemClock())
    outside = await asyncio.to_thread(_load, command_line, lifetime.watched(start.reading))
    from outrider.acp.agent import Agent
    from outrider.acp.wire import LineFraming, line

    writer = StdioWriter(start.writing, line, partial(lifetime.stop, 1))
    agent = Agent(writer, outside=outside, answered=start.answered)
    StdioReader(
        start.reading,
        LineFraming(),
        agent.receive,
        agent.refuse,
        lambda: lifetime.stop(0, "the client closed its end"),
        read=start.read,
        on_exit=lifetime.asked_to_end,
    )
    code, reason = await lifetime.ended()
    await agent.close(reason)
    await writer.flush(_FLUSH_SECONDS)
    return code


def _load(command_line: dict[str, Any], watched: Watched | None) -> Outside:
    """Import the SDK and what builds sessions. Takes a second or two; called in a thread."""
    gc.disable()  # what is imported stays for good: the collector's walks over it took a fifth of the start
    compile_methods_late()
    from outrider.acp.late_schema import import_sdk

    import_sdk()
    import outrider.acp.agent  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from outrider.processes import command_environment
    from outrider.processes.own_environment import hide_environment
    from outrider.surroundings import surroundings

    gc.freeze()
    gc.enable()
    outside = replace(surroundings(), command_line=command_line, watched=watched)
    hide_environment(outside.env, command_environment(outside.env))
    return outside
