"""What permissions said: the rules of then are not there any more, but what they decided is in the log."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from outrider.agent.trust import WorkspaceTrust
from outrider.permissions.commands import Command, Part
from outrider.permissions.decide import Access
from outrider.permissions.ledger import LEDGER, Ledger
from outrider.permissions.rules import Rule
from outrider.permissions.ruling import Ruling
from outrider.permissions.trust import Trust
from outrider_protocol.events import Open
from outrider_protocol.settings import PermissionMode


@dataclass(frozen=True, slots=True)
class RecordedAccess(Access):
    """What a call wanted, and what rules said of it then."""

    ruling: Ruling | None = None
    was_reading: bool = False
    """Whether it was a command that only reads."""

    @property
    def only_reads(self) -> bool:
        """Whether it was a command that only reads."""
        return self.was_reading


class RecordedTrust(WorkspaceTrust):
    """Trust as if there were nothing to ask: what came of it, the instructions and the permission mode, is in the log."""

    def __init__(self) -> None:
        """Make it without a file."""

    def of(self, folder: Path) -> Trust:
        """Trusted, as nothing is read."""
        return "trusted"

    def open_in(self, turn_id: str | None) -> list[Open]:
        """None, as nothing is asked."""
        return []

    async def refresh(self, *others: Callable[[], bool]) -> bool:
        """There is nothing to read but those others."""
        return any([await asyncio.to_thread(other) for other in others])


class RecordedLedger(Ledger):
    """Rules that say what they said; none is read or written."""

    def __init__(self) -> None:
        """Make a ledger without a file."""
        self.path = Path(LEDGER)

    def refresh_now(self) -> bool:
        """There is nothing to read."""
        return False

    def ruling(self, tool: str, access: Access, mode: PermissionMode) -> Ruling | None:
        """What the rules said then."""
        return access.ruling if isinstance(access, RecordedAccess) else None

    def parts(self, command: Command, mode: PermissionMode) -> list[Part]:
        """Never asked for: no command is taken apart."""
        return []

    async def add(self, rules: Sequence[Rule]) -> list[Rule]:
        """They were saved then."""
        return list(rules)

    def count(self, ids: Sequence[str]) -> None:
        """They were counted then."""

    async def write_hits(self) -> None:
        """There is nothing to write."""
