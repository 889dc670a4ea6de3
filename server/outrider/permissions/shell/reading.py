"""Reads a command line: which programs it runs, with which arguments, and what of it cannot be known."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from outrider.permissions.shell.builtins import as_set, builtin_problem, is_harmless_name
from outrider.permissions.shell.model import CommandLine, Program, Word
from outrider.permissions.shell.through import Inner, Unknown, look_through
from outrider.permissions.shell.tree import tree_of
from outrider.permissions.shell.walk import Simple, walk

LONGEST: Final = 100_000
"""Bytes of a command line that is looked at."""
_MOST_PIPES: Final = 8_000
_MOST_HEREDOCS: Final = 500
"""More of them, and the parser takes long over its last step, or over each word while a here-document is open."""
_MOST_PROGRAMS: Final = 2_000
"""Of which each is looked up, and judged by each rule."""
DEEPEST: Final = 6
"""How often a shell may start a shell."""
_MOST_GOES: Final = 3
_TOO_MANY: Final = "it has too many parts to check"
_KEPT_TO: Final = 10_000
"""Characters of a line up to which it is kept what was read of it: it is looked at again after a yes, and often comes again."""

_UNUSUAL: Final = re.compile(r"[^\x20-\x7e\t\n]")
_ONLY_BASH: Final = re.compile(
    r"\$['\"]|<\(|>\(|&>|\|&|\[\[|\(\(|\{[^ ]|<<<|\bfunction\b|\$\[|\+=|\becho\b.*\\", re.DOTALL
)
"""What bash reads differently from a plain `sh`."""


def read_command(source: str, *, depth: int = 0) -> CommandLine:
    """Take a command line apart, as `bash -c` would run it. Nothing runs, and nothing is looked up.

    Args:
        source: The command line.
        depth: How many shells stand around it.
    """
    return _read_again(source) if depth == 0 and len(source) <= _KEPT_TO else _read(source, depth)


def _read(source: str, depth: int) -> CommandLine:
    if problem := _unreadable(source):
        return CommandLine(source, (), (problem,))
    text = source.encode("utf-8")
    try:
        found = walk(tree_of(text), text)
    except RecursionError:
        return CommandLine(source, (), ("it is nested too deeply",))
    reader = _Reader(depth, found.problems)
    if any(_hidden(char) for char in set(_UNUSUAL.findall(source))):
        reader.problem("it contains invisible characters, or characters that look like others")
    for simple in found.commands:
        reader.take(simple)
    if len(reader.programs) > _MOST_PROGRAMS:
        return CommandLine(source, (), (_TOO_MANY,))
    goes = reader.goes
    # However it is written, as `command cd` too, only a plain one is followed.
    if sum(program.name == "cd" for program in reader.programs) > len(goes) or len(goes) > _MOST_GOES:
        reader.problem("it changes the folder on the way")
    is_sure = {start for _, start, _ in goes} <= found.chain
    where = tuple((number, folder) for number, _, folder in goes)
    return CommandLine(source, tuple(reader.programs), tuple(reader.problems), where, is_sure)


@lru_cache(maxsize=32)
def _read_again(source: str) -> CommandLine:
    return _read(source, 0)


def _unreadable(source: str) -> str | None:
    if len(source) > LONGEST:
        return "it is too long to check"
    if "\0" in source:
        return "it contains a NUL"
    if source.count("|") > _MOST_PIPES or source.count("<<") > _MOST_HEREDOCS:
        return _TOO_MANY
    try:
        source.encode("utf-8")
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return None


def _hidden(char: str) -> bool:
    """Whether a character cannot be seen for what it is; bash splits words at none of these blanks."""
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}


def _gone_to(words: Sequence[Word]) -> str | None:
    """The folder to which `cd` goes; None where that is not known."""
    texts = [word.text for word in words]
    if len(texts) != 2 or not texts[1] or texts[1].startswith(("-", "~")):
        return None
    # After a name, `..` is not where a path says it is: bash takes the name away, and a link leads elsewhere.
    names = [name for name in texts[1].split("/") if name not in {"", "."}]
    if any(name != ".." and following == ".." for name, following in pairwise(names)):
        return None
    return texts[1]


def _piped_into(simple: Simple) -> Iterator[Sequence[Word]]:
    """The words of what stands before a command in a pipe, the nearest first, as far as the pipe is what it reads."""
    given = None if simple.is_fed else simple.before
    while given is not None and given.words and not given.is_fed:
        yield given.words
        given = given.before


class _Reader:
    """Turns simple commands into programs."""

    def __init__(self, depth: int, problems: Sequence[str]) -> None:
        self._depth = depth
        self.programs: list[Program] = []
        self.problems = list(problems)
        self._before: Iterable[Sequence[Word]] = ()
        """The words of what stands in a pipe before the command that is taken in."""
        self.goes: list[tuple[int, int, str]] = []
        """Where it goes on its way: by which program, where that begins in the text, and to which folder."""

    def problem(self, text: str) -> None:
        if text not in self.problems:
            self.problems.append(text)

    def take(self, simple: Simple) -> None:
        """Take in a simple command."""
        names = [as_set(name, value.text) for name, value in simple.assigned]
        if not simple.words:
            for name in names:
                if not is_harmless_name(name):
                    self.problem(f"it sets {name}")
            if simple.writes or simple.reads:
                self._add(Program((), simple.source, tuple(simple.writes), tuple(simple.reads)))
            return
        program = Program(
            tuple(simple.words),
            simple.source,
            tuple(simple.writes),
            tuple(simple.reads),
            sets=tuple(name for name in names if not is_harmless_name(name, exported=True)),
        )
        if program.name == "cd":
            self._goes(simple)
        self._before = _piped_into(simple) if program.name == "xargs" else ()
        self._resolve(program)

    def _goes(self, simple: Simple) -> None:
        is_plain = not (simple.again or simple.assigned or simple.writes or simple.reads)
        if is_plain and (folder := _gone_to(simple.words)) is not None:
            self.goes.append((len(self.programs), simple.start, folder))

    def _add(self, program: Program) -> None:
        self.programs.append(program)

    def _resolve(self, program: Program) -> None:
        """Look through a program to the one that runs in the end."""
        if len(program.through) > DEEPEST:
            return self._add(program._replace(unresolved="too many programs are nested"))
        argv = program.argv
        name = program.name
        if name is None:
            return self._add(program._replace(unresolved="the program is known only at run time"))
        if argv[0].source.startswith("~") or not name:
            return self._add(program._replace(unresolved="the program is known only at run time"))
        if problem := builtin_problem(argv):
            self.problem(problem)
            if name == "eval":
                self._evaluated(program)
            return self._add(program._replace(unresolved=problem))
        inner = look_through(argv, () if program.through else self._before)
        match inner:
            case None:
                return self._add(program)
            case Unknown(reason):
                return self._add(program._replace(unresolved=reason))
            case Inner():
                return self._inside(program, name.rpartition("/")[2], inner)

    def _inside(self, program: Program, name: str, inner: Inner) -> None:
        sets = (*program.sets, *(one for one in inner.sets if not is_harmless_name(one, exported=True)))
        outer = program._replace(
            sets=sets, through=(*program.through, name), reads=(*program.reads, *inner.reads)
        )
        if inner.is_elsewhere:
            self.problem(f"{name} runs it in other folders")
        if not inner.is_all:
            self._add(program)
            outer = outer._replace(writes=(), reads=())
        if inner.script is None:
            return self._resolve(outer._replace(argv=inner.argv))
        text = inner.script.text
        if text is None or self._depth >= DEEPEST:
            return self._add(program._replace(unresolved=f"{name} runs a text that is unknown"))
        line = read_command(text, depth=self._depth + 1)
        for problem in line.problems:
            self.problem(problem)
        if inner.interpreter not in {"sh", "bash"}:
            self.problem(f"{inner.interpreter} reads a line in its own way")
        elif inner.interpreter == "sh" and _ONLY_BASH.search(text):
            self.problem("sh may read the line in another way than bash")
        if line.goes:
            self.problem("it changes the folder on the way")
        if not line.programs:
            self._add(program._replace(argv=(Word("true", "true"),), through=outer.through))
        for number, one in enumerate(line.programs):
            writes = (*one.writes, *(outer.writes if number == 0 else ()))
            reads = (*one.reads, *(outer.reads if number == 0 else ()))
            self._add(
                one._replace(
                    sets=(*sets, *one.sets),
                    through=(*outer.through, *one.through),
                    writes=writes,
                    reads=reads,
                )
            )
        return None

    def _evaluated(self, program: Program) -> None:
        """What `eval` would run, as far as it is known: a rule may forbid it."""
        texts = [word.text for word in program.argv[1:]]
        if None in texts or self._depth >= DEEPEST:
            return
        for one in read_command(
            " ".join(text for text in texts if text is not None), depth=self._depth + 1
        ).programs:
            self._add(
                one._replace(through=("eval", *one.through), unresolved=one.unresolved or "it is run by eval")
            )
