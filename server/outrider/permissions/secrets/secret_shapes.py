"""What secrets look like in a text. It only looks at texts, in time proportional to their length.

Tokens of services are known by their signs (`tokens.py`), private keys by the lines around them, and anything else by what stands around it: the scheme of a
header, an address, a telling name (`password = "…"`, `--token …`). Behind a telling name a value is a secret if it was drawn at random (`randomness.py`);
so that code, where what follows such a name is mostly another name, is left as it is. What no program would call a name is a secret wherever it stands.
"""

import base64
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from outrider.permissions.secrets.randomness import is_random, surplus
from outrider.permissions.secrets.tokens import SIGNS, tokens
from outrider.ports.patterns import Match, Pattern, Subject, linear

Kind = Literal["key of the environment", "private key", "token", "credential of a header", "password"]

LIKELY = linear("secrets.word", r"[A-Za-z0-9_+/=~.-]{16,200}")
"""What a secret may look like that was known in a session by what stood around it somewhere."""
LONGEST_BLOCK = 32_768
"""Characters of the longest private key block that is looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text. One of several lines has a value for each."""

    kind: Kind
    values: tuple[str, ...]
    everywhere: bool
    """Whether it is one wherever it stands; else only at its places."""
    spans: tuple[tuple[int, int], ...] = ()
    """Where it was found, in order; for one of several lines the place of each line, those that come again too."""
    begin: int = 0
    """Where begins what shows that it is one."""

    def moved(self, by: int) -> "Finding":
        """The same in a text that begins so many characters before, or behind."""
        spans = tuple((start + by, end + by) for start, end in self.spans)
        return Finding(self.kind, self.values, self.everywhere, spans, self.begin + by)


def findings(text: str) -> list[Finding]:
    """The secrets in a text; what goes before another one that overlaps it stands before that."""
    over_lines = [*_private_keys(text), *_tables(text), *_in_pieces(text, _JOINT_OVER_LINES)]
    return [*over_lines, *findings_in_lines(text)]


def findings_in_lines(text: str) -> list[Finding]:
    """The secrets in a text of which each is seen in one line."""
    return [*_in_pieces(text, _JOINT), *_in_plain(Subject(text))]


def _in_plain(subject: Subject) -> list[Finding]:
    if _ANY.search(subject) is None:
        return []
    text = subject.text
    found = [
        Finding("token", (text[start:end],), True, ((start, end),), start) for start, end in tokens(subject)
    ]
    return found + _credentials(subject)


def credentials(text: str) -> list[Finding]:
    """The secrets in a text that are known by what stands around them, in order; each has one value."""
    return _credentials(Subject(text))


def secrets_in_prose(text: str, found: list[Finding]) -> list[Finding]:
    """The secrets in what a user wrote: those found in it, and those that stand a few words behind a telling one (`the key is …`)."""
    words = [
        word
        for shape in (_PROSE, _PROSE_BEFORE)
        for match in shape.finditer(text)
        for word in match[1].split()
    ]
    return found + [
        Finding("password", (value,), everywhere=True)
        for value in dict.fromkeys(word.strip(_PUNCTUATION) for word in words)
        if len(value) >= SHORTEST and is_random(value) and not _is_named(value)
    ]


# --- by what stands around it ------------------------------------------------------------------------------------

SHORTEST: Final = 8
"""Characters of the shortest value that counts behind a telling name."""
_SHORTEST_BARE: Final = 10
"""Characters of the shortest one without quotes, which may be an expression."""
_SHORTEST_WORD: Final = 12
"""Characters of the shortest one in quotes that was not drawn at random, such as a password that somebody thought up."""
_LONGEST: Final = 2000
"""Characters of the longest value that counts: what is longer is data."""
_LONG_ENOUGH: Final = 16
"""Characters that make a value with letters and digits one that no program calls a name."""

_ELSEWHERE: Final = (
    "contrase[ñn]a|pass?wort|kennwort|mot[_ -]?de[_ -]?passe|senha|wachtwoord|has[łl]o|l[öo]senord|salasana|[şs]ifre|parola"
    "|heslo|jelsz[óo]|пароль|密码|密碼|口令|パスワード|비밀번호|암호"
)
"""Words for a password in Spanish, German, French, Portuguese, Dutch, Polish, Swedish, Finnish, Turkish, Romanian, Czech, Hungarian, Russian,
Chinese, Japanese and Korean."""
_WORDS_FOR_ONE: Final = rf"passw(?:or)?d|passwd|passphrase|passcode|pwd|(?:\b|_)(?:pw|psk)\b|{_ELSEWHERE}"
_NAME: Final = (
    rf"{_WORDS_FOR_ONE}|secret|pass\b|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|encryption[_-]?key|signing[_-]?key"
    r"|license[_-]?key|master[_-]?key|auth[_-]?key|auth[_-]?token|access[_-]?token|token|credentials?|auth|(?:\b|_)key\b"
)
_QUOTE: Final = "\"'`"

