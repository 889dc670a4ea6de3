"""Programs that run another one: looked through, to the program that runs in the end.

An option that is not in the table makes it unknown what runs.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from outrider.permissions.shell.builtins import as_set
from outrider.permissions.shell.model import Handed, Word, no_words
from outrider.ports.patterns import WORD, linear

_TESTS: Final = frozenset(
    {"-name", "-type", "-iname", "-path", "-size", "-maxdepth", "-mindepth", "-mtime", "-mmin", "-newer", "-perm", "-user"}
)  # fmt: skip
"""Tests with a value, all of which must hold."""
_ALONE: Final = frozenset(
    {"-print", "-print0", "-a", "-and", "-empty", "-depth", "-mount", "-xdev", "-readable", "-executable"}
)
_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PRINTS_ELSE: Final = _RUNS | {"-printf", "-ls", "-fls", "-fprint", "-fprint0", "-fprintf", "-delete"}
_WITH_ZERO: Final = linear("xargs.by-null", rf"-[{WORD}]*0[{WORD}]*")
_WITH_L: Final = linear("grep.lists", rf"-[{WORD}]*l[{WORD}]*")
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


def piped(givers: Iterable[Sequence[Word]], options: Sequence[Word]) -> Handed | None:
    """What `xargs` is given by the programs before it in a pipe, the nearest first; None where that is not known.

    Args:
        givers: Their words; those that only leave lines out, or bring them into an order, stand between.
        options: Those of `xargs`.
    """
    if not all(word.text is not None and _OF_XARGS.fullmatch(word.text) for word in options):
        return None
    by_null = any(word.text == "--null" or _WITH_ZERO.fullmatch(word.text or "") for word in options)
    for number, argv in enumerate(givers):
        texts = [word.text for word in argv]
        if not _keeps_lines(texts):
            given = _given(argv, texts, by_null=by_null)
            return given if given is None or number == 0 else given._replace(is_sure=False)
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
            if not any(_WITH_L.fullmatch(text) for text in options):
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


UNKNOWN_REST: Final = Word("…", None, is_one=False)
"""Stands for arguments that are known only when it runs."""


@dataclass(frozen=True, slots=True)
class Inner:
    """What a program runs: another one, or a text for a shell."""

    argv: tuple[Word, ...] = ()
    script: Word | None = None
    interpreter: str = "bash"
    sets: tuple[str, ...] = ()
    reads: tuple[Word, ...] = ()
    """Files that it reads itself, for its arguments."""
    is_all: bool = True
    """Whether it does nothing else, so that it need not be looked at itself."""
    is_elsewhere: bool = False
    """Whether it runs it in folders that are known only then."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """It runs something, and nobody can say what."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The options of a program whose first operand, or the one after `operands`, is a program with its arguments."""

    flags: str = ""
    """Options of one letter without a value."""
    values: str = ""
    """Those with a value."""
    long: frozenset[str] = frozenset()
    """Long options that leave alone what runs; one with a value has it after `=`, or is in `long_values`."""
    long_values: frozenset[str] = frozenset()
    operands: int = 0


def _long(*names: str) -> frozenset[str]:
    return frozenset(names)


_PREFIXES: Final[Mapping[str, _Prefix]] = {
    "nohup": _Prefix(),
    "nice": _Prefix("0123456789", "n", _long("adjustment"), _long("adjustment")),
    "ionice": _Prefix("t", "cn", _long("ignore", "class", "classdata"), _long("class", "classdata")),
    "timeout": _Prefix(
        "vf", "ks", _long("foreground", "preserve-status", "verbose", "kill-after", "signal"),
        _long("kill-after", "signal"), operands=1,
    ),
    "stdbuf": _Prefix("", "ioe", _long("input", "output", "error"), _long("input", "output", "error")),
    "setsid": _Prefix("cfw", "", _long("ctty", "fork", "wait")),
    "time": _Prefix("p"),
    "caffeinate": _Prefix("dims"),
    "command": _Prefix("p"),
    "builtin": _Prefix(),
    "exec": _Prefix("cl"),
    "sudo": _Prefix("nEHkSb", "ugpCTh", _long("non-interactive", "user", "group", "preserve-env"), _long("user", "group")),
    "doas": _Prefix("n", "u"),
    "pkexec": _Prefix("", "", _long("user", "disable-internal-agent"), _long("user")),
    "runuser": _Prefix("", "u", _long("user"), _long("user")),
    "env": _Prefix("i0v", "u", _long("ignore-environment", "null", "debug", "unset"), _long("unset")),
    "xargs": _Prefix(
        "0rtxp", "nPIiLldsEea",
        _long("null", "no-run-if-empty", "verbose", "exit", "interactive", "max-args", "max-procs", "max-chars", "max-lines",
              "delimiter", "eof", "arg-file", "replace", "open-tty"),
        _long("max-args", "max-procs", "max-chars", "delimiter", "arg-file"),
    ),
    "watch": _Prefix("dtgexbc", "nq", _long("differences", "no-title", "chgexit", "errexit", "interval", "exec", "color"), _long("interval")),
}  # fmt: skip

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})

