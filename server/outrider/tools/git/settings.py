"""What a repository's own settings have git run, when it only reads: monitors, filters, converters, hooks.

A workspace may have come with its `.git`, as an archive does, so its settings are a stranger's. Those that are known to start
nothing and to lead nowhere are in a table; with any other one a command of git does not count as only reading.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from outrider.processes.sandbox.git_folders import belonging_to

_MOST_BYTES: Final = 200_000
_MOST_MODULES: Final = 200
_ANY: Final = frozenset({"*"})


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARMLESS: Final[Mapping[str, frozenset[str]]] = {
    "core": _keys(
        "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev "
        "compression untrackedcache preloadindex fscache longpaths trustctime checkstat multipackindex commitgraph sparsecheckout "
        "sparsecheckoutcone splitindex hidedotfiles protectntfs protecthfs whitespace commentchar"
    ),
    "extensions": _keys("objectformat worktreeconfig refstorage"),
    "remote": _keys("url fetch pushurl push prune prunetags tagopt mirror skipdefaultupdate skipfetchall gh-resolved"),
    "submodule": _keys("url active path branch ignore fetchrecursesubmodules"),
    "diff": _keys(
        "algorithm renames renamelimit colormoved colormovedws mnemonicprefix noprefix context interhunkcontext indentheuristic "
        "ignoresubmodules wserrorhighlight relative statgraphwidth wordregex xfuncname funcname binary suppressblankempty"
    ),
    "lfs": _keys("repositoryformatversion"),
    "gpg": _keys("format"),
    # Not: a signature that another program looks at, in a log or its format; a patch where none was asked for.
    "log": _keys("date decorate abbrevcommit showroot mailmap excludedecoration initialdecorationset graphcolors"),
    "format": _keys("signoff numbered suffix thread attach headers coverletter outputdirectory subjectprefix"),
    "stash": _keys("showstat usebuiltin"),
    **dict.fromkeys(
        _keys(
            "branch user author committer init pull push fetch rebase merge color column advice status commit tag gui credential http url "
            "gc maintenance pack index feature alias grep versionsort help rerere am apply checkout clone receive transfer protocol"
        ),
        _ANY,
    ),
}  # fmt: skip
"""By section, what starts nothing where git only reads. What only matters where it reaches out or merges is among it."""

_LFS: Final = re.compile(r"git-lfs (?:clean|smudge|filter-process)(?: --skip)?(?: -- %f)?")
_SECTION: Final = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")


def why_its_settings_run_more(folder: str) -> str | None:
    """Why git may do more there than its arguments say, by the settings of that repository; None if it does not. Blocks.

    Args:
        folder: Where it runs; a real path.
    """
    found = find_repository(folder)
    if found is None:
        return None
    top, place = found
    common = common_folder(place)
    if (elsewhere := _elsewhere(top, place, common)) is not None:
        return f"git goes by {elsewhere}, and that does not know this folder"
    for path in (common / "hooks" / "post-index-change", place / "hooks" / "post-index-change"):
        if os.access(path, os.X_OK):
            return f"git runs {path.parent.name}/{path.name}"
    for path in (common / "config", place / "config.worktree", *_modules(common)):
        if problem := _problem_in(path, top, common):
            return problem
    return None


def _elsewhere(top: Path, place: Path, common: Path) -> str | None:
    """What git would show of another repository, to which files and links in this one lead; None for nothing."""
    inside, own = Path(os.path.realpath(top)), os.path.realpath(common)
    known = [inside, *(belonging_to(top) if (top / ".git").is_file() else ())]
    for path in (place, common, common / "objects", common / "refs"):
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(own) and not any(real.is_relative_to(one) for one in known):
            return str(real)
    return None if any(Path(own).is_relative_to(one) for one in known) else own


def find_repository(folder: str) -> tuple[Path, Path] | None:
    """The repository that git finds from a folder (gitrepository-layout(5)): the top of its files, and its own folder. Blocks.

    Args:
        folder: Where git runs; a real path.
    """
    for above in (Path(folder), *Path(folder).parents):
        entry = above / ".git"
        if entry.is_dir():
            return above, entry
        if entry.is_file():
            said = text_of(entry) or ""
            return above, above / said.removeprefix("gitdir:").strip() if said.startswith(
                "gitdir:"
            ) else entry
        if (above / "HEAD").exists() and (above / "objects").is_dir() and (above / "refs").is_dir():
            return above, above
    return None


def common_folder(place: Path) -> Path:
    """The folder that all work trees of a repository share. Blocks.

    Args:
        place: The own folder of one of them.
    """
    said = text_of(place / "commondir") if (place / "commondir").is_file() else None
    return place / said.strip() if said else place


def _modules(common: Path) -> Iterator[Path]:
    """The settings of submodules, in which `git status` and `git diff` look too."""
    waiting, left = [common / "modules"], _MOST_MODULES
    while waiting and left:
        left -= 1
        try:
            found = [Path(one.path) for one in os.scandir(waiting.pop()) if one.is_dir()]
        except OSError:
            continue
        for module in found:
            is_one = (module / "HEAD").exists()
            if is_one:
                yield module / "config"
            waiting.append(module / "modules" if is_one else module)
    if waiting:
        yield common / "modules"  # too many: it is no file, and so a problem


def _problem_in(path: Path, top: Path, common: Path) -> str | None:
    text = text_of(path) if os.path.lexists(path) else ""
    if text is None:
        return f"the settings of git in {path.name} cannot be read"
    section, name = "", None
    for line in text.splitlines():
        rest = line.strip()
        if match := _SECTION.match(rest):
            section, name, rest = match[1].lower(), match[2], rest[match.end() :]
        if not rest or rest.startswith(("#", ";")):
            continue
        found = _KEY.fullmatch(rest)
        key, value = (found[1].lower(), (found[2] or "").strip()) if found else (rest[:20], "")
        if not _is_harmless(section, name, key, value, path, top, common):
            return f"git does what its settings there say: {section}.{key}"
    return None


def _is_harmless(
    section: str, name: str | None, key: str, value: str, path: Path, top: Path, common: Path
) -> bool:
    keys = _HARMLESS.get(section, frozenset[str]())
    if key in keys or (keys is _ANY and re.fullmatch(r"[a-z][a-z0-9-]*", key)):
        return not (
            section == "diff"
            and name is not None
            and key not in {"wordregex", "xfuncname", "funcname", "binary"}
        )
    if (section, key) == ("core", "fsmonitor"):
        return value.lower() == "false"
    if (section, key) == ("core", "worktree"):
        # Submodules have it; any other place would be shown as what changed here.
        tree = Path(os.path.realpath(path.parent / value))
        # A linked work tree has its modules beside the first one.
        tops = [top, common.parent] if path.is_relative_to(common / "modules") else [top]
        return any(tree.is_relative_to(os.path.realpath(one)) for one in tops)
    if (section, name) == ("filter", "lfs"):
        return key == "required" or _LFS.fullmatch(value) is not None
    return False


def text_of(path: Path) -> str | None:
    """The text of one of git's small files; None where it is none, or too large. Blocks."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_text("utf-8", "replace")
    except OSError:
        return None