_HEADER: Final = linear(
    "secrets.header",
    r"(?i)authorization[\"'\\]{0,4}[ \t]{0,4}(?:[:=,]|=>)[ \t]{0,4}[\[\"'\\]{0,4}(?:[A-Za-z][A-Za-z0-9-]{1,20}[ \t]{1,4})?([^\s\"'`\\,;<>(){}\[\]$*]+)",
)
"""RFC 9110, section 11.6.2: a scheme and its credentials."""
_AUTHORITY: Final = linear(
    "secrets.authority",
    r"://[^\s/:@\"'<>]*:([^\s/:@\"'<>\[\]{}$*%][^\s/:@\"'<>\[\]{}]*|%[0-9A-Fa-f][^\s/:@\"'<>\[\]{}]*)@[A-Za-z0-9\[]",
)
"""RFC 3986, section 3.2.1: the userinfo of an authority."""
_QUERY: Final = linear(
    "secrets.query",
    rf"(?i)(?:[?&]|&amp;|&#38;)[A-Za-z0-9_.-]*(?:{_NAME}|key|code|signature|sig)=([A-Za-z0-9_.~%+/-]{{16,}}={{0,2}})",
)
"""RFC 3986, section 3.4, in the way of HTML forms. RFC 6749, and the signed addresses of Amazon S3, Google Cloud and Azure storage."""
_ASSIGNED: Final = linear(
    "secrets.assigned",
    rf"(?i)({_NAME})[A-Za-z0-9_-]*[\"'`\\]{{0,4}}\]?"
    r"(?:[ \t]*(?::[ \t]{0,4}[A-Za-z&][A-Za-z0-9_.|?<>& ]{0,40}=|:=|=>|\?=|\|\|?|[:=>,：])[ \t]*|\t[ \t]*| {2,})"
    r"(?:\\{0,3}(?:\"{3}|'{3}|[\"'`])([^\s\"'`<>(){}\[\]]{8,})|([^\s\"'`\\,;<>(){}\[\]|]{10,}))",
)
"""A value behind a telling name: in code, in data, in a file of settings, in a connection string, in an element of XML, in the next column."""
_ATTRIBUTE: Final = linear(
    "secrets.attribute", rf"(?i)(?:{_NAME})[A-Za-z0-9_-]*[\"'][ \t]+value=[\"']([^\s\"'<>]+)"
)
"""An element that has name and value as attributes, as in settings of .NET."""
_OPTION: Final = linear(
    "secrets.option",
    rf"(?i)(?:^|\s)--?[A-Za-z0-9-]*(?:{_NAME}|key)[A-Za-z0-9-]*[ \t=][ \t]{{0,4}}[\"']?([^\s\"'`\\,;<>(){{}}\[\]|]+)",
)
"""An option of a command, `--token V`."""
_SHORT_OPTION: Final = linear(
    "secrets.short-option", r"(?:^|\s)-p([^\s\"'`\\,;<>(){}\[\]|/=:-][^\s\"'`\\,;<>(){}\[\]|]+)"
)
"""A password that is put right behind its option: mysql(1), 7z."""
_USER_OPTION: Final = linear(
    "secrets.user-option",
    r"(?:^|\s)(?:-u|--user|-U)[ \t=]{0,4}[\"']?[^\s\"':/]+:([^\s\"'`\\,;<>(){}\[\]|]+)",
)
"""A name and a password for HTTP: curl(1)."""
_SCHEME: Final = linear("secrets.scheme", r"\b(?i:basic|bearer)[ \t]{1,4}([A-Za-z0-9._~+/-]{8,}={0,2})")
"""RFC 7617 and RFC 6750, where no name of a header stands before them, as in a list of arguments. What is encoded may be known: only there."""
_COOKIE: Final = linear(
    "secrets.cookie",
    r"(?i)(?:cookie[\"'\\]{0,4}[ \t]*(?:[:=,]|=>)[ \t]*|(?:^|\s)-(?:b|-cookie)[\"', \t=]{1,6})[\"'\\]{0,4}([^\s\"'`=;,]+=[^\n\"'`]+)",
)
"""RFC 6265, sections 4.1 and 4.2: what a server sets and what comes back; curl(1)."""
_PAIR: Final = linear("secrets.cookie-pair", r"([^\s;=,]+)=([^\s;,]+)")
_COOKIE_NAME: Final = linear(
    "secrets.cookie-name",
    r"(?i)sess|(?:\b|[._-])s?sid\b|auth|token|jwt|login|remember|sso|ticket|secret|key|identity|csrf|xsrf",
)
_MEMBER: Final = linear(
    "secrets.jwk-member",
    r"[\"'](?:d|dp|dq|qi|p|q|k)\\{0,3}[\"'][ \t]*:[ \t]*\\{0,3}[\"']([A-Za-z0-9_-]{16,})\\{0,3}[\"']",
)
"""RFC 7518, sections 6.2.2, 6.3.2 and 6.4.1: the private members of a key in JSON."""
_LONG_MEMBER: Final = 40
"""Letters from which on such a member needs no `kty` beside it; some of its lines may be all that is seen."""
_NEAR: Final = 400
_HASH: Final = linear(
    "secrets.hash",
    r"(\$(?:1|5|6|apr1|md5|sha1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,64}\$[./A-Za-z0-9]{20,100}"
    r"|\$(?:y|gy|7)\$[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{1,90}\$[./A-Za-z0-9]{40,90}|\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{53}"
    r"|\$argon2(?:id|i|d)\$v=\d{1,3}\$m=\d{1,9},t=\d{1,9},p=\d{1,9}\$[A-Za-z0-9+/]{8,90}\$[A-Za-z0-9+/]{16,180}"
    r"|\$(?:scrypt|pbkdf2[a-z0-9-]{0,12})\$[A-Za-z0-9=,.+/-]{1,80}\$[A-Za-z0-9+/.]{4,180}\$[A-Za-z0-9+/.]{16,180}={0,2}"
    r"|pbkdf2_sha\d{1,3}\$\d{1,9}\$[A-Za-z0-9./+]{4,64}\$[A-Za-z0-9+/]{20,100}={0,2}|\{S?SHA(?:224|256|384|512)?\}[A-Za-z0-9+/]{27,130}={0,2})",
)
"""Hashes of passwords, which can be guessed from them: crypt(5), htpasswd(1), RFC 9106, RFC 2307, Django."""
_DISCORD: Final = linear(
    "secrets.discord",
    r"\b([MNO][A-Za-z0-9]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38})(?:[^A-Za-z0-9_-]|$)",
)
"""Discord, Authentication: the id of a bot in Base64, a time, a code."""
_FORMED: Final = linear(
    "secrets.formed",
    r"\b(pat[A-Za-z0-9]{14}\.[0-9a-f]{64}|\d{15,16}(?:\||%7[Cc])[0-9A-Za-z_-]{27,40}"
    r"|(?:sc|ext|scauth)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120})(?:[^A-Za-z0-9]|$)",
)
"""Airtable, Facebook and Authress: their signs are in many other words, but no other word has such a form."""
_AWS_PAIR: Final = linear(
    "secrets.aws-pair",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}[\"']?[ \t]*[,;|: \t][ \t]*[\"']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
)
"""AWS, Managing access keys: the two columns of the file that is downloaded."""
_NETRC: Final = linear(
    "secrets.netrc",
    r"\b(?:machine[ \t]+[^\s]+|default)[ \t]+(?:(?:login|account)[ \t]+[^\s]+[ \t]+){1,2}password[ \t]+([^\s]{4,})",
)
"""netrc(5)."""
_PGPASS: Final = linear("secrets.pgpass", r"(?m)^[A-Za-z0-9_.*-]+:(?:\*|\d{4,5}):[^:\s]+:[^:\s]+:([^\s]{6,})")
"""PostgreSQL, The password file."""
_STATEMENT: Final = linear(
    "secrets.statement",
    r"(?i)\bidentified[ \t]+(?:with[ \t]+[^\s]{1,60}[ \t]+)?by[ \t]+(?:password[ \t]+)?\\{0,2}['\"]([^'\"\s\\]{4,})",
)
"""MySQL and Oracle, CREATE USER."""
_ROLE: Final = linear("secrets.role", r"(?i)\bpassword[ \t]+\\{0,2}'([^'\s\\]{8,})\\{0,2}'")
"""PostgreSQL, CREATE ROLE."""
_SEP: Final = r"[ \t\"',\\]{1,6}"
_WORDS: Final = rf"(?:[^\s;|&\"',]+{_SEP}){{0,12}}?"
_ARGUMENT: Final = linear(
    "secrets.argument",
    r"(?:^|[\s\"'/;|&(`=])(?:"
    rf"sshpass{_SEP}{_WORDS}-p[ \t\"',\\]{{0,6}}"
    rf"|redis-cli{_SEP}{_WORDS}(?:-a|--pass){_SEP}"
    rf"|ldap(?:search|modify|add|delete|passwd|whoami|compare){_SEP}{_WORDS}-w{_SEP}"
    rf"|(?:docker|podman|helm|buildah|skopeo|nerdctl|oc|cf|az){_SEP}{_WORDS}login{_SEP}{_WORDS}(?:-p|--password)(?:=|{_SEP})"
    rf"|(?:mysql|mariadb)[a-z-]{{0,12}}{_SEP}{_WORDS}(?:-p|--password=)"
    rf"|(?:curl|wget|https?){_SEP}{_WORDS}(?:-u|-U|--user|--proxy-user|-a|--auth)(?:=|{_SEP}|)[^\s\"':,/]{{1,64}}:"
    rf"|smbclient{_SEP}{_WORDS}-U{_SEP}[^\s\"'%,]{{1,64}}%"
    rf"|(?:zip|unzip|sqlcmd|bcp){_SEP}{_WORDS}-P{_SEP}|7za?{_SEP}{_WORDS}-p"
    rf"|(?:keytool|jarsigner){_SEP}{_WORDS}-(?:store|key)pass{_SEP}"
    rf"|openssl{_SEP}{_WORDS}-pass(?:in|out)?{_SEP}pass:"
    r")([^\s\"'`;|&<>(){}\[\],\\]{4,})",
)
"""The argument of a command that is a password, whatever it looks like."""
_ANY: Final = linear(
    "secrets.any",
    rf"{SIGNS}|://|[?&$]|(?i:authorization|basic|bearer|cookie|identified|{_NAME}|key|(?:^|\s)-(?:[pub]|-user))"
    rf"|[{_QUOTE}](?:d|dp|dq|qi|p|q|k)\\{{0,3}}[{_QUOTE}]|\{{S?SHA|pat[A-Za-z0-9]{{14}}\.|\d{{15}}[|%]|\.acc[_-]|\.[A-Za-z0-9_-]{{6}}\.|:(?:\*|\d{{4}})|[\"', \t]-[A-Za-z]",
)
"""A sign without which nothing is in a text: mostly there is none, which is known in one pass."""
_PLACEHOLDER: Final = linear(
    "secrets.placeholder", r"(?i)example|placeholder|change.?me|your[_-]|dummy|xxxx|\*\*\*|\.\.\.|12345678"
)
_IS_WORDS_FOR_ONE: Final = linear("secrets.is-password", rf"(?i)^(?:{_WORDS_FOR_ONE})$")
_PADDED: Final = linear("secrets.padded", r"^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$")
"""RFC 4648, section 4: Base64 with its padding."""
_SPELLED: Final = linear(
    "secrets.spelled",
    r"^\$|^[A-Z]+(?:_[A-Z]+)*_?\d{0,2}$|EXAMPLE(?:KEY)?$|^0x(?:[0-9A-Fa-f]{0,31}|[0-9A-Fa-f]{40}|.*[^0-9A-Fa-f].*)$|^[^A-Za-z0-9]*$",
)
"""A variable, a constant, what documentation shows, a number or the address of an account."""
_CALLS: Final = "([{"
"""Stand behind what is an expression."""
_STANDS_FOR_ONE: Final = linear(
    "secrets.stands-for-one", rf"(?i)^(?:{_WORDS_FOR_ONE}|pass|secret|token|user|username|name)$"
)
"""What is written where a password would stand."""
_PROSE: Final = linear(
    "secrets.prose",
    rf"(?i)(?:\b|_)(?:{_NAME}|key|pin|login|pw)s?\b[^\n]{{0,24}}?((?:[ \t:=\"'`(]+[^\s]+){{1,8}})",
)
"""Some words behind a telling one."""
_PROSE_BEFORE: Final = linear(
    "secrets.prose-before",
    rf"(?i)([^\s]{{8,}})[ \t]+(?:as|for|is)[ \t]+(?:[A-Za-z]+[ \t]+){{0,3}}(?:{_NAME}|key|login)\b",
)
"""A word that a telling one explains: `… as the password`."""
_PUNCTUATION: Final = "\"'`.,;:!?()[]{}<>"
_NOT_RANDOM: Final = linear(
    "secrets.not-random",
    r"^(?:0x[0-9A-Fa-f]{1,16}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
    r"|(?:sha(?:1|256|384|512)|md5)[-:].*|[0-9a-f]{7,64}|https?://.*)$",
)
"""An address in memory, an id, a hash, an address: what a user gives that is no secret."""


