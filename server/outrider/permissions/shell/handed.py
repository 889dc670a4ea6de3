"""Names of files that one program hands to another: `find … -exec`, and what is piped into `xargs`.

Such a word may be any file below some folders, which can be looked at before it runs. What hands over anything else is not known.
"""

import re
from collections.abc import Sequence
from typing import Final

from outrider.permissions.shell.model import Handed, Word

_TESTS: Final = frozenset(
    {"-name", "-type", "-iname", "-path", "-size", "-maxdepth", "-mindepth", "-mtime", "-mmin", "-newer", "-perm", "-user"}
)  # fmt: skip
"""Tests with a value, all of which must hold."""
_ALONE: Final = frozenset(
    {"-print", "-print0", "-a", "-and", "-empty", "-depth", "-mount", "-xdev", "-readable", "-executable"}
)
_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PRINTS_ELSE: Final = _RUNS | {"-printf", "-ls", "-fls", "-fprint", "-fprint0", "-fprintf", "-delete"}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.*?+-]+")
_OF_HERE: Final = re.compile(r"\*[A-Za-z0-9_.-]+")
"""A pattern for names in a folder."""
_LISTS: Final = {
    "grep": re.compile(r"-[rliwEF]+|--include=.*|--exclude(?:-dir)?=.*"),
    "rg": re.compile(r"-[liwFS]+"),
}
"""Options with which a search tells names of files, if `-l` is among them; `-r` of rg takes a value, and the `l` behind it."""
_OF_XARGS: Final = re.compile(r"-(?:[0rt]+|[nPL]\d*|I(?:\{\}|%)?)|\d+|\{\}|%|--null|--no-run-if-empty")


def found(argv: Sequence[Word], *, splits: bool = False) -> Handed | None:
    """What `find` hands over with the arguments before the one that says so; None where that is not known."""
    texts = [word.text for word in argv[1:]]
    if any(text in _RUNS for text in texts):
        texts = texts[: next(number for number, text in enumerate(texts) if text in _RUNS)]
    roots: list[str] = []
    while texts and texts[0] is not None and not texts[0].startswith(("-", "(", "!")):
        roots.append(texts.pop(0) or "")
    if any(text is None for text in texts):
        return None
    tests = _tests([text or "" for text in texts])
    name = next((value for test, value in tests if test == "-name" and _PLAIN_NAME.fullmatch(value)), None)
    is_sure = bool(tests) or all(text in _ALONE for text in texts)
    return Handed(tuple(roots or ["."]), name, ("-type", "f") in tests, splits, is_sure=is_sure)


def _tests(texts: list[str]) -> list[tuple[str, str]]:
    """The tests that all hold of what is found, with their values; none where a word may be something else."""
    tests: list[tuple[str, str]] = []
    while texts:
        if texts[0] in _TESTS and len(texts) > 1:
            tests.append((texts[0], texts[1]))
        elif texts[0] not in _ALONE:
            return []
        texts = texts[2 if texts[0] in _TESTS else 1 :]
    return tests


def piped(givers: Sequence[Sequence[Word]], options: Sequence[Word]) -> Handed | None:
    """What `xargs` is given by the programs before it in a pipe, the nearest first; None where that is not known.

    Args:
        givers: Their words; those that only leave lines out, or bring them into an order, stand between.
        options: Those of `xargs`.
    """
    if not all(word.text is not None and _OF_XARGS.fullmatch(word.text) for word in options):
        return None
    by_null = any(word.text == "--null" or re.fullmatch(r"-\w*0\w*", word.text or "") for word in options)
    for argv in givers:
        texts = [word.text for word in argv]
        if not _keeps_lines(texts):
            given = _given(argv, texts, by_null=by_null)
            return given if given is None or argv is givers[0] else given._replace(is_sure=False)
        if by_null:
            return None
    return None


def _keeps_lines(texts: Sequence[str | None]) -> bool:
    name, options = texts[0], [text or "?" for text in texts[1:]]
    if name in {"head", "tail"}:
        return re.fullmatch(r"(?:-n ?\d+|-\d+)?", " ".join(options)) is not None
    if name == "sort":
        return all(re.fullmatch(r"-[urVn]+", text) for text in options)
    if name == "grep":
        flags = [text for text in options if re.fullmatch(r"-[viEFw]+", text)]
        return len(options) - len(flags) == 1 and not options[-1].startswith("-")
    return False


def _given(argv: Sequence[Word], texts: Sequence[str | None], *, by_null: bool) -> Handed | None:
    rest = [
        text if text is not None else (word.source if word.is_glob else "/")
        for word, text in zip(argv, texts, strict=True)
    ][1:]
    match texts[0]:
        case "find":
            if not _PRINTS_ELSE.isdisjoint(rest) or ("-print0" in rest) != by_null:
                return None
            return found(argv, splits=not by_null)
        case "git" if rest[:1] == ["ls-files"]:
            options = {text for text in rest[1:] if text.startswith("-")} - {"--"}
            if not options <= {
                "-z",
                "-m",
                "-o",
                "-c",
                "--others",
                "--modified",
                "--cached",
                "--exclude-standard",
            }:
                return None
            names = [text for text in rest[1:] if not text.startswith("-")]
            return _here(names, splits=not by_null) if ("-z" in options) == by_null else None
        case "ls" if not by_null:
            if any(text.startswith("-") and text not in {"-1", "-t", "-S", "-r"} for text in rest):
                return None
            listed = [text for text in rest if not text.startswith("-")]
            # Of a folder it says the names in it, which are those of other files here.
            return (
                None if any(not _OF_HERE.fullmatch(text) for text in listed) else _here(listed, splits=True)
            )
        case "grep" | "rg" if not by_null:
            options = [text for text in rest if text.startswith("-")]
            if not any(re.fullmatch(r"-\w*l\w*", text) for text in options):
                return None
            if not all(_LISTS[texts[0]].fullmatch(text) for text in options):
                return None
            places = [text for text in rest if not text.startswith("-")][1:]
            is_known = places and not any(text.startswith("/") or set(text) & set("*?") for text in places)
            return Handed(tuple(places), splits=True) if is_known else _here(places, splits=True)
        case _:
            return None


def _here(names: Sequence[str], *, splits: bool) -> Handed | None:
    """Files below the folder where it runs, without a folder before their names: they may look like options."""
    if any(name.startswith(("/", ":")) or ".." in name for name in names):
        return None
    name = names[0] if len(names) == 1 and _OF_HERE.fullmatch(names[0]) else None
    return Handed((".",), name, splits=splits, is_bare=True)
