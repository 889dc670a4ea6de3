"""Files of secrets: which are likely to be ones, by their names alone, and the values in the texts of those. Pure.

What has a name in such a file is taken for a secret, however short. A value that may be any word (`production`) is one only behind its name; one that
no program writes by chance is one wherever it stands.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Final

from outrider.ports.patterns import WORD, Pattern, Subject, escaped, linear

_NAMES: Final = (
    ".env*", "*.env", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd", ".npmrc", ".yarnrc", ".yarnrc.yml",
    ".pypirc", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".terraformrc", ".vault-token", ".git-credentials", "credentials",
    "credentials.*", "secrets.*", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.ovpn",
    "kubeconfig", "*.kubeconfig", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.backup", "service-account*.json",
    "service_account*.json", "*firebase-adminsdk*.json", "client_secret*.json", "application_default_credentials.json",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "*token.txt", "*tokens.txt", "*password.txt",
    "*passwords.txt", "*passwd.txt", "*apikey.txt", "*api_key.txt", "*api-key.txt", "*secret.txt", "*secrets.txt", "*secret_key.txt",
    "*secret-key.txt", "*vault_pass*", "*vault-pass*", ".vault_password", "auth.json", "serviceaccount*.json", "google-services.json",
    "wp-config.php", "database.yml", "database.yaml", "local.settings.json", "appsettings.*.json", "application-prod*.yml",
    "application-prod*.yaml", "application-prod*.properties", "gradle.properties", "rclone.conf", ".databrickscfg", ".sentryclirc",
    ".dev.vars*", ".flaskenv", ".renviron", "sftp-config.json", ".ftpconfig", ".*_history",
)  # fmt: skip
"""Names of files, in lower case; `*` stands for any characters."""
_IN_FOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "config.json": frozenset({".docker"}),
    "config": frozenset({".kube", ".aws", ".snowsql"}),
    "sftp.json": frozenset({".vscode"}),
    "settings.xml": frozenset({".m2"}),
    "nuget.config": frozenset({".nuget"}),
    "hosts.yml": frozenset({"gh", "glab-cli"}),
    "accesstokens.json": frozenset({".azure"}),
    "msal_token_cache.json": frozenset({".azure"}),
    "access_tokens.db": frozenset({"gcloud"}),
}
"""Names that say nothing by themselves, and the folders in which programs keep tokens under them."""
_FOLDERS: Final = frozenset({".secrets", ".password-store", ".ssh", ".gnupg"})
"""Folders of which every file counts, however deep in them it lies."""
_PUBLIC: Final = (".pub", "known_hosts", "authorized_keys")
"""Ends of names of files in such a folder that hold nothing secret."""
_SECRET: Final = linear(
    "secrets.file-name", "(?s)" + "|".join(".*".join(map(escaped, name.split("*"))) for name in _NAMES)
)
_TEMPLATES: Final = (
    ".example",
    ".sample",
    ".template",
    ".dist",
    "-example",
    "_example",
    "-sample",
    "_sample",
)


_BACKUPS: Final = (
    ("", "~"), ("", ".bak"), ("", ".old"), ("", ".orig"), ("", ".save"), ("", ".tmp"), (".", ".swp"), (".", ".swo"), ("#", "#"),
)  # fmt: skip
"""What stands before and behind a file's name where its text is kept aside: by users, by editors and their swap files."""


@lru_cache(maxsize=4096)  # asked before each request of all files that the model has seen
def is_secret_file(path: str) -> bool:
    """Whether a file of that path is likely to hold secrets; one that says that it is an example is not."""
    *folders, name = path.rstrip("/").casefold().split("/")
    return _is_secret(folders, name) or any(_is_secret(folders, one) for one in _kept_aside(name))


def _kept_aside(name: str) -> Iterator[str]:
    """The names of the files of which a file of that name may be a backup."""
    for before, after in _BACKUPS:
        if name.startswith(before) and name.endswith(after):
            yield name.removeprefix(before).removesuffix(after)


def _is_secret(folders: Sequence[str], name: str) -> bool:
    if not _FOLDERS.isdisjoint(folders):
        return not name.endswith(_PUBLIC)
    if name in _IN_FOLDERS:
        return bool(folders) and folders[-1] in _IN_FOLDERS[name]
    return _SECRET.fullmatch(name) is not None and not name.endswith(_TEMPLATES)


