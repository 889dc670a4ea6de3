"""The names of Outrider's own tools, for those that would wait for nothing else of them."""

from typing import Final

OWN_TOOLS: Final = frozenset(
    {
        "apply_patch",
        "ask_user",
        "call_hierarchy",
        "code_actions",
        "definition",
        "delete_file",
        "diagnostics",
        "edit_file",
        "find_files",
        "format",
        "hover",
        "insert_lines",
        "kill_job",
        "list_files",
        "read_file",
        "read_job",
        "references",
        "rename_file",
        "rename_symbol",
        "run_command",
        "search",
        "symbols",
        "update_plan",
        "wait",
        "write_file",
        "write_plan",
    }
)
"""As `all.own_tools` has them where commands can be run."""
