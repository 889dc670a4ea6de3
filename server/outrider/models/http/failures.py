"""What a provider's error means, and how it is said.

One table for every provider and for scripted faults, so that a script fails the way the real thing does.
A message made here never holds a key, the query of a URL or what stands before its host.
"""

import json
from collections.abc import Iterable
from typing import Any, Final, Literal, cast

from outrider.models.http.payload import mapping, mappings, string
from outrider.ports.model import FailureKind, ModelFailure
from outrider.ports.patterns import SPACE, WORD, linear

LONGEST_TOLD: Final = 30 * 86_400.0
"""Seconds that a provider may say to wait; what is more counts as that."""

Bucket = Literal["retry", "next", "surface"]
"""What is done about a failure: ask again and then another model, ask another one at once, or report it."""

_BUCKETS: dict[FailureKind, Bucket] = {
    "timeout": "retry",
    "stalled": "retry",
    "connection": "retry",
    "cut_stream": "retry",
    "overloaded": "retry",
    "rate_limit": "retry",
    "auth": "next",
    "setup": "next",
    "unknown_model": "next",
    "quota": "next",
    "protocol": "next",
}
"""All others are the request's own fault, and would come again."""
_LONGEST_MESSAGE = 600
_SHORTEST_SECRET = 8
"""Shorter values are words that would be missing everywhere."""

