"""How many secrets are found, and how much that is none: on samples that are drawn anew with a fixed seed, and on real source code."""

import os
import random
import re
import string
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from outrider.permissions.secrets.masking import Masking
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.permissions.secrets.secret_shapes import findings, secrets_in_prose

WORDS = string.ascii_letters + string.digits
DRAWN = {
    "base64": (40, WORDS + "/+"),
    "base62 of 40": (40, WORDS),
    "base62 of 20": (20, WORDS),
    "base36 of 32": (32, string.ascii_lowercase + string.digits),
    "base36 of 20": (20, string.ascii_lowercase + string.digits),
    "hexadecimal": (32, "0123456789abcdef"),
    "base64url": (43, WORDS + "-_"),
    "base32": (26, string.ascii_uppercase + "234567"),
    "password of 16": (16, WORDS + "!@#%^&*-_"),
    "password of 12": (12, WORDS + "!@#%^&*-_"),
}
PLACES = [
    "X_API_KEY={}", "aws_secret_access_key = {}", "password: {}", 'const apiKey: string = "{}"', "Authorization: Bearer {}", "deploy --token {}",
    "deploy --token={} now", "mysql -uroot -p{} shop", "curl -u ada:{} https://shop.example", "https://shop.example/?token={}",
    "Server=db;User=ada;Password={};Port=1", "NAME_TOKEN={}; run", "run password={} now", "<password>{}</password>",
    '<add key="Password" value="{}" />', "API_SECRET={}\\nOTHER=1", '{{\\"apiKey\\": \\"{}\\"}}', "|| SECRET={} ||",
]  # fmt: skip
TOKENS = {
    # Written by hand as the pages of the services describe their tokens; none comes from the table.
    "linear": "lin_api_9zR7vT2mK4nB8xW1cL5pS3dF6gH0jYaEuIoPlMnQ",
    "notion": "ntn_123456789012a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7",
    "grafana": "glsa_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6_1a2b3c4d",
    "grafana cloud": "glc_eyJvIjoiMTIzNDU2IiwibiI6InNob3AiLCJrIjoiYTFiMmMzIn0=",
    "sentry": "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",
    "perplexity": "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",
    "pulumi": "pul-9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
    "doppler": "dp.pt.a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6q7r8s9t0u1v",
    "twilio": "SK9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "terraform": "aB1cD2eF3gH4iJ.atlasv1.a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8c9D0e1",
    "square": "EAAAEa1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6a7B8",
    "postman": "PMAK-5f3a2b1c0d9e8f7a6b5c4d3e-1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d7e",
    "brevo": "xkeysib-0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9-AbCdEf0123456789",
    "shippo": "shippo_live_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d",
    "dynatrace": "dt0c01.ST2EY72KQINMH574WMNVI7YN.G3DFPBEJYMODIDAEX454M7YWBUVEFOWKPRVMWFASS64NFH52PX6BNDVFFM572RZM",
    "easypost": "EZAK0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1d2e3f4a5b6c",
    "duffel": "duffel_test_Zk3mQ9vT1xR7nB5wL8pS2dF6gH4jY0aEuIoPlMnQcVb",
    "fly": "fo1_Zk3mQ9vT1xR7nB5wL8pS2dF6gH4jY0aEuIoPlMnQcVb",
    "heroku": "HRKU-AAZk3mQ9vT1xR7nB5wL8pS2dF6gH4jY0aEuIoPlMnQcVbZk3mQ9vT1xR7nB5w",
    "readme": "rdme_xn8s9h0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8a9b0c1d2e3f4a5b6c7d8e9f0a1b2c3",
    "prefect": "pnu_Zk3mQ9vT1xR7nB5wL8pS2dF6gH4jY0aEuIoP",
    "planetscale": "pscale_tkn_Zk3mQ9vT1xR7nB5wL8pS2dF6gH4jY0aE",
    "sourcegraph": "sgp_9f8e7d6c5b4a3928_9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c",
    "artifactory": "AKCpZk3mQ9vT1xR7nB5wL8pS2dF6gH4jY0aEuIoPlMnQcVbZk3mQ9vT1xR7nB5wL8pS2dF6gH",
    "clojars": "CLOJARS_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7",
    "alibaba": "LTAI5tZk3mQ9vT1xR7nB5wL8",
    "aws, bedrock": "ABSK" + "QmVkcm9ja0FQSUtleS1hYmNkMTIzNDpaazNtUTl2VDF4UjduQjV3TDhwUzJkRjZnSDRqWTBhRXVJb1BsTW5RY1ZiWmszbVE5dlQxeFI3bkI1d0w4cFMyZEY2Z0g=",
    "aws, bearer": "ABIAJ5XTQ2MNBV7PLKWE",
    "cloudflare": "v1.0-0a1b2c3d4e5f60718293a4b5-" + "0a1b2c3d4e5f6071" * 9 + "0a",
    "slack": "xoxe.xoxb-1-" + "MjE0MjE4NzYzNTQ5LTk4NzY1NDMyMTA" * 5 + "ABCDEFGH1234",
    "azure": "abc8Q~Zk3mQ9vT1xR7nB5wL8pS2dF6gH4jY0aEuI",
    "vault": "hvs.CAESIJ1mQ9vT1xR7nB5wL8pS2dF6gH4jY0aEuIoPlMnQcVb",
    "web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "1password": "ops_eyJ" + "zaWduSW5BZGRyZXNzIjoibXkuMXBhc3N3b3JkLmNvbSIsInVzZXJBdXRoIjp7Im1ldGhvZCI6IlNSUGctNDA5NiJ9fQ" * 3,
}  # fmt: skip


