"""What has a program run another one, or go by other settings, by an option: a rule that does not name it is not about that."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from outrider.permissions.programs.options import names
from outrider.permissions.shell.model import Program, Word


@dataclass(frozen=True, slots=True)
class _Beyond:
    """The options of a program that do so."""

    long: frozenset[str] = frozenset()
    """Long ones, without the dashes. Most programs take them cut short, so what they begin with counts too."""
    short: str = ""
    """Letters; others may stand before them."""
    harmless: frozenset[str] = frozenset()
    """Long options of its own with which one of those begins."""
    other: str = r"(?!)"
    """Words in other ways of writing; an expression."""
    is_exact: bool = False
    """Whether it takes no option cut short, and long ones behind one dash as well."""


_NODE: Final = _Beyond(names("script-shell node-options prefix userconfig globalconfig shell dir"), "C")
_COMPILER: Final = _Beyond(
    other=r"-wrapper|--?specs|-fplugin|-Xclang|-Xlinker|-B|-fuse-ld|--ld-path|-Wl,.*plugin|@|--config"
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
        "zip": _Beyond(names("unzip-command"), other=r"-(?!-)\w*TT"),
        "man": _Beyond(names("pager html config-file"), "PHC"),
        "wget": _Beyond(names("use-askpass execute config"), "e"),
        "scp sftp": _Beyond(short="SoFD"),
        "ssh": _Beyond(short="oFI"),
        "make gmake": _Beyond(
            names("eval file makefile directory include-dir"),
            "fCIE",
            other=r"(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|MAKEFILES)\s*[:+?]*=",
        ),
        "git-fetch git-pull git-push git-ls-remote git-archive": _Beyond(
            names("exec upload-pack receive-pack")
        ),
        "git-rebase git-difftool": _Beyond(names("exec extcmd"), other=r"-[dfikmnpqvy]*x"),
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
    if _TAR in kinds and words and re.fullmatch(r"[a-zA-Z]*[IF][a-zA-Z]*", words[0]):
        found.append(words[0])  # options in the old way, without a dash
    return found


def _may_be_one(word: Word) -> bool:
    """Whether a word that is known only when it runs may turn out to be any option, as a file that a pattern brings too."""
    if word.text is not None or (word.handed is not None and not word.handed.is_bare):
        return False
    return word.may_be_option or not (word.is_one or word.is_glob)


def _is_one(word: str, kind: _Beyond) -> bool:
    if re.match(kind.other, word):
        return True
    key, is_long = word.lstrip("-").partition("=")[0], word.startswith("--")
    if kind.is_exact and word.startswith("-") and key in kind.long:
        return True
    if is_long and not kind.is_exact:
        is_begun = key != "" and any(option.startswith(key) for option in kind.long)
        return is_begun and key not in kind.harmless
    # What stands behind a letter may be its value, but nobody knows of which letters.
    return not is_long and kind.short != "" and re.match(rf"-\w*[{kind.short}]", word) is not None