_CONTEXT_WORDS = linear(
    "failures.context",
    r"(?i)context[ _-]?(length|window|size)|maximum (context|prompt length)|(prompt|input|request) (is|was) too (long|large)"
    r"|too many (input |prompt )?tokens|reduce (the length|your message size)|range of input length"
    r"|(prompt|input) exceeds max|exceed\w* .{0,40}(context|maximum number of tokens|(model|prompt|input) token limit)"
    r"|token count of \d+ exceeds|tokens.{0,3} \+ .{0,3}max_new_tokens|length of all messages is too long"
    # vLLM, of a prompt that is too long, and of an answer that it leaves no room for; Vertex AI; Text Generation Inference.
    r"|longer than the maximum model length|max_(completion_)?tokens must be at least 1, got -"
    r"|token count is \d+ but (the )?model only supports|inputs.{0,3} must have less than \d+ tokens",
)
_TOO_LARGE_WORDS = linear("failures.too-large", r"(?i)request too large .{0,300}must be reduced")
"""Of a request that has more tokens than a minute's limit at all: waiting does not help."""
_QUOTA_WORDS = linear(
    "failures.quota",
    r"(?i)insufficient[ _](quota|balance|credit|fund)|credit balance|billing_(hard|not|error)|out of credits",
)
_TOOL_WORDS = linear(
    "failures.tools",
    r"(?i)(does not|doesn't|do not|not) support (function|tool)"
    r"|(tool|function)\w*( \w+){0,4}[`'\"]? (is|are) (not (supported|enabled)|unsupported)|tools param requires --jinja"
    r"|no endpoints found that support tool|enable-auto-tool-choice",
)
_IMAGE_WORDS = linear(
    "failures.images",
    r"(?i)(not|n't) support (the )?(image|vision|multimodal)|(image|image_url|vision|multimodal)\w*( \w+){0,2} (is|are) not (supported|valid)"
    r"|unsupported (content part|image|media)|(could not|cannot|unable to|failed to) (process|decode|load|download) .{0,20}image"
    r"|at most 0 image|image_url.{0,3} is only supported|unknown variant .{0,3}image_url|invalid image|no endpoints found that support image",
)
_POLICY_WORDS = linear(
    "failures.policy",
    r"(?i)content[ _](filter|policy|management)|input was flagged|requires moderation",
)
_MODEL_WORDS = linear(
    "failures.model",
    r"(?i)not a valid model|unknown model|no such model|invalid model\b|supported (api )?model names|requested model\b.{0,80}\bnot supported"
    r"|model\b.{0,80}\b(not found|does not exist)",
)
_KEY_WORDS = linear(
    "failures.key",
    r"(?i)(incorrect|invalid|expired) api[ _-]?key|api key (is )?(not valid|invalid|expired)",
)
_STATUSES: dict[int, FailureKind] = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "unknown_model",
    405: "protocol",
    407: "auth",
    408: "timeout",
    409: "timeout",
    410: "unknown_model",
    423: "overloaded",
    424: "overloaded",
    425: "overloaded",
    429: "rate_limit",
    460: "timeout",
    498: "overloaded",
    499: "timeout",
}
"""Of client errors; those that are not here are the request's own fault. 424 is said by TGI where it failed to generate, 498
by Groq where it has no capacity left, 460 and 499 by proxies whose client left: which we did not."""
# Codes and types of error bodies, in the order they are looked for.
_CODE_WORDS: tuple[tuple[str, FailureKind], ...] = (
    ("tool_use_failed", "overloaded"),
    ("content_filter", "refused"),
    ("content_policy", "refused"),
    ("context_length", "context_overflow"),
    ("request_too_large", "context_overflow"),
    ("too_many_prompt_tokens", "context_overflow"),
    ("tokens_limit_reached", "context_overflow"),
    ("string_above_max_length", "context_overflow"),
    ("invalid_model", "unknown_model"),
    ("model_not_supported", "unknown_model"),
    ("not_found", "unknown_model"),
    ("rate_limit", "rate_limit"),
    ("resource_exhausted", "rate_limit"),
    ("quota", "quota"),
    ("api_key", "auth"),
    ("authentication", "auth"),
    ("unauthenticated", "auth"),
    ("permission", "auth"),
    ("timeout", "timeout"),
    ("deadline", "timeout"),
    ("overloaded", "overloaded"),
    ("server_error", "overloaded"),
    ("unavailable", "overloaded"),
    ("internal", "overloaded"),
    ("invalid_request", "bad_request"),
    ("invalid_argument", "bad_request"),
)
_CODES_BEFORE_WORDS: tuple[FailureKind, ...] = ("context_overflow", "refused")
"""What a code says for certain, whatever the message; other codes are wider than messages."""
_URL = linear(
    "failures.url",
    rf"(?i)\b([a-z][a-z0-9+.-]*://)(?:[^{SPACE}/?#\"'<>@]*@)?([^{SPACE}?#\"'<>]*)(?:[?#][^{SPACE}\"'<>]*)?",
)
_QUERY = linear("failures.query", rf"([{WORD}/])\?[{WORD}.~%+-]+=[^{SPACE}\"'<>]*")
"""That of a mere path, as some servers repeat what they were asked for."""
_SECONDS = linear("failures.seconds", r"(\d{1,6}(?:\.\d{1,9})?)s")
_WHITE_SPACE = linear("failures.space", rf"[{SPACE}\x00-\x1f\x7f]+")


def bucket_of(failure: ModelFailure) -> Bucket:
    """What is done about a failure."""
    return _BUCKETS.get(failure.kind, "surface")


