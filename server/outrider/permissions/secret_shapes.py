"""What secrets look like: a table of shapes, each with its source. It only looks at texts.

Written for source code and its output: a shape is in the table if it hardly ever fits anything else. What is
recognised only by what stands around it (`password = "…"`) is a secret at that place; what no program would call
a name is one wherever it stands.
"""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Kind = Literal["key of the environment", "private key", "token", "credential of a header", "password"]

LONGEST_BLOCK = 32_768
"""Characters of the longest private key block that is looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text. One of several lines has a value for each."""

    kind: Kind
    values: tuple[str, ...]
    everywhere: bool
    """Whether it is one wherever it stands; else only at `start`."""
    start: int = 0
    """For one known by what stands around it: where it stands."""


def findings(text: str) -> list[Finding]:
    """The secrets in a text."""
    return [*_private_keys(text), *_tokens(text), *credentials(text)]


def credentials(text: str) -> list[Finding]:
    """The secrets in a text that are known by what stands around them, in order; each has one value."""
    lowered = text.lower()
    found = [
        Finding(kind, (value,), everywhere=_is_unique(value), start=match.start(match.lastgroup))
        for kind, signs, shape in _AROUND
        for match in _matches(shape, signs, text, lowered)
        if match.lastgroup and _may_be_secret(value := match.group(match.lastgroup), match.lastgroup)
    ]
    return sorted(found, key=lambda finding: finding.start)


def _matches(
    shape: re.Pattern[str], signs: tuple[str, ...], text: str, lowered: str
) -> Iterator[re.Match[str]]:
    """All matches of a shape, each of which begins with one of some signs: those are found faster."""
    if len(lowered) != len(text):  # a letter that is two in lower case
        yield from shape.finditer(text)
        return
    done = 0
    for start in sorted({start for sign in signs for start in _places(sign, lowered)}):
        if start >= done and (match := shape.match(text, start)):
            done = match.end()
            yield match


def _places(sign: str, text: str) -> Iterator[int]:
    start = text.find(sign)
    while start >= 0:
        yield start
        start = text.find(sign, start + 1)


def _tokens(text: str) -> Iterator[Finding]:
    # Most words are too short for one, and the rest is looked through faster.
    words = "\n".join(word for word in text.split() if len(word) >= _SHORTEST_TOKEN)
    for sign, shape in _TOKENS:
        if sign in words:
            for match in shape.finditer(text):
                yield Finding("token", (match.group(),), everywhere=True)