_RUNS_OTHERS: Final = frozenset(
    {
        "parallel", "strace", "ltrace", "gdb", "lldb", "valgrind", "perf", "script", "flock", "expect", "unbuffer", "screen",
        "tmux", "at", "batch", "crontab", "entr", "watchexec", "chroot", "unshare", "nsenter", "bwrap", "firejail", "proot",
        "fakeroot", "systemd-run", "systemd-inhibit", "start-stop-daemon", "dbus-run-session", "dbus-launch", "ssh-agent", "setarch", "linux32",
        "linux64", "taskset", "chrt", "numactl", "cgexec", "setpriv", "capsh", "prlimit", "softlimit", "chpst", "faketime",
        "ld.so", "busybox", "toybox", "run-parts", "xvfb-run", "torsocks", "proxychains", "catchsegv", "hyperfine", "rlwrap", "dumb-init",
        "tini", "gosu", "su-exec", "sg", "newgrp", "osascript", "open", "xdg-open", "rundll32",
    }
)  # fmt: skip

_BY_INPUT: Final = frozenset(
    {
        "python",
        "python2",
        "python3",
        "node",
        "deno",
        "bun",
        "ruby",
        "perl",
        "php",
        "lua",
        "Rscript",
        "osascript",
    }
)
"""Interpreters that run what they read where they are given no file."""


def look_through(argv: Sequence[Word], before: Iterable[Sequence[Word]] = ()) -> Inner | Unknown | None:
    """What a program runs, if it runs another one; None if it does not.

    Args:
        argv: Its name and arguments; the name is known.
        before: The words of the programs before it in a pipe, the nearest first.
    """
    name = (argv[0].text or "").rpartition("/")[2]
    if name in SHELLS:
        return _shell(name, argv)
    if name in _SPECIAL:
        return _SPECIAL[name](argv)
    if name in _PREFIXES:
        return _prefixed(name, argv, before)
    if name in _RUNS_OTHERS or name.startswith("ld-linux"):
        return Unknown(f"{name} runs another program, which is not analysed")
    if name in _BY_INPUT or name.startswith(("python3.", "python2.", "pypy")):
        operands = [word for word in argv[1:] if not (word.text or "-").startswith("-") or word.text == "-"]
        if not operands and not any(
            (word.text or "").lstrip("-")[:1] in {"m", "c", "e", "V", "v", "h"} for word in argv[1:]
        ):
            return Unknown(f"{name} runs its input")
        if operands and operands[0].text in {"-", "/dev/stdin", "/dev/fd/0"}:
            return Unknown(f"{name} runs its input")
    return None


