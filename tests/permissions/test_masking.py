"""Secrets are replaced by numbered placeholders: what is found, what stays as it is, and that pieces change nothing."""

import base64
import itertools
import json
import re
import shlex
import subprocess
import textwrap
import time
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_redaction import PEM, TOKENS

from outrider.permissions.secrets.masking import MOST_HELD, MaskedStream, Masking, may_be_key
from outrider.ports.secrets import originals

KEY = "planted/key+of=ada-lovelace"
MACHINE = b"k" * 32
GITHUB = TOKENS[0]


def masking(*keys, marks=None):
    return Masking(MACHINE, {} if marks is None else marks, lambda: keys)


def masked(text, *keys):
    return masking(*keys).masked(text).text


def in_pieces(text, cuts, *keys):
    stream = MaskedStream(masking(*keys))
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return "".join(stream.feed(text[a:b]) for a, b in itertools.pairwise(places)) + stream.end()


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize(
    "around", ["{}", "key={}\n", "'{}'", "\x1b[32m{}\x1b[0m", "\x1b[1;31m{}", 'a/b:3:x = "{}"']
)
def test_a_token_is_replaced(token, around):
    assert masked(around.format(token)) == around.format("[secret 1]")


@pytest.mark.parametrize(
    ("form", "left"),
    [
        (KEY, "[secret 1]"),
        (quote(KEY, safe=""), "[secret 1 in a URL]"),
        (json.dumps(KEY + '"')[1:-3], "[secret 1]"),
    ],
)
def test_a_key_of_the_environment_is_replaced_in_the_forms_that_are_known(form, left):
    assert masked(f"x {form} y", KEY) == f"x {left} y"


SIGNS = """planted/key's $9 & "ada"="""


@pytest.mark.parametrize(
    ("form", "left"),
    [
        ("planted%2fkey%27s%20%249%20%26%20%22ada%22%3d", "a URL"),
        ("planted%2Fkey's%20%249%20%26%20%22ada%22%3D", "a URL"),
        ('planted\\/key\'s $9 & \\"ada\\"=', "JSON"),
        ("planted/key&#x27;s $9 &amp; &quot;ada&quot;=", "HTML"),
        ('planted/key\'s $9 &amp; "ada"=', "HTML"),
        ('planted/key\'s \\$9 & \\"ada\\"=', "a shell"),
        ("planted/key'\\''s $9 & \"ada\"=", "a shell"),
        (shlex.quote(SIGNS)[1:-1], "a shell"),
        ('planted/key\\\'s\\ \\$9\\ \\&\\ \\"ada\\"=', "a shell"),
    ],
)
def test_a_key_with_signs_is_replaced_as_other_programs_write_it(form, left):
    assert masked(f"x {form} y", SIGNS) == f"x [secret 1 in {left}] y"


@pytest.mark.parametrize("program", ["declare -p K", 'printf %q "$K"', "set | grep ^K=", "echo ${K@Q}"])
def test_a_key_is_replaced_as_bash_itself_writes_it(program):
    shown = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", program],
        env={"K": SIGNS},
        capture_output=True,
        check=True,
        timeout=30,
    ).stdout.decode()
    assert "[secret 1" in masked(shown, SIGNS)
    assert "planted" not in masked(shown, SIGNS)


@pytest.mark.parametrize("width", [64, 76])
@pytest.mark.parametrize("before", ["", "a", "K=", "x" * 40, "x" * 53])
def test_a_key_in_base64_is_replaced_where_it_is_broken_into_lines(width, before):
    key = "".join(f"{chr(97 + n * 7 % 26)}{n * 3 % 10}" for n in range(60))
    for secret in (key, key[:20]):
        encoded = base64.b64encode(f"{before}{secret}\n".encode()).decode()
        text = "\n".join(textwrap.wrap(encoded, width)) + "\n"
        for shown in (masked(text, secret), in_pieces(text, [5, 70, 99], secret)):
            left = "".join(re.sub(r"\[[^]]*\]", "", shown).split())
            assert "[secret 1 in base64]" in shown
            assert len(left) <= len(before) * 4 // 3 + 16, shown


