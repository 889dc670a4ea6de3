"""What a model should know of the sandbox that its commands run in: one value, and the words for it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Facts:
    """What commands can do."""

    backend: str = ""
    """What holds them; empty for nothing."""
    why_not: str = ""
    """Why nothing does, in a sentence."""
    refuses: bool = False
    """Whether no command runs, as a sandbox is required and there is none."""
    writable: tuple[str, ...] = ()
    """The folders that they can write in, temporary ones aside."""
    network: Literal["none", "loopback", "full"] = "full"
    """A loopback of each command's own; one that the commands and jobs of the session share; all that the system has."""
    hosts: tuple[str, ...] = ()
    """The hosts that they reach besides."""
    closed_hosts: tuple[str, ...] = ()
    """Those that they should reach, and cannot here."""
    tmp: str = ""
    """The folder for temporary files that the commands of the session share; empty where each has its own."""
    git_is_read_only: bool = False
    """Whether `.git` cannot be written."""
    home_is_hidden: bool = False
    """Whether the home is empty for them, but for installed programs."""
    may_leave: bool = False
    """Whether the user may let a command run without."""


NO_WAY = (
    "The hosts of `sandbox.network` cannot be reached: this system gives commands no network of their own."
)
NOTHING_HELD = Facts()
"""Commands that nothing holds."""


def section(facts: Facts) -> str:
    """The facts as a model is told them: a paragraph, which is the same for the same facts."""
    if facts.refuses:
        return f"No command can run here. {facts.why_not}"
    if not facts.backend:
        return f"Commands run without a sandbox, with the user's files and network. {facts.why_not}".rstrip()
    lasting = (
        f"in {facts.tmp}, which lasts for the session" if facts.tmp else "in /tmp, which is new for each"
    )
    told = [
        f"Commands run in a sandbox ({facts.backend}).",
        f"They can write in {_listed(facts.writable)} and {lasting}; elsewhere they only read.",
    ]
    if facts.git_is_read_only:
        told.append("`.git` is read-only for them: commits need a run without the sandbox.")
    if facts.home_is_hidden:
        told.append("The home folder is empty for them, except installed programs.")
    told.append(_NETWORK[facts.network])
    if facts.hosts:
        told.append(
            f"Of other hosts they reach {', '.join(facts.hosts)} alone, through the proxy that the proxy variables name; a program "
            "that ignores these has no network."
        )
    elif facts.closed_hosts:
        told.append(NO_WAY)
    if facts.may_leave or facts.network != "full":
        ways = ['"network"'] * (facts.network != "full") + ['"none"'] * facts.may_leave
        told.append(
            f"If a command needs more, set `sandbox` to {' or '.join(ways)} in run_command with the reason: the user is asked."
        )
    return " ".join(told)


_NETWORK = {
    "none": "They have no network, and none reaches a server that another one started.",
    "loopback": "They have no network but 127.0.0.1, which the commands and jobs of this session share: a command reaches a "
    "server that runs in the background, and nothing else on this machine.",
    "full": "They have the network.",
}


def _listed(paths: tuple[str, ...]) -> str:
    return ", ".join(paths) or "no folder"