def shown(text):
    return Masking(b"k" * 32, {}).masked(text).text


def share(secrets, place):
    """How many of a hundred are masked at a place."""
    return 100 * sum(one not in shown(place.format(one)) for one in secrets) / len(secrets)


SHAPES = Path(__file__).with_name("token_shapes.txt")
PART = re.compile(r"\[(?P<letters>[^\]]*)\]\{(?P<fewest>\d+)(?:,(?P<most>\d+))?\}|(?P<letter>.)")
RANGES = [string.digits, string.ascii_uppercase, string.ascii_lowercase, "ABCDEF", "abcdef"]
MOST_LETTERS = 600


def of_shapes(kind):
    """Three secrets of each rule of gitleaks whose secret is known by its sign, or only by a word before it. None comes from our own table."""
    draw = random.Random(20261123)
    rules = defaultdict(list)
    for line in SHAPES.read_text().splitlines():
        if not line.startswith("#"):
            rule, how, shape = line.split(" ", 2)
            if how == kind:
                rules[rule].append(shape)
    secrets = [letters_of(draw.choice(shapes), draw) for shapes in rules.values() for _ in range(3)]
    return [secret for secret in secrets if 8 <= len(secret) < MOST_LETTERS]


def letters_of(shape, draw):
    parts = []
    for part in PART.finditer(shape):
        letters = part["letters"]
        if letters is None:
            parts.append(part["letter"])
            continue
        for one in RANGES:
            letters = letters.replace(f"{one[0]}-{one[-1]}", one)
        fewest = int(part["fewest"])
        parts += draw.choices(letters, k=draw.randint(fewest, int(part["most"] or fewest)))
    return "".join(parts)


@pytest.mark.parametrize(
    ("place", "least"),
    [
        ("{}", 90),
        ('client = Client("{}")', 90),
        ("2026-01-01 INFO using {} for it", 90),
        ("X_API_KEY={}", 95),
        ('{{"x_api_key": "{}"}}', 98),
    ],
)
def test_tokens_of_services_are_found_by_their_signs(place, least):
    secrets = of_shapes("sign")
    assert len(secrets) > 300
    assert share(secrets, place) >= least
    left = [name for name, one in TOKENS.items() if one in shown(place.format(one))]
    assert left == []


