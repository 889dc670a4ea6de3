"""What bash does itself: some of it changes what later words mean, and then the line cannot be known."""

import re
from typing import Final

from outrider.permissions.shell.model import Word

_HARMLESS: Final = frozenset(
    {
        "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TZ", "NO_COLOR",
        "FORCE_COLOR", "CLICOLOR", "TERM", "COLUMNS", "LINES", "CI", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED",
        "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONIOENCODING", "RUST_BACKTRACE", "RUST_LOG", "NODE_ENV", "DEBUG", "VERBOSE",
        "SOURCE_DATE_EPOCH",
    }
)  # fmt: skip
_OWN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_READ_BY_PROGRAMS: Final = re.compile(r"npm_.*|.*_proxy|_|yarn_.*|pnpm_.*")


_NAMES_FILES: Final = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM")
"""Variables by which libraries look for a file: of words, of time zones, of terminals."""
_FILE_OF_THE_SYSTEM: Final = re.compile(r"(?!.*\.\.)(?:[A-Za-z][\w.@:+-]*(?:/[A-Za-z][\w+-]*)*)?")


def as_set(name: str, value: str | None) -> str:
    """What is set, to be asked whether it is harmless: a name, with a remark where the value may lead to any file.

    Args:
        name: The variable.
        value: Its value; None where it is known only at run time.
    """
    if not _NAMES_FILES.fullmatch(name) or (value is not None and _FILE_OF_THE_SYSTEM.fullmatch(value)):
        return name
    return f"{name} to a file that is not known"


def is_harmless_name(name: str, *, exported: bool = False) -> bool:
    """Whether setting the variable leaves alone what runs.

    Names of small letters are a script's own, unless programs see them.

    Args:
        name: The variable.
        exported: Whether programs see it.
    """
    if name in _HARMLESS:
        return True
    return not exported and bool(_OWN.fullmatch(name)) and not _READ_BY_PROGRAMS.fullmatch(name)


RESERVED: Final = frozenset(
    {
        "if", "then", "elif", "else", "fi", "for", "in", "until", "while", "do", "done", "case", "esac", "coproc", "select",
        "function", "{", "}", "[[", "]]", "!",
    }
)  # fmt: skip
"""Reserved words (Bash Reference Manual): where the tree takes one for a program, it is wrong."""

_CHANGES: Final = frozenset(
    {
        "eval", "source", ".", "trap", "alias", "unalias", "enable", "hash", "bind", "complete", "compgen", "compopt", "shopt",
        "fc", "history", "mapfile", "readarray", "getopts", "let", "caller", "pushd", "popd", "logout", "suspend", "disown",
    }
)  # fmt: skip
_NAMES: Final = frozenset({"local", "declare", "typeset", "readonly", "export", "unset"})
_SET: Final = re.compile(r"[-+][euxvf]*o?")
_SET_WORDS: Final = frozenset({"pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob"})
_COUNTS: Final = re.compile(r"%[^A-Za-z(%]*[hjlLqtz]*n")
"""What in a format has bash set a variable to the number of characters so far."""
_TESTS_NAMES: Final = "a test may look at variables by name"
_TESTS: Final = frozenset(
    {
        "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-z", "-G", "-L",
        "-N", "-O", "-S", "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
    }
)  # fmt: skip

PLAIN: Final = frozenset(
    {
        "cd", "true", "false", ":", "exit", "wait", "break", "continue", "return", "set", "local", "shift", "test", "[", "[[",
    }
)  # fmt: skip
"""Builtins that, as far as they are let pass here, run nothing and change nothing but this shell's own way."""

BUILTINS: Final = PLAIN | {"echo", "printf", "pwd", "type", "command", "read"}
"""Those and the others that are known: bash looks for no file of that name."""


def builtin_problem(argv: tuple[Word, ...]) -> str | None:
    """Why a line cannot be known once this builtin has run; None for other programs and harmless uses."""
    name = argv[0].text or ""
    if argv[0].is_plain and name in RESERVED:
        return f"“{name}” is not understood"
    if name in _CHANGES:
        return f"{name} decides what to do only at run time"
    rest = argv[1:]
    match name:
        case "set" if not all(_SET.fullmatch(word.text or "") or word.text in _SET_WORDS for word in rest):
            return "set changes how the line is read"
        case "printf":
            return _printf_problem(rest)
        case "test" | "[":
            return _test_problem(rest if name == "test" else rest[:-1])
        case "wait" if rest:
            return "wait sets a variable"
        case "read":
            return _read_problem(rest)
        case _ if name in _NAMES:
            return _names_problem(name, rest)
        case _:
            return None


def _printf_problem(rest: tuple[Word, ...]) -> str | None:
    """`-v` and `%n` set the variable that they are given."""
    if rest and rest[0].text == "--":
        rest = rest[1:]
    elif rest and rest[0].may_be_option:
        return "printf sets a variable"
    if rest and (rest[0].text is None or _COUNTS.search(rest[0].text.replace("%%", ""))):
        return "printf may set a variable"
    return None


def _test_problem(rest: tuple[Word, ...]) -> str | None:
    """`-v` evaluates the name that it is given, so nothing unknown may stand where it could be that.

    Up to three words are read by their number (Bash Reference Manual, `test`); in longer ones an unknown word may be
    an operator wherever one can stand.
    """
    if any(word.text in {"-v", "-R"} for word in rest):
        return _TESTS_NAMES
    if rest and rest[0].text == "!":
        rest = rest[1:]
    unknown = [word for word in rest if word.text is None]
    is_one = all(
        word.source.startswith('"') and word.source.endswith('"') and word.is_one for word in unknown
    )
    match [word.text for word in rest]:
        case _ if not unknown:
            return None
        case [_]:
            pass
        case [str(operator), _] | [_, str(operator), _] if operator in _TESTS:
            pass
        case _:
            return _TESTS_NAMES
    return None if is_one else _TESTS_NAMES


def _read_problem(rest: tuple[Word, ...]) -> str | None:
    for word in rest:
        text = word.text
        if text in {"-r", "-s", "-rs"}:
            continue
        if text is None or not is_harmless_name(text):
            return "read sets a variable"
    return None


def _names_problem(name: str, rest: tuple[Word, ...]) -> str | None:
    for word in rest:
        text = word.text if word.text is not None else word.prefix
        known, equals, value = text.partition("=")
        known = as_set(known, value if word.text is not None else None) if equals else known
        if (
            not word.is_one
            or (word.text is None and "=" not in word.prefix)
            or not is_harmless_name(known.removesuffix("+"), exported=name == "export")
        ):
            return f"it sets {known or 'a variable'}"
    return None
