"""Text that arrives in pieces, read by a parser that runs as a generator.

A parser says `yield from source.…` and is suspended there while nothing more is known. It can only ask
questions whose answer no later text can change, so where the text was cut never matters.
"""

import re
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

T = TypeVar("T")
Wait = Generator[None, None, T]
"""A step of a parser, suspended while it waits for more text."""

SPACE = re.compile(r"\s*")
LINE = re.compile(r"[^\n]*")
"""The rest of a line."""
_LINE_SPACE = " \t\r"
_MOST_SPACE = 1000
"""How far is looked ahead."""


class Mismatch(Exception):  # noqa: N818 - an expected outcome of reading, not an error
    """What stands here is not what a parser hoped for; its caller decides what it is instead."""


class Torn(Mismatch):
    """A string ended in the middle of what must have been one, so that more of it follows."""


class Stops:
    """Strings at which a text is interrupted."""

    def __init__(self, stops: Iterable[str]) -> None:
        self.all = tuple(sorted(stops, key=len, reverse=True))
        self.pattern = re.compile("|".join(re.escape(stop) for stop in self.all))
        self._beginnings = frozenset(stop[:length] for stop in self.all for length in range(1, len(stop)))
        self._firsts = frozenset(stop[0] for stop in self.all)
        self._longest = len(self.all[0])

    def open_end(self, text: str, start: int) -> int:
        """Where, from `start` on, a stop may have begun that `text` does not show whole; its length if nowhere."""
        for at in range(max(start, len(text) - self._longest + 1), len(text)):
            if text[at] in self._firsts and text[at:] in self._beginnings:
                return at
        return len(text)


class Source:
    """The text so far. Everything read is gone, except what a tape keeps."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._ended = False
        self._tape: list[str] | None = None
        self.last = ""
        """The character read last."""
        self.on_blank_line = True
        """Whether nothing but spaces was read since the last line began."""

    def push(self, text: str) -> None:
        """Add `text` at the end."""
        self._text = self._text[self._at :] + text
        self._at = 0

    def again(self, text: str) -> None:
        """Have all that was read so far, which is `text`, read again."""
        self.push(text)
        self.last, self.on_blank_line = "", True

    def end(self) -> None:
        """There is no more."""
        self._ended = True

    def record(self) -> int:
        """Keep on tape what is read from here on; the mark is for `since`."""
        if self._tape is None:
            self._tape = []
        return len(self._tape)

    def since(self, mark: int) -> str:
        """What was read since `mark`."""
        return "".join(self._tape[mark:]) if self._tape else ""

    def recorded(self) -> str:
        """What is on the tape, which is gone then."""
        tape, self._tape = self._tape, None
        return "".join(tape or ())

    def fill(self, count: int) -> Wait[bool]:
        """Wait for `count` characters; False if the text ends before."""
        while len(self._text) - self._at < count:
            if self._ended:
                return False
            yield
        return True

    def peek(self) -> Wait[str]:
        """The next character, `""` at the end. It stays to be read."""
        while self._at >= len(self._text):
            if self._ended:
                return ""
            yield
        return self._text[self._at]

    def ahead(self, count: int) -> str:
        """The next `count` characters, which are known to be there. They stay to be read."""
        return self._text[self._at : self._at + count]

    def behind_space(self, offset: int = 0, *, also: str = "") -> Wait[str]:
        """The first character that is no white space, within reason; `""` if there is none.

        Args:
            offset: How many characters are passed over first.
            also: What else is passed over.

        Returns:
            The character, which stays to be read.
        """
        while offset < _MOST_SPACE and (yield from self.fill(offset + 1)):
            following = self._text[self._at + offset]
            if not following.isspace() and following not in also:
                return following
            offset += 1
        return ""

    def take(self, count: int) -> str:
        """Read `count` characters that are known to be there."""
        start, self._at = self._at, self._at + count
        taken = self._text[start : self._at]
        if taken:
            self.last = taken[-1]
            line = taken.rfind("\n")
            if line >= 0:
                self.on_blank_line = not taken[line + 1 :].strip(_LINE_SPACE)
            elif self.on_blank_line:
                self.on_blank_line = not taken.strip(_LINE_SPACE)
            if self._tape is not None:
                self._tape.append(taken)
        return taken

    def run(self, pattern: re.Pattern[str], most: int | None = None) -> Wait[str]:
        """Read as long as `pattern`, a repeated class of characters, matches.

        Args:
            pattern: Such as `[a-z]*`.
            most: How many characters at most; it may become a few more.

        Returns:
            What was read.
        """
        parts: list[str] = []
        count = 0
        while True:
            match = pattern.match(self._text, self._at)
            end = match.end() if match else self._at
            if end > self._at:
                parts.append(self.take(end - self._at))
                count += len(parts[-1])
            if self._at < len(self._text) or self._ended or (most is not None and count >= most):
                return "".join(parts)
            yield

    def space(self) -> Wait[str]:
        """Read white space."""
        return self.run(SPACE)

    def literal(self, *options: str) -> Wait[str]:
        """Read the longest of `options` that stands here; `""` if none does."""
        while self._at >= len(self._text):
            if self._ended:
                return ""
            yield
        first = self._text[self._at]
        if not any(option[0] == first for option in options):
            return ""
        longest = max(map(len, options))
        while True:
            rest = self._text[self._at : self._at + longest]
            found = max((option for option in options if rest.startswith(option)), key=len, default="")
            if self._ended or not any(
                len(option) > len(rest) and len(option) > len(found) and option.startswith(rest)
                for option in options
            ):
                return self.take(len(found))
            yield

    def must(self, *options: str) -> Wait[str]:
        """Read the longest of `options` that stands here.

        Raises:
            Mismatch: If none does.
        """
        found = yield from self.literal(*options)
        if not found:
            raise Mismatch
        return found

    def until(self, stops: Stops, emit: Callable[[str], None]) -> Wait[str]:
        """Read up to the first of `stops`.

        Args:
            stops: Where to stop.
            emit: Gets what is read, as soon as it is sure to stand before a stop.

        Returns:
            The stop, which stays to be read; `""` at the end.
        """
        while True:
            match = stops.pattern.search(self._text, self._at)
            end = len(self._text) if match is None else match.start()
            unsure = False
            if not self._ended:
                may_begin = stops.open_end(self._text, self._at)
                unsure = may_begin <= end
                end = min(end, may_begin)
            if end > self._at:
                emit(self.take(end - self._at))
            if match is not None and not unsure:
                return match.group()
            if self._ended:
                return ""
            yield

    def rest(self, emit: Callable[[str], None]) -> Wait[None]:
        """Read all there is; `emit` gets it as it comes."""
        while (yield from self.peek()):
            emit(self.take(len(self._text) - self._at))
