"""Finds tokens of services in a text, in time proportional to its length. Pure.

Each service puts a sign into its tokens by which they are known (`ghp_`, `sk-ant-`). One pass looks for all signs at once; only behind one of them it is
looked at what follows: of which letters it is, how many they are, and whether they were drawn at random.
"""

import math
import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from outrider.permissions.secrets.randomness import costs
from outrider.permissions.secrets.token_table import GITLEAKS
from outrider.ports.patterns import Subject, escaped, linear

_ALPHABETS: Final = {
    "digit": string.digits,
    "hex": string.hexdigits,
    "lower": string.digits + string.ascii_lowercase,
    "upper": string.digits + string.ascii_uppercase,
    "alnum": string.digits + string.ascii_letters,
    "word": string.digits + string.ascii_letters + "_",
    "url": string.digits + string.ascii_letters + "_-",
    "base64": string.digits + string.ascii_letters + "+/=",
    "dotted": string.digits + string.ascii_letters + "_-.=~",
    "any": string.digits + string.ascii_letters + "_-.=~+/%@:",
}
"""The alphabets of the table."""
_LETTERS: Final = {name: frozenset(letters) for name, letters in _ALPHABETS.items()}
_BITS: Final = {name: min(math.log2(len(letters)), 6.0) for name, letters in _LETTERS.items()} | {"hex": 4.0}
"""The information in a letter that is drawn from them."""

_Row = tuple[str, str, int, int, str, int, str]
_OWN: Final[tuple[_Row, ...]] = (
    # Sign; alphabet, fewest and most letters behind it (0: any); alphabet and number of the letters before it; where that is said.
    *((f"gl{kind}-", "url", 20, 0, "", 0, "GitLab, Token overview: token prefixes") for kind in ("rtr", "cbt", "ptt", "wt")),
    ("github_pat_", "word", 22, 0, "", 0, "GitHub, About authentication: token formats"),
    ("ya29.", "url", 20, 0, "", 0, "Google Cloud, OAuth 2.0: access tokens"),
    ("GOCSPX-", "url", 28, 0, "", 0, "Google Cloud, OAuth 2.0: client secrets"),
    *((f"xox{kind}-", "url", 10, 0, "", 0, "Slack, Token types") for kind in "abeoprs"),
    ("xapp-", "url", 12, 0, "", 0, "Slack, Token types"),
    *((f"{scheme}hooks.slack.com/{kind}/", "any", 25, 0, "", 0, "Slack, Incoming webhooks") for scheme in ("", "https://") for kind in ("services", "workflows", "triggers")),
    *((f"{host}.com/api/webhooks/", "any", 60, 0, "", 0, "Discord, Webhooks") for host in ("discord", "discordapp")),
    ("sk.ey", "dotted", 60, 0, "", 0, "Mapbox, Access tokens"),
    ("tk.ey", "dotted", 60, 0, "", 0, "Mapbox, Access tokens"),
    ("tskey-", "url", 20, 0, "", 0, "Tailscale, API keys and auth keys"),
    (".webhook.office.com/webhookb2/", "any", 100, 0, "", 0, "Microsoft Teams, Incoming webhooks"),
    *((f"{kind}k_{mode}_", "alnum", 10, 0, "", 0, "Stripe, API keys") for kind in "sr" for mode in ("live", "test", "prod")),
    ("whsec_", "base64", 24, 0, "", 0, "Stripe, Webhooks"),
    # Providers of models: their pages on keys.
    ("sk-or-v1-", "hex", 32, 0, "", 0, "OpenRouter"),
    ("sk-", "url", 20, 0, "", 0, "OpenAI, Anthropic, DeepSeek and others"),
    ("gsk_", "alnum", 40, 0, "", 0, "Groq"),
    ("xai-", "alnum", 60, 0, "", 0, "xAI"),
    ("hf_", "alnum", 30, 0, "", 0, "Hugging Face"),
    ("r8_", "alnum", 37, 0, "", 0, "Replicate"),
    ("nvapi-", "url", 60, 0, "", 0, "NVIDIA"),
    ("csk-", "lower", 48, 0, "", 0, "Cerebras"),
    ("tvly-", "url", 28, 0, "", 0, "Tavily"),
    ("lsv2_pt_", "word", 40, 0, "", 0, "LangSmith"),
    ("lsv2_sk_", "word", 40, 0, "", 0, "LangSmith"),
    # Registries and hosts: their pages on tokens.
    ("pypi-AgE", "url", 40, 0, "", 0, "PyPI, API tokens; macaroons"),
    ("dckr_pat_", "url", 27, 0, "", 0, "Docker Hub"),
    ("dckr_oat_", "url", 27, 0, "", 0, "Docker Hub"),
    *((f"dp.{kind}.", "dotted", 40, 0, "", 0, "Doppler, Auth token formats") for kind in ("ct", "st", "sa", "scim", "audit")),
    ("figd_", "url", 40, 0, "", 0, "Figma"),
    ("sbp_", "hex", 40, 0, "", 0, "Supabase"),
    ("sb_secret_", "url", 31, 0, "", 0, "Supabase, API keys: 22 letters, _ and a checksum of 8"),
    ("e2b_", "hex", 40, 0, "", 0, "E2B, infra: packages/shared/pkg/keys"),
    *((f"vc{kind}_", "url", 40, 0, "", 0, "Vercel, New token formats and secret scanning") for kind in "piark"),
    ("phx_", "url", 40, 0, "", 0, "PostHog"),
    ("rnd_", "alnum", 28, 0, "", 0, "Render"),
    ("CFPAT-", "url", 43, 0, "", 0, "Contentful"),
    ("sq0csp-", "url", 43, 0, "", 0, "Square"),
    ("hvs.", "url", 24, 0, "", 0, "HashiCorp Vault"),
    ("hvb.", "url", 24, 0, "", 0, "HashiCorp Vault"),
    ("ATATT3", "dotted", 100, 0, "", 0, "Atlassian"),
    ("SG.", "dotted", 66, 0, "", 0, "SendGrid"),
    ("AccountKey=", "base64", 88, 0, "", 0, "Azure, Storage: account keys"),
    ("SharedAccessKey=", "base64", 44, 0, "", 0, "Azure, Service Bus and IoT Hub"),
    (":AA", "url", 33, 0, "digit", 8, "Telegram, Bots"),
    # RFC 7515, section 7.1, and RFC 7519: two encoded JSON objects and a signature. Some programs encode it once more.
    ("ey", "dotted", 24, 0, "", 0, "RFC 7519"),
    ("ZXlK", "dotted", 60, 0, "", 0, "RFC 7519, in Base64"),
)  # fmt: skip
"""What the table lacks, and what is known of a longer life there."""
_WITH_THEIR_SIGN: Final = frozenset(
    {
        "AccountKey=",
        "SharedAccessKey=",
        "_gitlab_session=",
        ".webhook.office.com/webhookb2/",
        "discord.com/api/webhooks/",
        "discordapp.com/api/webhooks/",
    }
)
"""Signs that say nothing secret: they stay, so that it can be seen what stands there."""
_JSON: Final = "ey"
"""How encoded JSON begins; a token has two of them."""
_LEAST_MEAN: Final = -0.5
"""Bits a letter, over its alphabet, from which on what follows a sign is no word."""
_FILLING: Final = str.maketrans("", "", "xX0*_.-")
_FIRST: Final = 16
"""Letters behind a sign that are looked at first."""
_NO_DIGITS: Final = str.maketrans("", "", string.digits)
_LEAST_DRAWN: Final = 6
"""Letters of a token that are left without those that only fill a place."""
_DOCUMENTED: Final = "EXAMPLE"
"""The end of the keys in the documentation of AWS."""
LONGEST: Final = 8192
"""Letters of the longest token: what is longer is data."""
_WINDOW: Final = 256
"""Letters of a token that are looked at for that."""


