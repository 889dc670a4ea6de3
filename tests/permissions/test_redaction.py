"""What is taken out of a text, and what is left in it."""

import base64
import json
import string
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from outrider.permissions.secrets.redaction import Private, Redaction, json_strings
from outrider.permissions.secrets.secret_shapes import findings

ADA = Private(
    keys=frozenset({"planted-key-of-ada"}),
    homes=("/home/ada",),
    folders=(("shop", ("/home/ada/src/shop", "/mnt/data/shop")),),
    user="ada.l",
    host="calc-7.example.net",
)
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
BODY_2 = "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu"
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n{BODY_2}\nabcd=\n-----END PRIVATE KEY-----\n"


def redacted(*texts, private=ADA):
    redaction = Redaction(private)
    redaction.look(texts)
    return [redaction.text(text) for text in texts]


def one(text, private=ADA):
    return redacted(text, private=private)[0]


TOKENS = [
    "ghp_" + "aB3dE6gH9" * 4,
    "github_pat_" + "11ABCDEFG0" * 4,
    "glpat-" + "x7Yz_9Kq-2" * 2,
    "AKIA" + "J5XTQ2MNBV7PLKWE",
    "AIza" + "SyD3-abc_9" * 3 + "Q1w2E",
    "xoxb-" + "123456789012-abcdefABCDEF",
    "https://hooks.slack.com/services/T0ABC/B0DEF/" + "a1B2c3D4e5F6g7H8",
    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "sk-ant-api03-" + "Ab3_x9-Qw" * 5,
    "sk-proj-" + "Ab3xQw9Zr" * 5,
    "sk-or-v1-" + "0123456789abcdef" * 4,
    "hf_" + "AbCdEfGhIj" * 3,
    "npm_" + "aB3dE6gH9" * 4,
    "pypi-AgEIcHlwaS5vcmc" + "CJDk1Y2U0" * 6,
    "SG." + "a" * 22 + "." + "b" * 43,
    "dop_v1_" + "0123456789abcdef" * 4,
    "123456789:AA" + "bcdefghijk" * 3 + "xyz",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_taken_out_wherever_it_stands(token):
    assert one(f"key = '{token}'\n") == "key = '[secret 1]'\n"
    assert redacted(f"x={token};", f"({token})") == ["x=[secret 1];", "([secret 1])"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [secret 1]"),
        ("-H 'authorization: Basic dXNlcjpwYXNzd29yZA=='", "-H 'authorization: Basic [secret 1]'"),
        ('{"Authorization": "token 0a1b2c3d4e5f"}', '{"Authorization": "token [secret 1]"}'),
        ("postgres://app:hunter2@db/shop", "postgres://app:[secret 1]@db/shop"),
        ("git clone https://:p%40ss@example.net/a.git", "git clone https://:[secret 1]@example.net/a.git"),
        ('password = "tr0ub4dor&3-long"', 'password = "[secret 1]"'),
        ("'client_secret': 'a1b2c3d4e5f6g7'", "'client_secret': '[secret 1]'"),
        ('{\\"apiKey\\": \\"a1b2c3d4e5f6\\"}', '{\\"apiKey\\": \\"[secret 1]\\"}'),
        ("DB_PASSWORD=x8Kq2mZ7pR4tW9vB\n", "DB_PASSWORD=[secret 1]\n"),
        (
            "aws_secret_access_key = wJalr7Utn0FEMI/K7MDENG/bPx9RfiCYzz3KEY5a",
            "aws_secret_access_key = [secret 1]",
        ),
    ],
)
def test_a_credential_is_known_by_what_stands_around_it(text, left):
    assert one(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password_from_the_environment()",
        'password = os.environ["DATABASE_PASSWORD_2"]',
        'token = request.headers["X-Token-2"]',
        "secret: string;",
        "self.access_token = access_token_of_user_number_2",
        'api_key = "your-api-key-2-goes-here"',
        'password = "changeme-1234"',
        "Authorization: Bearer YOUR_ACCESS_TOKEN",
        "Authorization: Bearer ${TOKEN_2}",
        "https://example.net:8080/a@b",
        "https://${USER}:${PASSWORD}@example.net",
        "https://{user}:{password}@example.net",
        "postgresql://localhost:5432/a",
        "ssh://git@example.net:22/x",
        '<div class="sk-toggleable__label-arrow sk-estimator-doc-link">',
        "task-Ab3xQw9ZrAb3xQw9ZrAb3xQw9Zr",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "550e8400-e29b-41d4-a716-446655440000",
        'if "-----BEGIN PRIVATE KEY-----" in text_of_the_certificate_file:\n    raise ValueErrorOfTheParser\n',
        "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased-2')",
        "max_tokens: int = 128_000_000_000_000_000",
    ],
)
def test_source_code_is_left_as_it_is(text):
    assert one(text) == text
    assert findings(text) == []


