"""The phases of a turn, and the only ways from one to another."""

from outrider_protocol.events import Phase

TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    "start": frozenset({"prepare", "finish"}),
    "prepare": frozenset({"assistant", "tools", "finish"}),
    "assistant": frozenset({"assistant", "tools", "verify", "finish"}),
    "tools": frozenset({"assistant", "finish"}),
    "verify": frozenset({"assistant", "finish"}),
    "finish": frozenset(),
}
"""`prepare` leads to `tools` only when a turn goes on after a restart."""


def check(old: Phase, new: Phase) -> None:
    """Raise ValueError unless a turn may go from `old` to `new`."""
    if new not in TRANSITIONS[old]:
        raise ValueError(f"a turn cannot go from {old} to {new}")
