"""Looking for secrets takes time in proportion to the text, whatever is in it."""

import random
import string
import time

import pytest

from outrider.permissions.secrets import secret_shapes
from outrider.permissions.secrets.masking import MaskedStream, Masking
from outrider.ports.secrets import originals

pytestmark = pytest.mark.usefixtures("young_heap")

UNITS = [
    "sk-", "sk-a1A_", "\x1b[0msk-", "\u20acsk-a1", "ghp_", "ey.ey", ".eyJ", "pat.", "Q~", "abc1Q~", "_mmk", "AccountKey=", "xoxb-1-", "1:AA",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA\n", "a", "=", '"', "\\",
    "token=", "token:a=", 'token="a1B2c3D4"', "token=a1B2c3D4e5F6g7H8&", "://a:", "authorization: ", "?key=", "&token=", "-u a:", "--key ",
    "Cookie: a=", "a=b;", "Basic a", "Bearer a1B2c3D4e5F6g7H8 ", '"d":"a1B2c3D4e5F6g7H8"', "$6$a$", "$2y$10$", "M1.aaaaaa.", "AKIAJ5XTQ2MNBV7PLKWE,",
    "machine a login b ", "a:5432:b:c:d", "identified by '", "redis-cli a ", "redis-cli -a abcd1 ", "curl -u a:b1c2 ", "docker login -p ",
    "token,a\n", "token\ta1B2c3D4e5F6g7H8\t", "a,token\nb,a1B2c3D4e5F6g7H8\n", "-----END PRIVATE KEY-----", "AAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----\n",
    '"" ', "'a' + ", '"\n"', "\\x41", "%41", "%67%68%70%5f", "\\u0041", "sk-'+'", "пароль: a1B2c3D4e5F6g7H8 ",
    'key value="', "[secret 1]", "…", "abcdefgh…", "\x1b[0m", "a1" * 8 + " ",
]  # fmt: skip
DRAW = random.Random(20261123)
DIFFERENT = {
    "keys in lines": "API_KEY={}\n",
    "tokens in lines": "ghp_{}\n",
    "keys in one line": "API_KEY={} ",
    "cut keys": "API_KEY={}… ",
    "keys that end alike": "API_KEY={}-and-the-same-end\n",
}
"""Secrets of which each is there once."""
MOST_TIMES = 20
"""How much longer a text of ten times the length may take."""
MOST_SECONDS = 1.5
"""For 100 kB, as a whole and in pieces: three times what the worst takes on a machine with much else to do."""
NOISE = 0.05
"""Seconds of processor time that are left out of account."""


def seconds(text):
    """The processor time for a text, as a whole and as it comes in pieces."""
    keys = [f"{number}-key-of-many-{number * 977}" for number in range(20)]
    began = time.process_time()
    Masking(b"k" * 32, {}, lambda: keys).masked(text)
    stream = MaskedStream(Masking(b"k" * 32, {}, lambda: keys))
    for start in range(0, len(text), 16_384):
        stream.feed(text[start : start + 16_384])
    stream.end()
    return time.process_time() - began


def drawn(shape, size):
    one = shape.format("a" * 36)
    return "".join(
        shape.format("".join(DRAW.choices(string.ascii_letters + string.digits, k=36)))
        for _ in range(size // len(one))
    )


@pytest.mark.parametrize("shape", DIFFERENT.values(), ids=DIFFERENT)
def test_ten_times_the_secrets_take_some_ten_times_as_long(shape):
    short, long = (seconds(drawn(shape, size)) for size in (20_000, 200_000))
    assert long <= MOST_TIMES * short + NOISE
    assert long < 2 * MOST_SECONDS


@pytest.mark.parametrize("unit", UNITS)
def test_ten_times_the_text_takes_some_ten_times_as_long(unit):
    short, long = (seconds((unit * (size // len(unit) + 1))[:size]) for size in (10_000, 100_000))
    assert long <= MOST_TIMES * short + NOISE
    assert long < MOST_SECONDS


@pytest.mark.parametrize("size", [2_000, 20_000, 200_000])
def test_a_line_with_many_placeholders_takes_no_time(size):
    began = time.process_time()
    assert originals("[secret 1]a[secret 2]a[secret 3]b" * 20, "a" * size) is None
    assert time.process_time() - began < 1


@pytest.mark.parametrize("unit", ["-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n"])
def test_blocks_without_a_key_in_them_are_not_read_line_by_line(unit, monkeypatch):
    looked = []
    says_more = secret_shapes._says_more
    monkeypatch.setattr(secret_shapes, "_says_more", lambda line: looked.append(line) or says_more(line))
    text = unit * 8_000
    masking = Masking(b"k" * 32, {})
    assert masking.masked(text).text == text
    stream = MaskedStream(masking)
    assert stream.feed(text) + stream.end() == text
    assert len(looked) < 100
