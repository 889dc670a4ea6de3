"""How a client begins on standard input: answered before the rest of the program is imported, as editors wait for that.

A client that begins as usual, with one plain `initialize`, is answered at once. Anything odd is left to what is imported
then. Whatever was read goes there too, so that it starts with the same message. Imports next to nothing: it comes first.
"""

import json
import os
import select
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

_CHUNK: Final = 64 * 1024
_LOOK_SECONDS: Final = 3.0
"""How often the client's process is looked at while nothing comes."""


class Start(NamedTuple):
    """Standard input and output, and how the client began."""

    reading: int
    """The descriptor to read from. Child processes do not inherit it."""
    writing: int
    """The descriptor to write to. Child processes do not inherit it."""
    read: bytes = b""
    """What was read already."""
    answered: str | int | None = None
    """The id of the request `initialize` if it is answered already."""


def take_over() -> tuple[int, int]:
    """Take descriptors 0 and 1 away from the rest of the process.

    Returns:
        New descriptors for them, which child processes do not inherit.
    """
    reading, writing = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (reading, writing):  # else line ends would be changed on their way
            msvcrt.setmode(descriptor, os.O_BINARY)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing


def begin(
    first_body: Callable[[bytes], bytes | None],
    answer: Callable[[dict[str, Any]], bytes | None],
    client: int | None = None,
) -> Start:
    """Take over standard input and output, and answer the first message if it is a plain `initialize`.

    Blocks until that message is there.

    Args:
        first_body: Finds the body of the first message in what was read: None while it is not complete, empty where it is
            not plain.
        answer: Gives the answer to a plain `initialize` as it goes over the wire; None leaves it to the program.
        client: The client's process, if it said so on the command line: nothing more is waited for when it is gone.
    """
    reading, writing = take_over()
    data = b""
    while (body := first_body(data)) is None:
        if sys.platform != "win32" and client is not None and not _has_more(reading, client):
            return Start(reading, writing, data)
        try:
            more = os.read(reading, _CHUNK)
        except OSError:
            more = b""
        data += more
        if not more:
            return Start(reading, writing, data)
    request = _initialize(body)
    answered = answer(request) if request is not None else None
    if request is None or answered is None:
        return Start(reading, writing, data)
    try:
        left = memoryview(answered)
        while left:
            left = left[os.write(writing, left) :]
    except OSError:
        pass  # the client is gone, which the program finds out as well
    return Start(reading, writing, data, request["id"])


def _has_more(reading: int, client: int) -> bool:
    """Wait for input as long as the client lives."""
    while not select.select([reading], [], [], _LOOK_SECONDS)[0]:
        try:
            os.kill(client, 0)
        except PermissionError:
            continue
        except (ProcessLookupError, OverflowError):
            return False
    return True


def _initialize(body: bytes) -> dict[str, Any] | None:
    """The request, where it is a plain `initialize`."""
    try:
        message: Any = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    request = cast("dict[str, Any]", message)
    if request.keys() != {"jsonrpc", "id", "method", "params"}:
        return None
    if (request["jsonrpc"], request["method"]) != ("2.0", "initialize"):
        return None
    is_id = isinstance(request["id"], str | int) and not isinstance(request["id"], bool)
    return request if is_id else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def at(value: Any, *keys: str) -> Any:
    """The value below these keys of JSON that anybody may have written; None where there is none."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(key)
    return value
