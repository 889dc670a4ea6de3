import json
import math

import pytest

from outrider.models.http.failures import LONGEST_TOLD, clean, http_failure, stream_failure


def said(message: str) -> str:
    return json.dumps({"error": {"message": message}})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, '{"detail":"Invalid API Key"}', "auth"),
        (403, "", "auth"),
        (404, '{"error":{"message":"no such model"}}', "unknown_model"),
        (408, "", "timeout"),
        (409, "", "timeout"),
        (400, '{"error":{"message":"bad field"}}', "bad_request"),
        (400, '{"error":{"code":"context_length_exceeded","message":"too much"}}', "context_overflow"),
        (
            400,
            '{"error":{"message":"This model\'s maximum context length is 10 tokens"}}',
            "context_overflow",
        ),
        (
            400,
            '{"error":{"message":"the request exceeds the available context size"}}',
            "context_overflow",
        ),
        (413, "prompt is too long", "context_overflow"),
        (
            400,
            said("The decoder prompt (length 40000) is longer than the maximum model length of 32768."),
            "context_overflow",
        ),
        (400, said("max_tokens must be at least 1, got -1200."), "context_overflow"),
        (
            400,
            said("The input token count is 40000 but model only supports up to 32768."),
            "context_overflow",
        ),
        (
            422,
            said("Input validation error: `inputs` must have less than 4095 tokens. Given: 4100"),
            "context_overflow",
        ),
        (
            429,
            said(
                "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000. "
                "The input or output tokens must be reduced in order to run successfully."
            ),
            "context_overflow",
        ),
        (
            429,
            said("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000"),
            "rate_limit",
        ),
        (400, '{"error":{"code":"content_filter","message":"the context window was filtered"}}', "refused"),
        (413, "", "bad_request"),
        (
            413,
            '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
            "context_overflow",
        ),
        (400, '{"error":{"code":"content_filter","message":"no"}}', "refused"),
        (400, '{"error":{"type":"authentication_error","message":"odd"}}', "bad_request"),
        (422, '{"detail":[{"loc":["body"],"msg":"field required"}]}', "bad_request"),
        (
            403,
            '{"error":{"message":"Your chosen model requires moderation and your input was flagged"}}',
            "refused",
        ),
        (403, '{"error":{"code":"content_policy_violation","message":"no"}}', "refused"),
        (429, "", "rate_limit"),
        (500, "<html>boom</html>", "overloaded"),
        (503, "", "overloaded"),
        (529, "", "overloaded"),
        (418, "", "bad_request"),
        (204, "", "protocol"),
        (405, "", "protocol"),
        (407, "", "auth"),
        (410, '{"error":{"code":"ModelDeprecated","message":"gone"}}', "unknown_model"),
        *(
            (status, "", "overloaded")
            for status in (423, 424, 425, 498, 502, 504, *range(520, 528), 530, 598)
        ),
        *((status, "", "timeout") for status in (460, 499)),
        (431, "", "bad_request"),
    ],
)
def test_kinds(status: int, body: str, kind: str):
    failure = http_failure(status, body)
    assert failure.kind == kind
    assert str(status) in failure.message


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"),
        (400, "The input token count (12) exceeds the maximum number of tokens allowed (10).", "context_overflow"),
        (400, "Prompt exceeds max length", "context_overflow"),
        (400, "Your request exceeded model token limit: 262144", "context_overflow"),
        (400, "prompt token count of 140000 exceeds the limit of 128000", "context_overflow"),
        (400, "Range of input length should be [1, 129024]", "context_overflow"),
        (413, "Request too large on tokens per minute (TPM): please reduce your message size", "context_overflow"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", "context_overflow"),
        (400, "max_tokens is too large: 100000. At most 16384 completion tokens", "bad_request"),
        (429, "You exceeded your token limit per minute", "rate_limit"),
        (400, "The total length of all messages is too long.", "context_overflow"),
        (400, "Invalid model: no-such-one", "unknown_model"),
        (400, "The supported API model names are big or small, but you passed other.", "unknown_model"),
        (400, "The requested model 'other' is not supported by any provider you have enabled.", "unknown_model"),
        (400, "Incorrect API key provided. You can obtain one from https://console.example.", "auth"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
        (400, "the field api_key_name is invalid", "bad_request"),
        (400, "library/gemma3 does not support tools", "no_tools"),
        (400, "`tool calling` is not supported with this model", "no_tools"),
        (400, "Function calling is not enabled for models/gemma-3-27b-it", "no_tools"),
        (400, "Tool use with function calling is unsupported", "no_tools"),
        (404, "No endpoints found that support tool use", "no_tools"),
        (500, "tools param requires --jinja flag", "no_tools"),
        (404, "model 'functionary' not found", "unknown_model"),
        (400, "image_url is only supported by certain models.", "no_images"),
        (400, "At most 0 image(s) may be provided in one request.", "no_images"),
        (400, "unknown variant `image_url`, expected `text`", "no_images"),
        (404, "No endpoints found that support image input", "no_images"),
    ],
)  # fmt: skip
def test_the_words_of_servers_tell_what_is_to_be_done(status: int, message: str, kind: str):
    assert http_failure(status, json.dumps({"error": {"message": message}})).kind == kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("too_many_prompt_tokens", "context_overflow"),
        ("tokens_limit_reached", "context_overflow"),
        ("string_above_max_length", "context_overflow"),
        ("invalid_model", "unknown_model"),
        ("model_not_supported", "unknown_model"),
        ("tool_use_failed", "overloaded"),
    ],
)
def test_the_codes_of_servers_tell_what_is_to_be_done(code: str, kind: str):
    error = {"type": "invalid_request_error", "code": code, "message": "odd"}
    assert http_failure(400, json.dumps({"error": error})).kind == kind
    assert stream_failure({"error": error}).kind == kind


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "what is wrong"}},
        {"error": "what is wrong"},
        {"message": "what is wrong"},
        {"detail": "what is wrong"},
        {"detail": [{"msg": "what is wrong"}]},
        [{"error": {"message": "what is wrong"}}],
        "what is wrong",
    ],
)
def test_the_message_is_found_in_every_form(body: object):
    assert http_failure(400, json.dumps(body)).message == "the provider answered 400: what is wrong"


