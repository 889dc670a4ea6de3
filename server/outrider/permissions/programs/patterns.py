"""Which rule fits a program: wide enough to be of use, and no wider than what it does again."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Final

from outrider.permissions.programs.readers import only_reads
from outrider.permissions.shell.model import Program, Word
from outrider.permissions.shell.through import SHELLS, runs_others


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Pattern:
    """The words that a command begins with; or all of them."""

    words: tuple[str, ...]
    is_exact: bool = False

    @property
    def text(self) -> str:
        """As a person writes and reads it."""
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

_RUNS_NEXT: Final = frozenset(
    {
        ("npm", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "dlx"), ("yarn", "exec"), ("bun", "run"), ("bun", "x"), ("uv", "run"), ("poetry", "run"),
        ("pdm", "run"), ("hatch", "run"), ("rye", "run"), ("conda", "run"), ("mamba", "run"), ("bundle", "exec"), ("go", "run"), ("deno", "run"),
        ("nix", "run"), ("docker", "run"), ("docker", "exec"), ("podman", "run"), ("podman", "exec"), ("kubectl", "exec"), ("kubectl", "run"),
    }
)  # fmt: skip
"""Sub-commands that run what is named next: a program, a file, a package, an image."""

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

_DO_MORE: Final = _names("find sed sort rg date tree uniq file xxd")
"""Programs that mostly read, and write or run something by an option or an operand."""
_DO_MORE_OF_GIT: Final = _names("diff log show grep blame shortlog status")
"""The sub-commands of git of which the same holds: `git diff --output=x` writes, `--ext-diff` runs."""


def pattern_of(program: Program) -> Pattern | None:
    """The rule that is offered for a program; None where none can cover it.

    Args:
        program: As it was read.
    """
    words = program.words
    if problem_of_program(program) is not None or words[0] is None:
        return None
    name = words[0]
    known = list[str]()
    for word in words:
        if word is None:
            break
        known.append(word)
    is_whole = len(known) == len(words)
    if name in _ONE_THING and not _does_more(program):
        return Pattern((name,))
    if depth := _DEPTHS.get(name):
        if len(known) > 1 and (name, known[1]) in _DEEPER | _RUNS_NEXT:
            depth = 3
        first = known[:depth]
        is_named = len(known) >= depth and not any(word.startswith("-") for word in first[1:])
        pattern = Pattern(tuple(first))
        if is_named and too_wide(first, is_exact=False) is None and fits(pattern, program):
            return pattern
    if name.startswith("python") and known[1:2] == ["-m"] and len(known) > 2:
        return Pattern(tuple(known[:3]))
    is_script = "/" in name or (
        name not in _DEPTHS
        and (name in _INTERPRETERS or name in SHELLS)
        and len(known) > 1
        and not known[1].startswith("-")
    )
    if is_script and name not in _names("npx pnpx bunx pipx uvx"):
        return Pattern(tuple(known[: 1 if "/" in name else 2]))
    return Pattern(tuple(known), is_exact=True) if is_whole else None


def problem_of_program(program: Program) -> str | None:
    """Why no rule can allow a program, None if one can."""
    if program.unresolved is not None:
        return program.unresolved
    if not program.argv:
        return "it is no program"
    if program.is_privileged:
        return f"{program.through[0]} runs it as somebody else"
    if program.sets:
        return f"it sets {program.sets[0]}, which may change what runs"
    if program.writes:
        return f"it writes into {program.writes[0].source}"
    return None


def too_wide(words: Sequence[str], *, is_exact: bool) -> str | None:
    """Why a rule that allows these words would allow nearly anything, None if it would not."""
    if not words:
        return "it names no program"
    name = words[0].rpartition("/")[2]
    if runs_others(name):
        return f"{name} runs other programs: name those"
    if is_exact:
        return None
    if len(words) == 1 and (name in SHELLS or name in _INTERPRETERS or name.startswith("python3.")):
        return f"{name} alone would allow any program: name what it runs"
    if name in SHELLS | _INTERPRETERS and words[1].startswith("-") and words[1] != "-m":
        return f"{name} {words[1]} would allow any program: name what it runs"
    if name in _DEPTHS and not _names_one(name, words[1:]):
        return f"{name} does many things: name the one"
    if (name, *words[1:2]) in _RUNS_NEXT | {("npm", "run"), ("pnpm", "run"), ("yarn", "run")}:
        if len(words) == 2 or words[2].startswith("-"):
            return f"{name} {words[1]} would allow any program: name what it runs"
        return too_wide(words[2:], is_exact=False) if (name, words[1]) in _RUNS_NEXT else None
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

    The name alone of what mostly reads allows no more than that: `find` is not `find -delete`, `git diff` not
    `git diff --output=x`.
    """
    words = program.words
    if pattern.is_exact:
        return words == list(pattern.words)
    is_so_named = words[: len(pattern.words)] == list(pattern.words)
    is_name_alone = len(pattern.words) == _words_of_name(pattern.words)
    return is_so_named and not (is_name_alone and _does_more(program))


def _words_of_name(words: Sequence[str]) -> int:
    """How many words name what is run: of git the sub-command is one of them."""
    return 2 if words[0] == "git" else 1


def _does_more(program: Program) -> bool:
    """Whether what mostly reads may do something else this time."""
    words = program.words
    mostly_reads = program.name in _DO_MORE or (
        program.name == "git" and len(words) > 1 and words[1] in _DO_MORE_OF_GIT
    )
    return mostly_reads and isinstance(only_reads(program), str)


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


def runs_scripts(program: Program) -> Word | None:
    """The file that a program runs: itself, where it is named by its path, or what an interpreter is given.

    What `uv run` and the like run counts as if they were not there.
    """
    if not program.argv or program.name is None:
        return None
    argv = program.argv
    if len(argv) > 2 and (program.name, argv[1].text) in _RUNS_NEXT:
        argv = tuple(dropwhile(lambda word: (word.text or "-").startswith("-"), argv[2:]))
        if argv and argv[0].text not in _RUN_FILES:
            return argv[0]
    return _script_of(argv)


def _script_of(argv: Sequence[Word]) -> Word | None:
    name = argv[0].text if argv else None
    if name is None:
        return None
    if name in _RUN_FILES or name.startswith("python3."):
        for word in argv[1:]:
            if word.text in {"-m", "-c", "-e"}:  # a module, or a text
                return None
            if not (word.text or "-").startswith("-"):
                return word
        return None
    return argv[0] if "/" in name else None