@pytest.mark.parametrize("escape", ["\x1b", "\\x1b"])
def test_a_secret_is_replaced_where_a_search_has_coloured_a_part_of_it(escape):
    on, off = f"{escape}[01;31m{escape}[K", f"{escape}[m{escape}[K"
    for secret in (KEY, GITHUB):
        text = f"a {on}{secret[:7]}{off}{secret[7:]} b\n{on}plain{off}\n"
        assert masked(text, KEY) == f"a {on}[secret 1] b\n{on}plain{off}\n"
    assert "zQ9" not in masked(f'{on}password{off} = "zQ9-zQ8-zQ7-zQ6"\n')


@pytest.mark.parametrize(
    "around",
    [
        "GET https://example.org/v1?token={} HTTP/1.1",
        "fetch('https://example.org/v1?page=2&access_token={}&lang=en')",
        '<a href="https://example.org/?a=b&amp;api_key={}">',
        "https://b.s3.example.org/x?X-Amz-Date=20260101&X-Amz-Signature={}#top",
        "(https://example.org/x?sv=2024&se=2026-01-01&sig={})",
        "Location: /back?state=one&code={}\n",
    ],
)
@pytest.mark.parametrize("value", ["ab54c0ffee98d1e2f3a7b6", "4%2FaB3dE6gH9-_aB3dE6gH9%3D"])
def test_a_secret_in_the_query_of_an_address_is_replaced(around, value):
    assert masked(around.format(value)) == around.format("[secret 1]")


def test_a_name_and_a_password_in_a_header_are_replaced_though_no_digit_is_in_them():
    assert masked("Authorization: Basic YWRhOmxvdmVsYWNl") == "Authorization: Basic [secret 1]"
    assert masked("Authorization: Basic credentials") == "Authorization: Basic credentials"


@pytest.mark.parametrize("before", ["", "a", "ab", "user:"])
def test_a_key_in_base64_is_replaced(before):
    encoded = base64.b64encode(f"{before}{KEY}\n".encode()).decode()
    left = masked(f"shown: {encoded}", KEY)
    assert "[secret 1 in base64]" in left
    assert encoded[8:24] not in left


def test_the_same_secret_has_the_same_number_and_no_other_has_it():
    one = masking(KEY)
    assert (
        one.masked(f"{GITHUB} {KEY} {TOKENS[3]} {GITHUB}").text
        == "[secret 1] [secret 3] [secret 2] [secret 1]"
    )
    assert one.masked(TOKENS[3]).text == "[secret 2]"
    assert one.masked(KEY).count == 1
    assert one.masked(GITHUB * 1 + " " + GITHUB).count == 2


def test_the_numbers_stay_over_a_restart_and_the_log_holds_no_secret():
    first = masking(KEY)
    text = f"{GITHUB} {KEY}\nDB_PASSWORD=x8Kq2mZ7pR4tW9vB\n{PEM}"
    shown = first.masked(text).text
    marks = {one["mark"]: one["name"] for one in first.fresh()}
    assert first.fresh() == []
    assert not any(secret in json.dumps(marks) for secret in (GITHUB, KEY, "x8Kq2mZ7pR4tW9vB"))
    second = masking(KEY, marks=marks)
    # Also what was known by what stood around it.
    assert second.masked("x8Kq2mZ7pR4tW9vB").text in shown
    assert second.masked(text).text == shown
    assert second.fresh() == []
    assert second.masked(TOKENS[3]).text not in shown
    assert Masking(b"o" * 32, marks, lambda: (KEY,)).masked(KEY).text != first.masked(KEY).text


def test_what_reads_like_a_placeholder_never_stands_for_anything():
    one = masking(KEY)
    assert one.masked(f"[secret 1] and {KEY}").text == "[secret 1] and [secret 2]"
    assert one.placeholders("[secret 1] [secret 2] [secret 3]") == ["[secret 2]"]
    assert one.masked("[secret 1] and [secret 2]").count == 0