def test_a_page_is_no_message():
    assert http_failure(500, b"<!doctype html><p>\xff").message == "the provider answered 500"
    assert http_failure(500, "[" * 100_000).kind == "overloaded"


def test_keys_and_private_parts_of_urls_stay_out():
    body = json.dumps(
        {"error": {"message": "key sk-12345678 is bad\n see https://me:pw@host.test/a?key=sk-12345678#x now"}}
    )
    message = http_failure(401, body, secrets=["sk-12345678"]).message
    assert message == "the provider answered 401: key … is bad see https://host.test/a now"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Cannot POST /v1/chat/completions?code=hidden", "Cannot POST /v1/chat/completions"),
        ('no route: "/v1/x?key=a%20b&alt=sse", sorry', 'no route: "/v1/x", sorry'),
        ("Is it on? a=b", "Is it on? a=b"),
    ],
)
def test_the_query_of_a_mere_path_stays_out(said: str, shown: str):
    assert (
        http_failure(400, json.dumps({"error": {"message": said}})).message
        == f"the provider answered 400: {shown}"
    )
    assert stream_failure({"error": {"message": said}}).message.endswith(shown)


@pytest.mark.parametrize(
    ("status", "body", "wait", "message"),
    [
        (404, "<html>nginx</html>", None, "the provider answered 404; check baseUrl"),
        (404, '{"error": "not found"}', None, "the provider answered 404: not found; check baseUrl"),
        (404, '{"error": "no model x"}', None, "the provider answered 404: no model x"),
        (429, '{"error": "slow"}', 3600, "the provider answered 429: slow; it says to wait 3600 s"),
        (429, '{"error": "slow"}', 5, "the provider answered 429: slow; it says to wait 5 s"),
        (
            429,
            '{"error": "slow"}',
            1e308,
            "the provider answered 429: slow; it says to wait more than 30 days",
        ),
        (429, '{"error": "slow"}', 0.2, "the provider answered 429: slow"),
    ],
)
def test_a_message_says_what_can_be_done(status: int, body: str, wait: float | None, message: str):
    assert http_failure(status, body, retry_after=wait).message == message


def test_money_is_the_matter_inside_a_stream_too():
    for error in (
        {"type": "billing_error", "message": "pay first"},
        {"type": "x", "message": "Your credit balance is too low"},
    ):
        assert stream_failure({"type": "error", "error": error}).kind == "quota"


def test_a_long_message_is_cut():
    assert len(clean("x" * 10_000)) == 600


@pytest.mark.parametrize("told", [1e308, math.inf])
def test_how_long_a_provider_says_to_wait_is_bounded(told):
    assert http_failure(429, b"", retry_after=told).retry_after == LONGEST_TOLD
