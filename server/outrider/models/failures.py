"""What a provider's error means, and how it is said.

One table for every provider and for scripted faults, so that a script fails the way the real thing does.
A message made here never holds a key, the query of a URL or what stands before its host.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, cast

from outrider.ports.model import FailureKind, ModelFailure

_LONGEST_MESSAGE = 600
_SHORTEST_SECRET = 8
"""Shorter values are words that would be missing everywhere."""

_CONTEXT_WORDS = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|(prompt|input|request) (is|was) too (long|large)"
    r"|too many (input |prompt )?tokens|reduce the length|exceed\w* .{0,40}context",
    re.IGNORECASE,
)
# Codes and types of error bodies, in the order they are looked for.
_CODE_WORDS: tuple[tuple[str, FailureKind], ...] = (
    ("content_filter", "refused"),
    ("content_policy", "refused"),
    ("context_length", "context_overflow"),
    ("model_not_found", "unknown_model"),
    ("rate_limit", "rate_limit"),
    ("quota", "rate_limit"),
    ("api_key", "auth"),
    ("authentication", "auth"),
    ("permission", "auth"),
    ("timeout", "timeout"),
    ("overloaded", "overloaded"),
    ("server_error", "overloaded"),
    ("unavailable", "overloaded"),
    ("invalid_request", "bad_request"),
)
_URL = re.compile(
    r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/?#\"'<>@]*@)?([^\s?#\"'<>]*)(?:[?#][^\s\"'<>]*)?", re.IGNORECASE
)
_WHITE_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")


def clean(message: str, secrets: Iterable[str] = ()) -> str:
    """`message` on one line, cut to a readable length, without `secrets` and without the private parts of URLs."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            message = message.replace(secret, "…")
    message = _WHITE_SPACE.sub(" ", _URL.sub(r"\1\2", message)).strip()
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"


def http_failure(
    status: int, body: bytes | str, *, source: str = "the provider", secrets: Iterable[str] = ()
) -> ModelFailure:
    """What an answer with an HTTP error status means.

    Args:
        status: The status.
        body: The body as far as it was read; JSON or not.
        source: Who answered, for the message.
        secrets: Values that must not be in the message.
    """
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    try:
        payload: object = json.loads(body)
    except (ValueError, RecursionError):
        payload = None if body.lstrip().startswith("<") else body
    said, codes = _said(payload)
    message = f"{source} answered {status}" + (f": {said}" if said else "")
    return ModelFailure(_kind_of_status(status, said, codes), clean(message, secrets))


def stream_failure(payload: object, *, source: str = "the provider") -> ModelFailure:
    """What an error inside a stream that began well means; `payload` is the error as it came, parsed."""
    said, codes = _said(payload)
    statuses = [int(code) for code in codes if code.isdecimal() and len(code) == 3 and code >= "400"]
    kind = _kind_of_status(statuses[0], said, codes) if statuses else _kind_of_words(said, codes)
    message = f"{source} broke off with an error" + (f": {said}" if said else "")
    return ModelFailure(kind or "overloaded", clean(message))


def _kind_of_status(status: int, said: str, codes: list[str]) -> FailureKind:
    match status:
        case 401 | 402 | 403:
            return "auth"
        case 404:
            return "unknown_model"
        case 408 | 409:
            return "timeout"
        case 429:
            return "rate_limit"
        case _ if status >= 500:
            return "overloaded"
        case 400 | 413 | 422:
            kind = _kind_of_words(said, codes)
            # What the status says about whose fault it is stands; the words only narrow it.
            return kind if kind in ("context_overflow", "refused", "unknown_model") else "bad_request"
        case _:
            return "bad_request"


def _kind_of_words(said: str, codes: list[str]) -> FailureKind | None:
    if _CONTEXT_WORDS.search(said):
        return "context_overflow"
    text = " ".join(codes).lower()
    return next((kind for word, kind in _CODE_WORDS if word in text), None)


def _said(payload: object) -> tuple[str, list[str]]:
    """The message of an error payload and its codes, whatever the form: they differ by provider."""
    if isinstance(payload, str):
        return payload, []
    if isinstance(payload, list):
        items = cast("list[Any]", payload)
        said = [_said(item) for item in items[:3]]
        return "; ".join(s for s, _ in said if s), [code for _, codes in said for code in codes]
    if not isinstance(payload, dict):
        return "", []
    fields = cast("dict[str, Any]", payload)
    if fields.get("error"):
        said, codes = _said(fields["error"])
    else:
        said = next(
            (s for key in ("message", "detail", "msg") if (s := _said(fields.get(key))[0])),
            "",
        )
        codes = []
    own = [str(fields[key]) for key in ("code", "type", "status") if isinstance(fields.get(key), str | int)]
    return said, codes + own