@dataclass(slots=True)
class _Sign:
    """What may follow a sign."""

    alphabet: str
    fewest: int
    most: int
    before: str
    count_before: int


_ROWS: Final[dict[str, list[_Sign]]] = defaultdict(list)
for _sign, _alphabet, _fewest, _most, _before, _count, _ in (*GITLEAKS, *_OWN):
    _ROWS[_sign].append(_Sign(_alphabet, _fewest, _most, _before, _count))
_FROM: Final = {
    sign: [(one, row) for one in _ROWS if sign.startswith(one) for row in _ROWS[one]] for sign in _ROWS
}
"""By each sign the rows of those that it begins with, and its own."""


def _any_of(signs: Sequence[str]) -> str:
    return "|".join(escaped(sign) for sign in sorted(signs, key=lambda sign: (-len(sign), sign)))


_BEGIN: Final = [sign for sign, rows in _ROWS.items() if not rows[0].count_before and sign[0].isalnum()]
_WITHIN: Final = [sign for sign in _ROWS if sign not in _BEGIN]
SIGNS: Final = rf"(?:\b|_|m)(?:{_any_of(_BEGIN)})|{_any_of(_WITHIN)}"
"""A pattern: a sign at the beginning of a word, behind `_`, behind what may be a colour; or one in the middle of a token."""
_ALONE: Final = [sign for sign, rows in _ROWS.items() if not rows[0].alphabet]
_SIGNS: Final = linear("secrets.signs", rf"({SIGNS})[{escaped(_ALPHABETS['any'])}]{{8}}|({_any_of(_ALONE)})")
"""One with what may follow it: most have not, which is known here."""
_MOST_NONE: Final = 64
"""Signs in one run of letters that were none, after which the rest of the run is taken for data."""
_RUNS: Final = {
    name: linear(f"secrets.run-{name}", f"[{escaped(letters)}]*") for name, letters in _ALPHABETS.items()
}
_MOST_DIGITS: Final = 16
"""Digits of a number before a sign."""
_COLOUR: Final = linear("secrets.colour-before", r"\[(?:\d{1,3};){0,8}\d{0,3}m$")
"""The end of a colour (ECMA-48, SGR) right before a token."""