@cache
def attribute_globs() -> tuple[tuple[str, bool], ...]:
    """The same as globs of gitattributes(5), each with whether it is about files that hold secrets; the last one counts."""
    in_folders = [
        (f"**/{_any_case(one)}/", name) for name, them in _IN_FOLDERS.items() for one in sorted(them)
    ]
    return (
        *((glob, True) for name in _NAMES for glob in _with_backups("", name)),
        *((f"*{_any_case(ending)}", False) for ending in _TEMPLATES),
        *((glob, True) for folder, name in in_folders for glob in _with_backups(folder, name)),
        *((f"**/{_any_case(folder)}/**", True) for folder in sorted(_FOLDERS)),
    )


def _with_backups(folder: str, name: str) -> Iterator[str]:
    yield f"{folder}{_any_case(name)}"
    for before, after in _BACKUPS:
        if before or not name.endswith("*"):
            # What begins with the sign is a comment where it is not escaped.
            escape = "\\" if before == "#" and not folder else ""
            yield f"{folder}{escape}{before}{_any_case(name + after)}"


def _any_case(name: str) -> str:
    return "".join(f"[{sign}{sign.upper()}]" if sign.isalpha() else sign for sign in name)


# --- the values in one -------------------------------------------------------------------------------------------

MOST_BYTES: Final = 200_000
"""Characters of a file that are looked through."""
MOST_VALUES: Final = 1000
"""Values of one file."""
MOST_PLACES: Final = 4000
"""Places in a file that may be a value of one kind, such as a line of a text below its name."""
SHORTEST: Final = 4
"""Characters of the shortest value that counts."""

_TRIVIAL: Final = linear(
    "secrets.trivial",
    r"(?i)true|false|yes|no|on|off|null|none|nil|undefined|enabled|disabled|[\d.,:_-]+|localhost(?::\d+)?|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"
    rf"|\$\{{?[{WORD}]+\}}?|\{{\{{.*\}}\}}|[\[\](){{}}|>*&!,-]+",
)
"""Values that say nothing: switches, numbers, the machine itself, the names of variables, signs of the format."""
_COMMON: Final = linear(
    "secrets.common",
    rf"(?:~?/[{WORD}.@+-]+)+/?|[a-z]+|[A-Z]+|[A-Z][a-z]+|[a-z]+(?:[-_.][a-z]+){{1,2}}|https?://[{WORD}.-]+(?::\d+)?/?",
)
"""What may stand in any program: a path, one word, a name, an address."""
_LONG: Final = 8
"""Characters from which on a value that is not common counts wherever it stands."""

_QUOTED: Final = r"\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'"
# In each of these the groups are the value, in one way or another of writing it; what stands before it is its name. The last group has no quotes.
_AFTER_QUOTED_NAME: Final = linear(
    "secrets.after-quoted-name",
    r"(?:\"[^\"'\n]{1,200}\"|'[^\"'\n]{1,200}')[ \t]*"
    rf"(?::(?:{_QUOTED})|(?::=|=>|=|:[ \t]+)[ \t]*(?:{_QUOTED}|([^\s\"',;{{}}\[\]]+)))",
)
"""`"name": "value"`, `'name' => value`."""
_AFTER_NAME: Final = linear(
    "secrets.after-name",
    rf"[{WORD}./:@-]+[ \t]*(?::(?:{_QUOTED})|(?::=|=>|=|:[ \t]+)[ \t]*(?:{_QUOTED}|([^\s\"'#{{}}\[\]][^\n]*)))",
)
"""`NAME=value`, `name: value`, `export NAME='value'`, `//host/:_authToken=value`."""
_COMMENT: Final = linear("secrets.comment", r"[ \t][#;]")
_AFTER_WORD: Final = linear(
    "secrets.after-word", r"(?i)\b(?:password|passwd|login|account|secret|token)[ \t]+([^\s\"'=:]+)"
)
"""netrc(5)."""
_ELEMENT: Final = linear("secrets.element", rf"<([{WORD}.:-]+)[^<>\n]*>([^<>\n]+)</([{WORD}.:-]+)>")
"""The name of an element, its text, and the name at its end."""
_VALUE_ATTRIBUTE: Final = linear("secrets.value-attribute", r"(?i)\bvalue=\"([^\"\n]+)\"")
_LAST_FIELD: Final = linear(
    "secrets.last-field", r"(?m)^(?:[^\s:\\]|\\.)+:(?:(?:[^\s:\\]|\\.)*:)*([^\s:=]+=*)$"
)
"""Fields with colons between them, of which the last is the password: pgpass, htpasswd."""
_ALONE: Final = linear("secrets.alone", r"(?m)^[ \t]*([^\s=:<>{}\[\]\"'#,]{8,}={0,2})$")
"""A line that is nothing but one."""
_BLOCK: Final = linear("secrets.block", r"(?m)^([ \t]*)[^\s#][^\n]*:[ \t]+[|>][-+\d]{0,3}[ \t]*\n")
"""The name of a text of several lines below it, and how far it is indented (YAML 1.2.2, section 8.1)."""
_SHORTEST_LINE: Final = 8
"""Characters of the shortest line of such a text that counts."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value in such a file."""

    value: str
    name: str
    """What stands before it, with its sign and its quote."""

    @property
    def counts_everywhere(self) -> bool:
        """Whether it is a secret wherever it stands; else only behind its name."""
        return not self.name or (len(self.value) >= _LONG and _COMMON.fullmatch(self.value) is None)