def test_a_secret_that_was_cut_is_replaced():
    one = masking(KEY)
    left = one.masked(f"{KEY[:12]}\n[… 40 bytes are missing here …]\n{KEY[-10:]}")
    assert (left.text, left.count) == ("[secret 1]\n[… 40 bytes are missing here …]\n[secret 1]", 2)
    assert one.masked(f"{KEY[:12]} [… 40 characters]").text == "[secret 1] [… 40 characters]"


def test_a_key_may_have_several_lines():
    left = masked(PEM)
    assert left.splitlines()[1:3] == ["[secret 1.1]", "[secret 1.2]"]
    assert len(left.splitlines()) == len(PEM.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "index 83db48f..bf2a1c0 100644",
        '"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="',
        'hash = "sha256-Uu0c3jVbqOYzdpwR8Vv2WfhtDHdPjTqAzVv0w9RMYEU="',
        "yarn@^1.22: resolved https://registry.example.org/a/-/a-1.0.0.tgz#5c4d3ab8f0b1e2d3c4b5a69788796a5b4c3d2e1f",
        'checksum = "c8d7c2f1f0d5b3a4e6f7a8b9c0d1e2f3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9"',
        "h1:7fyzqgrMBhgyVrPJ9rMdxGEm8xJ1oVvJH3mQjQX0tZg=",
        "<img src='data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='>",
        "token = next(tokens)\nif token.kind == TokenKind.IDENTIFIER:\n    return token",
        'token = request.headers["X-Token-2"]',
        "access_token: str | None = None",
        "private_key = load_pem_private_key(data, password=None)",
        "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased-2')",
        "max_tokens=128_000, token_count: int = 0",
        "secret = os.environ['SECRET_KEY_BASE_2']",
        "password = getpass.getpass('Password: ')",
        "DATABASE_URL=postgresql://localhost:5432/shop",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk1Zc0W7uYVjbBqJmVtnPzXJ0Q3Vb2cDq1ZfWqYdK9t ada@calc",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
        "task-Ab3xQw9ZrAb3xQw9ZrAb3xQw9Zr in disk-0a1b2c3d4e5f60718293",
        "0x7ffd4a3c2b10 <_ZN4core3fmt9Formatter9write_str17h2f4e6d8c0b1a3957E>",
        "2026-01-01T00:00:00Z INFO request_id=01HZX3V9K7Q8J4N5M6P7R8S9T0 took 12ms",
        "arn:aws:iam::123456789012:role/Admin",
        "https://example.org/a?v=ab54c0ffee98d1e2f3a7b6&page_token=next-page-of-many&key=YOUR_API_KEY_2_GOES_HERE",
        "a = b ? token : key; mask = flags&key_of_all_things_1; sort(key=lambda x: x[1])",
        "import { createTokenProvider } from './auth/token-provider.v2.js'",
        "\u2026and so on: 12345678 \u2026",
    ],
)
def test_ordinary_texts_stay_as_they_are(text):
    assert masked(text, KEY) == text


@pytest.mark.parametrize(
    "value", ["development", "/home/ada/.ssh/agent.sock", "~/keys/one.pem", "86400000", "short"]
)
def test_what_is_no_key_is_not_looked_for(value):
    assert not may_be_key(value)


@pytest.mark.parametrize("value", [KEY, "hunter2hunter2", "sk-planted-3141592653", "a" * 20])
def test_what_may_be_a_key_is(value):
    assert may_be_key(value)


