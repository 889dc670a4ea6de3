"""TOML that others wrote: the one place where it is parsed.

The standard library's parser takes quadratic time and memory for a key of many parts (`a.a.a.…`): 200 kB are minutes, in which no
tool call of the workspace ends. A key cannot go over a line end, so the points of a line bound its parts.
"""

import tomllib
from pathlib import Path
from typing import Any, Final

MOST_POINTS: Final = 200
"""In one line. No key of a person comes near, and no line of text that is read by one."""


def read_toml(text: str) -> dict[str, Any]:
    """What a document says.

    Raises:
        ValueError: It is not TOML, or a line has too many points; the message names the line.
        RecursionError: Lists or tables lie too deep in each other.
    """
    if text.count(".") > MOST_POINTS:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.count(".") > MOST_POINTS:
                raise ValueError(f"More than {MOST_POINTS} points in a line (at line {number}, column 1)")
    return tomllib.loads(text)


def read_user_file(path: Path) -> tuple[dict[str, Any], str | None]:
    """Read the user's TOML file. Blocks.

    Returns:
        Its values, and what is wrong with it, if anything.
    """
    try:
        # Looked at before it is opened: opening a pipe would wait for a writer.
        if path.exists() and not path.is_file():
            return {}, f"the settings file {path} is not a regular file; it is ignored"
        return read_toml(path.read_bytes().decode("utf-8")), None
    except FileNotFoundError:
        return {}, None
    except (OSError, UnicodeDecodeError) as error:
        return {}, f"the settings file {path} cannot be read ({error}); it is ignored"
    except (ValueError, RecursionError) as error:  # it descends into lists and tables
        return {}, f"the settings file {path} is not valid TOML ({error}); it is ignored"
