"""Answers `initialize` before the SDK and the rest of the program are imported: clients wait for that answer when they start."""

import json
from typing import Any, Final

from outrider import __version__
from outrider.acp.capabilities import flaw_of, initialize_result
from outrider.transport import early
from outrider.transport.early import Start

_MOST_BYTES: Final = 1024 * 1024


def start() -> Start:
    """Take over standard input and output, and answer the first message if it is a plain `initialize`. Blocks until it is there."""
    return early.begin(_first_body, _answer)


def _answer(request: dict[str, Any]) -> bytes | None:
    if flaw_of(request["params"]):
        return None
    result = initialize_result(__version__)
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
    return json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"


def _first_body(data: bytes) -> bytes | None:
    """The first line: None while it is not complete, empty where it is too long for a plain beginning."""
    line, end, _ = data.partition(b"\n")
    if not end:
        return b"" if len(line) > _MOST_BYTES else None
    return line