@pytest.mark.parametrize("place", ["X_API_KEY={}", "x_secret: {}", '{{"x_api_key": "{}"}}'])
def test_secrets_without_a_sign_are_found_behind_a_telling_name(place):
    """Numbers, and what has quotes in it, are left."""
    secrets = of_shapes("word")
    assert len(secrets) > 250
    assert share(secrets, place) >= 95


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", DRAWN)
def test_what_was_drawn_at_random_is_found_behind_a_telling_name(place, kind):
    count, letters = DRAWN[kind]
    draw = random.Random(kind + place)
    secrets = ["".join(draw.choice(letters) for _ in range(count)) for _ in range(100)]
    assert share(secrets, place) >= 80


def test_source_code_is_hardly_touched_and_can_be_put_together_again():
    files = [*Path(os.__file__).parent.glob("*.py"), *(Path(__file__).parents[2] / "server").rglob("*.py")]
    lines, touched = 0, []
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        masking = Masking(b"k" * 32, {})
        masked = masking.masked(text).text
        lines += text.count("\n")
        touched += [
            (path.name, one)
            for one, was in zip(masked.split("\n"), text.split("\n"), strict=True)
            if one != was
        ]
        for placeholder in masking.placeholders(masked):
            masked = masked.replace(placeholder, masking.original(placeholder) or "")
        assert masked == text
    assert lines > 100_000
    # 25 in 446 000 lines are as many in each part of them.
    assert len(touched) <= 25 * lines / 446_000, touched


@pytest.mark.parametrize(
    "text",
    [
        'API_KEYS = ["API_KEY1", "API_KEY_2"]',
        "- `APPLE_API_KEY` or `APPLE_API_KEY_PATH`, `APPLE_API_KEY_ID`",
        '"apiKey": "$MY_API_TOKEN_2"',
        "accessToken: 'access_token_123',",
        "token_endpoint: 'https://auth.okta.local/oauth2/default/v1/token',",
        "postgres://user:password@localhost/db",
        "GITHUB_TOKEN: 'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
        "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "mkdir -p build/release && gcc -pthread -pipe a.c",
        "docker run -u 1000:1000 -p8080:8080 image",
        "ssh -p2222 ada@host && make test_unit_of_the_longest_name_in_this_house",
        'if key == "deepseek" or key == "ArrowDown": return key',
        "token = lexer.next_token(TokenKind.IDENTIFIER_2)",
        "private_key = load_pem_private_key(data)",
        'Authorization: \'Digest username="foo", response="bar"\'',
    ],
)
def test_what_programs_write_behind_such_a_name_stays(text):
    assert shown(text) == text


@pytest.mark.parametrize(
    "task",
    [
        "The key is {}.",
        "Log in with {} as the password",
        "password: {}",
        'set the secret to "{}"',
        "use my API token {} for it",
    ],
)
def test_what_a_user_tells_is_found_in_prose(task):
    draw = random.Random(task)
    secrets = [
        "".join(draw.choice(WORDS + "/+") for _ in range(count))
        for count in (12, 16, 24, 40)
        for _ in range(25)
    ]
    found = sum(
        any(
            one in finding.values
            for finding in secrets_in_prose(task.format(one), findings(task.format(one)))
        )
        for one in secrets
    )
    assert found >= 90


@pytest.mark.parametrize(
    "task",
    [
        "Revert commit 9fceb02d0ae598e95dc970b74767f19372d61af8, where the token check was",
        "The key 550e8400-e29b-41d4-a716-446655440000 is missing in src/auth/token_map.py",
        "Rename access_token_v2 to accessToken; the password field of LoginForm.tsx stays",
        "primary key users_pkey is violated (SQLSTATE 23505), see https://example.org/a/pull/1234#r1234567890",
        "bind the key Ctrl+Shift+F12, use key=lambda x: x[1]",
    ],
)
def test_what_a_task_is_about_stays(task):
    assert secrets_in_prose(task, findings(task)) == []