@pytest.mark.parametrize(
    "shown",
    [
        PEM,
        "".join(f"{n:4}\t{line}" for n, line in enumerate(PEM.splitlines(keepends=True), 1)),
        "".join(f"+{line}" for line in PEM.splitlines(keepends=True)),
        "".join(f"deploy/key.pem:{n}:{line}" for n, line in enumerate(PEM.splitlines(keepends=True), 1)),
        json.dumps({"private_key": PEM}),
        json.dumps({"key": json.dumps({"private_key": PEM})}),
    ],
)
def test_a_private_key_is_taken_out_line_by_line(shown):
    left = one(shown)
    assert BODY not in left
    assert BODY_2 not in left
    assert left.index("[secret 1.1]") < left.index("[secret 1.2]")
    assert left.count("\n") == shown.count("\n")
    assert "PRIVATE KEY" in left


def test_a_line_of_a_private_key_is_known_without_its_block():
    assert redacted(f"5\t{BODY_2}\n", PEM)[0] == "5\t[secret 1.2]\n"


def test_the_same_secret_has_the_same_marker_everywhere():
    a, b = TOKENS[0], TOKENS[3]
    assert redacted(f"{a} {b}", b, f"{b}{a}") == [
        "[secret 1] [secret 2]",
        "[secret 2]",
        "[secret 2][secret 1]",
    ]


def test_a_long_password_is_taken_out_where_nothing_points_to_it():
    assert redacted("password: 'x8Kq2mZ7pR4tW9vB'", "say x8Kq2mZ7pR4tW9vB!")[1] == "say [secret 1]!"


def test_a_password_that_is_a_word_is_taken_out_at_its_place_only():
    assert redacted("postgres://postgres:postgres@db", "import postgres") == [
        "postgres://postgres:[secret 1]@db",
        "import postgres",
    ]


def test_values_of_the_environment_go_line_by_line():
    private = Private(keys=frozenset({"first-line-of-it\nsecond-line-of-it\n-\n"}))
    assert (
        one("a\nfirst-line-of-it\nsecond-line-of-it\n-\nb", private) == "a\n[secret 1.1]\n[secret 1.2]\n-\nb"
    )


def test_what_reads_like_a_stand_in_is_not_made_equal_to_one():
    texts = [
        f"{TOKENS[0]} [secret 1] [secret 7.2]",
        "/workspace /home/ada/src/shop",
        "/home/user /home/ada ada.l tmp [user]x [host-3]",
    ]
    assert redacted(*texts) == [
        "[secret 8] [secret 1] [secret 7.2]",
        "/workspace /workspace-2",
        "/home/user /home/user-2 [user-2] tmp [user]x [host-3]",
    ]


def test_a_folder_that_is_called_like_its_stand_in_keeps_its_name():
    private = Private(homes=("/home/user",), folders=(("workspace", ("/workspace",)),))
    assert one("/workspace/a.py /home/user/b", private) == "/workspace/a.py /home/user/b"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/ada/src/shop/a.py", "/workspace/a.py"),
        ("cd /mnt/data/shop && ls", "cd /workspace && ls"),
        ("file:///home/ada/src/shop/a%20b.py", "file:///workspace/a%20b.py"),
        ("-I/home/ada/src/shop/include:/home/ada/lib", "-I/workspace/include:/home/user/lib"),
        ("/home/ada", "/home/user"),
        ("by ada.l@calc-7.example.net on calc-7", "by [user]@[host] on [host]"),
        ("ada.lovelace and calc-77 are others", "ada.lovelace and calc-77 are others"),
        ("/home/bob/x", "/home/bob/x"),
    ],
)
def test_places_and_names_are_taken_out(text, left):
    assert one(text) == left