PIECES = [
    "text ", "\n", "\r\n", "\r", "\t", GITHUB, GITHUB[:20], TOKENS[3], KEY, KEY[:9], quote(KEY, safe=""), PEM, PEM[:60],
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----\n", "password = ", "'a1b2c3d4e5f6g7'", "DB_PASSWORD=",
    "x8Kq2mZ7pR4tW9vB", "Authorization: Basic ", "dXNlcjpwYXNzd29yZA==", "://ada:s3cret@", "host/", "[secret 2]", "…", "é",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.integers(0, 600), max_size=8),
    st.lists(st.integers(0, 600), max_size=8),
)
@example(f"a {GITHUB} b\n", [3, 10, 20, 30], [])
@example(f"{PEM}after\n", [40, 70, 71, 72, 100], [5])
@example("é\r\nDB_PASSWORD=x8Kq2mZ7pR4tW9vB\r\nx8Kq2mZ7pR4tW9vB", [2, 3, 4, 30], [10])
def test_pieces_change_nothing(text, cuts, other_cuts):
    left = in_pieces(text, cuts, KEY)
    assert left == in_pieces(text, other_cuts, KEY) == in_pieces(text, range(len(text)), KEY)
    assert left.count("\n") == text.count("\n")
    assert not re.search(rf"(?<![A-Za-z0-9]){GITHUB}", left)
    assert KEY not in left


@pytest.mark.parametrize(
    "at", [0, MOST_HELD - 20, MOST_HELD - 2048 - 20, MOST_HELD - 2048, MOST_HELD * 2 - 60]
)
@pytest.mark.parametrize("filler", ["ab", "a "])
def test_a_line_without_an_end_goes_on_and_no_secret_in_it_is_cut(at, filler):
    text = (filler * MOST_HELD)[: at - 1] + " " * bool(at) + KEY + " " + filler * MOST_HELD
    whole = in_pieces(text, [], KEY)
    assert whole == in_pieces(text, range(0, len(text), 977), KEY)
    assert KEY not in whole
    assert "[secret 1]" in whole
    stream = MaskedStream(masking(KEY))
    assert stream.feed(text)


def test_a_line_goes_on_as_soon_as_it_is_whole():
    stream = MaskedStream(masking(KEY))
    assert stream.feed("one\ntw") == "one\n"
    assert stream.feed("o\r\n") == "two\r\n"
    assert (
        stream.feed("if '-----BEGIN PRIVATE KEY-----' in text:\n")
        == "if '-----BEGIN PRIVATE KEY-----' in text:\n"
    )


def test_it_is_fast_however_many_secrets_are_known():
    code = "def price(hours: int, token: str) -> int:\n    return hours * 3 if token in self.access_tokens\n"
    text = (code * 700)[:65_536]
    one = masking(*(f"{number}-key-of-many-{number * 977}" for number in range(30)))
    one.learn_settings("".join(f"NAME_{number}={number}-value-of-a-setting\n" for number in range(1000)))
    one.masked(text)
    best = min(_seconds(one, text + str(number)) for number in range(5))
    assert best < 0.1  # ten times what it takes; to look for each takes 300 ms


def _seconds(one, text):
    began = time.process_time()
    one.masked(text)
    return time.process_time() - began


def test_what_was_shown_says_what_placeholders_stand_for_beside_the_exact_text():
    assert originals("a [secret 1] [secret 1]\nb", "a xy xy\nb") == {"[secret 1]": "xy"}
    assert originals("a [secret 1] [secret 1]", "a xy xz") is None
    assert originals("[secret 1]\n[secret 1]", "x\ny") is None
    assert originals("a [secret 1.2] b [secret 3 in base64]", "a x b y") == {
        "[secret 1.2]": "x",
        "[secret 3 in base64]": "y",
    }
    assert originals("plain", "plain") == {}
    assert originals("plain", "other") is None
    assert originals("[secret 1]", "two\nlines") is None


@pytest.mark.parametrize("width", [0, 60])
@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_a_key_in_hexadecimal_digits_is_replaced(width, change):
    digits = change(f"before {KEY} behind, to be longer than one line".encode().hex())
    lines = [digits[at : at + width] for at in range(0, len(digits), width)] if width else [digits]
    shown = Masking(b"machine", {}, lambda: [KEY]).masked("\n".join(lines)).text
    assert "[secret 1 in hex]" in shown
    assert change(KEY.encode().hex()[8:24]) not in shown.replace("\n", "")