def test_the_shapes_can_be_made_anew(tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(
        "[[rules]]\nid = 'shop'\nregex = '''\\b(shop_[a-f0-9]{8})\\b'''\n"
        "[[rules]]\nid = 'word'\nregex = '''(?i)[\\w.-]{0,50}?(?:x)=([a-z]{4}|no)'''\n"
    )
    maker = (Path(__file__).parent / "make_token_shapes.py").read_text()
    (tmp_path / "maker.py").write_text(maker)
    subprocess.run([sys.executable, tmp_path / "maker.py", rules, "today"], check=True, timeout=30)
    first, *lines = (tmp_path / "token_shapes.txt").read_text().splitlines()
    assert first.endswith("today)")
    assert lines == ["shop sign shop_[0-9a-f]{8,8}", "word word [a-z]{4,4}", "word word no"]


def test_the_table_can_be_made_anew(tmp_path):
    (tmp_path / "rules.toml").write_text(
        "[[rules]]\nid = 'shop'\nregex = '''\\b(shop_[a-z0-9]{40})\\b'''\n"
        "[[rules]]\nid = 'two'\nregex = '''(?i)\\b(tw[ox]-[a-f0-9]{32})(?:[\\x60'\"\\s;]|\\\\[nr]|$)'''\n"
        "[[rules]]\nid = 'no-sign'\nregex = '''[a-f0-9]{40}'''\n"
    )
    maker = Path(__file__).with_name("make_token_table.py")
    made = subprocess.run(
        [sys.executable, maker, tmp_path / "rules.toml", "today", tmp_path / "table.py"],
        capture_output=True,
        check=True,
        timeout=30,
    ).stdout.decode()
    assert "no-sign" in made
    rows = (tmp_path / "table.py").read_text()
    assert '("shop_", "lower", 40, 0, "", 0, "shop")' in rows
    assert '("two-", "hex", 32, 0, "", 0, "two")' in rows
    assert '("twx-", "hex", 32, 0, "", 0, "two")' in rows


NAMES = (
    "token.txt password.txt apikey.txt secret_key.txt .secrets/x .secrets/deep/y auth.json serviceAccountKey.json google-services.json wp-config.php "
    "database.yml local.settings.json appsettings.Production.json application-prod.yml gradle.properties rclone.conf .databrickscfg .sentryclirc "
    ".dev.vars .flaskenv .Renviron sftp-config.json .ftpconfig .vscode/sftp.json vault_pass.txt .snowsql/config .password-store/a/b.gpg .ssh/config "
    ".bash_history .psql_history .mysql_history config/.env .env.local .npmrc id_rsa.bak id_ed25519~ key.pem.old .git-credentials~ ..env.swp #.netrc# .docker/config.json.bak"
)


OTHER_NAMES = (
    "README.md src/token.py tokens.ts history.md appsettings.json application.yml .ssh/id_rsa.pub .ssh/known_hosts .env.example sftp.json "
    "config auth.py test/password.test.ts prompt_history.py secretary.txt.md a.py~ .a.py.swp #notes# config.json.bak"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_files_of_secrets_are_protected_by_their_names(name):
    assert is_secret_file(name)
    assert is_secret_file(f"sub/folder/{name}")


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_other_files_are_not(name):
    assert not is_secret_file(name)


@pytest.mark.parametrize(
    ("sign", "size", "letters", "end"),
    [
        ("sb_secret_", 22, WORDS, "_Xl0gqn87"),
        ("e2b_", 40, "0123456789abcdef", ""),
        *((f"vc{kind}_", 56, WORDS, "") for kind in "piark"),
    ],
)
def test_bare_tokens_that_gitleaks_does_not_know_are_found(sign, size, letters, end):
    chance = random.Random(sign)
    token = sign + "".join(chance.choice(letters) for _ in range(size)) + end
    assert [value for found in findings(f"It is {token} there.") for value in found.values] == [token]


@pytest.mark.parametrize(
    "name",
    [
        "vcr_recorded_cassette_of_the_login_with_two_factors_and_more",
        "sb_secret_key_of_the_project_as_it_was_set_up",
    ],
)
def test_names_that_begin_like_a_token_stay(name):
    assert not list(findings(f"It is {name} there."))
