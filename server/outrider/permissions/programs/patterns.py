"""Which rule fits a program: wide enough to be of use, and no wider than what it does again."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import Final

from outrider.permissions.programs.git import mostly_reads as git_mostly_reads
from outrider.permissions.programs.readers import does_more, mostly_reads, names
from outrider.permissions.shell.model import Program, Word
from outrider.permissions.shell.through import SHELLS, runs_others
from outrider.ports.patterns import SPACE, WORD, linear
from outrider.ports.patterns import Pattern as RegularExpression

_OLD_OPTIONS: Final = linear("beyond.old-options", "[a-zA-Z]*[IF][a-zA-Z]*")


@dataclass(frozen=True, slots=True)
class _Beyond:
    """The options of a program that do so."""

    long: frozenset[str] = frozenset()
    """Long ones, without the dashes. Most programs take them cut short, so what they begin with counts too."""
    short: str = ""
    """Letters; others may stand before them."""
    harmless: frozenset[str] = frozenset()
    """Long options of its own with which one of those begins."""
    other: RegularExpression | None = None
    """Words in other ways of writing."""
    is_exact: bool = False
    """Whether it takes no option cut short, and long ones behind one dash as well."""


_NODE: Final = _Beyond(names("script-shell node-options prefix userconfig globalconfig shell dir"), "C")
_COMPILER: Final = _Beyond(
    other=linear(
        "beyond.compiler",
        r"-wrapper|--?specs|-fplugin|-Xclang|-Xlinker|-B|-fuse-ld|--ld-path|-Wl,.*plugin|@|--config",
    )
)
_TAR: Final = _Beyond(
    names(
        "to-command checkpoint-action use-compress-program rsh-command info-script new-volume-script rmt-command"
    ),
    "IF",
    names("checkpoint"),
)
_BEYOND: Final[Mapping[str, _Beyond]] = {
    name: beyond
    for programs, beyond in {
        "tar gtar bsdtar": _TAR,
        "rsync": _Beyond(names("rsh rsync-path"), "e"),
        "zip": _Beyond(names("unzip-command"), other=linear("beyond.zip", rf"-[{WORD}]*TT")),
        "man": _Beyond(names("pager html config-file"), "PHC"),
        "wget": _Beyond(names("use-askpass execute config"), "e"),
        "scp sftp": _Beyond(short="SoFD"),
        "ssh": _Beyond(short="oFI"),
        "make gmake": _Beyond(
            names("eval file makefile directory include-dir"),
            "fCIE",
            other=linear("beyond.make", rf"(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|MAKEFILES)[{SPACE}]*[:+?]*="),
        ),
        "git-fetch git-pull git-push git-ls-remote git-archive": _Beyond(
            names("exec upload-pack receive-pack")
        ),
        "git-rebase git-difftool": _Beyond(
            names("exec extcmd"), other=linear("beyond.git", r"-[dfikmnpqvy]*x")
        ),
        "git-grep": _Beyond(names("open-files-in-pager"), "O"),
        "git-clone": _Beyond(names("upload-pack config template"), "cu"),
        "git-send-email": _Beyond(names("sendmail-cmd smtp-server to-cmd cc-cmd header-cmd")),
        "npm pnpm yarn npx": _NODE,
        "cargo": _Beyond(names("config manifest-path"), "CZ", is_exact=True),
        "go": _Beyond(names("toolexec exec vettool C modfile overlay"), is_exact=True),
        "gcc g++ cc c++ clang clang++": _COMPILER,
        "pip pip3": _Beyond(
            names("python prefix target root index-url extra-index-url trusted-host"), "i", names("pre")
        ),
    }.items()
    for name in programs.split()
}
"""By program, or one of its sub-commands."""


def beyond(program: Program) -> list[str]:
    """The words that have a program do so."""
    name = (program.name or "").rpartition("/")[2]
    words = [word for word in program.words[1:] if word is not None]
    kinds = [_BEYOND[name]] if name in _BEYOND else []
    kinds += [_BEYOND[key] for word in words if (key := f"{name}-{word}") in _BEYOND]
    found = [word for word in words if any(_is_one(word, kind) for kind in kinds)]
    found += [word.source for word in program.argv[1:] if kinds and _may_be_one(word)]
    if _TAR in kinds and words and _OLD_OPTIONS.fullmatch(words[0]):
        found.append(words[0])  # options in the old way, without a dash
    return found


def _may_be_one(word: Word) -> bool:
    """Whether a word that is known only at run time may turn out to be any option, as a file that a pattern brings too."""
    if word.text is not None or (word.handed is not None and not word.handed.is_bare):
        return False
    return word.may_be_option or not (word.is_one or word.is_glob)


def _is_one(word: str, kind: _Beyond) -> bool:
    if kind.other is not None and kind.other.match(word):
        return True
    key, is_long = word.lstrip("-").partition("=")[0], word.startswith("--")
    if kind.is_exact and word.startswith("-") and key in kind.long:
        return True
    if is_long and not kind.is_exact:
        is_begun = key != "" and any(option.startswith(key) for option in kind.long)
        return is_begun and key not in kind.harmless
    # What stands behind a letter may be its value, but nobody knows of which letters.
    return not is_long and kind.short != "" and re.match(rf"-\w*[{kind.short}]", word) is not None


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Pattern:
    """The words that a command begins with; or all of them."""

    words: tuple[str, ...]
    is_exact: bool = False

    @property
    def text(self) -> str:
        """As a user writes and reads it."""
        return shlex.join(self.words)


_DEPTHS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        _names("git npm pnpm yarn bun deno cargo go pip pip3 uv poetry pdm hatch rye conda mamba gem bundle mix rebar3 dotnet "
               "mvn gradle sbt lein composer docker podman kubectl helm terraform tofu ansible vagrant gh glab hg svn jj bazel buck "
               "nix brew apt apt-get dnf yum pacman apk systemctl journalctl aws gcloud az heroku flyctl make just task rake "
               "ninja meson cmake swift rustup nvm fnm tox nox invoke flask django-admin alembic rails"),
        2,
    ),
}  # fmt: skip
"""Programs that do many things: how many words say which one."""

_GIT_VALUES: Final = _names(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source"
)
"""Options of git that a value follows: a setting, which may be a program, or a folder."""

_DEEPER: Final = frozenset(
    {
        ("npm", "run"), ("npm", "exec"), ("pnpm", "run"), ("pnpm", "exec"), ("yarn", "run"), ("bun", "run"), ("uv", "run"), ("poetry", "run"),
        ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("bundle", "exec"), ("docker", "compose"), ("docker", "image"),
        ("docker", "container"), ("docker", "volume"), ("docker", "network"), ("uv", "pip"), ("uv", "tool"), ("go", "mod"), ("go", "tool"),
        ("git", "stash"), ("git", "remote"), ("git", "worktree"), ("git", "submodule"), ("git", "bisect"), ("git", "config"),
        ("gh", "pr"), ("gh", "issue"), ("gh", "run"), ("gh", "repo"), ("kubectl", "get"), ("cargo", "xtask"), ("deno", "task"),
    }
)  # fmt: skip
"""Sub-commands that have sub-commands, or run what is named next."""

_RUNS_NEXT: Final[Mapping[tuple[str, ...], int]] = {
    **dict.fromkeys(
        (
            ("npm", "exec"), ("npm", "x"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("yarn", "exec"), ("bun", "run"), ("bun", "x"),
            ("uv", "run"), ("uv", "tool", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("conda", "run"),
            ("mamba", "run"), ("bundle", "exec"), ("go", "run"), ("deno", "run"), ("nix", "run"), ("docker", "run"), ("docker", "container", "run"),
            ("docker", "compose", "run"), ("podman", "run"), ("podman", "container", "run"), ("podman", "compose", "run"), ("kubectl", "run"),
            ("heroku", "run"), ("rails", "runner"), ("git", "bisect", "run"), ("git", "submodule", "foreach"),
        ),
        0,
    ),
    **dict.fromkeys(
        (
            ("docker", "exec"), ("docker", "container", "exec"), ("docker", "compose", "exec"), ("podman", "exec"),
            ("podman", "container", "exec"), ("podman", "compose", "exec"), ("kubectl", "exec"), ("rustup", "run"),
        ),
        1,
    ),
}  # fmt: skip
"""Sub-commands that run what is named next: a program, a file, a package, an image; or what follows the container it runs in."""
_RUNNERS: Final = frozenset(words[0] for words in _RUNS_NEXT)
_RUN_SCRIPTS: Final = frozenset({("npm", "run"), ("pnpm", "run"), ("yarn", "run")})
"""Those that run a script by its name in the settings of the project."""
_RUNS_ANY: Final = frozenset({("nix", "shell"), ("nix", "develop")})
"""Sub-commands that run what an option says."""

_INTERPRETERS: Final = _names(
    "python python2 python3 node deno bun ruby perl php lua Rscript java tsx ts-node npx pnpx bunx pipx uvx"
)
_RUN_FILES: Final = SHELLS | _INTERPRETERS | {"source", "."}
_ONE_THING: Final = _names(
    "pytest ruff mypy pyright flake8 pylint black isort bandit eslint prettier tsc jest vitest mocha rustfmt gofmt golangci-lint "
    "rubocop rspec phpunit ctest clang-format shellcheck shfmt hadolint yamllint markdownlint codespell biome oxlint "
    "ls cat head tail wc grep rg find sort uniq cut tr diff stat file du tree echo pwd which date jq sed"
)
"""Programs that do one thing, so that their name says it."""
_OF_SYSTEM: Final = re.compile(r"/(?:usr/)?(?:local/)?s?bin/")
"""Where a program lies that is no script of somebody's."""


