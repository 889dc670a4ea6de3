"""The loopback server says what the real ones say: the official clients read it, and see what our decoders see."""

import json
from base64 import b64decode

import pytest

from outrider.models.decode import decode
from provider_server import IN_DIALECT, USAGE, ProviderServer, Said, errs

SAID = Said("Hällo 😀", [("call_a", "read", {"x": 1}), ("call_b", "read", {"y": "ü"})], "hm", "c2lnbmVk")
MESSAGES = [{"role": "user", "content": "hello"}]


async def of_chat(url):
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        text, calls, usage = "", {}, None
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, ["", "", ""])
                    call[0] += part.id or ""
                    call[1] += part.function.name or ""
                    call[2] += part.function.arguments or ""
    listed = [(call_id, name, json.loads(arguments)) for call_id, name, arguments in calls.values()]
    return text, listed, (usage.prompt_tokens, usage.completion_tokens)


async def of_responses(url):
    from openai import AsyncOpenAI, OpenAIError

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        text, calls, usage = "", [], None
        async for event in await client.responses.create(model="m", input="hello", stream=True):
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.output_item.done" and event.item.type == "function_call":
                calls.append((event.item.call_id, event.item.name, json.loads(event.item.arguments)))
            elif event.type == "response.completed":
                usage = event.response.usage
            elif event.type == "error":
                raise OpenAIError(event.message)  # the client gives it like any other event
    return text, calls, (usage.input_tokens, usage.output_tokens)


async def of_anthropic(url):
    from anthropic import AsyncAnthropic

    async with (
        AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key="none", max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=9, messages=MESSAGES) as stream,
    ):
        message = await stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
    thinking, redacted = message.content[:2]
    assert (thinking.thinking, thinking.signature) == (SAID.reasoning, SAID.signed)
    assert redacted.type == "redacted_thinking"
    return text, calls, (message.usage.input_tokens, message.usage.output_tokens)


async def of_ollama(url):
    from ollama import AsyncClient

    text, calls, last = "", [], None
    client = AsyncClient(host=url.removesuffix("/v1"), trust_env=False)
    async with client._client:  # it has no other way to be closed
        async for last in await client.chat(model="m", messages=MESSAGES, stream=True):
            text += last.message.content or ""
            asked = last.message.tool_calls or ()
            calls += [(None, call.function.name, dict(call.function.arguments)) for call in asked]
    return text, calls, (last.prompt_eval_count, last.eval_count)


async def of_gemini(url):
    from google import genai
    from google.genai import types

    options = types.HttpOptions(
        base_url=url.removesuffix("/v1"), api_version="v1", async_client_args={"trust_env": False}
    )
    client = genai.Client(api_key="none", http_options=options).aio
    text, thought, calls, signed, usage = "", "", [], [], None
    try:
        async for chunk in await client.models.generate_content_stream(model="m", contents="hello"):
            usage = chunk.usage_metadata or usage
            for part in chunk.candidates[0].content.parts or ():
                signed += [part.thought_signature] if part.thought_signature else []
                if part.function_call:
                    calls.append(
                        (part.function_call.id, part.function_call.name, dict(part.function_call.args))
                    )
                elif part.thought:
                    thought += part.text
                else:
                    text += part.text or ""
    finally:
        await client.aclose()
    assert (thought, signed) == (SAID.reasoning, [b64decode(SAID.signed)])
    return text, calls, (usage.prompt_token_count, usage.candidates_token_count)


CLIENTS = {
    "openai-chat": of_chat,
    "openai-responses": of_responses,
    "anthropic": of_anthropic,
    "ollama": of_ollama,
    "gemini": of_gemini,
}


@pytest.mark.parametrize("kind", sorted(CLIENTS))
async def test_an_official_client_reads_what_the_decoder_reads(kind):
    async with ProviderServer() as server:
        server.plays(kind, SAID)
        text, calls, usage = await CLIENTS[kind](server.url)
    ours = decode(kind, IN_DIALECT[kind](SAID))
    assert (text, usage) == (SAID.text, USAGE)
    assert text == ours["text"]
    assert [call[1:] for call in calls] == [(c["name"], c["arguments"]) for c in ours["tool_calls"]]
    assert [call[0] for call in calls] in ([c["id"] for c in ours["tool_calls"]], [None, None])
    assert usage == tuple(ours["usage"].values())


@pytest.mark.parametrize("kind", sorted(CLIENTS))
async def test_an_official_client_takes_an_error_inside_a_stream_for_one(kind):
    async with ProviderServer() as server:
        server.plays(kind, errs(kind, SAID))
        with pytest.raises(Exception, match="odd") as raised:
            await CLIENTS[kind](server.url)
    assert type(raised.value).__module__.partition(".")[0] in ("openai", "anthropic", "ollama", "google")


async def test_the_helper_of_openai_puts_the_events_of_a_response_together():
    from openai import AsyncOpenAI

    async with ProviderServer() as server:
        server.plays("openai-responses", SAID)
        async with (
            AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0) as client,
            client.responses.stream(model="m", input="hello") as stream,
        ):
            texts = [event.delta async for event in stream if event.type == "response.output_text.delta"]
            whole = await stream.get_final_response()
    assert "".join(texts) == whole.output_text == SAID.text
    called = [item for item in whole.output if item.type == "function_call"]
    assert [(one.name, json.loads(one.arguments)) for one in called] == [(n, a) for _, n, a in SAID.calls]
