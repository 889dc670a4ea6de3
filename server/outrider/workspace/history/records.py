"""What is known of one change of one file, and what else a journal gives out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from outrider.ports.text import TextEncoding
from outrider.workspace.history.patch import Hidden

ChangeState = Literal["applying", "applied", "rejected"]
Operation = Literal["edit", "create", "delete", "rename"]


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One change of one file."""

    change_id: str
    session_id: str
    turn_id: str | None
    call_id: str | None
    step: int
    """Which response of its turn asked for it, from 1; 0 outside a turn."""
    path: str
    operation: Operation
    to: str | None
    before: str | None
    """Content hash of the text before, None where there was no file."""
    after: str | None
    """Content hash of the text after, None where there is no file."""
    planned: str | None
    """Content hash of the text as it was planned; another than `after` where somebody typed meanwhile."""
    undoes: str | None
    """The change that it takes back."""
    hunks: tuple[int, ...]
    """The numbers of its hunks, from 1; of an undo those of the first change that it takes back or brings back."""
    takes_away: bool
    """Whether it takes hunks of another change back; False for a change, and for what brings one back."""
    state: ChangeState
    encoding: TextEncoding = "utf-8"
    """How the file held its text."""
    mode: int | None = None
    """Permission bits of a file that was made, or taken away, where they were not the usual ones."""
    kept_mode: int | None = None
    """Those of an edited file, which keeps them."""
    hidden: tuple[Hidden, ...] = ()
    """What an edited file has and its open document did not show."""
    mode_after: int | None = None
    """The ones that it has since, where a command changed them."""
    folder: str | None = None
    """The folder that went with it."""
    folders: Mapping[str, int] = field(default_factory=dict[str, int])
    """That one, which is `.`, and those in it by their paths there, with their permission bits."""
    made_folder: str | None = None
    """The topmost folder that was made for it."""
    place: str | None = None
    """The real path that it was made at; None where the log does not tell."""
    to_place: str | None = None
    """The real path of `to`."""
    besides: tuple[str, ...] = ()
    """What a deleted file had besides its text and its permission bits, by name."""
    on_disk: bool = False
    """Whether the file was changed on disk alone, where an open document may go on showing another text."""
    puts_back: bool = False
    """Whether it put back what a command had done to a protected file: it is no part of what its turn did."""
    by_user: bool = False
    """Whether somebody renamed the file in the editor: its history follows, and nothing takes that back."""

    @property
    def makes_room(self) -> bool:
        """Whether it is what an undo did besides, to make room for what it brought back: nothing takes that back."""
        return self.undoes is None and self.operation in {"rename", "delete"} and self.call_id is None


@dataclass(frozen=True, slots=True)
class Part:
    """Hunks of a change."""

    record: ChangeRecord
    hunks: tuple[int, ...]


def hunk_id(change_id: str, number: int) -> str:
    """The id of a hunk."""
    return f"{change_id}#{number}"


@dataclass(frozen=True, slots=True)
class Lasting:
    """What a command did that nothing takes back, as its text before is not known."""

    turn_id: str | None
    call_id: str | None
    step: int
    path: str
    """The file; what the command may have changed besides, where that is not known by name."""
    reason: str
    mode: int | None = None
    """Permission bits before, where those are what was changed."""
    number: int = 0
    """How many changes had begun by then."""


def are_a_move(one: ChangeRecord, other: ChangeRecord) -> bool:
    """Whether a command deleted the one file and made the other with the same text."""
    is_one_call = one.call_id is not None and (one.turn_id, one.call_id) == (other.turn_id, other.call_id)
    if not is_one_call or one.puts_back or other.puts_back:
        return False
    made, gone = (one, other) if one.operation == "create" else (other, one)
    return (made.operation, gone.operation) == ("create", "delete") and made.planned == gone.before
