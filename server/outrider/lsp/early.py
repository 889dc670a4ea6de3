"""Answers `initialize` before the rest of the server is imported: editors wait for that answer when they start."""

import json
from typing import Any, Final

from outrider import __version__
from outrider.lsp.capabilities import flaw_of, initialize_result
from outrider.transport import early
from outrider.transport.early import Start

_MOST_BYTES: Final = 1024 * 1024
_MOST_HEADER: Final = 64 * 1024


def start(client: int | None) -> Start:
    """Take over standard input and output, and answer the first message if it is a plain `initialize`.

    Blocks until that message is there.

    Args:
        client: The client's process, if it said so on the command line: nothing more is waited for when it is gone.
    """
    return early.begin(_first_body, _answer, client)


def _answer(request: dict[str, Any]) -> bytes | None:
    if flaw_of(request["params"]):
        return None
    result = initialize_result(request["params"], __version__)
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
    body = json.dumps(answer, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _first_body(data: bytes) -> bytes | None:
    """The body of the first message: None while it is not complete, empty where it is not plain LSP."""
    head, separator, rest = data.partition(b"\r\n\r\n")
    if not separator:
        return b"" if len(head) > _MOST_HEADER else None
    name, _, value = head.partition(b":")
    value = value.strip()
    if name.lower() != b"content-length" or not value.isdigit() or len(value) > 7:
        return b""
    length = int(value)
    if length > _MOST_BYTES:
        return b""
    return rest[:length] if len(rest) >= length else None