def test_paths_are_found_as_uris_and_in_json():
    private = Private(homes=("/home/zoë",), folders=(("s", ("/home/zoë/my shop",)),))
    assert one("file:///home/zo%C3%AB/my%20shop/a file:///home/zo%C3%AB/b", private) == (
        "file:///workspace/a file:///home/user/b"
    )
    assert one(json.dumps("/home/zoë/my shop/a"), private) == '"/workspace/a"'


def test_several_folders_keep_their_names():
    folders = (("api", ("/src/api",)), ("api-2", ("/src/api-2",)), ("web", ("/src/api/web",)))
    private = Private(folders=folders)
    assert one("/src/api/x /src/api-2/x /src/api/web/x", private) == (
        "/workspace/api/x /workspace/api-2/x /workspace/web/x"
    )


def test_a_folder_of_one_part_is_meant_only_as_a_whole():
    private = Private(homes=("/ada",), folders=(("src", ("/src",)),))
    text = "crates/src/lib.rs /srcs/a file:///src/a /src /ada/.bashrc /adas /mnt/ada"
    assert one(text, private) == (
        "crates/src/lib.rs /srcs/a file:///workspace/a /workspace /home/user/.bashrc /adas /mnt/ada"
    )


@pytest.mark.parametrize("name", ["root", "ann", "runner", "User", "1000", ""])
def test_a_name_that_is_nobodys_stays(name):
    text = f"{name} = root, ann, runner, User, 1000"
    assert one(text, Private(user=name, host=name)) == text


def test_nothing_private_leaves_a_text_as_it_is():
    assert one("", Private()) == ""
    assert one("/ a \x00 \ud800", Private(homes=("/",), folders=(("", ("/",)),))) == "/ a \x00 \ud800"


def test_halves_of_a_character_are_put_together():
    assert one("\ud83d\ude00 \ud83d") == "\U0001f600 \ud83d"


def test_json_stays_json_and_is_changed_only_where_something_is_taken_out():
    redaction = Redaction(ADA)
    text = '{ "path" : "/home/ada/src/shop/\\u00e9.py", "n": 1.50,\n "/home/ada": ["ada.l", "\\ud800"]}'
    left = redaction.json_text(text)
    assert left == '{ "path" : "/workspace/\\u00e9.py", "n": 1.50,\n "/home/user": ["[user]", "\\ud800"]}'
    assert redaction.json_text('{"a": "/home/ada') == '{"a": "/home/user'


def test_a_secret_is_found_in_json_however_it_is_escaped():
    secret = 'say "friend" é\\'
    redaction = Redaction(Private(keys=frozenset({secret})))
    redaction.look([secret])
    for ascii_only in (True, False):
        text = json.dumps({"a": f"<{secret}>", secret: 1}, ensure_ascii=ascii_only)
        assert redaction.json_text(text) == '{"a": "<[secret 1]>", "[secret 1]": 1}'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Run {TOKENS[0][:12]}…", "Run [secret 1]…"),
        (f"Run {TOKENS[0][:7]}…", f"Run {TOKENS[0][:7]}…"),
        (f"{TOKENS[0][:12]} …", f"{TOKENS[0][:12]} …"),
        (
            f"{TOKENS[0][:20]}\n[… 5 bytes are missing here …]\n{TOKENS[0][-9:]}!",
            "[secret 1]\n[… 5 bytes are missing here …]\n[secret 1]!",
        ),
        ("echo planted-key…", "echo [secret 2]…"),
    ],
)
def test_what_is_left_of_a_secret_that_was_cut_is_taken_out(text, left):
    assert redacted(TOKENS[0], text)[1] == left


