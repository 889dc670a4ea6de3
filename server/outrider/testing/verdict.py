"""Plays a scenario and judges it: the one call for whoever only wants to know whether it holds."""

from pathlib import Path

from outrider.testing.expectations import judge
from outrider.testing.failures import Failure
from outrider.testing.play import play
from outrider_protocol.scenario import Connection, Scenario


async def play_and_judge(
    scenario: Scenario,
    folder: Path,
    *,
    beside: Path,
    connection: Connection | None = None,
    profile: str | None = None,
    update_golden: bool = False,
) -> list[Failure]:
    """Play a scenario and give everything that did not hold; nothing if all did.

    Args:
        scenario: What is played.
        folder: An empty folder that everything of it lies in.
        beside: The folder of its file, where its golden transcript is.
        connection: How the server is reached, instead of what the scenario says.
        profile: Which editor it is, instead of what the scenario says.
        update_golden: Whether the golden transcript is written instead of looked at.
    """
    played = await play(scenario, folder, connection=connection, profile=profile)
    return judge(scenario.expect, played)