def pattern_of(program: Program) -> Pattern | None:
    """The rule that is offered for a program; None where none can cover it.

    Args:
        program: As it was read.
    """
    if problem_of_program(program) is not None:
        return None
    known = list(takewhile(lambda word: word is not None, program.words))
    words = [word for word in known if word is not None]
    if not words:
        return None
    depth = _depth(words)
    offered = [Pattern(tuple(words[:depth]))] if depth is not None and depth <= len(words) else []
    if len(words) == len(program.argv):
        offered.append(Pattern(tuple(words), is_exact=True))
    can_be = (one for one in offered if too_wide(one.words, is_exact=one.is_exact) is None)
    return next((one for one in can_be if fits(one, program)), None)


def _depth(words: Sequence[str]) -> int | None:
    """How many words say what runs; None where only all of them do."""
    name = _bare(words[0])
    if name in _ONE_THING:
        return 1
    if depth := _DEPTHS.get(name):
        if (runs := _runs_next(words)) is not None:
            depth = runs + 1
        elif (name, *words[1:2]) in _DEEPER:
            depth = 3
        return None if any(word.startswith("-") for word in words[1:depth]) else depth
    if name.startswith("python") and words[1:2] == ["-m"]:
        return 3
    if name in SHELLS | _INTERPRETERS:
        is_file = len(words) > 1 and not words[1].startswith("-")
        return 2 if is_file and name not in _names("npx pnpx bunx pipx uvx") else None
    return 1 if "/" in words[0] and not _OF_SYSTEM.match(words[0]) else None


