"""Variables that a command may set without changing which programs run, or what they do."""

import re
from typing import Final

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
        value: Its value; None where it is known only when it runs.
    """
    if not _NAMES_FILES.fullmatch(name) or (value is not None and _FILE_OF_THE_SYSTEM.fullmatch(value)):
        return name
    return f"{name} to what may be any file"


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
