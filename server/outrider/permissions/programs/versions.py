"""Programs of languages and builds, where they only tell their version or what is installed.

Some of them are not themselves: they look for a file of the project that says which version it wants, and start that one, which
may lie in the project. Others obey a file of the project even then (`mvn -v`, `yarn --version`, `pytest --version`): they are not here.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from outrider.permissions.programs.options import Options, Reads, names, read_options
from outrider.permissions.shell.model import Word

_BOTH: Final = names("--version -V")
_SMALL: Final = names("--version -v")
_LONG: Final = names("--version")
_TELLS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(names("python python2 python3 pip pip3 cargo rustc rustup rustfmt uv ruff mypy wget curl"), _BOTH),
    **dict.fromkeys(names("node npm ruby perl php make bun vim nvim"), _SMALL),
    **dict.fromkeys(names("gcc g++ cc c++ clang clang++ cmake ninja meson deno docker podman gh sqlite3 psql black tsc"), _LONG),
    **dict.fromkeys(names("java javac"), names("--version -version")),
    "go": names("version"),
}  # fmt: skip

_PIP: Final[Mapping[str, Options]] = {
    "list": Options("lv", "", names("local user not-required format verbose no-color disable-pip-version-check"), names("format"), operands="none"),
    "show": Options("fv", "", names("files verbose no-color disable-pip-version-check"), operands="texts"),
    "check": Options(operands="none"),
}  # fmt: skip

_RUST: Final = ("rust-toolchain", "rust-toolchain.toml")
_GO: Final = ("go.mod", "go.work")
_OBEYED: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(names("cargo rustc rustfmt rustup"), _RUST),
    "go": _GO,
}
"""Files of a project by which a program starts another version of itself (rustup and Go toolchain documentation)."""
_SHIMS: Final = ("/shims/", "/.volta/", "/corepack/")
"""Where programs lie that start a version of another one, as a file of the project says."""


def tells(name: str, arguments: Sequence[Word]) -> Reads | str | None:
    """Whether a program only tells its version, or what is installed; None for one that is not known here."""
    if name in _TELLS and len(arguments) == 1 and arguments[0].text in _TELLS[name]:
        return Reads()
    if name in {"pip", "pip3"} and arguments and (options := _PIP.get(arguments[0].text or "")):
        return read_options(options, arguments[1:])
    if name == "go" and arguments and arguments[0].text == "env":
        return read_options(Options(operands="texts"), arguments[1:])
    return None


def why_switched(name: str, file: str | None, folder: str) -> str | None:
    """Why a program may start another one by a file of the project, None if it does not. Blocks.

    Args:
        name: The program, which only tells something.
        file: Where it lies, None where that is not known.
        folder: The real path of the folder where it runs.
    """
    if name not in _TELLS:
        return None
    lies = "" if file is None else f"{file} {os.path.realpath(file)}"
    if any(sign in lies for sign in _SHIMS):
        return f"{file} starts the version that a file of the project names"
    above = folder
    while name in _OBEYED:
        if one := next((one for one in _OBEYED[name] if os.path.lexists(os.path.join(above, one))), None):  # noqa: PTH118
            return f"{name} may start the version that {one} names"
        above, before = os.path.dirname(above), above  # noqa: PTH120
        if above == before:
            break
    return None