KEY = 'he said "no/yes" \\ é+1'


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_key_in_base64_is_found_wherever_it_begins(before, encode):
    text = encode(f"{before}{KEY}:x".encode()).decode()
    left = one(f"Basic {text}", Private(keys=frozenset({KEY})))
    assert "[secret 1 in base64]" in left
    assert len(left) <= len("Basic abc") + len("[secret 1 in base64]") + 8


@pytest.mark.parametrize(
    ("written", "label"),
    [
        (json.dumps(KEY)[1:-1], "in JSON"),
        (json.dumps(KEY, ensure_ascii=False)[1:-1], "in JSON"),
        (json.dumps(json.dumps(KEY))[3:-3], "in JSON in JSON"),
        (quote(KEY), "in a URL"),
        (quote(KEY, safe=""), "in a URL"),
    ],
)
def test_a_key_is_found_however_it_is_written(written, label):
    private = Private(keys=frozenset({KEY}))
    assert one(f"cut {{ <{written}>", private) == f"cut {{ <[secret 1 {label}]>"


def test_what_was_taken_out_is_counted_by_kind():
    redaction = Redaction(ADA)
    texts = [f"{TOKENS[0]} {TOKENS[0]} /home/ada", "planted-key-of-ada x://u:p@h /mnt/data/shop calc-7"]
    redaction.look(texts)
    for text in texts:
        redaction.text(text)
    assert redaction.removed == {
        "token": 2, "home folder": 1, "key of the environment": 1, "password": 1, "workspace folder": 1, "name": 1,
    }  # fmt: skip


WORD = st.text(string.ascii_letters + string.digits, min_size=20, max_size=40)
PLANTED = st.one_of(
    st.sampled_from([*TOKENS, "planted-key-of-ada", PEM]),
    WORD.map(lambda word: f"https://u:{word}@example.net"),
    st.sampled_from(["/home/ada", "/home/ada/src/shop", "/mnt/data/shop", "file:///home/ada/src/shop/x"]),
)
TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("\n\"\\'/ :=@[]{}1\ud800\udc00"), max_size=20)
PARTS = st.lists(st.one_of(PLANTED, TEXT), max_size=8).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=4))
@example(["/home/ada" + "x" * 3])
@example([TOKENS[0] + TOKENS[0]])
def test_a_second_time_nothing_is_left_to_take_out(texts):
    first = redacted(*texts)
    assert redacted(*first) == first
    for text in first:
        assert "/home/ada" not in text
        assert "/mnt/data/shop" not in text
        assert "planted-key-of-ada" not in text
        assert BODY not in text


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(PLANTED, TEXT), min_size=1, max_size=5))
def test_a_text_put_together_from_redacted_parts_is_the_redacted_text(parts):
    lines = [f"{planted} {text}" for planted, text in parts]
    whole = "\n".join(lines)
    *pieces, together = redacted(*lines, whole)
    assert "\n".join(pieces) == together


@settings(max_examples=200, deadline=None)
@given(
    st.recursive(
        PARTS | st.integers() | st.none(), lambda s: st.lists(s) | st.dictionaries(TEXT, s), max_leaves=6
    ),
    st.booleans(),
)
def test_json_is_redacted_as_its_strings_are(value, escaped):
    text = json.dumps(value, ensure_ascii=escaped)
    redaction = Redaction(ADA)
    redaction.look(json_strings(text))
    assert json.loads(redaction.json_text(text)) == redaction.value(json.loads(text), keys=True)


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("scripted:/srv/my tests/script.json", "scripted:script.json"),
        ("recorded:/srv/a/b.json", "recorded:b.json"),
        ("asked scripted:/srv/a/b.json (again)", "asked scripted:b.json (again)"),
        ("scripted:script.json", "scripted:script.json"),
        ("provider/scripted", "provider/scripted"),
        ("/var/folders/x1/T/run/a.py", "/tmp/run/a.py"),
    ],
)
def test_places_of_the_machine_are_taken_out(text, redacted):
    assert one(text, Private(machine=(("/tmp", "/var/folders/x1/T"),))) == redacted
