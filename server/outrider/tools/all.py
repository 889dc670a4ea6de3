"""The tools that Outrider brings."""

from outrider.tools.diagnostics import DIAGNOSTICS
from outrider.tools.edit.patch import APPLY_PATCH
from outrider.tools.edit.tools import DELETE_FILE, EDIT_FILE, INSERT_LINES, RENAME_FILE, WRITE_FILE
from outrider.tools.reading import FIND_FILES, LIST_FILES, READ_FILE, SEARCH
from outrider.tools.registry import Registry
from outrider.tools.run_command.jobs import KILL_JOB, READ_JOB, WAIT
from outrider.tools.run_command.tool import RUN_COMMAND
from outrider.tools.user import ASK_USER, UPDATE_PLAN


def own_tools(*, with_commands: bool = True, with_diagnostics: bool = True) -> Registry:
    """The registry of Outrider's own tools.

    Args:
        with_commands: Whether commands can be run here.
        with_diagnostics: Whether the editor tells what its language servers report.
    """
    commands = [RUN_COMMAND, READ_JOB, WAIT, KILL_JOB] if with_commands else []
    diagnostics = [DIAGNOSTICS] if with_diagnostics else []
    return Registry(
        [
            READ_FILE, LIST_FILES, FIND_FILES, SEARCH, *diagnostics,
            EDIT_FILE, APPLY_PATCH, INSERT_LINES, WRITE_FILE, DELETE_FILE, RENAME_FILE,
            *commands, ASK_USER, UPDATE_PLAN,
        ]
    )  # fmt: skip
