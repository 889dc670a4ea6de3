"""The supervisor that starts, watches and ends every child process. Nothing else in Outrider starts one."""

from outrider.processes.commands import Capture, Collected, CommandResult, CommandStatus, collect, run_command
from outrider.processes.environment import command_environment, shell_argv
from outrider.processes.jobs import Job, JobOrder, Jobs
from outrider.processes.supervisor import Exit, Process, SpawnProblem, Supervisor, can_run_commands

__all__ = [
    "Capture",
    "Collected",
    "CommandResult",
    "CommandStatus",
    "Exit",
    "Job",
    "JobOrder",
    "Jobs",
    "Process",
    "SpawnProblem",
    "Supervisor",
    "can_run_commands",
    "collect",
    "command_environment",
    "run_command",
    "shell_argv",
]
