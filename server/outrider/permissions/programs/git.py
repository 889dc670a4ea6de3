"""What git only reads with: its sub-commands, and the words with which they do more, or show an object by its id alone.

What the settings, hooks and the index of a repository have git do is not looked at: a read-only sandbox holds it.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from outrider.permissions.shell.model import Program, Word
from outrider.ports.patterns import linear

_READS: Final = frozenset(
    [
        "status",
        "log",
        "show",
        "diff",
        "shortlog",
        "blame",
        "annotate",
        "grep",
        "ls-files",
        "ls-tree",
        "rev-parse",
        "rev-list",
        "describe",
        "merge-base",
        "name-rev",
        "cat-file",
        "for-each-ref",
        "show-ref",
        "count-objects",
        "check-ignore",
        "check-attr",
        "cherry",
        "show-branch",
        "version",
        "whatchanged",
        "diff-tree",
        "diff-index",
    ]
)
"""Sub-commands that read whatever their operands are."""
_VERBS: Final[Mapping[str, frozenset[str]]] = {
    "stash": frozenset({"list", "show"}),
    "worktree": frozenset({"list"}),
    "bisect": frozenset({"log"}),
    "submodule": frozenset({"status"}),
    "notes": frozenset({"list", "show"}),
    "remote": frozenset({"get-url"}),
}
"""Sub-commands that read with a word behind them."""
_LISTS: Final = frozenset({"branch", "tag", "remote", "config", "symbolic-ref", "reflog"})
"""Sub-commands that show something with some words, and change it with others."""
_MORE: Final = ("--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters", "--batch", "--batch-check",
                "--batch-command", "--contents", "--show-signature", "--interactive", "--upload-pack", "--exec")  # fmt: skip
"""Options that write or run something, or read what another program names; they may be cut short."""
_LISTING: Final = linear(
    "git.listing",
    r"-[li]+|-n[0-9]*|--(?:all|remotes|verbose|list|show-current|contains|merged|no-merged|no-contains|points-at|sort|format|color|no-color|"
    r"column|no-column|ignore-case)(?s:=.*)?",
)
_OF_BRANCHES: Final = linear("git.branches", r"-[arlvi]+")
"""Of `git branch` alone: with `git tag`, -a makes a tag."""
_TAKES_PATTERN: Final = frozenset(
    {
        "-l",
        "--list",
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "--sort",
        "--format",
    }
)
_CONFIG: Final = linear(
    "git.config",
    r"-l|-z|--(?:get|get-all|get-regexp|list|global|local|system|worktree|show-origin|show-scope|name-only|null|includes|no-includes|type=[a-z]+|bool|int|path|all)",
)
_CONFIG_SHOWS: Final = frozenset({"--get", "--get-all", "--get-regexp", "--list", "-l"})
_SETTING: Final = re.compile(r"[A-Za-z][\w-]*(?:\..*)?\.[A-Za-z][A-Za-z0-9-]*", re.DOTALL)
_FORMAT: Final = linear("git.format", r"%G|%\(\*?(?:raw|signature)")
"""What in a format runs a program that looks at a signature, or shows an object as it is (git-log(1), git-for-each-ref(1))."""
_OWN_OPTIONS: Final = frozenset({"--no-pager", "--no-optional-locks", "--literal-pathspecs"})
_WITH_VALUE: Final = frozenset(
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"]
)
"""Options before the sub-command whose value may be the next word."""

_TEXTS: Final = frozenset(
    [
        "log",
        "show",
        "diff",
        "whatchanged",
        "stash",
        "reflog",
        "grep",
        "diff-tree",
        "diff-index",
        "cat-file",
        "status",
        "notes",
        "rev-list",
        "blame",
        "annotate",
    ]
)
"""Sub-commands that may show texts of files."""
_BY_ID: Final = frozenset({"show", "diff", "grep", "cat-file", "diff-tree", "diff-index"})
"""Those that take any object where a commit is expected: the text of a file by its id, a folder by a path within a commit."""
_FORCES_TEXT: Final = ("--text", "--binary")
_SAME_COMMIT: Final = linear("git.commit", r"\^?(?:HEAD|ORIG_HEAD|@)(?:[~^][0-9]*|@\{[^}]*\})*|[0-9]{1,3}")
"""Words that name a commit, whatever a repository holds."""
_A_COMMIT: Final = linear("git.merge-base", r'"?\$\(git merge-base [A-Za-z0-9._/~^@ -]+\)"?')
"""What is filled in with a commit."""
_BETWEEN: Final = re.compile(r"\.\.\.?(?!/)")
"""Between two revisions (gitrevisions(7))."""


def git_does_more(arguments: Sequence[Word]) -> str | None:
    """Why git is not known to only read with these arguments, None where it is."""
    rest = list(arguments)
    while rest and rest[0].text in _OWN_OPTIONS:
        rest.pop(0)
    if not rest or rest[0].text is None:
        return "what git does is not known"
    name, rest = rest[0].text, rest[1:]
    texts = [word.prefix if word.text is None else word.text for word in rest]
    for before, word, text in zip(["", *texts], rest, texts, strict=False):
        if _is_more(name, text):
            return f"{word.source} is not known to only read"
        is_format = word.source.startswith("--format") or before == "--format"
        if word.text is None and is_format:
            return "its format is known only at run time, and may show an object as it is"
        if _FORMAT.search(word.source if word.text is None else text) or (
            name in _LISTS and "%" in text and word.text is None
        ):
            return "its format runs a program that checks signatures, or shows an object as it is"
    verb = texts[0] if texts else ""
    if verb in _VERBS.get(name, ()):
        return None
    if name in _LISTS:
        return None if _lists(name, texts) else f"git {name} is not known to only read with these words"
    return None if name in _READS else f"git {name} is not known to only read"


def _is_more(name: str, text: str) -> bool:
    key = text.partition("=")[0]
    if text.startswith("--"):
        return len(key) > 3 and any(one.startswith(key) for one in _MORE)
    return name == "grep" and text.startswith("-") and "O" in text


def _lists(name: str, texts: Sequence[str]) -> bool:
    operands = [text for text in texts if not text.startswith("-")]
    options = [text for text in texts if text.startswith("-")]
    match name:
        case "reflog":
            return not {"expire", "delete", "drop", "write", "exists"} & set(texts)
        case "symbolic-ref":
            return len(operands) <= 1 and set(options) <= {"-q", "--quiet", "--short", "--no-recurse"}
        case "remote":
            return not operands and set(options) <= {"-v", "--verbose"}
        case "config":
            if not all(_CONFIG.fullmatch(one) for one in options):
                return False
            shows = not _CONFIG_SHOWS.isdisjoint(options) or operands[:1] in (["get"], ["list"])
            return shows or (len(operands) == 1 and _SETTING.fullmatch(operands[0]) is not None)
        case _:
            patterns = any(option.partition("=")[0] in _TAKES_PATTERN for option in options)
            if name == "branch":
                options = [option for option in options if _OF_BRANCHES.fullmatch(option) is None]
            return (patterns or not operands) and all(_LISTING.fullmatch(option) for option in options)


def mostly_reads(words: Sequence[str | None]) -> int | None:
    """How many of these words name a sub-command of git that mostly reads; None where they name another."""
    name, verb = [*words[:2], None, None][:2]
    if name in _VERBS and verb in _VERBS[name]:
        return 2
    return 1 if name in _READS or name in _LISTS else None


def without_folders(program: Program) -> tuple[Program, tuple[Word, ...]]:
    """A program, and where git goes first by `-C FOLDER`, which is taken away; a folder that is not known stays."""
    if program.name != "git":
        return program, ()
    argv, folders, at = list(program.argv), list[Word](), 1
    while len(argv) > at + 1 and (argv[at].text in _OWN_OPTIONS or argv[at].text == "-C"):
        if argv[at].text != "-C":
            at += 1
        elif argv[at + 1].text:
            folders.append(argv[at + 1])
            del argv[at : at + 2]
        else:
            break
    return (program._replace(argv=tuple(argv)), tuple(folders)) if folders else (program, ())


def as_they_were(text: str) -> list[str]:
    """The paths in a word that names files as they were, by a revision and a colon; two where it names what lies between."""
    return [path for one in _BETWEEN.split(text) for _, colon, path in [one.partition(":")] if colon]


def shows_texts(program: Program) -> bool:
    """Whether git may show texts of the files that a repository holds; what it does at run time only, may too."""
    return program.name == "git" and ((name := _sub_command(program)) is None or name in _TEXTS)


def why_any_text(program: Program) -> str | None:
    """Why git may show the text of any file, by an option or a word that is not known; None where it may not."""
    name = _sub_command(program)
    if program.name != "git" or name not in _TEXTS:
        return None
    for word in takewhile(lambda word: word.text != "--", program.argv[1:]):
        key = (word.text or word.prefix).partition("=")[0]
        is_cut = len(key) > 3 and any(one.startswith(key) for one in _FORCES_TEXT)
        is_letters = key.startswith("-") and not key.startswith(("--", "-S", "-G", "-L")) and name != "status"
        if is_cut or (is_letters and "a" in key):
            return f"{word.source} makes git show every file as text"
        unsure = word.text is None and _A_COMMIT.fullmatch(word.source) is None
        if unsure and (name in _BY_ID or word.may_be_option or not word.is_one):
            return f"{word.source} is known only at run time, and may make git show the text of any file"
    return None


def named_objects(program: Program) -> list[str]:
    """The words of a program that may name an object that is no commit, and so the text of any file."""
    if program.name != "git" or (name := _sub_command(program)) not in _BY_ID:
        return []
    texts = [word.text or "" for word in program.argv[_sub_command_at(program) + 1 :]]
    texts = texts[: texts.index("--")] if "--" in texts else texts
    found = list[str]()
    for text in texts:
        for one in _BETWEEN.split(text.lstrip("^")):
            # A file of a commit by its path is not another one: its path is what counts. Compared or searched, it may be a folder.
            is_path = ":" in one and name in {"show", "cat-file"}
            if not one.startswith("-") and not is_path and one and _SAME_COMMIT.fullmatch(one) is None:
                found.append(one)
    return found


def _sub_command(program: Program) -> str | None:
    """The sub-command; empty if the words name none, None if it is known only at run time."""
    at = _sub_command_at(program)
    return program.argv[at].text if at < len(program.argv) else ""


def _sub_command_at(program: Program) -> int:
    at = 1
    while at < len(program.argv) and (program.argv[at].text or "").startswith("-"):
        at += 2 if program.argv[at].text in _WITH_VALUE else 1
    return at