_SHORTEST_TOKEN = 15
"""Characters of the shortest token that has a shape."""
_BEFORE = r"(?:(?<![A-Za-z0-9])|(?<=\[m)|(?<=\[\dm)|(?<=[\[;]\d\dm)|(?<=;\dm))"
"""What stands before a token: no letter and no digit, unless they are the end of a colour (ECMA-48, SGR)."""
_TOKENS = tuple(
    (sign, re.compile(_BEFORE + shape))
    for sign, shape in (
        # GitHub, "About authentication": token formats. GitLab, "Token overview": token prefixes.
        *((f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{36,255}}") for kind in "pousr"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
        *(
            (f"gl{kind}-", rf"gl{kind}-[A-Za-z0-9_.-]{{20,}}")
            for kind in (
                "pat",
                "oas",
                "dt",
                "rt",
                "rtr",
                "cbt",
                "ptt",
                "ft",
                "imt",
                "agent",
                "wt",
                "soat",
                "ffct",
            )
        ),
        # AWS IAM, "Identifiers": unique id prefixes of access keys.
        ("AKIA", r"AKIA[A-Z2-7]{16}(?![A-Za-z0-9])"),
        ("ASIA", r"ASIA[A-Z2-7]{16}(?![A-Za-z0-9])"),
        # Google Cloud, "API keys" and "OAuth 2.0": keys, access tokens, client secrets.
        ("AIza", r"AIza[A-Za-z0-9_-]{35}"),
        ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
        ("GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
        # Slack, "Token types" and "Incoming webhooks".
        *((f"xox{kind}-", rf"xox{kind}-[A-Za-z0-9-]{{10,}}") for kind in "abeoprs"),
        ("xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
        (
            "hooks.slack.com",
            r"https://hooks\.slack\.com/services/T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]{16,}",
        ),
        # Stripe, "API keys" and "Webhooks".
        ("k_live_", r"[sr]k_live_[A-Za-z0-9]{16,}"),
        ("k_test_", r"[sr]k_test_[A-Za-z0-9]{16,}"),
        ("whsec_", r"whsec_[A-Za-z0-9+/=]{24,}"),
        # Providers of models: their keys begin with sk- and go on with letters and digits of no word.
        ("sk-", r"sk-(?:or-v1-)?[0-9a-f]{32,}"),
        ("sk-", r"sk-(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Z])[A-Za-z0-9_-]{20,}"),
        ("gsk_", r"gsk_[A-Za-z0-9]{40,}"),
        ("xai-", r"xai-[A-Za-z0-9]{60,}"),
        ("hf_", r"hf_[A-Za-z0-9]{30,}"),
        ("r8_", r"r8_[A-Za-z0-9]{37}"),
        # npm, "About access tokens"; PyPI, "API tokens" (macaroons for pypi.org); Docker Hub; RubyGems.
        ("npm_", r"npm_[A-Za-z0-9]{36}"),
        ("pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{40,}"),
        ("dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{27,}"),
        ("rubygems_", r"rubygems_[0-9a-f]{48}"),
        # SendGrid, DigitalOcean, Shopify, Telegram, Databricks, Atlassian, HashiCorp Vault, Azure storage, age:
        # each from its service's page on keys.
        ("SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
        ("_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
        *((f"shp{kind}_", rf"shp{kind}_[A-Fa-f0-9]{{32}}") for kind in ("at", "ca", "pa", "ss")),
        (":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
        ("dapi", r"dapi[0-9a-f]{32}"),
        ("ATATT3", r"ATATT3[A-Za-z0-9_=-]{100,}"),
        *((f"hv{kind}.", rf"hv{kind}\.[A-Za-z0-9_-]{{24,}}") for kind in "sb"),
        ("AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{86}=="),
        ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
        # RFC 7519 and RFC 7515, section 7.1: two encoded JSON objects and a signature.
        (".eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    )
)
"""A sign without which a text has no such token, and which is found faster; and the shape."""

_NAME = (
    r"(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token"
    r"|access[_-]?token|token|credentials?)"
)
_AROUND: tuple[tuple[Kind, tuple[str, ...], re.Pattern[str]], ...] = (
    # RFC 9110, section 11.6.2: a scheme and its credentials.
    (
        "credential of a header",
        ("authorization",),
        re.compile(
            r"authorization[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:[A-Za-z][A-Za-z0-9-]{1,20}[ \t]{1,4})?"
            r"(?P<header>[A-Za-z0-9._~+/-]{8,}={0,2})",
            re.IGNORECASE,
        ),
    ),
    # RFC 3986, section 3.2.1: the userinfo of an authority.
    (
        "password",
        ("://",),
        re.compile(
            r"://[^\s/:@\"'<>]{0,200}:"
            r"(?P<url>[^\s/:@\"'<>\[\]{}$*%][^\s/:@\"'<>\[\]{}]{0,200})@(?=[A-Za-z0-9\[])"
        ),
    ),
    # RFC 3986, section 3.4, in the way of HTML forms: a parameter of an address. RFC 6749, and the signed addresses
    # of Amazon S3, Google Cloud and Azure storage.
    (
        "password",
        ("?", "&"),
        re.compile(
            r"(?:[?&]|&amp;|&#38;)[A-Za-z0-9_.-]{0,30}(?:" + _NAME + r"|key|code|signature|sig)="
            r"(?P<query>[A-Za-z0-9_.~%+/-]{16,}={0,2})",
            re.IGNORECASE,
        ),
    ),
    # A literal in code and data, and a line of a file of settings.
    (
        "password",
        ("passw", "passphrase", "secret", "api", "access", "private", "auth", "token", "credential"),
        re.compile(
            _NAME + r"[A-Za-z0-9_-]{0,30}[\"'\\]{0,3}[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
            r"(?:(?P<quote>\\{0,3}[\"'])(?P<quoted>[^\s\"'\\\[\]{}<>$()]{12,})(?P=quote)"
            r"|(?P<bare>[A-Za-z0-9_+/=~!@#%^&*-]{16,})(?=\s|$|\\n))",
            re.IGNORECASE,
        ),
    ),
)

_PLACEHOLDER = re.compile(
    r"example|placeholder|change.?me|your[_-]|dummy|xxxx|\*\*\*|\.\.\.|12345678", re.IGNORECASE
)
_LONG_ENOUGH = 16
"""Characters that make a value with letters and digits one that no program calls a name."""


def _may_be_secret(value: str, group: str) -> bool:
    """Whether a value at such a place is one, and no name of a variable or a placeholder."""
    if group == "url":
        return True
    if group in {"bare", "query"} and not _is_unique(value):
        return False
    if group == "header" and (value.endswith("=") or _is_name_and_password(value)):
        return True
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and _PLACEHOLDER.search(value) is None


def _is_name_and_password(value: str) -> bool:
    """Whether it is what RFC 7617, section 2, makes of a name and a password."""
    try:
        name, colon, password = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return False
    return bool(colon and password) and (name + password).isprintable()


def _is_unique(value: str) -> bool:
    """Whether a value is no word of any program, so that it can be taken out wherever it stands."""
    kinds = [0 if c.isdigit() else 1 if c.islower() else 2 for c in value if c not in "_-"]
    digits, changes = kinds.count(0), sum(a != b for a, b in pairwise(kinds))
    mixed = digits * 3 >= len(kinds) or (digits > 1 and changes * 9 >= len(kinds) * 4)
    return len(kinds) >= _LONG_ENOUGH and mixed


_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_LINE = re.compile(r"\r?\n|\\r\\n|\\n")
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY_TEXT = re.compile(r"[A-Za-z0-9+/=]{16,}")
_HEADER_LINE = re.compile(r"[A-Za-z-]{2,30}: ")
_SEARCH_RESULT = re.compile(r"^[^\s:]{1,400}[:-]\d+[:-]")


def _private_keys(text: str) -> Iterator[Finding]:
    """RFC 7468, section 10, and RFC 9580, section 6.2: the lines of the block, whatever was put before each."""
    for begin in _BLOCK.finditer(text) if "PRIVATE KEY" in text else ():
        block = text[begin.end() : begin.end() + LONGEST_BLOCK]
        if end := _BLOCK_END.search(block):
            block = block[: end.start()]
        values: list[str] = []
        for line in _BLOCK_LINE.split(block):
            found = _KEY_TEXT.findall(line)
            rest = _KEY_TEXT.sub("", _SEARCH_RESULT.sub("", line))
            if found and not _has_letters(rest):
                values += found
            elif end is None and _has_letters(rest) and not _HEADER_LINE.search(line):
                break
        if values:
            yield Finding("private key", tuple(dict.fromkeys(values)), everywhere=True)


def is_block_open(text: str) -> bool:
    """Whether a text ends in the middle of a private key block, so that what follows may belong to it."""
    if "PRIVATE KEY" not in text:
        return False
    *_, begin = [None, *_BLOCK.finditer(text)]
    if begin is None or len(text) - begin.end() > LONGEST_BLOCK or _BLOCK_END.search(text, begin.end()):
        return False
    for line in _BLOCK_LINE.split(text[begin.end() :]):
        rest = _KEY_TEXT.sub("", _SEARCH_RESULT.sub("", line))
        if _has_letters(rest) and not _HEADER_LINE.search(line):
            return False
    return True


def _has_letters(text: str) -> bool:
    return any(c.isalpha() for c in text)
