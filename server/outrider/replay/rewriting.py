"""What the log says was left out of a conversation: for an export from which something was removed.

Its texts are shorter than they were, so that their lengths would lead to other decisions than then.
"""

from collections.abc import Sequence

from outrider.ports.model import Message
from outrider.replay.tape import Tape
from outrider_protocol.events import BudgetExhausted, ContextCompacted, ContextPruned, ContextTrimmed

_REWRITINGS = {one.TYPE: one for one in (ContextCompacted, ContextPruned, ContextTrimmed)}


class RecordedRewritten:
    """Says what comes next."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def summarised(self) -> Sequence[Message] | None:
        """The request for a summary that comes next."""
        coming = self._tape.next
        if coming is None or coming.data.get("purpose") != "compaction":
            return None
        requested = self._tape.first_ahead("model.requested", purpose="compaction")
        return None if requested is None else self._messages(requested.data["messages"])

    def rewritten(
        self,
    ) -> tuple[ContextCompacted | ContextPruned | ContextTrimmed, Sequence[Message]] | None:
        """The event that comes next, with its messages."""
        coming = self._tape.next
        kind = _REWRITINGS.get(coming.type) if coming is not None else None
        if coming is None or kind is None or "messages" not in coming.data:
            return None
        return kind.from_wire(coming.data), self._messages(coming.data["messages"])

    def too_long(self) -> BudgetExhausted | None:
        """The account that comes next."""
        coming = self._tape.next
        if coming is None or coming.type != "budget.exhausted" or coming.data["limit"] != "contextWindow":
            return None
        return BudgetExhausted.from_wire(coming.data)

    def _messages(self, digests: Sequence[str]) -> list[Message]:
        return [
            Message.decode((self._tape.text(digest) or "").encode("utf-8", "surrogatepass"))
            for digest in digests
        ]
