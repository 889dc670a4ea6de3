"""What a command line says that bash will run: programs with their arguments, and what cannot be known of it."""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

_GLOB: Final = re.compile(r"(?!-)[A-Za-z0-9_./*?-]+")

PRIVILEGED: Final = frozenset({"sudo", "doas", "pkexec", "runuser", "su"})
"""Runs something as somebody else: no rule for the program covers that."""


class Handed(NamedTuple):
    """Files below some folders, of which a program hands over some."""

    roots: tuple[str, ...]
    """The folders; each path begins with one of them."""
    name: str | None = None
    """A pattern that their names fit."""
    files: bool = False
    """Whether they are files, and neither folders nor links."""
    splits: bool = False
    """Whether what takes them over splits their paths at blanks, and obeys quotes in them."""
    is_bare: bool = False
    """Whether the paths begin without the folder."""
    is_sure: bool = False
    """Whether it hands over those of that name, and leaves out few."""


class Word(NamedTuple):
    """One word of a command line; a tuple, because there are many of them."""

    source: str
    """As it is written."""
    text: str | None
    """What the program gets; None where that is known only at run time."""
    prefix: str = ""
    """What a text that is not known begins with for certain."""
    is_plain: bool = False
    """Whether it is written without quotes, escapes and expansions, as a reserved word must be."""
    is_one: bool = True
    """Whether it is one word when it runs; what is filled in outside of quotes may be several, or none."""
    is_filled: bool = False
    """Whether another program puts something into it, whatever it looks like."""
    handed: Handed | None = None
    """What that is, where it is one file or several ones."""

    @property
    def may_be_option(self) -> bool:
        """Whether it is, or may turn out to be, an option."""
        known = self.prefix if self.text is None else self.text
        return known.startswith("-") or (self.text is None and not known)

    @property
    def is_glob(self) -> bool:
        """Whether it stands for the files that fit a pattern, and for nothing else."""
        return self.text is None and not self.is_filled and _GLOB.fullmatch(self.source) is not None


class Program(NamedTuple):
    """One program that runs, with its arguments; a tuple, because there are many of them."""

    argv: tuple[Word, ...]
    """Its name and arguments; empty for a redirection without a program."""
    source: str
    """As it is written."""
    writes: tuple[Word, ...] = ()
    """Files that its output is redirected into; what is only closed, copied or thrown away is not among them."""
    reads: tuple[Word, ...] = ()
    """Files that its input comes from."""
    sets: tuple[str, ...] = ()
    """Variables of its environment that may change what runs."""
    through: tuple[str, ...] = ()
    """The programs that start it, from the outermost: `sudo`, `xargs`, …"""
    unresolved: str | None = None
    """Why nobody can say what runs here."""

    @property
    def name(self) -> str | None:
        """The program, None where it is not known."""
        return self.argv[0].text if self.argv else None

    @property
    def is_privileged(self) -> bool:
        """Whether it runs as somebody else."""
        return not PRIVILEGED.isdisjoint(self.through)

    @property
    def words(self) -> list[str | None]:
        """The arguments as texts, the program first; None where one is not known."""
        return [word.text for word in self.argv]


def no_words() -> list[Word]:
    """A list to begin with; `list[Word]()` takes far longer."""
    return []


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line, taken apart."""

    source: str
    programs: tuple[Program, ...]
    problems: tuple[str, ...] = ()
    """Why the whole of it cannot be known: what is found may not be all that runs, or not as it is found."""
    goes: tuple[tuple[int, str], ...] = ()
    """Where it goes on its way, each with the number of the program (`cd`) that does: those behind it run there."""
    is_sure: bool = True
    """Whether they run nowhere else; what follows `cd FOLDER ;`, or a group in which it went, may run where it was before."""