def _prefixed(name: str, argv: Sequence[Word], before: Iterable[Sequence[Word]]) -> Inner | Unknown | None:
    if name == "command" and len(argv) > 1 and argv[1].text in {"-v", "-V"}:
        return None
    rest = _after_options(name, argv, _PREFIXES[name])
    if isinstance(rest, Unknown):
        return rest
    given = argv[1 : len(argv) - len(rest)]
    sets: tuple[str, ...] = ()
    if name in {"env", "sudo"}:
        sets, rest = _assignments(rest)
    if name == "env":
        sets = (*_unset(given), *sets)
    operands = _PREFIXES[name].operands
    if not all(word.is_one for word in argv[1 : len(argv) - len(rest) + operands]):
        return Unknown(f"an argument of {name} is not known")
    rest = rest[operands:]
    if not rest:
        if name in {"sudo", "doas", "pkexec", "runuser", "timeout"}:
            return Unknown(f"{name} does not name what it runs")
        return Inner((Word("echo", "echo"), UNKNOWN_REST)) if name == "xargs" else None
    if name == "xargs":
        return _fed(given, rest, piped(before, given))
    if name == "watch":
        texts = [word.text for word in rest]
        if None in texts:
            return Unknown("watch runs a text that is unknown")
        text = " ".join(text for text in texts if text is not None)
        return Inner(script=Word(text, text), interpreter="sh")
    if rest[0].source in {"{", "(", "!", "[["} or (name == "time" and "=" in rest[0].source):
        return Unknown(f"what {name} runs is not understood")
    return Inner(tuple(rest), sets=sets)


def _after_options(name: str, argv: Sequence[Word], spec: _Prefix) -> list[Word] | Unknown:
    rest = list(argv[1:])
    while rest:
        text = rest[0].text
        if text is None:
            # An unknown word could be an option, an operand, or nothing at all; the program could be one of several.
            unsure = rest[0].may_be_option or not rest[0].is_one
            return Unknown(f"an argument of {name} is not known") if unsure else rest
        if text == "--":
            return rest[1:]
        if not text.startswith("-") or text == "-":
            return rest
        rest.pop(0)
        if text.startswith("--"):
            key, equals, _ = text[2:].partition("=")
            if key not in spec.long:
                return Unknown(f"{name} {text} is not understood")
            if key in spec.long_values and not equals and rest and not rest.pop(0).is_one:
                return Unknown(f"an argument of {name} is not known")
            continue
        letters = text[1:]
        for number, letter in enumerate(letters):
            if letter in spec.values:
                if number == len(letters) - 1 and letter not in _OPTIONAL.get(name, ""):
                    if not rest:
                        return Unknown(f"{name} {text} lacks a value")
                    if not rest.pop(0).is_one:
                        return Unknown(f"an argument of {name} is not known")
                break
            if letter not in spec.flags:
                return Unknown(f"{name} {text} is not understood")
    return rest


_OPTIONAL: Final = {"xargs": "ile"}
"""Options whose value, if there is one, is in the same word."""


def _assignments(words: Sequence[Word]) -> tuple[tuple[str, ...], list[Word]]:
    names: list[str] = []
    rest = list(words)
    while rest and "=" in (rest[0].text if rest[0].text is not None else rest[0].prefix):
        word = rest.pop(0)
        name, _, value = (word.text if word.text is not None else word.prefix).partition("=")
        names.append(as_set(name, value if word.text is not None else None))
    return tuple(names), rest


def _unset(options: Sequence[Word]) -> list[str]:
    """The variables that `env` takes away: without them a program may do something else, as with other values."""
    names: list[str] = []
    for number, word in enumerate(options):
        text = word.text or ""
        if text.startswith("--unset="):
            names.append(text.partition("=")[2])
        elif text == "--ignore-environment" or (
            re.fullmatch(r"-[i0v]++u?.*", text) and "i" in text.partition("u")[0]
        ):
            names.append("all variables")
        if text == "--unset" or re.fullmatch(r"-[i0v]*u", text):
            names.append((options[number + 1].text or "?") if number + 1 < len(options) else "?")
        elif match := re.fullmatch(r"-[i0v]*u(.+)", text):
            names.append(match[1])
    return names


