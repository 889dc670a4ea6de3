"""The exit codes of the command line."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of `outrider run` (contract); other commands use them in the same meaning."""

    COMPLETED = 0
    FAILED = 1
    USAGE = 2
    NEEDS_INPUT = 3
    BUDGET_EXHAUSTED = 4
    CHECK_FAILED = 5
    CANCELLED = 130
