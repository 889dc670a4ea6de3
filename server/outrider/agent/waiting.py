"""How a turn stands, for those who wait for it."""

from collections.abc import Sequence

from outrider.agent.turn_state import TurnState
from outrider_protocol.commands import WaitResult
from outrider_protocol.events import Open


def wait_result(turn: TurnState, open_items: Sequence[Open]) -> WaitResult:
    """How a turn stands, as `outrider.wait` says it."""
    if turn.outcome is not None:
        return WaitResult(
            turn_id=turn.turn_id,
            outcome=turn.outcome,
            reason=turn.reason,
            summary=turn.summary,
            usage=turn.usage,
        )
    if turn.parked:
        mine = [item for item in open_items if item.turn_id == turn.turn_id]
        return WaitResult(turn_id=turn.turn_id, outcome="needs_input", open=mine, usage=turn.usage)
    return WaitResult(turn_id=turn.turn_id)