def _bare(name: str) -> str:
    """The name of a program, wherever it lies."""
    return name.rpartition("/")[2]


def _runs_next(words: Sequence[str | None]) -> int | None:
    """Behind how many words stands what is run, None where the words do not say that something is."""
    name = _bare(words[0] or "")
    if name not in _RUNNERS:
        return None
    named = (name, *(word or "" for word in words[1:3]))
    prefix = next((one for one in (named[:2], named) if one in _RUNS_NEXT), None)
    return None if prefix is None else len(prefix) + _RUNS_NEXT[prefix]


def problem_of_program(program: Program) -> str | None:
    """Why no rule can allow a program, None if one can."""
    if program.unresolved is not None:
        return program.unresolved
    if not program.argv:
        return "it is not a program"
    if program.is_privileged:
        return f"{program.through[0]} runs it as another user"
    if program.sets:
        return f"it sets {program.sets[0]}, which may change what runs"
    if program.writes:
        return f"it writes into {program.writes[0].source}"
    return None


def too_wide(words: Sequence[str], *, is_exact: bool) -> str | None:
    """Why a rule that allows these words would allow nearly anything, None if it would not."""
    if not words:
        return "it names no program"
    name = _bare(words[0])
    if runs_others(name):
        return f"{name} runs other programs: name them"
    if is_exact:
        return None
    if len(words) == 1 and (name in SHELLS or name in _INTERPRETERS or name.startswith("python3.")):
        return f"{name} alone would allow any program: name what it runs"
    if name in SHELLS | _INTERPRETERS and words[1].startswith("-") and words[1] != "-m":
        return f"{name} {words[1]} would allow any program: name what it runs"
    if name in _DEPTHS and not _names_one(name, words[1:]):
        return f"{name} does many things: name one"
    named = (name, *words[1:])
    if len(named) == 2 and any(one[:2] == named for one in _RUNS_NEXT if len(one) > 2):
        return f"{name} {words[1]} does many things: name one"
    if named[:2] in _RUNS_ANY:
        return f"{name} {words[1]} would allow any program: only an exact rule can allow it"
    if (runs := _runs_next(words)) is not None or named[:2] in _RUN_SCRIPTS:
        run = words[runs or 2 :]
        run = run[1:] if run[:1] == ["--"] else run
        if not run or any(word.startswith("-") for word in (*words[2:runs], run[0])):
            return f"{' '.join((name, *words[1 : runs or 2]))} would allow any program: name what it runs"
        return None if runs is None else too_wide(run, is_exact=False)
    return None


