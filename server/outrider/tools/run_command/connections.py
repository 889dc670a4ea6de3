"""What a command wanted of which host, as the log and the model get it."""

from collections.abc import Sequence
from typing import Final

from outrider.ports.text import visible
from outrider.processes.sandbox import Reached
from outrider_protocol.events import Connection

MOST_NAMED: Final = 5
"""Refused hosts that a result names."""


def connections(reached: Sequence[Reached]) -> list[Connection] | None:
    """What an event says of them; None where there are none."""
    found = [
        Connection(
            host=visible(one.host),
            port=one.port,
            times=one.times,
            sent=one.sent,
            received=one.received,
            problem=visible(one.problem) or None,
        )
        for one in reached
    ]
    return found or None


def refused_hosts(reached: Sequence[Reached]) -> list[str]:
    """A note on the hosts that a command may not reach, if it wanted to."""
    refused = [f"{visible(one.host)}:{one.port} ({visible(one.problem)})" for one in reached if one.refused]
    if not refused:
        return []
    more = f" and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
    return [f"connections refused to {', '.join(refused[:MOST_NAMED])}{more}"]