def _fed(given: Sequence[Word], rest: Sequence[Word], handed: Handed | None) -> Inner | Unknown:
    """What `xargs` runs: with arguments that it reads, at the end or in the place of a mark.

    Args:
        given: Its options.
        rest: The program, and what it is given in any case.
        handed: What it reads, where that is known.
    """
    mark, reads, waiting = None, no_words(), list(given)
    while waiting:
        word = waiting.pop(0)
        text = word.text or ""
        if text.startswith("--"):
            key, equals, value = text[2:].partition("=")
            value = (
                Word(text, value) if equals or key not in _PREFIXES["xargs"].long_values else waiting.pop(0)
            )
            mark = (value.text or "{}") if key == "replace" else mark
            reads += [value] if key == "arg-file" else []
            continue
        letter = next((one for one in text[1:] if one in _PREFIXES["xargs"].values), "")
        value = Word(text, text.partition(letter)[2]) if letter else Word("", "")
        if letter and letter not in _OPTIONAL["xargs"] and not value.text:
            value = waiting.pop(0)
        if letter == "I" and not value.text:
            return Unknown("the placeholder of xargs is unknown")
        mark = (value.text or "{}") if letter in {"I", "i"} else mark
        reads += [value] if letter == "a" else []
    if mark is None:
        return Inner((*rest, UNKNOWN_REST._replace(handed=handed)), reads=tuple(reads))
    filled = (_filled(word, mark) for word in rest)
    return Inner(
        tuple(word._replace(handed=handed) if word.source.strip("'\"") == mark else word for word in filled),
        reads=tuple(reads),
    )


def _filled(word: Word, mark: str) -> Word:
    known = word.text if word.text is not None else word.prefix
    before, found, _ = known.partition(mark)
    return word._replace(text=None, prefix=before, is_filled=True) if found else word


def _find(argv: Sequence[Word]) -> Inner | Unknown | None:
    for number, word in enumerate(argv[1:], start=1):
        if word.text in {"-exec", "-execdir", "-ok", "-okdir"}:
            inner: list[Word] = []
            for before, following in pairwise(argv[number:]):
                if following.text == ";" or (following.text == "+" and before.text == "{}"):
                    break
                filled = _filled(following, "{}")
                if following.text == "{}":
                    handed = found(argv) if word.text == "-exec" else None
                    filled = filled._replace(is_one=False, handed=handed)
                inner.append(filled)
            if not inner or inner[0].text is None:
                return Unknown("it is not known what find runs")
            if any(
                following.text in {"-exec", "-execdir", "-ok", "-okdir"} for following in argv[number + 1 :]
            ):
                return Unknown("find runs several programs")
            return Inner(tuple(inner), is_all=False, is_elsewhere=word.text in {"-execdir", "-okdir"})
        if word.text is None and word.may_be_option:
            return Unknown("an argument of find is not known")
    return None


def _su(argv: Sequence[Word]) -> Inner | Unknown:
    for number, word in enumerate(argv[1:], start=1):
        if word.text in {"-c", "--command"} and number + 1 < len(argv):
            return Inner(script=argv[number + 1], interpreter="sh")
    return Unknown("su starts a shell")


def _shell(name: str, argv: Sequence[Word]) -> Inner | Unknown | None:
    rest = list(argv[1:])
    has_text = False
    while rest:
        text = rest[0].text
        if text is None:
            return Unknown(f"an argument of {name} is not known")
        if not text.startswith(("-", "+")) or text in {"-", "--"}:
            break
        rest.pop(0)
        if text in {"--norc", "--noprofile", "--posix"}:
            continue
        if text.startswith("--") or not set(text[1:]) <= set("ceuxnfCo"):
            return Unknown(f"{name} {text} is not understood")
        if "o" in text[1:]:
            if not rest or rest[0].text not in {"pipefail", "errexit", "nounset", "xtrace"}:
                return Unknown(f"{name} {text} is not understood")
            rest.pop(0)
        has_text = has_text or "c" in text[1:]
    if rest and rest[0].text == "--":
        rest.pop(0)
    if has_text:
        return (
            Inner(script=rest[0], interpreter=name) if rest else Unknown(f"{name} does not name what to run")
        )
    if not rest or rest[0].text in {"-", "/dev/stdin", "/dev/fd/0"}:
        return Unknown(f"{name} runs its input")
    return None


_SPECIAL: Final[Mapping[str, Callable[[Sequence[Word]], Inner | Unknown | None]]] = {
    "find": _find,
    "su": _su,
}


def runs_others(name: str) -> bool:
    """Whether a program is there to run others; shells and interpreters are not meant."""
    return name in _PREFIXES or name in _RUNS_OTHERS or name in {"su", "eval", "source", "."}
