"""The command line of `outrider serve`, and the token of a TCP client, which is never on it.

Imports little: it is read before `initialize` is answered.
"""

import argparse
import os
from collections.abc import Sequence
from typing import Final, NamedTuple

TOKEN_VARIABLE: Final = "OUTRIDER_TCP_TOKEN"  # noqa: S105 - the name of a variable
_REMOVED: Final = "--tcp-token"
LOOPBACK: Final = "127.0.0.1"
_MODES: Final = ("read-only", "ask", "auto-edit", "auto", "full")
_LEVELS: Final = ("debug", "info", "warning", "error")
_WITHOUT_TOKEN: Final = ("read-only", "ask")
"""Permission modes that a client over TCP may have without a token."""


class Address(NamedTuple):
    """Where to listen; port 0 means any free one."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        import ipaddress

        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def address_of(text: str) -> Address:
    """`HOST:PORT`, `[HOST]:PORT`, `:PORT` or `PORT`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line; what is wrong with it ends the process with a usage message.

    Args:
        argv: The arguments after `serve`.
    """
    parser = _parser()
    if any(word.split("=")[0] == _REMOVED for word in argv):
        parser.error(
            f"{_REMOVED} was removed because every user of the machine can read command lines: put the token into a file "
            f"with mode 0600 and name it with --tcp-token-file, or set {TOKEN_VARIABLE}"
        )
    options = parser.parse_args(argv)
    if options.tcp is None and options.tcp_token_file is not None:
        parser.error("--tcp-token-file goes with --tcp")
    options.tcp_token = None
    if options.tcp is not None:
        from outrider.lsp.tcp import TokenProblem, token_of  # a client on standard input needs none

        token = token_of(options.tcp_token_file, os.environ.get(TOKEN_VARIABLE))
        problem = token.message if isinstance(token, TokenProblem) else _needs_token(options, token)
        if problem is not None:
            parser.error(problem)
        options.tcp_token = token
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="outrider serve", description="Run the language server.", allow_abbrev=False
    )
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    parser.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address, help="listen on TCP for one client instead"
    )
    parser.add_argument(
        "--tcp-token-file",
        metavar="PATH",
        help="file, readable only by its owner, with the token that the client sends as initializationOptions.tcpToken; "
        f"or the environment variable {TOKEN_VARIABLE}",
    )
    parser.add_argument("--model", metavar="MODEL", help="provider/name")
    parser.add_argument("--permission-mode", choices=_MODES, help="what Outrider may do without asking")
    parser.add_argument("--state-dir", metavar="PATH", help="folder of the log")
    # LSP 3.17, "Implementation Considerations": how a client says who it is before it can say `initialize`.
    parser.add_argument(
        "--clientProcessId", metavar="PID", type=int, dest="client", help="exit when that process exits"
    )
    parser.add_argument(
        "--log-level", choices=_LEVELS, default="warning", help="what to log to standard error"
    )
    return parser


def _address(text: str) -> Address:
    try:
        return address_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _needs_token(options: argparse.Namespace, token: str | None) -> str | None:
    if token is not None:
        return None
    ways = f"a token, by --tcp-token-file or {TOKEN_VARIABLE}"
    if options.permission_mode not in (None, *_WITHOUT_TOKEN):
        return f"--permission-mode {options.permission_mode} over TCP needs {ways}"
    if not options.tcp.is_local:
        return f"{options.tcp.host} can be reached from other machines: it needs {ways}"
    return None
