"""The walls around a command: what it may write, see and reach, and the system's programs that hold it to that."""

from outrider.processes.sandbox.sandbox import Confined, Sandbox, SandboxWish, unconfined
from outrider.processes.sandbox.signs import sign_of_sandbox
from outrider.processes.sandbox.walls import Walls, walls_of

__all__ = [
    "Confined",
    "Sandbox",
    "SandboxWish",
    "Walls",
    "sign_of_sandbox",
    "unconfined",
    "walls_of",
]
