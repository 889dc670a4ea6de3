"""What the commands of the command line print with `--json`: results of the wire, and those that it has no command for."""

from typing import Literal

from outrider_protocol import commands
from outrider_protocol.notifications import Event
from outrider_protocol.wire import Wire

Decision = Literal["allow", "ask", "deny"]


class CheckedPart(Wire):
    """A program in a command line."""

    argv: list[str]
    """Its words; one that is only known when it runs is as it is written."""
    decision: Decision
    """What is decided about it."""
    reason: str
    """Why."""
    rule: str | None = None
    """The rule that decided."""
    through: list[str] | None = None
    """The programs that start it."""


class PermissionCheck(Wire):
    """What would be decided about a command line."""

    decision: Decision
    """About the whole; the exit code says it too."""
    reason: str
    """Why."""
    rule: str | None = None
    """The rule that decided."""
    parts: list[CheckedPart]
    """Its programs."""


class ReplayResult(Wire):
    """How a session went when it was run again from its log."""

    session_id: str
    same: bool
    """Whether all that could be computed came out as in the log."""
    recorded: int
    """Events of the log."""
    events: int
    """Those that were computed again and are the same."""
    reused: int
    """Those before them that were taken over."""
    different_at: int | None = None
    """The `seq` of the first event that differs."""
    unknown_from: int | None = None
    """The `seq` from which on an export without its secrets does not tell what would come."""
    verdict: list[str]
    """It in words, with the values that differ."""


class ScenarioFailure(Wire):
    """What was not as a scenario expects."""

    where: str
    """The place in the scenario."""
    expected: str
    """What it says."""
    actual: str
    """What came."""
    diff: str
    """Both, line by line, where they are long."""


class ScenarioResult(Wire):
    """How a scenario went."""

    file: str
    """Its file."""
    name: str
    """Its name."""
    status: Literal["ok", "failed", "bad"]
    """`bad`: it cannot be played."""
    seconds: float
    """How long it took."""
    failures: list[ScenarioFailure]
    """What was not as expected."""
    problem: str | None = None
    """With `bad`: why."""
    notes: list[str] | None = None
    """What became of its transcript."""
    folder: str | None = None
    """With `--keep`: where it was played."""


PRINTED: dict[str, type[Wire]] = {
    "run": Event,
    "events": Event,
    "sessions": commands.SessionsResult,
    "status": commands.StatusResult,
    "steer": commands.SteerResult,
    "cancel": commands.CancelResult,
    "wait": commands.WaitResult,
    "jobs": commands.JobsResult,
    "tools": commands.ToolsResult,
    "commands": commands.CommandsResult,
    "servers": commands.ServersResult,
    "rename": commands.RenameResult,
    "delete": commands.DeleteResult,
    "import": commands.ImportResult,
    "changes": commands.ChangesResult,
    "undo": commands.UndoResult,
    "redo": commands.UndoResult,
    "models": commands.ModelsResult,
    "setup": commands.SetupResult,
    "doctor": commands.DoctorResult,
    "prompt": commands.PromptResult,
    "map": commands.MapResult,
    "replay": ReplayResult,
    "scenario run": ScenarioResult,
    "permissions check": PermissionCheck,
    "permissions list": commands.PermissionsResult,
    "permissions add": commands.PermissionsResult,
    "permissions remove": commands.PermissionsResult,
    "trust list": commands.TrustResult,
    "trust add": commands.TrustResult,
    "trust refuse": commands.TrustResult,
    "trust forget": commands.TrustResult,
}
"""The model of what each command prints, one object or, of events and scenarios, one a line."""