def _names_one(name: str, words: Sequence[str]) -> bool:
    """Whether one of these words is a sub-command: neither an option nor, of git, the value of one."""
    before = ""
    for word in words:
        if not word.startswith("-") and not (name == "git" and before in _GIT_VALUES):
            return True
        before = word
    return False


def fits(pattern: Pattern, program: Program) -> bool:
    """Whether an allowing rule's words are those of a program: word by word, from its name on.

    A rule that names only what reads, of what mostly reads, allows no more than that: `find` and `find .` are not
    `find . -delete`, `git diff` is not `git diff --output=x`. Nor does one that does not say so have a program run others.
    """
    return begins(pattern, program) and (
        pattern.is_exact
        or (
            (not _does_more(program) or _names_more(pattern.words))
            and set(beyond(program)) <= set(pattern.words)
        )
    )


def begins(pattern: Pattern, program: Program) -> bool:
    """Whether a program begins with a rule's words, whatever follows; where the rule is exact, it has no others."""
    words = program.words
    return (words if pattern.is_exact else words[: len(pattern.words)]) == list(pattern.words)


def _does_more(program: Program) -> bool:
    """Whether what mostly reads may do something else this time."""
    called = _as_called(program)
    return _name_length(called) is not None and does_more(called) is not None


def _names_more(words: Sequence[str]) -> bool:
    """Whether what a rule names beside the name of what mostly reads does more than that."""
    called = _as_called(Program(tuple(Word(word, word) for word in words), ""))
    length = _name_length(called)
    if length is None or len(called.argv) <= length or does_more(called) is None:
        return False
    # What ends in an option that wants a value does no more than what goes on with one.
    return does_more(called._replace(argv=(*called.argv, Word("x", "x")))) is not None


def _name_length(called: Program) -> int | None:
    """How many words name what mostly reads, None where it is something else."""
    if called.name != "git":
        return 1 if mostly_reads(called.name or "") else None
    length = git_mostly_reads(called.words[1:])
    return None if length is None else length + 1


def _as_called(program: Program) -> Program:
    """A program by its name alone, wherever it lies, and git without the options before its sub-command."""
    argv = list(program.argv)
    if argv and argv[0].text is not None:
        argv[0] = argv[0]._replace(text=_bare(argv[0].text))
    if argv and argv[0].text == "git":
        while len(argv) > 1 and (argv[1].text or "").startswith("-"):
            del argv[1 : 3 if argv[1].text in _GIT_VALUES else 2]
    return program._replace(argv=tuple(argv))


def may_fit(pattern: Pattern, program: Program) -> bool:
    """Whether a forbidding rule's words may be those of a program.

    Its name counts wherever it lies, options may stand between the words, and what is not known may be any word.
    """
    if not program.argv:
        return False
    first, rest = pattern.words[0], list(pattern.words[1:])
    name = program.name
    if first in program.through and not rest:
        return True
    if name is not None and name != first and name.rpartition("/")[2] != first:
        return False
    after_option = False
    for word in program.words[1:]:
        if not rest or word is None:
            return True
        if word == rest[0]:
            rest.pop(0)
        elif not word.startswith("-") and not after_option and not rest[0].startswith("-"):
            return False
        after_option = word.startswith("-")
    return not rest


def runs_scripts(program: Program) -> list[Word]:
    """The files that a program runs: itself, where it is named by its path, and what an interpreter is given.

    What `uv run` and the like run counts as if they were not there.
    """
    if not program.argv or program.name is None:
        return []
    argv = program.argv
    if _bare(program.name) in _RUNNERS and (runs := _runs_next(program.words)) and len(argv) > runs:
        argv = tuple(dropwhile(lambda word: (word.text or "-").startswith("-"), argv[runs:]))
        if argv and argv[0].text not in _RUN_FILES:
            return [argv[0]]
    return _scripts_of(argv)


def _scripts_of(argv: Sequence[Word]) -> list[Word]:
    name = argv[0].text if argv else None
    if name is None:
        return []
    found = [argv[0]] if "/" in name else []
    if _bare(name) in _RUN_FILES or _bare(name).startswith("python3."):
        for word in argv[1:]:
            if word.text in {"-m", "-c", "-e"}:  # a module, or a text
                break
            if not (word.text or "-").startswith("-"):
                return [*found, word]
    return found
