import json

import pytest

from outrider.models.failures import clean, http_failure


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
        (413, "", "bad_request"),
        (400, '{"error":{"code":"content_filter","message":"no"}}', "refused"),
        (400, '{"error":{"type":"authentication_error","message":"odd"}}', "bad_request"),
        (422, '{"detail":[{"loc":["body"],"msg":"field required"}]}', "bad_request"),
        (429, "", "rate_limit"),
        (500, "<html>boom</html>", "overloaded"),
        (503, "", "overloaded"),
        (529, "", "overloaded"),
        (418, "", "bad_request"),
    ],
)
def test_kinds(status: int, body: str, kind: str):
    failure = http_failure(status, body)
    assert failure.kind == kind
    assert str(status) in failure.message


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


def test_a_long_message_is_cut():
    assert len(clean("x" * 10_000)) == 600
