"""The tools that Outrider brings."""

from outrider.tools.commands import RUN_COMMAND
from outrider.tools.edits import EDIT_FILE, INSERT_LINES, WRITE_FILE
from outrider.tools.patches import APPLY_PATCH
from outrider.tools.person import ASK_USER, UPDATE_PLAN
from outrider.tools.reading import FIND_FILES, LIST_FILES, READ_FILE, SEARCH
from outrider.tools.registry import Registry
from outrider.tools.removal import DELETE_FILE, RENAME_FILE


def own_tools() -> Registry:
    """The registry of Outrider's own tools."""
    return Registry(
        [
            READ_FILE, LIST_FILES, FIND_FILES, SEARCH,
            EDIT_FILE, APPLY_PATCH, INSERT_LINES, WRITE_FILE, DELETE_FILE, RENAME_FILE,
            RUN_COMMAND, ASK_USER, UPDATE_PLAN,
        ]
    )  # fmt: skip
