"""A session that was left in the middle of a turn: what a person can do about it without opening it."""

from dataclasses import dataclass

from outrider.agent.state import SessionState
from outrider.agent.turn_state import TurnState
from outrider_protocol.events import Open


@dataclass(frozen=True, slots=True)
class Resting:
    """A session whose turn has not ended, and that no process runs."""

    session_id: str
    turn_id: str
    prompt: str
    items: tuple[Open, ...]
    """What it waits for; nothing where the server was stopped while it was at work."""
    last_seq: int
    """The event up to which this is told."""
    can_undo: bool
    can_redo: bool

    @classmethod
    def of(cls, state: SessionState, turn: TurnState) -> "Resting":
        """What there is to say of a session.

        Args:
            state: The session, as its log tells.
            turn: The turn that it was left in.
        """
        return cls(
            session_id=state.session_id,
            turn_id=turn.turn_id,
            prompt=turn.prompt,
            items=tuple(state.open.values()),
            last_seq=state.last_seq,
            # Whether a change that had begun is in place is looked up when it is to be taken back.
            can_undo=bool(state.journal.to_undo("turn", None))
            or any(call.applying for call in turn.calls.values()),
            can_redo=bool(state.journal.to_redo()),
        )
