"""The values in a file that is called like one of secrets: what has a name there is taken for a secret, however short. Pure.

A value that may be any word (`production`) is one only behind its name; one that no program writes by chance is one wherever it stands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 200_000
"""Characters of a file that are looked through."""
MOST_VALUES: Final = 1000
"""Values of one file."""
SHORTEST: Final = 4
"""Characters of the shortest value that counts."""

_TRIVIAL: Final = re.compile(
    r"true|false|yes|no|on|off|null|none|nil|undefined|enabled|disabled|[\d.,:_-]+|localhost(?::\d+)?|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"
    r"|\$\{?\w+\}?|\{\{.*\}\}|[\[\](){}|>*&!,-]+",
    re.IGNORECASE,
)
"""Values that say nothing: switches, numbers, the machine itself, the names of variables, signs of the format."""
_COMMON: Final = re.compile(
    r"(?:~?/[\w.@+-]+){1,}/?|[a-z]+|[A-Z]+|[A-Z][a-z]+|[a-z]+(?:[-_.][a-z]+){1,2}|https?://[\w.-]+(?::\d+)?/?"
)
"""What may stand in any program: a path, one word, a name, an address."""
_LONG: Final = 8
"""Characters from which on a value that is not common counts wherever it stands."""

_SIGN: Final = r"[ \t]{0,20}(?::=|=>|=|:(?=[ \t\"']))[ \t]{0,20}"
_QUOTED: Final = r"\"(?P<double>(?:[^\"\\\n]|\\.)*)\"|'(?P<single>[^'\n]*)'"
_NAMED: Final = (
    # "name": "value", 'name' => value
    re.compile(rf"(?P<name>([\"'])[^\"'\n]{{1,200}}\2{_SIGN})(?:{_QUOTED}|(?P<bare>[^\s\"',;{{}}\[\]]+))"),
    # NAME=value, name: value, export NAME='value', //host/:_authToken=value
    re.compile(
        rf"(?P<name>(?<![\w./:@-])[\w./:@-]{{1,200}}{_SIGN})(?:{_QUOTED}|(?P<bare>[^\s\"'#{{}}\[\]][^\n]*))"
    ),
)
_COMMENT: Final = re.compile(r"[ \t][#;]")
_WORDS: Final = re.compile(
    r"(?P<name>\b(?:password|passwd|login|account|secret|token)[ \t]+)(?P<bare>[^\s\"'=:]+)", re.IGNORECASE
)
"""netrc(5)."""
_ELEMENT: Final = re.compile(
    r"(?P<name><(?P<tag>[\w.:-]{1,80})[^<>\n]{0,200}>)(?P<bare>[^<>\n]+)(?=</(?P=tag)>)"
)
_ATTRIBUTE: Final = re.compile(r"(?P<name>\bvalue=)\"(?P<double>[^\"\n]+)\"", re.IGNORECASE)
_FIELDS: Final = re.compile(
    r"^(?P<name>(?:[^\s:\\]|\\.)+:(?:(?:[^\s:\\]|\\.)*:)*)(?P<bare>[^\s:=]+=*)$", re.MULTILINE
)
"""Fields with colons between them, of which the last is the password: pgpass, htpasswd."""
_ALONE: Final = re.compile(r"^[ \t]{0,40}(?P<name>)(?P<bare>[^\s=:<>{}\[\]\"'#,]{8,}={0,2})$", re.MULTILINE)
"""A line that is nothing but one."""
_BLOCK: Final = re.compile(
    r"^(?P<indent>[ \t]{0,200})[^\s#][^\n]{0,200}:[ \t]{1,20}[|>][-+\d]{0,3}[ \t]*\n(?P<lines>(?:(?P=indent)[ \t]+[^\n]*\n?|[ \t]*\n)+)",
    re.MULTILINE,
)
"""A text of several lines below its name (YAML 1.2.2, section 8.1)."""
_LINE: Final = re.compile(r"^[ \t]*(?P<name>)(?P<bare>[^ \t\n].{7,})$", re.MULTILINE)
"""A line of such a text."""


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
    blocks = "".join(block["lines"] for block in _BLOCK.finditer(text))
    shapes = [(shape, text) for shape in (*_NAMED, _WORDS, _ELEMENT, _ATTRIBUTE, _FIELDS, _ALONE)]
    for shape, within in [*shapes, (_LINE, blocks)]:
        for setting in _settings(shape, within):
            found[setting] = None
            if len(found) >= MOST_VALUES:
                return list(found)
    return list(found)


def _settings(shape: re.Pattern[str], text: str) -> Iterator[Setting]:
    for match in shape.finditer(text):
        for group in ("double", "single", "bare"):
            value = match.groupdict().get(group)
            if value is None:
                continue
            if group == "bare":
                value = _COMMENT.split(value, maxsplit=1)[0].rstrip(" \t\r,;}]")
            if shape in {_LINE, _ALONE} and match[0] != value and _COMMON.fullmatch(value):
                continue  # a word of a longer text
            if len(value) >= SHORTEST and not _TRIVIAL.fullmatch(value):
                yield Setting(value, text[match.start("name") : match.start(group)])
