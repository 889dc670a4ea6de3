"""The text of a custom command: its arguments, files and command outputs, in the forms of several agents. Pure.

The template is taken apart before anything is put in, so that what an argument says is never read as a command or a file.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from outrider.ports.patterns import linear

_SHELL: Final = linear("command.shell", r"!`([^`\n]+)`")
_FILE: Final = linear("command.file", r"(?m)(?:^|[\s(\[])@([\pL\pN_./~*-]+)")
_HASH_FILE: Final = linear("command.hash-file", r"#file:([^\s\])#]+)")
_ARGUMENT: Final = linear("command.argument", r"\$ARGUMENTS\[(\d{1,2})\]|\$(\d{1,2})\b|\$ARGUMENTS\b")
_INPUT: Final = linear("command.input", r"\$\{input:([\pL\pN_-]+)(?::([^}\n$]*))?\}")
_FENCE: Final = "```!"

Kind = Literal["text", "shell", "file"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a template."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """A command with its arguments."""

    segments: tuple[Segment, ...]

    @property
    def shell(self) -> list[str]:
        """The command lines whose outputs it wants, in order."""
        return [one.text for one in self.segments if one.kind == "shell"]

    @property
    def files(self) -> list[str]:
        """The files that it names, in order."""
        return [one.text for one in self.segments if one.kind == "file"]


def fill(form: str, template: str, arguments: str) -> Filled:
    """Put arguments into a template.

    Args:
        form: `gemini`, `copilot`, or anything else for the form that Claude Code, Codex, opencode and Cursor share.
        template: Its text.
        arguments: What the user wrote behind the command's name.
    """
    match form:
        case "gemini":
            segments, taken = _gemini(template, arguments)
        case "copilot":
            segments, taken = _copilot(template, arguments)
        case _:
            segments, taken = _common(template, arguments)
    if arguments.strip() and not taken:
        segments = [*segments, Segment("text", f"\n\n{arguments.strip()}")]
    return Filled(tuple(segments))


def _common(template: str, arguments: str) -> tuple[list[Segment], bool]:
    words, taken = _words(arguments), False
    # Skills count from 0, commands from 1; a template that uses $0 says which it means.
    first = 0 if "$0" in template else 1

    def put_in(text: str) -> str:
        nonlocal taken
        parts, at = list[str](), 0
        for match in _ARGUMENT.finditer(text):
            parts.append(text[at : match.start()])
            at, taken = match.end(), True
            number = int(match[1]) if match[1] else int(match[2]) - first if match[2] else None
            parts.append(arguments.strip() if number is None else _at(words, number))
        return "".join([*parts, text[at:]])

    found = [Segment(one.kind, put_in(one.text)) for one in _parts(template)]
    return found, taken


def _parts(template: str) -> Iterator[Segment]:
    """Command lines, files, and the text between them."""
    before, fence, rest = template.partition(_FENCE)
    yield from _inline(before)
    if fence:
        body, _, after = rest.partition("\n```")
        if body.strip():
            yield Segment("shell", body.strip())
        yield from _parts(after)


def _inline(text: str) -> Iterator[Segment]:
    at = 0
    for match in _SHELL.finditer(text):
        yield from _with_files(text[at : match.start()])
        yield Segment("shell", (match[1] or "").strip())
        at = match.end()
    yield from _with_files(text[at:])


def _with_files(text: str) -> Iterator[Segment]:
    at = 0
    for match in _FILE.finditer(text):
        start = match.start(1)
        yield Segment("text", text[at : start - 1])
        yield Segment("file", (match[1] or "").rstrip("."))
        at = start + len((match[1] or "").rstrip("."))
    if text[at:]:
        yield Segment("text", text[at:])


def _gemini(template: str, arguments: str) -> tuple[list[Segment], bool]:
    """`{{args}}`, `!{command}`, `@{file}`; arguments in a command are quoted for the shell."""
    found, at = list[Segment](), 0
    taken = "{{args}}" in template
    while at < len(template):
        starts = [place for mark in ("!{", "@{") if (place := template.find(mark, at)) >= 0]
        start = min(starts, default=len(template))
        if text := template[at:start]:
            found.append(Segment("text", text.replace("{{args}}", arguments.strip())))
        if start == len(template):
            break
        end = _closing(template, start + 2)
        inner = template[start + 2 : end].strip()
        if template[start] == "!":
            found.append(Segment("shell", inner.replace("{{args}}", shlex.quote(arguments.strip()))))
        else:
            found.append(Segment("file", inner.replace("{{args}}", arguments.strip())))
        at = end + 1
    return found, taken


def _closing(text: str, start: int) -> int:
    """Where the brace closes that was opened before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def _copilot(template: str, arguments: str) -> tuple[list[Segment], bool]:
    """`${input:name}` and `#file:path`."""
    words, names = _words(arguments), dict[str, int]()
    named: Mapping[str, str] = dict(word.split("=", 1) for word in words if "=" in word)
    plain = [word for word in words if "=" not in word]
    parts, at = list[str](), 0
    for match in _INPUT.finditer(template):
        name = match[1] or ""
        number = names.setdefault(name, len(names))
        # One input takes all that was written.
        value = named.get(name) or _at(plain, number) or match[2] or name
        parts += [template[at : match.start()], value]
        at = match.end()
    text, found, last = "".join([*parts, template[at:]]), list[Segment](), 0
    if len(names) == 1 and plain:
        text = _INPUT.sub(lambda _: " ".join(plain), template)
    for match in _HASH_FILE.finditer(text):
        found += [Segment("text", text[last : match.start()]), Segment("file", match[1] or "")]
        last = match.end()
    found.append(Segment("text", text[last:]))
    return found, bool(names)


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _at(words: Sequence[str], number: int) -> str:
    return words[number] if 0 <= number < len(words) else ""
