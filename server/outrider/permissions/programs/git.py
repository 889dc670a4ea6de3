"""What git only reads: some sub-commands, with options that neither write, nor run anything, nor reach another machine."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, Literal

from outrider.permissions.programs.options import Options, Reads, names, read_options
from outrider.permissions.shell.model import Program, Word

_DIFF: Final = names(
    "patch no-patch unified raw patch-with-raw patience minimal histogram diff-algorithm stat numstat shortstat dirstat cumulative summary "
    "patch-with-stat name-only name-status color no-color color-words word-diff word-diff-regex no-renames check full-index binary "
    "abbrev find-renames find-copies diff-filter pickaxe-all pickaxe-regex relative text ignore-all-space ignore-space-change "
    "ignore-space-at-eol ignore-blank-lines function-context exit-code quiet no-ext-diff no-textconv cached staged merge-base "
    "src-prefix dst-prefix no-prefix compact-summary ignore-cr-at-eol submodule color-moved color-moved-ws no-color-moved "
    "ignore-submodules inter-hunk-context break-rewrites"
)
_LOG: Final = _DIFF | names(
    "oneline pretty format abbrev-commit no-abbrev-commit graph decorate no-decorate all branches tags remotes max-count skip since after "
    "until before author committer grep invert-grep all-match regexp-ignore-case extended-regexp fixed-strings perl-regexp merges "
    "no-merges first-parent follow reverse date date-order topo-order author-date-order left-right cherry cherry-pick boundary "
    "simplify-by-decoration full-history ancestry-path walk-reflogs source no-notes left-only right-only name-status numstat stat "
    "cc no-walk"
)
_DIFF_VALUED: Final = names("diff-filter word-diff-regex src-prefix dst-prefix diff-algorithm")
_LOG_VALUED: Final = _DIFF_VALUED | names(
    "max-count skip since after until before author committer grep date"
)

_SUB: Final[Mapping[str, Options]] = {
    "status": Options("sbvz", "", names("short branch porcelain long untracked-files ignored ignore-submodules column no-column "
                      "ahead-behind no-ahead-behind renames no-renames find-renames show-stash verbose null"), optional="u"),
    "log": Options("pusczwbiEFPgqm", "nSGL", _LOG, _LOG_VALUED, numbers=True, optional="UMB"),
    "show": Options("psczwbq", "nSG", _LOG, _LOG_VALUED, numbers=True, optional="UMB"),
    "diff": Options("pszwbRaWqD", "SG", _DIFF | names("base ours theirs"), _DIFF_VALUED, optional="UMCB"),
    "shortlog": Options("sne", "", names("summary numbered email all since until no-merges"), names("since until")),
    "blame": Options("bcfeklnpstw", "L", names("porcelain line-porcelain incremental root show-stats date show-name show-number "
                     "show-email abbrev"), names("date"), optional="MC"),
    "grep": Options("acEFGhHiIlLnopPqvwW", "ABCefm", names("cached text ignore-case word-regexp invert-match full-name "
                    "extended-regexp basic-regexp perl-regexp fixed-strings line-number column files-with-matches name-only "
                    "files-without-match count break heading show-function function-context context after-context before-context "
                    "all-match quiet max-depth color no-color only-matching threads and or not"), names("context after-context before-context max-depth threads"),
                    patterns=names("-e -f"), paths=names("-f"), operands="pattern"),
    "ls-files": Options("cdikmostuvz", "x", names("cached deleted modified others ignored stage unmerged killed exclude "
                        "exclude-standard error-unmatch full-name abbrev eol deduplicate"), names("exclude")),
    "ls-tree": Options("drtlz", "", names("long name-only name-status object-only full-name full-tree abbrev format"), names("format")),
    "rev-parse": Options("q", "", names("abbrev-ref short verify show-toplevel show-prefix show-cdup git-dir git-common-dir is-inside-work-tree "
                         "is-bare-repository is-inside-git-dir symbolic symbolic-full-name all branches tags remotes head quiet absolute-git-dir")),
    "rev-list": Options("", "n", _LOG | names("count objects"), _LOG_VALUED, numbers=True),
    "describe": Options("", "", names("all tags contains abbrev always long match exact-match first-parent candidates dirty broken"), names("match candidates")),
    "merge-base": Options("a", "", names("all octopus independent is-ancestor fork-point")),
    "name-rev": Options("", "", names("tags name-only all always")),
    "cat-file": Options("tsep", "", names("batch-check")),
    "for-each-ref": Options("", "", names("format sort count points-at contains merged no-merged"), names("format sort count")),
    "show-ref": Options("dqs", "", names("head heads tags dereference hash verify quiet abbrev exists")),
    "count-objects": Options("vH", "", names("verbose human-readable"), operands="none"),
    "check-ignore": Options("qvnz", "", names("quiet verbose non-matching no-index")),
    "check-attr": Options("a", "", names("all cached")), "cherry": Options("v", "", names("abbrev")),
    "show-branch": Options("ar", "", names("all remotes current sha1-name no-name topics list topo-order date-order sparse")),
    "symbolic-ref": Options("q", "", names("quiet short no-recurse"), most=1),
    "version": Options("", "", names("build-options"), operands="none"),
    "whatchanged": Options("p", "n", _LOG, _LOG_VALUED, numbers=True),
    "diff-tree": Options("prsz", "", _DIFF | names("root no-commit-id"), _DIFF_VALUED),
    "diff-index": Options("prsz", "", _DIFF, _DIFF_VALUED),
    # Behind an option it may still take a word for what it is to do, and then no word is a value.
    "reflog": Options("p", "", _LOG, numbers=True, optional="n", operands="none"),
}  # fmt: skip

_LISTS: Final[Mapping[str, Options]] = {
    "branch": Options("arvl", "", names("all remotes verbose list show-current contains merged no-merged points-at sort format color "
                      "no-color column no-column ignore-case"), names("contains merged no-merged points-at sort format"), operands="none"),
    "tag": Options("ln", "", names("list contains merged no-merged points-at sort format column ignore-case"),
                   names("contains merged no-merged points-at sort format"), operands="none"),
    "remote": Options("v", "", names("verbose"), operands="none"),
}  # fmt: skip
"""Sub-commands that list where they are given no name, and make something where they are."""

_VERBS: Final = {
    "stash": {"list": Options("p", "", _LOG, _LOG_VALUED), "show": Options("pu", "", _DIFF, _DIFF_VALUED)},
    "worktree": {"list": Options("vz", "", names("porcelain verbose"), operands="none")},
    "remote": {"get-url": Options("", "", names("all push"), operands="texts")},
    "bisect": {"log": Options(operands="none")},
    "reflog": {"show": Options("", "n", _LOG, _LOG_VALUED, numbers=True)},
    "submodule": {"status": Options("", "", names("cached recursive"))},
    "notes": {"list": Options(), "show": Options()},
}  # fmt: skip

_CONFIG: Final = Options("lz", "", names("get get-all get-regexp list global local system worktree show-origin show-scope name-only null includes no-includes "
                         "type bool int path all"), operands="texts")  # fmt: skip
_CONFIG_SHOWS: Final = names("--get --get-all --get-regexp --list -l")
_SETTING: Final = re.compile(r"[A-Za-z][\w-]*(?:\..*)?\.[A-Za-z][A-Za-z0-9-]*", re.DOTALL)
_MAY_LACK: Final = names("--merged --no-merged --contains --points-at")
"""Options of lists that mean the last commit where nothing follows."""


def _config(arguments: Sequence[Word]) -> Reads | str:
    """`git config` that shows: an option says so, or its first word; or there is but the name of a setting."""
    rest = list(arguments)
    reads = read_options(_CONFIG, rest)
    if isinstance(reads, str):
        return reads
    shows = any(word.text in _CONFIG_SHOWS for word in rest)
    operands = [word for word in rest if not (word.text or "").startswith("-")]
    if not shows and operands and operands[0].text in {"get", "list"}:
        return reads
    if shows or (len(operands) == 1 and _SETTING.fullmatch(operands[0].text or "")):
        return reads
    return "git config is not known to only read"


_PATCHES: Final = names("log whatchanged reflog stash diff-tree diff-index show diff")
_COMMITS_ALONE: Final = names(
    "log show whatchanged shortlog rev-parse rev-list ls-tree cat-file for-each-ref show-ref merge-base name-rev branch tag remote "
    "config reflog version notes count-objects worktree diff-tree cherry show-branch symbolic-ref bisect"
)
_SHOWS_ONE: Final = frozenset(
    f"-{one}" if len(one) == 1 else f"--{one}"
    for one in names(
        "p s patch no-patch stat numstat shortstat summary name-only name-status oneline format pretty color no-color raw quiet unified "
        "abbrev-commit decorate no-decorate date no-renames word-diff color-words no-ext-diff no-textconv"
    )
) | {"--no-pager"}
_PATCHED: Final = names("show diff")
_CHECKS: Final = re.compile(r"%G|%\(\*?(?:raw|signature)")
"""What in a format has a program look at a signature, or shows an object as it is (git-log(1), git-for-each-ref(1))."""
_SUBMODULES: Final = frozenset({"--submodule=short", "--submodule=log"})
"""Those that show texts where no option says otherwise."""
_WITH_TEXT: Final = names(
    "patch unified patch-with-raw patch-with-stat word-diff word-diff-regex color-words function-context check binary cc"
)
_WITHOUT_TEXT: Final = names(
    "stat numstat shortstat dirstat summary compact-summary name-only name-status raw quiet no-patch"
)


def mostly_reads(words: Sequence[str | None]) -> int | None:
    """How many of these words name a sub-command of git that mostly reads; None where they name another."""
    name, verb = [*words[:2], None, None][:2]
    if name in _VERBS and verb in _VERBS[name]:
        return 2
    return 1 if name in _SUB or name in _LISTS or name == "config" else None


def without_folders(program: Program) -> tuple[Program, tuple[Word, ...]]:
    """A program, and where git goes first by `-C FOLDER`, which is taken away; a folder that is not known stays."""
    if program.name != "git":
        return program, ()
    argv, folders = list(program.argv), list[Word]()
    while len(argv) > 2 and argv[1].text == "-C" and argv[2].text:
        folders.append(argv[2])
        del argv[1:3]
    return (program._replace(argv=tuple(argv)), tuple(folders)) if folders else (program, ())


def git_reads(arguments: Sequence[Word]) -> Reads | str:
    """Where git reads with these arguments; a text says why it is not known to only read."""
    reads = _where(arguments)
    if isinstance(reads, str) or not _shows_texts(arguments):
        return reads
    return reads._replace(tracked=True, past=_shows_past(arguments))


def looks_at_files(arguments: Sequence[Word]) -> bool:
    """Whether git may look what became of the files that it tracks, and so into repositories among them."""
    texts = [word.text or "" for word in arguments]
    if any(text.startswith("--submodule") for text in texts):
        return True  # it asks a repository among them for its commits
    return next((text for text in texts if not text.startswith("-")), "") not in _COMMITS_ALONE


def compares_few(arguments: Sequence[Word]) -> Literal["named", "named and before"] | None:
    """Of which commits alone git shows texts: those named, or the last one; or those right before them as well.

    None where it may be others. The arguments are known to only read.
    """
    texts = [word.text or "" for word in arguments]
    name = next((text for text in texts if not text.startswith("-")), "")
    options = texts[: texts.index("--")] if "--" in texts else texts
    if name == "diff":
        return None if "--merge-base" in options else "named"
    keys = {text.partition("=")[0] for text in options if text.startswith("-")}
    # A number, or a name for many of them, has it go on to others.
    is_one = name == "show" and keys <= _SHOWS_ONE and not any(".." in text for text in options)
    return "named and before" if is_one else None


def _shows_past(arguments: Sequence[Word]) -> bool:
    """Whether git shows texts of commits though none is named."""
    texts = [word.text or "" for word in arguments]
    name = next((text for text in texts if not text.startswith("-")), "")
    if name == "diff":
        return not {"--cached", "--staged", "--merge-base"}.isdisjoint(texts)
    return name not in {"grep", "blame"}


def _shows_texts(arguments: Sequence[Word]) -> bool:
    """Whether git may show texts of what it tracks, with arguments that are known to only read."""
    texts = [word.text for word in arguments if word.text is not None]
    name = next((text for text in texts if not text.startswith("-")), "")
    options = texts[: texts.index("--")] if "--" in texts else texts
    long = {text[2:].partition("=")[0] for text in options if text.startswith("--")}
    short = {
        letter for text in options if text[:1] == "-" and text[1:2] not in {"-", ""} for letter in text[1:]
    }
    if name == "status":
        return "verbose" in long or "v" in short
    if name == "cat-file":
        return "p" in short or not (short or long)
    if name not in _PATCHES:
        return name in {"grep", "blame"}
    if long & _WITH_TEXT or short & set("puUWcmL"):
        return True
    return name in _PATCHED and not (long & _WITHOUT_TEXT or short & set("sq"))


def _where(arguments: Sequence[Word]) -> Reads | str:
    rest = list(arguments)
    if other := next(
        (
            text
            for word in rest
            if (text := word.text or "").startswith("--submodule=") and text not in _SUBMODULES
        ),
        None,
    ):
        return f"{other} shows what another repository holds"
    if any(
        _CHECKS.search(word.source if word.text is None else word.text)
        or (word.text is None and (before.text == "--format" or word.source.startswith("--format")))
        for before, word in pairwise((Word("", ""), *rest))
    ):
        return "its format has another program look at signatures, or shows an object as it is"
    while rest and rest[0].text in {"--no-pager", "--no-optional-locks", "--literal-pathspecs"}:
        rest.pop(0)
    if not rest or rest[0].text is None:
        return "what git does is not known"
    name, rest = rest[0].text, rest[1:]
    if name == "config":
        return _config(rest)
    if verbs := _VERBS.get(name):
        verb = rest[0].text if rest else None
        if verb in verbs:
            return read_options(verbs[verb], rest[1:])
    if options := _SUB.get(name) or _LISTS.get(name):
        texts = [word.text for word in rest]
        texts = texts[: texts.index("--")] if "--" in texts else texts
        if name in _LISTS and not {"-l", "--list"}.isdisjoint(texts) and name != "remote":
            options = replace(options, operands="texts")  # with a list they are patterns
        if name in _LISTS and texts and texts[-1] in _MAY_LACK:
            rest.append(Word("HEAD", "HEAD"))
        return read_options(options, rest)
    return f"git {name} is not known to only read"