@dataclass(slots=True)
class _Text:
    """A text that is looked through, and what is known of the runs of letters in it."""

    subject: Subject
    ends: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """By alphabet the run that was looked at last."""
    costs: tuple[int, int, Sequence[float]] = (0, 0, ())
    """The stretch of which the information is known, and that."""

    def run(self, alphabet: str, at: int) -> int:
        """Where a run of letters of an alphabet ends that is under way at a place."""
        start, end = self.ends.get(alphabet, (0, 0))
        if not start <= at < end:
            found = _RUNS[alphabet].match(self.subject, at)
            end = found.end() if found else at
            self.ends[alphabet] = at, end
        return end

    def surplus(self, alphabet: str, start: int, end: int) -> float:
        """Bits a letter of a stretch of a run over what its alphabet gives."""
        first, last, known = self.costs
        if not first <= start <= end <= last:
            # More of the run, so that many signs in one cost little more than one.
            first, last = start, max(end, min(self.run(alphabet, start), start + LONGEST))
            known = costs(self.subject.text[first:last])
            self.costs = first, last, known
        pairs, bits = end - start - 1, _BITS[alphabet]
        return (known[end - 1 - first] - known[start - first]) / pairs - bits if pairs > 0 else 0.0


def tokens(subject: Subject) -> Iterator[tuple[int, int]]:
    """Where the tokens of services stand in a text, from the left; no two overlap."""
    text, content = _Text(subject), subject.text
    done = at = none = run = 0
    while match := _SIGNS.search(subject, at):
        start, at = match.span(1 if match.start(1) >= 0 else 2)
        if at <= done:
            continue
        sign = content[start:at]
        if sign not in _ROWS:
            start, sign = start + 1, sign[1:]
            if content[start - 1] == "m" and not _after_colour(content, start):
                continue
        if found := _token(text, sign, start):
            start, done = found
            none = 0
            yield found
            continue
        none = none + 1 if start < run else 0
        run = text.run("any", start) if start >= run else run
        if none >= _MOST_NONE:
            at, none = run, 0


def _after_colour(text: str, at: int) -> bool:
    return _COLOUR.search(text[max(0, at - 40) : at]) is not None


def _token(text: _Text, sign: str, start: int) -> tuple[int, int] | None:
    """The token whose sign stands at a place: the longest that any row says."""
    best: tuple[int, int] | None = None
    for one, row in _FROM[sign]:
        found = _of_row(text, one, row, start)
        if found and (best is None or found[1] - found[0] > best[1] - best[0]):
            best = found
    return best


def _of_row(text: _Text, sign: str, row: _Sign, start: int) -> tuple[int, int] | None:
    behind = start + len(sign)
    content = text.subject.text
    if row.count_before:
        start = _begin(content, row, start)
        if start < 0:
            return None
    if not row.alphabet:
        return (start, behind) if not content[behind : behind + 1].isalnum() else None
    # Most signs are none, which the next letters show.
    if not _LETTERS[row.alphabet].issuperset(content[behind : behind + min(row.fewest, _FIRST)]):
        return None
    end = text.run(row.alphabet, behind)
    if content[end : end + 1].isalnum():
        return None
    while end > behind and content[end - 1] in ".:~@%":  # the end of a sentence, or what comes next
        end -= 1
    length = end - behind
    if not row.fewest <= length <= (row.most or LONGEST):
        return None
    if sign == _JSON and ".ey" not in content[behind : min(end, behind + 4096)]:
        return None
    last = min(end, behind + _WINDOW)
    if text.surplus(row.alphabet, behind, last) < _LEAST_MEAN and not _is_number(content[behind:last]):
        return None
    if len(content[behind:last].translate(_FILLING)) < _LEAST_DRAWN or content.endswith(
        _DOCUMENTED, behind, end
    ):
        return None
    return (behind if sign in _WITH_THEIR_SIGN else start), end


def _begin(content: str, row: _Sign, at: int) -> int:
    """Where a token begins of whose sign something stands before; -1 where that is not so."""
    start = at - row.count_before
    if start < 0 or not _LETTERS[row.before].issuperset(content[start:at]):
        return -1
    if row.before == "digit":
        while start and content[start - 1] in string.digits and at - start < _MOST_DIGITS:
            start -= 1
    # Telegram's addresses have it right behind `bot` (Bot API, "Making requests").
    is_apart = start == 0 or not content[start - 1].isalnum() or content.endswith("/bot", 0, start)
    return start if is_apart else -1


def _is_number(body: str) -> bool:
    """Whether a third of it, or more, are digits, as where a token has the ids of an account in it."""
    return 3 * len(body.translate(_NO_DIGITS)) <= 2 * len(body)
