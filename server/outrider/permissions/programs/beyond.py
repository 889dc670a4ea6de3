"""What has a program run another one, or go by other settings, by an option: a rule that does not name it is not about that."""

import re
from collections.abc import Mapping
from typing import Final

from outrider.permissions.shell.model import Program

_COMPILER: Final = r"-wrapper|-fplugin=|-Xclang|-B"
_NODE: Final = r"--(?:script-shell|node-options|prefix|userconfig|globalconfig|shell|dir)\b|-C"
_BEYOND: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(pattern)
    for names, pattern in {
        "tar gtar bsdtar": r"--(?:to-c|checkpoint-a|use-c|rs|info-s|new-v|rmt-c)|-(?!-)\w*[IF]",
        "rsync": r"--(?:rsh?|rsync-p)|-(?!-)\w*e",
        "zip": r"-TT|--unzip-c",
        "man": r"-(?!-)\w*[PHC]|--(?:pa|html|config)",
        "wget": r"--(?:use-ask|exec|conf)|-(?!-)\w*e",
        "scp sftp": r"-(?!-)\w*[SoF]",
        "ssh": r"-(?!-)\w*[oF]",
        "make gmake": r"--(?:ev|fi|mak|dir|inc)|-(?!-)\w*[fCIE]|(?:SHELL|\.SHELLFLAGS|MAKEFLAGS|MAKEFILES)\s*[:+?]*=",
        "git": r"--(?:exec?(?:=|\Z)|upload-p|receive-p|extc|open-f|config\b)|-x",
        "npm pnpm yarn npx": _NODE,
        "cargo": r"--(?:config|manifest-p)|-[CZ]",
        "go": r"--?(?:toolexec|exec|vettool|C|modfile|overlay)\b",
        "gcc g++ cc c++ clang clang++": _COMPILER,
        "pip pip3": r"--(?:python|prefix|target|root|index-url|extra-index-url|trusted-host)|-i",
    }.items()
    for name in names.split()
}
"""By program: how an option begins that does so; GNU's long ones may be cut short."""


def beyond(program: Program) -> list[str]:
    """The words that have a program do so."""
    name = (program.name or "").rpartition("/")[2]
    pattern = _BEYOND.get(name)
    if pattern is None:
        return []
    words = program.words[1:]
    found = [word for word in words if word is not None and pattern.match(word)]
    if (
        name in {"tar", "gtar", "bsdtar"}
        and words
        and words[0]
        and re.fullmatch(r"[a-zA-Z]*[IF][a-zA-Z]*", words[0])
    ):
        found.append(words[0])  # options in the old way, without a dash
    return found