def settings_in(text: str) -> list[Setting]:
    """The values in the text of a file whose name is that of one with secrets, each once."""
    text = text[:MOST_BYTES]
    found: dict[Setting, None] = {}
    for setting in _all_in(text):
        found[setting] = None
        if len(found) >= MOST_VALUES:
            break
    return list(found)


def _all_in(text: str) -> Iterator[Setting]:
    subject = Subject(text)
    for shape in (_AFTER_QUOTED_NAME, _AFTER_NAME, _AFTER_WORD):
        yield from _found(shape, subject, bare=True)
    for match in islice(_ELEMENT.finditer(subject), MOST_PLACES):
        if match[1] == match[3]:
            yield from _setting(text, match.start(), match.start(2), _without_comment(match[2]))
    yield from _found(_VALUE_ATTRIBUTE, subject, bare=False)
    yield from _found(_LAST_FIELD, subject, bare=True)
    for match in islice(_ALONE.finditer(subject), MOST_PLACES):
        yield from _whole_line(match[0], _without_comment(match[1]))
    for line in islice(_lines_of_blocks(subject), MOST_PLACES):
        value = line.strip(" \t")
        if len(value) >= _SHORTEST_LINE:
            yield from _whole_line(line, _without_comment(value))


def _found(shape: Pattern, subject: Subject, *, bare: bool) -> Iterator[Setting]:
    """The settings that a pattern finds; with `bare` its last group is a value without quotes."""
    for match in islice(shape.finditer(subject), MOST_PLACES):
        groups = match.groups()
        number, value = next((n, value) for n, value in enumerate(groups, start=1) if value is not None)
        if len(value) < SHORTEST:
            continue
        if bare and number == len(groups):
            value = _without_comment(value)
        yield from _setting(subject.text, match.start(), match.start(number), value)


def _without_comment(value: str) -> str:
    return _COMMENT.split(value, 1)[0].rstrip(" \t\r,;}]")


def _setting(text: str, start: int, value_start: int, value: str) -> Iterator[Setting]:
    if len(value) >= SHORTEST and not _TRIVIAL.fullmatch(value):
        yield Setting(value, text[start:value_start])


def _whole_line(line: str, value: str) -> Iterator[Setting]:
    """A line that is a value; where there is more in it, a common word is a word of a longer text."""
    if line == value or not _COMMON.fullmatch(value):
        yield from _setting("", 0, 0, value)


def _lines_of_blocks(subject: Subject) -> Iterator[str]:
    """The lines of all texts of several lines."""
    text, done = subject.text, 0
    for match in _BLOCK.finditer(subject):
        if match.start() < done:
            continue
        indent, done = match[1], match.end()
        while done < len(text):
            end = text.find("\n", done)
            line = text[done : end if end >= 0 else len(text)]
            is_deeper = line.startswith(indent) and line[len(indent) : len(indent) + 1] in {" ", "\t"}
            if line.strip(" \t") and not is_deeper:
                break
            yield line
            done = end + 1 if end >= 0 else len(text)
