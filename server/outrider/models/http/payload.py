"""Looking into the JSON that providers send: what is not of the expected type counts as not there.

Nothing here raises for what a provider sent, however odd.
"""

import hashlib
import json
import re
from typing import Any, cast

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


def parsed(payload: bytes) -> object:
    """The JSON of a payload.

    Raises:
        ValueError: It is none, or it is nested too deeply to be read.
    """
    try:
        return json.loads(payload.decode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def string(value: object) -> str:
    """`value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    """The objects of a list; a single object counts as a list of one."""
    if isinstance(value, list):
        return [cast("dict[str, Any]", v) for v in cast("list[Any]", value) if isinstance(v, dict)]
    return [cast("dict[str, Any]", value)] if isinstance(value, dict) else []


def count(value: object) -> int | None:
    """`value` if it is a count of something, else None. Some servers write 3.0 for 3."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def index(value: object) -> int | None:
    """`value` if it is the number of a block or a call, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def mended(text: str) -> str:
    """`text` with surrogate pairs joined and lone halves replaced, so that it can be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_object(text: str) -> bool:
    """Whether `text` is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def object_of(arguments: str) -> dict[str, Any]:
    """The arguments of a call as an object: one that shows what they were, if they are none."""
    if not arguments.strip():
        return {}
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {"invalid_arguments": arguments}


def tool_name(name: str) -> str:
    """`name` as every provider takes it: a model may have made up another one, which would be refused when it is sent back."""
    return _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unknown"


def call_id(given: str, most: int, *, exactly: bool = False) -> str:
    """`given` if a provider takes it for the id of a call, else one that follows from it.

    Args:
        given: The id as another provider, or Outrider, made it.
        most: Characters it may have.
        exactly: Whether it must have as many, of letters and digits alone.
    """
    fits = len(given) == most and given.isalnum() if exactly else 0 < len(given) <= most
    if fits and given.isascii() and not _NOT_IN_NAMES.search(given):
        return given
    return hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[: min(most, 24)]


def encoded(value: object) -> bytes:
    """`value` as JSON in UTF-8, as short as it can be."""
    # A lone surrogate (a file name that is not UTF-8) cannot be sent: it becomes a question mark.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