def clean(message: str, secrets: Iterable[str] = ()) -> str:
    """`message` on one line, cut to a readable length, without `secrets` and without the private parts of URLs."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            message = message.replace(secret, "…")
    message = _URL.sub(lambda found: found[1] + found[2], message)
    message = _QUERY.sub(lambda found: found[1], message)
    message = _WHITE_SPACE.sub(" ", message).strip()
    return message if len(message) <= _LONGEST_MESSAGE else message[: _LONGEST_MESSAGE - 1] + "…"


def http_failure(
    status: int,
    body: bytes | str,
    *,
    source: str = "the provider",
    secrets: Iterable[str] = (),
    retry_after: float | None = None,
) -> ModelFailure:
    """What an answer with an HTTP error status means.

    Args:
        status: The status.
        body: The body as far as it was read; JSON or not.
        source: Who answered, for the message.
        secrets: Values that must not be in the message.
        retry_after: Seconds that the headers say to wait.
    """
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    try:
        payload: object = json.loads(body)
    except (ValueError, RecursionError):
        payload = None if body.lstrip().startswith("<") else body
    said, codes = _said(payload)
    message = f"{source} answered {status}" + (f": {said}" if said else "")
    if retry_after is None:
        retry_after = _retry_delay(payload)
    if status == 404 and "model" not in said.lower():
        message += "; check baseUrl"
    if retry_after is not None and retry_after > LONGEST_TOLD:
        retry_after = LONGEST_TOLD
        message += f"; it says to wait more than {LONGEST_TOLD / 86_400:.0f} days"
    elif retry_after and retry_after >= 1:
        message += f"; it says to wait {retry_after:.0f} s"
    return ModelFailure(_kind_of_status(status, said, codes), clean(message, secrets), retry_after)


def stream_failure(payload: object, *, source: str = "the provider") -> ModelFailure:
    """What an error inside a stream that began well means; `payload` is the error as it came, parsed."""
    said, codes = _said(payload)
    statuses = [int(code) for code in codes if code.isdecimal() and len(code) == 3 and code >= "400"]
    if statuses:
        kind = _kind_of_status(statuses[0], said, codes)
    else:
        quota = _QUOTA_WORDS.search(" ".join((said, *codes)))
        kind = "quota" if quota else _kind_of_words(said, codes)
    message = f"{source} broke off with an error" + (f": {said}" if said else "")
    return ModelFailure(kind or "overloaded", clean(message), _retry_delay(payload))


def unreadable(payload: bytes, *, source: str) -> ModelFailure:
    """What it means that a payload is not JSON."""
    shown = payload[:80].decode("utf-8", "replace")
    return ModelFailure("protocol", clean(f"{source} sent an event that is not JSON: {shown!r}"))


def _kind_of_status(status: int, said: str, codes: list[str]) -> FailureKind:
    if status in (400, 402, 403, 429) and _QUOTA_WORDS.search(" ".join((said, *codes))):
        return "quota"
    if status == 400 and ("API_KEY_INVALID" in codes or _KEY_WORDS.search(said)):  # Google's and xAI's
        return "auth"
    if "tool_use_failed" in codes:
        return "overloaded"  # Groq refuses a call that its model got wrong, which may come out right if it is asked again
    if _IMAGE_WORDS.search(said):
        return "no_images"
    if status not in (401, 403, 429) and _TOOL_WORDS.search(said):
        return "no_tools"
    if status == 403 and _POLICY_WORDS.search(" ".join((said, *codes))):
        return "refused"
    if status == 429 and _TOO_LARGE_WORDS.search(said):
        return "context_overflow"
    if status < 400:
        return "protocol"
    if status >= 500:
        return "context_overflow" if _CONTEXT_WORDS.search(said) else "overloaded"
    if status in (400, 413, 422):
        kind = _kind_of_words(said, codes)
        # What the status says about whose fault it is stands; the words only narrow it.
        return kind if kind in ("context_overflow", "refused", "unknown_model") else "bad_request"
    return _STATUSES.get(status, "bad_request")


def _kind_of_words(said: str, codes: list[str]) -> FailureKind | None:
    text = " ".join(codes).lower()
    named: FailureKind | None = next((kind for word, kind in _CODE_WORDS if word in text), None)
    if named in _CODES_BEFORE_WORDS:
        return named
    if _CONTEXT_WORDS.search(said):
        return "context_overflow"
    return "unknown_model" if _MODEL_WORDS.search(said) else named


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
    own = [
        str(fields[key])
        for key in ("code", "type", "status", "reason")
        if isinstance(fields.get(key), str | int)
    ]
    for detail in mappings(fields.get("details")):  # Google's
        codes += [detail["reason"]] if isinstance(detail.get("reason"), str) else []
    return said, codes + own


def _retry_delay(payload: object) -> float | None:
    """Seconds to wait, where Google's errors say so."""
    for outer in mappings(payload):
        for detail in mappings(mapping(outer.get("error")).get("details")):
            if found := _SECONDS.fullmatch(string(detail.get("retryDelay"))):
                return float(found[1])
    return None