def _credentials(subject: Subject) -> list[Finding]:
    found = [
        Finding(
            kind,
            (value,),
            _is_unique(value) and shape is not _SCHEME,
            ((start, start + len(value)),),
            match.start(),
        )
        for signs, shape, kind, read in _AROUND
        if any(sign in subject.text for sign in signs)
        for match in shape.finditer(subject)
        for start, value in read(match)
    ]
    return sorted(found, key=lambda finding: finding.spans)


_Place = tuple[int, str]
"""Where a value begins, and the value."""


def _place(match: Match, group: int = 1) -> _Place:
    return match.start(group), match[group]


def _of_header(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    value = value.rstrip(".:")
    behind = match.string[match.end() : match.end() + 1]
    if len(value) < SHORTEST or (behind and behind in _CALLS):
        return ()
    fits = _PADDED.search(value) or _is_name_and_password(value) or _is_mixed(value)
    return [(start, value)] if fits or _is_drawn(value) else ()


def _of_authority(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    stands_for_one = _STANDS_FOR_ONE.search(value) or _PLACEHOLDER.search(value)
    return [(start, value)] if len(value) <= _LONGEST and not stands_for_one else ()


def _of_query(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    return [(start, value)] if (_is_unique(value) or _is_drawn(value)) and _is_mixed(value) else ()


def _of_assignment(match: Match) -> Iterable[_Place]:
    text, end = match.string, match.end()
    behind = text[end : end + 1]
    is_quoted = match.start(2) >= 0
    start, value = _place(match, 2 if is_quoted else 3)
    if not text[match.end(1) : start].strip(" \t"):  # the next column of a table, or the next word
        return [(start, value)] if len(value) >= _LONG_ENOUGH and _is_drawn(value) else ()
    if not is_quoted:
        return () if behind and behind in _CALLS else _bare(start, value)
    value = value.rstrip("\\")  # of the quote that ends it
    if len(value) > _LONGEST or not behind or behind not in _QUOTE:
        return ()
    # A key need not be one of a lock, nor the next argument what the one before says.
    if match[1].lower() in {"key", "_key"} or "," in text[match.end(1) : start]:
        return [(start, value)] if len(value) >= _LONG_ENOUGH and _is_drawn(value) else ()
    thought_up = len(value) >= _SHORTEST_WORD and _is_mixed(value)
    is_wordy = surplus(value) < _LEAST_WORDY and _IS_WORDS_FOR_ONE.search(match[1]) is None
    fits = (thought_up and not is_wordy) or (len(value) >= SHORTEST and _is_drawn(value))
    return [(start, value)] if fits or _is_name_and_password(value) else ()


def _of_option(match: Match) -> Iterable[_Place]:
    return _bare(*_place(match))


def _bare(start: int, value: str) -> Iterable[_Place]:
    """A value without quotes, up to where it ends."""
    at = value.find("&")
    while at >= 0:  # the next parameter
        name, sign, _ = value[at + 1 :].partition("=")
        if sign and name.replace("_", "a").isalnum() and not is_random(name):
            value = value[:at]
            break
        at = value.find("&", at + 1)
    value = value.rstrip(".:?")
    fits = _SHORTEST_BARE <= len(value) <= _LONGEST and value[:1] not in "=$"
    return [(start, value)] if fits and (_is_drawn(value) or (_is_mixed(value) and _is_unique(value))) else ()


def _of_scheme(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    value = value.rstrip(".")
    is_drawn = len(value) >= _LONG_ENOUGH and _is_mixed(value) and _is_drawn(value)
    return [(start, value)] if is_drawn or _is_name_and_password(value) else ()


def _of_cookie(match: Match) -> Iterator[_Place]:
    start, pairs = _place(match)
    for pair in _PAIR.finditer(pairs):
        value = pair[2]
        is_named = len(value) >= _LONG_ENOUGH and _COOKIE_NAME.search(pair[1]) is not None
        if (is_named or len(value) >= 2 * _LONG_ENOUGH) and _is_mixed(value) and _is_drawn(value):
            yield start + pair.start(2), value


def _of_member(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    near = match.string[max(0, start - _NEAR) : start + len(value) + _NEAR]
    fits = len(value) >= _LONG_MEMBER or "kty" in near
    return [(start, value)] if fits and _is_mixed(value) and _is_drawn(value) else ()


def _of_hash(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    return [(start, value)] if is_random(value[-16:]) and _PLACEHOLDER.search(value) is None else ()


def _of_discord(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    number = value.partition(".")[0]
    try:
        is_id = base64.b64decode(number + "=" * (-len(number) % 4)).isdigit()
    except ValueError:
        is_id = False
    return [(start, value)] if is_id else ()


def _drawn(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    return [(start, value)] if _is_drawn(value) else ()


def _mixed(match: Match) -> Iterable[_Place]:
    start, value = _place(match)
    return [(start, value)] if _is_mixed(value) else ()


def _given(match: Match) -> Iterable[_Place]:
    """Whatever stands at a place where nothing but a password does, unless it stands for one."""
    start, value = _place(match)
    stands_for_one = (
        value[0] in "$%-<*"
        or value.isupper()
        or any(one.search(value) for one in (_STANDS_FOR_ONE, _PLACEHOLDER))
    )
    return () if len(value) > _LONGEST or stands_for_one else [(start, value)]


_AROUND: Final[tuple[tuple[tuple[str, ...], Pattern, Kind, Callable[[Match], Iterable[_Place]]], ...]] = (
    (("",), _HEADER, "credential of a header", _of_header),
    (("://",), _AUTHORITY, "password", _of_authority),
    (("?", "&"), _QUERY, "password", _of_query),
    (("",), _ASSIGNED, "password", _of_assignment),
    (("value=",), _ATTRIBUTE, "password", _of_option),
    (("-",), _OPTION, "password", _of_option),
    (("-p",), _SHORT_OPTION, "password", _of_option),
    (("-u", "-U", "--user"), _USER_OPTION, "password", _of_option),
    (("",), _SCHEME, "credential of a header", _of_scheme),
    (("ookie", "OOKIE", "-b"), _COOKIE, "credential of a header", _of_cookie),
    (("d", "p", "q", "k"), _MEMBER, "private key", _of_member),
    (("$", "SHA"), _HASH, "password", _of_hash),
    ((".",), _DISCORD, "token", _of_discord),
    (("pat", ".acc", "|", "%7"), _FORMED, "token", _mixed),
    (("AKIA", "ASIA"), _AWS_PAIR, "token", _drawn),
    (("password",), _NETRC, "password", _given),
    ((":",), _PGPASS, "password", _mixed),
    (("dentified", "DENTIFIED"), _STATEMENT, "password", _given),
    (("assword", "ASSWORD"), _ROLE, "password", _mixed),
    (("-",), _ARGUMENT, "password", _given),
)
"""What stands around a secret: signs without which none is there, which is known faster; the shape; and what is read from a match."""
_MOST_JUDGED: Final = 2_000
"""Values that are not judged anew: each is looked at several times."""
_LEAST_WORDY: Final = 0.0
"""Bits a letter, over chance, below which a text is words."""


@lru_cache(_MOST_JUDGED)
def _is_drawn(value: str) -> bool:
    """Whether a value was drawn at random; one with a placeholder in it if the rest was."""
    if _SPELLED.search(value):
        return False
    rest = _PLACEHOLDER.sub("", value)
    return is_random(rest) and (rest == value or len(rest) >= _LONG_ENOUGH)


@lru_cache(_MOST_JUDGED)
def _is_mixed(value: str) -> bool:
    """Whether letters and digits are in a value, and nothing that says that it stands for another one."""
    has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return has_both and _PLACEHOLDER.search(value) is None and _SPELLED.search(value) is None


def _is_named(value: str) -> bool:
    """Whether it is what a user names in a task: a path too, of which each part is one."""
    return all(not is_random(part) or _NOT_RANDOM.search(part) for part in value.split("/"))


def _is_name_and_password(value: str) -> bool:
    """Whether it is what RFC 7617, section 2, makes of a name and a password."""
    try:
        name, colon, password = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return False
    return bool(colon and password) and (name + password).isprintable()


@lru_cache(_MOST_JUDGED)
def _is_unique(value: str) -> bool:
    """Whether a value is no word of any program, so that it can be taken out wherever it stands."""
    kinds = [0 if c.isdigit() else 1 if c.islower() else 2 for c in value[:_LONGEST] if c not in "_-"]
    digits, changes = kinds.count(0), sum(a != b for a, b in pairwise(kinds))
    mixed = digits * 3 >= len(kinds) or (digits > 1 and changes * 9 >= len(kinds) * 4)
    return len(kinds) >= _LONG_ENOUGH and mixed


# --- private keys ------------------------------------------------------------------------------------------------

_DASHES: Final = "-----BEGIN"
_BLOCK: Final = linear("secrets.key-begin", r"-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_LINE: Final = linear("secrets.key-line", r"\r?\n|\\r\\n|\\n")
_BLOCK_END: Final = linear("secrets.key-end", r"-----END[ A-Z0-9_-]{0,100}PRIVATE KEY")
_KEY_TEXT: Final = linear("secrets.key-text", r"[A-Za-z0-9+/=]{16,}")
_HEADER_LINE: Final = linear("secrets.key-header", r"[A-Za-z-]{2,30}: ")
_SEARCH_RESULT: Final = linear("secrets.search-result", r"^[^\s:]{1,400}[:-]\d+[:-]")


def _private_keys(text: str) -> Iterator[Finding]:
    """RFC 7468, section 10, and RFC 9580, section 6.2: the lines of the block, whatever was put before each."""
    if "PRIVATE KEY" not in text:
        return
    subject = Subject(text)
    begins = [match.span() for match in _BLOCK.finditer(subject)]
    yield from _tails(text, [end for _, end in begins])
    key = _KEY_TEXT.search(subject)
    for index, (begin, start) in enumerate(begins):
        # A block ends where the next one begins, so that each line is looked at once.
        last = begins[index + 1][0] if index + 1 < len(begins) else len(text)
        last = min(last, start + LONGEST_BLOCK)
        # Most that begin without an end have no key in them, which costs one look for all of them.
        if key is not None and key.end() <= start:
            key = _KEY_TEXT.search(subject, start)
        if key is None:
            return
        if key.start() >= last:
            continue
        if end := _BLOCK_END.search(text[start:last]):
            last = start + end.start()
        spans: list[tuple[int, int]] = []
        for line_start, line in _lines_of(text[start:last]):
            found = [] if _says_more(line) else [match.span() for match in _KEY_TEXT.finditer(line)]
            if found:
                at = start + line_start
                spans += ((at + first, at + behind) for first, behind in found)
            elif end is None and _ends_block(line):
                break
        if spans:
            values = tuple(dict.fromkeys(text[first:behind] for first, behind in spans))
            yield Finding("private key", values, True, tuple(spans), begin)


def _tails(text: str, begins: list[int]) -> Iterator[Finding]:
    """The lines before an end whose beginning is not there."""
    done = 0
    for match in _BLOCK_END.finditer(text) if "PRIVATE KEY" in text else ():
        end = match.start()
        first, done = max(done, end - LONGEST_BLOCK), match.end()
        if bisect_right(begins, end) > bisect_left(begins, first):
            continue
        spans: list[tuple[int, int]] = []
        for start, line in reversed(list(_lines_of(text[first:end]))):
            found = [] if _says_more(line) else [one.span() for one in _KEY_TEXT.finditer(line)]
            if line.strip() and not found:
                break
            spans += ((first + start + at, first + start + behind) for at, behind in reversed(found))
        if spans:
            spans.reverse()
            values = tuple(dict.fromkeys(text[at:behind] for at, behind in spans))
            yield Finding("private key", values, True, tuple(spans), spans[0][0])


def _lines_of(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a block, and where each begins. A line end may be spelled out."""
    start = 0
    for match in _BLOCK_LINE.finditer(text):
        yield start, text[start : match.start()]
        start = match.end()
    yield start, text[start:]


def is_block_open(text: str, was_open: bool = False) -> bool:
    """Whether a text ends in the middle of a private key block, so that what follows may belong to it.

    Args:
        text: Whole lines, or a piece of a long one.
        was_open: Whether what came before it ended so.
    """
    begin = _last_begin(text) if "PRIVATE KEY" in text else None
    if begin is not None:
        text = text[begin:]
    elif not was_open:
        return False
    if not text.strip():
        return True
    if _BLOCK_END.search(text):
        return False
    return not any(_ends_block(line) for line in _BLOCK_LINE.split(text))


def _last_begin(text: str) -> int | None:
    """Where the last line that begins a block ends."""
    subject, at = Subject(text), text.rfind(_DASHES)
    while at >= 0:
        if match := _BLOCK.match(subject, at):
            return match.end()
        at = text.rfind(_DASHES, 0, at + len(_DASHES) - 1)
    return None


def _says_more(line: str) -> bool:
    """Whether there is more in a line than a line of a key, and what a search puts before it."""
    return any(map(str.isalpha, _KEY_TEXT.sub("", _SEARCH_RESULT.sub("", line))))


def _ends_block(line: str) -> bool:
    return _says_more(line) and not _HEADER_LINE.search(line)


# --- tables ------------------------------------------------------------------------------------------------------

_COLUMN: Final = linear(
    "secrets.column",
    r"(?im)(?:^|[,;\t|])[ \t]*\"?(?:[a-z0-9]+[ _-]){0,3}(?:"
    rf"{_WORDS_FOR_ONE}|secret|token|(?:api|access|private|secret|license)[ _-]?key)\"?[ \t\r]*(?:[,;\t|]|$)",
)
"""The cell of a heading over secrets."""
_RULER: Final = linear("secrets.ruler", r"[ \t|:+=-]+")
"""The line below a heading (GitHub Flavored Markdown, section 4.10)."""


def _tables(text: str) -> Iterator[Finding]:
    """Values below a telling heading (RFC 4180, and tables with other signs between the cells)."""
    subject, at = Subject(text), 0
    while match := _COLUMN.search(subject, at):
        start = text.rfind("\n", 0, match.start() + 1) + 1
        at = _line_end(text, match.end() - 1 if match[0].endswith("\n") else match.end())
        heading = text[start:at]
        sign = next((one for one in "\t|;," if one in heading), None)
        if sign is None:
            continue
        cells = heading.split(sign)
        columns = [n for n, cell in enumerate(cells) if _COLUMN.fullmatch(cell.strip(" \r"))]
        is_heading = columns and sum(map(bool, map(str.strip, cells))) > 1
        while is_heading and at < len(text):
            end = _line_end(text, at + 1)
            line = text[at + 1 : end]
            row = line.split(sign)
            if len(row) != len(cells):
                break
            place, at = at + 1, end
            for number, cell in enumerate(row):
                value = cell.strip(" \t\r\"'")
                if number in columns and len(value) >= SHORTEST and not _RULER.fullmatch(value):
                    is_word = _IS_PASSWORD_COLUMN.search(cells[number]) is not None
                    if _is_drawn(value) or (_is_mixed(value) and (is_word or _is_unique(value))):
                        first = place + cell.index(value)
                        span = first, first + len(value)
                        yield Finding("password", (value,), _is_unique(value), (span,), start)
                place += len(cell) + 1


_IS_PASSWORD_COLUMN: Final = linear("secrets.password-column", rf"(?i){_WORDS_FOR_ONE}")


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


# --- in pieces, or spelled out -----------------------------------------------------------------------------------

_JOINT: Final = linear(
    "secrets.joint",
    r"[\"'`][ \t]{0,4}(?:\+|\.\.?|&|\|\|)?[ \t]{0,4}[\"'`]|\\x[2-7][0-9A-Fa-f]|\\u00[2-7][0-9A-Fa-f]|%[2-7][0-9A-Fa-f]",
)
"""Where two strings are put together, and a letter that is spelled out (RFC 8259, section 7; RFC 3986, section 2.1)."""
_JOINT_OVER_LINES: Final = linear(
    "secrets.joint-over-lines",
    r"[\"'`][ \t]{0,4}(?:\+|\.\.?|&|\|\|)?[ \t]{0,4}\\?\r?\n[ \t]*(?:(?:\+|\.\.?|&|\|\|)[ \t]{0,4})?[\"'`]|\\\r?\n",
)
"""The same over the end of a line, and a line that goes on in the next one."""


def _in_pieces(text: str, joint: Pattern) -> Iterator[Finding]:
    """The secrets that are seen when the joints are taken out, and what is spelled out is read."""
    plain: list[str] = []
    places: list[tuple[int, int, int]] = []
    """Where each stretch begins: in the plain text, in the text; and how long a letter in it is, if it is spelled out."""
    joints: list[float] = []
    length = done = line_end = 0

    def put(piece: str, start: int, spelled: int = 0) -> None:
        nonlocal length
        places.append((length, start, spelled))
        plain.append(piece)
        length += len(piece)

    for match in joint.finditer(text):
        start, end = match.span()
        if start >= line_end:  # the first one in its line
            if done < line_end:
                put(text[done:line_end] + "\n", done)
            done = text.rfind("\n", 0, start) + 1
        put(text[done:start], done)
        if text[start] in "\\%" and end - start > 2 and "\n" not in match[0]:
            joints.append(length + 0.5)
            put(chr(int(text[end - 2 : end], 16)), start, end - start)
        else:
            joints.append(length)
        done = end
        line_end = _line_end(text, end)
    if not joints:
        return
    put(text[done:line_end], done)

    def place(at: int) -> tuple[int, int]:
        in_plain, in_text, spelled = places[bisect_right(places, at, key=lambda one: one[0]) - 1]
        start = in_text + (0 if spelled else at - in_plain)
        return start, start + (spelled or 1)

    for finding in _in_plain(Subject("".join(plain))):
        ((first, last),) = finding.spans
        if bisect_right(joints, first) < bisect_left(joints, last):
            start, end = place(first)[0], place(last - 1)[1]
            spans = tuple(
                (start + at, start + at + len(line.rstrip("\r")))
                for at, line in _pieces_of_lines(text[start:end])
                if line.strip()
            )
            values = tuple(dict.fromkeys(text[at:behind] for at, behind in spans))
            yield Finding(finding.kind, values, False, spans, place(finding.begin)[0])


def _pieces_of_lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1
