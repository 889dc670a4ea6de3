"""How a command is confined: what it may write, see and reach, and the ways to have the system hold it to that."""

from outrider.processes.sandbox.confinement import Confinement, Hidden, Place, confinement_of
from outrider.processes.sandbox.facts import Facts, section
from outrider.processes.sandbox.gateway import Reach, Reached, Way
from outrider.processes.sandbox.sandbox import Confined, Sandbox, SandboxWish, unconfined
from outrider.processes.sandbox.shared import TOO_MANY, Shared
from outrider.processes.sandbox.signs import sign_of_sandbox, sign_of_writing

__all__ = [
    "TOO_MANY",
    "Confined",
    "Confinement",
    "Facts",
    "Hidden",
    "Place",
    "Reach",
    "Reached",
    "Sandbox",
    "SandboxWish",
    "Shared",
    "Way",
    "confinement_of",
    "section",
    "sign_of_sandbox",
    "sign_of_writing",
    "unconfined",
]
