"""Reads a recorded answer of a provider as the program would: `python -m outrider.models.decode KIND [FILE]`.

KIND is a dialect as in `providers.NAME.kind`. The body is read from FILE or from standard input, and fed whole, or
in pieces of `--split` bytes; `--status` is the HTTP status it came with. One JSON object is written: `ok`, `error`
(`kind`, `message`, or null), `text`, `reasoning`, `tool_calls` (`id`, `name`, `arguments`, `arguments_raw`,
`arguments_valid_json`), `finish_reason` and `usage` (`input_tokens`, `output_tokens`) in the provider's words and by
its count, and `response`, what the loop gets: `finishReason`, `usage`, `providerData`. The exit code is 0 for an
answer, 1 for a failure, 2 for arguments that are wrong.

It shows what was recorded; it never connects to anything.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from outrider.models.dialects.anthropic import AnthropicDecoder
from outrider.models.dialects.decoder import Decoder
from outrider.models.dialects.gemini import GeminiDecoder
from outrider.models.dialects.ollama import OllamaDecoder
from outrider.models.dialects.openai_chat import ChatDecoder
from outrider.models.dialects.openai_responses import ResponsesDecoder
from outrider.models.http.failures import http_failure
from outrider.models.http.payload import is_object, object_of
from outrider.models.http.sse import LineSplitter, SseSplitter
from outrider.ports.ids import SequentialIds
from outrider.ports.model import ModelFailure, ModelItem, ModelResponse, ReasoningDelta, TextDelta
from outrider_protocol.choices import ProviderKind

_OK = 200
_DECODERS: dict[ProviderKind, type[Decoder]] = {
    "openai-chat": ChatDecoder,
    "openai-responses": ResponsesDecoder,
    "anthropic": AnthropicDecoder,
    "ollama": OllamaDecoder,
    "gemini": GeminiDecoder,
}


def decode(kind: ProviderKind, body: bytes, *, status: int = _OK, split: int | None = None) -> dict[str, Any]:
    """What a recorded answer says.

    Args:
        kind: The dialect.
        body: The body as it came, decompressed.
        status: The HTTP status it came with.
        split: Bytes of the pieces that are fed; None feeds the body whole.
    """
    if status != _OK:
        return _shown([http_failure(status, body)], None)
    decoder = _DECODERS[kind](SequentialIds(), source="the provider", model="recorded/model")
    splitter = LineSplitter() if kind == "ollama" else SseSplitter()
    items: list[ModelItem] = []
    size = split or max(len(body), 1)
    for start in range(0, len(body), size):
        _feed(decoder, splitter.feed(body[start : start + size]), items)
    _feed(decoder, splitter.finish(), items)
    if not _failed(items):
        items += decoder.finish()
    return _shown(items, decoder)


def _feed(decoder: Decoder, payloads: Sequence[bytes], items: list[ModelItem]) -> None:
    for payload in payloads:
        if not _failed(items):
            items += decoder.feed(payload)


def _failed(items: Sequence[ModelItem]) -> bool:
    return bool(items) and isinstance(items[-1], ModelFailure)


def _shown(items: Sequence[ModelItem], decoder: Decoder | None) -> dict[str, Any]:
    last = items[-1]
    response = last if isinstance(last, ModelResponse) else None
    failure = last if isinstance(last, ModelFailure) else None
    told = decoder.told if decoder and response else None
    return {
        "ok": failure is None,
        "error": failure and {"kind": failure.kind, "message": failure.message},
        "text": "".join(item.text for item in items if isinstance(item, TextDelta)),
        "reasoning": "".join(item.text for item in items if isinstance(item, ReasoningDelta)),
        "tool_calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": object_of(call.arguments) if is_object(call.arguments) else None,
                "arguments_raw": call.arguments,
                "arguments_valid_json": is_object(call.arguments),
            }
            for call in (response.tool_calls if response else ())
        ],
        "finish_reason": told and told.finish_reason,
        "usage": told and {"input_tokens": told.input_tokens, "output_tokens": told.output_tokens},
        "response": response
        and {
            "finishReason": response.finish_reason,
            "usage": response.tokens
            and {
                "inputTokens": response.tokens.input,
                "outputTokens": response.tokens.output,
                "cachedTokens": response.tokens.cached,
                "reasoningTokens": response.tokens.reasoning,
                "cost": response.tokens.cost,
            },
            "providerData": response.provider_data and json.loads(response.provider_data.blocks),
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m outrider.models.decode", description="Read a recorded answer of a provider."
    )
    parser.add_argument("kind", choices=get_args(ProviderKind), help="the dialect")
    parser.add_argument("file", nargs="?", type=Path, help="the body; default: standard input")
    parser.add_argument("--status", type=int, default=_OK, help="HTTP status it came with")
    parser.add_argument("--split", type=int, help="feed it in pieces of so many bytes")
    given = parser.parse_args(arguments)
    if given.split is not None and given.split < 1:
        parser.error("--split: must be 1 or more")
    try:
        body = given.file.read_bytes() if given.file else sys.stdin.buffer.read()
    except OSError as error:
        parser.error(f"{given.file}: cannot be read: {error.strerror or error}")
    shown = decode(given.kind, body, status=given.status, split=given.split)
    sys.stdout.write(json.dumps(shown) + "\n")
    return 0 if shown["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
