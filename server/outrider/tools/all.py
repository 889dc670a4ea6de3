"""The tools that Outrider brings."""

from collections.abc import Awaitable, Callable, Collection
from typing import Final

from outrider.tools.code.changing import CODE_ACTIONS, FORMAT, RENAME_SYMBOL
from outrider.tools.code.looking import CALL_HIERARCHY, DEFINITION, HOVER, REFERENCES, SYMBOLS
from outrider.tools.diagnostics import DIAGNOSTICS
from outrider.tools.edit.patch import APPLY_PATCH
from outrider.tools.edit.tools import DELETE_FILE, EDIT_FILE, INSERT_LINES, RENAME_FILE, WRITE_FILE
from outrider.tools.reading import FIND_FILES, LIST_FILES, READ_FILE, SEARCH
from outrider.tools.registry import Registry
from outrider.tools.run_command.jobs import KILL_JOB, READ_JOB, WAIT
from outrider.tools.run_command.tool import RUN_COMMAND
from outrider.tools.user import ASK_USER, UPDATE_PLAN, WRITE_PLAN

OF_LANGUAGES: Final = (
    DIAGNOSTICS, DEFINITION, REFERENCES, SYMBOLS, HOVER, CALL_HIERARCHY, RENAME_SYMBOL, CODE_ACTIONS, FORMAT,
)  # fmt: skip
"""Those that ask language servers."""


def own_tools(
    *, with_commands: bool = True, leaves_out: Callable[[], Awaitable[Collection[str]]] | None = None
) -> Registry:
    """The registry of Outrider's own tools.

    Args:
        with_commands: Whether commands can be run here.
        leaves_out: Says which there is no use for now.
    """
    commands = [RUN_COMMAND, READ_JOB, WAIT, KILL_JOB] if with_commands else []
    return Registry(
        [
            READ_FILE, LIST_FILES, FIND_FILES, SEARCH, DIAGNOSTICS, DEFINITION, REFERENCES, SYMBOLS, HOVER, CALL_HIERARCHY,
            EDIT_FILE, APPLY_PATCH, INSERT_LINES, WRITE_FILE, DELETE_FILE, RENAME_FILE, RENAME_SYMBOL, CODE_ACTIONS, FORMAT,
            *commands, ASK_USER, UPDATE_PLAN, WRITE_PLAN,
        ],
        leaves_out,
    )  # fmt: skip
