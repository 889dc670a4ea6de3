"""What became of each file that a session changed: its changes by hunk, and what others wrote between them.

Folded from the journal and the texts that it names. What somebody wrote is whatever no change accounts for.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from outrider.ports.text import TextEncoding
from outrider.workspace.history.journal import ChangeRecord, Journal, Part, hunk_id
from outrider.workspace.history.shown import Hidden, Shown, with_hidden
from outrider.workspace.history.weave import Place, Weave
from outrider.workspace.matching.similarity import similarity
from outrider.workspace.overlay import is_alike, same_text

TAKEN = "another file has its path now"
"""Why a file cannot come back to where it was."""
_SHARED = 0.25
"""Which part of its lines, of the shorter one's, two texts of one file have in common at least."""
_ALIKE = 0.5
"""How alike two short texts of one file are at least, where they have fewer lines in common."""
_SHORT = 2_000
"""Characters of such a text at most."""
_MOST_REMEMBERED = 200
"""Texts of a file whose strands are remembered."""
HunkState = Literal["applied", "undone", "altered", "conflict"]


@dataclass(slots=True)
class FileHistory:
    """One file, wherever it is now."""

    path: str
    exists: bool
    weave: Weave
    real: str | None = None
    """Its real path; None where the log does not tell."""
    strands: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    """The strand of each hunk, by change and number."""
    whole: dict[int, bool] = field(default_factory=dict[int, bool])
    """The strands that created the file (True) or deleted it (False)."""
    deleted: str | None = None
    """What the last deletion took away, to the byte."""
    gone: ChangeRecord | None = None
    """The last deletion, be it a change or an undo."""
    encoding: TextEncoding = "utf-8"
    """How it held its text when it was changed last."""
    hidden: tuple[Hidden, ...] = ()
    """What its open document did not show of it then."""
    mode: int | None = None
    """Its permission bits then, where they were not the usual ones."""
    life: int = 0
    """Which file it is: one that is made anew where one was deleted is another one."""
    lives: dict[int, int] = field(default_factory=dict[int, int])
    """The life that each strand belongs to: of a deletion the one that it ended."""
    replaced: bool = False
    """Whether a command put something in its place: a link there is not the file."""
    renamed: dict[str, int] = field(default_factory=dict[str, int])
    """The life that each rename was about, by its change."""
    _known: str | None = None
    """The text that the last change left."""
    _latest: int = 0
    _left: str | None = None
    """The text that it had when somebody else took it away: it is the same file if it comes back with it."""
    _lost: Weave | None = None
    """All that was in it then."""
    _stood: dict[tuple[int, int], bytes] = field(default_factory=dict[tuple[int, int], bytes])
    """How its strands stood when it had a text, in which life and by the hash of it."""

    @property
    def key(self) -> str:
        """What tells it from the files at other places."""
        return self.real or self.path

    @property
    def text(self) -> str | None:
        """The text; None: there is no file."""
        return self.weave.text if self.exists else None

    def catch_up(self, text: str | None) -> None:
        """Take in what the file is now."""
        if (text is not None) != self.exists and not self._whole_again(text):
            if text is None:
                self._left, self._lost = self.text, deepcopy(self.weave)
                # What was in it is gone with it, and not taken back, even if it comes to the same text.
                self.weave.put("")
            elif not is_alike(text, self._left):
                self._begin_life()
            self.exists = text is not None
        if text is None or text == self.text or not self._is_back_at(text):
            self.weave.catch_up(text or "")

    def _is_back_at(self, text: str) -> bool:
        """Let the strands stand as they did when the file had this very text, if it had it in this life."""
        standing = self._stood.get((self.life, hash(text)))
        is_same = standing is not None and all(
            strand < len(standing) and bool(standing[strand]) == self.weave.is_on(strand)
            for strand in self.whole
        )
        self._remember()
        return standing is not None and is_same and self.weave.go_back_to(standing, text)

    def _remember(self) -> None:
        self._stood[self.life, hash(self.text)] = self.weave.standing
        if len(self._stood) > _MOST_REMEMBERED:
            del self._stood[next(iter(self._stood))]

    def _begin_life(self) -> None:
        self._lost = None
        self._latest += 1
        self.life = self._latest

    def look(self, text: str | None) -> None:
        """Take in what the file is seen to be now, apart from what an editor hides of it."""
        if not is_alike(text, self.text):
            self.catch_up(text)

    def to_the_byte(self, text: str | None) -> str | None:
        """A text of the file as the disk had it: as its last deletion found it, if it is that one, or with what was hidden."""
        if text is None or (self.deleted is not None and same_text(text, self.deleted)):
            return self.deleted if text is not None else None
        return with_hidden(text, self.hidden)

    def _whole_again(self, text: str | None) -> bool:
        """Whether somebody undid, or did again, just the creation or the deletion of the file."""
        for strand in sorted(self.whole, reverse=True):
            self.weave.switch(strand)
            if self._exists_by(strand) == (text is not None) and self.weave.text == (text or ""):
                self._live_by(strand)
                return True
            self.weave.switch(strand)
        return False

    def _exists_by(self, strand: int) -> bool:
        return self.whole[strand] == self.weave.is_on(strand)

    def _live_by(self, strand: int) -> None:
        """Come or go, as a creation or a deletion was switched."""
        self.exists, self._left, self._lost = self._exists_by(strand), None, None
        if self.exists:
            self.life = self.lives[strand]

    def put(self, record: ChangeRecord, after: str | None) -> None:
        """Make a change."""
        if record.operation == "create" and not self.exists:
            self._begin_life()
        self._remember()
        strands = self.weave.put(after or "") or [self.weave.empty()]
        if record.operation in {"create", "delete"}:
            # The text is one hunk then.
            self.whole[strands[0]] = record.operation == "create"
        self.exists, self._left, self._lost = after is not None, None, None
        for number, strand in enumerate(strands, 1):
            self.strands[record.change_id, number] = strand
            self.lives[strand] = self.life

    def knows(self, change_id: str, number: int) -> bool:
        """Whether there is such a hunk."""
        return (change_id, number) in self.strands

    def is_on(self, change_id: str, number: int) -> bool:
        """Whether a hunk is in the text."""
        strand = self.strands.get((change_id, number))
        return strand is not None and self.weave.is_on(strand)

    def switch(self, change_id: str, number: int) -> None:
        """Take a hunk out, or put it back."""
        if (strand := self.strands.get((change_id, number))) is not None:
            self.weave.switch(strand)
            if strand in self.whole:
                self._live_by(strand)

    def take(self, change_id: str, numbers: Sequence[int], text: str | None) -> None:
        """Take hunks out, or put them back, as somebody did: that gave `text`. One alone may have gone over others."""
        if text is not None and self.brings_back(change_id, numbers):
            self.exists, self._left = True, None
            self.weave, self._lost = self._lost or self.weave, None
        for number in numbers:
            self.switch(change_id, number)
        if len(numbers) == 1 and text is not None and not is_alike(text, self.text):
            self.switch(change_id, numbers[0])
            if self.knows(change_id, numbers[0]) and is_alike(text, self.forced(change_id, numbers[0])):
                self.weave.go_over(self.strands[change_id, numbers[0]])
            else:
                self.switch(change_id, numbers[0])
        self.look(text)
        if numbers:
            self.settle()

    def settle(self) -> None:
        """Take note that a change left the file as it is now."""
        self._known = self.text

    def why_not_renamed(self, change_id: str) -> str | None:
        """Why what is there now seems to be another file than the one that a change renamed."""
        if self.renamed.get(change_id, self.life) != self.life:
            return "the file was made anew since"
        if self.text and self._known and not _are_related(self.text, self._known):
            return "little of the file that was renamed is left in it, so it may be another one"
        return None

    def text_without(self, change_ids: AbstractSet[str]) -> str | None:
        """The text as it would be without these changes; None: there would be no file."""
        on = [key for key in self.strands if key[0] in change_ids and self.is_on(*key)]
        existed, life = self.exists, self.life
        for key in reversed(on):
            self.switch(*key)
        text = self.text
        for key in on:
            self.switch(*key)
        self.exists, self.life = existed, life
        return text

    def why_held(self, change_id: str, number: int) -> str | None:
        """Why a hunk cannot be switched without touching what somebody else wrote."""
        strand = self.strands[change_id, number]
        if strand not in self.whole:
            if not self.exists:
                return "the file does not exist any more"
            if self.lives[strand] != self.life:
                return "the file was made anew since"
            held = self.weave.is_held(strand)
            return f"the same place was changed since{self._by_whom(strand)}" if held else None
        appears = self.whole[strand] != self.weave.is_on(strand)
        if appears:
            return "the file exists again" if self.exists else None
        if not self.exists:
            return "the file does not exist any more"
        self.weave.switch(strand)
        rest = self.weave.text
        self.weave.switch(strand)
        held = rest or self.weave.is_held(strand)
        what = "the new file" if self.whole[strand] else "the file"
        return f"{what} was changed since{self._by_whom(strand)}, so it is not deleted" if held else None

    def _by_whom(self, strand: int) -> str:
        """Who is in the way of a strand, where that is none but the session itself."""
        names = {own: key for key, own in self.strands.items()}
        later = self.weave.later(strand, everywhere=strand in self.whole)
        if not later or later - names.keys():
            return ""
        return f" by a later change of this session, {hunk_id(*names[max(later)])}"

    def is_whole(self, change_id: str, number: int) -> bool:
        """Whether a hunk is the file itself: its creation or deletion."""
        return self.strands[change_id, number] in self.whole

    def appears(self, change_id: str, number: int) -> bool:
        """Whether switching a hunk that is the file itself would bring the file, not take it away."""
        strand = self.strands[change_id, number]
        return self.whole[strand] != self.weave.is_on(strand)

    def comes_back(self, change_id: str, numbers: Sequence[int]) -> bool:
        """Whether the file is gone, and comes back as it was last with these hunks switched."""
        strands = [self.strands[change_id, one] for one in numbers if self.knows(change_id, one)]
        whole = [one for one in strands if one in self.whole and self.lives[one] == self.life]
        return not self.exists and any(self.whole[one] != self.weave.is_on(one) for one in whole)

    def may_go_over(self, change_id: str, number: int) -> bool:
        """Whether a hunk can be switched over what went over it: neither is a whole file that came or went."""
        strand = self.strands[change_id, number]
        return self.lives[strand] == self.life and not self.whole.keys() & {strand, *self.weave.over(strand)}

    def brings_back(self, change_id: str, numbers: Sequence[int]) -> bool:
        """Whether the file can come back with these hunks switched: somebody else took it away, with them in it."""
        strands = [self.strands[change_id, number] for number in numbers]
        is_known = not self.exists and self._lost is not None and not self.whole.keys() & set(strands)
        return is_known and bool(strands) and all(self.lives[strand] == self.life for strand in strands)

    def brought_back(self, change_id: str, number: int, besides: Sequence[tuple[str, int]] = ()) -> str:
        """The text that the file comes back with, if a hunk is switched then.

        Args:
            change_id: The change.
            number: Its hunk.
            besides: Further hunks, by change and number, that are switched as well where nothing is in their way.
        """
        strand, lost = self.strands[change_id, number], deepcopy(self._lost or self.weave)
        was_on = lost.is_on(strand)
        if lost.is_held(strand):
            lost.go_over(strand)
        else:
            lost.switch(strand)
        for other in (self.strands[key] for key in besides if key in self.strands):
            fits = other != strand and lost.is_on(other) == was_on and self.lives[other] == self.life
            if fits and other not in self.whole and not lost.is_held(other):
                lost.switch(other)
        return lost.text

    def place(self, change_id: str, number: int) -> Place:
        """Where a hunk is now."""
        return self.weave.place(self.strands[change_id, number])

    def forced(self, change_id: str, number: int) -> str:
        """The text with a hunk switched and without the edits that went over its lines."""
        return self.weave.forced(self.strands[change_id, number])

    def state(self, change_id: str, number: int) -> HunkState:
        """How a hunk stands."""
        strand = self.strands[change_id, number]
        if not self.weave.is_on(strand):
            return "undone"
        if self.weave.is_covered(strand):
            return "altered"
        return "conflict" if self.why_held(change_id, number) else "applied"


class Histories:
    """The files of a session."""

    def __init__(self) -> None:
        """Begin with none."""
        self._at: dict[str, FileHistory] = {}
        self._of: dict[str, FileHistory] = {}
        self.lost: set[str] = set()
        """The changes whose texts are not there any more."""

    @property
    def files(self) -> list[FileHistory]:
        """Each file once, in the order of their first changes."""
        return list({id(one): one for one in self._of.values()}.values())

    def by_claim(self) -> list[FileHistory]:
        """Each file once; of those that had one path that which had it last comes first."""
        return sorted(self.files, key=lambda one: self._at.get(one.key) is not one)

    def of(self, change_id: str) -> FileHistory | None:
        """The file that a change is about; None if that is not known any more."""
        return self._of.get(change_id)

    def is_taken(self, file: FileHistory, path: str | None = None, place: str | None = None) -> bool:
        """Whether another file of the session is where one was, or at `path`: what is read there is not that one."""
        other = self._at.get(file.key if path is None else place or path)
        return other is not None and other is not file and other.exists

    def at(self, path: str, place: str | None) -> FileHistory | None:
        """The file of the session that is at a path, with its real one; None: none that is known of."""
        other = self._at.get(place or path)
        return other if other is not None and other.exists else None

    def in_order(self, parts: Sequence[Part]) -> list[Part]:
        """Hunks that are to be switched: what brings a file that is gone back is before all else that is about it."""
        ordered = list(parts)
        for part in parts:
            file = self._of.get(part.record.change_id)
            if file is not None and file.comes_back(part.record.change_id, part.hunks):
                first = next(one for one in ordered if self._of.get(one.record.change_id) is file)
                at = ordered.index(first)
                ordered.remove(part)
                ordered.insert(at, part)
        return ordered

    def moved(self, file: FileHistory, to: str, place: str | None) -> None:
        """Take note that a file has another path, and another real one."""
        if self._at.get(file.key) is file:
            del self._at[file.key]
        file.path, file.real = to, place
        self._at[file.key] = file

    def claim(self, file: FileHistory) -> None:
        """Take note that a file is at its path, whichever was there before."""
        if file.exists:
            self._at[file.key] = file

    def fold(self, journal: Journal, record: ChangeRecord, texts: Mapping[str, str]) -> None:
        """Take a change in, after those before it."""
        hashes = {record.before, record.planned, record.after} - {None}
        if hashes - texts.keys():
            self.lost.add(record.change_id)
            self._at.pop(record.place or record.path, None)
            return
        before, planned, left = (
            texts.get(digest or "") for digest in (record.before, record.planned, record.after)
        )
        root = journal.root_of(record)
        file = (
            self._of.get(root.change_id) if root is not record else self._at.get(record.place or record.path)
        )
        if file is None:
            if root is not record:
                self.lost.add(record.change_id)
                return
            file = FileHistory(record.path, before is not None, Weave(before or ""), record.place)
            self._at[file.key] = file
        self._of[record.change_id] = file
        file.look(before)
        if record.operation != "rename":
            put = record.mode if record.mode_after is None else record.mode_after
            file.hidden = record.hidden
            file.encoding, file.mode = record.encoding, put if record.kept_mode is None else record.kept_mode
        if record.operation == "delete":
            file.deleted, file.gone = before, record
        if record.operation == "rename":
            file.renamed.setdefault(root.change_id, file.life)
            self.moved(file, record.to or record.path, record.to_place)
        elif root is record:
            # In the way in which the history has it: else what an editor hides would be a part of the change.
            way = Shown(file.text, before)
            file.put(record, None if planned is None else way.of(planned))
        else:
            numbers = [one for one in record.hunks if file.is_on(root.change_id, one) == record.takes_away]
            file.take(root.change_id, numbers, planned)
        file.look(left)
        file.settle()
        self.claim(file)


def _are_related(one: str, other: str) -> bool:
    """Whether two texts may be of one file, of which somebody changed a part."""
    lines, others = (
        Counter(line.strip() for line in text.splitlines() if not line.isspace()) for text in (one, other)
    )
    if (lines & others).total() >= _SHARED * max(1, min(lines.total(), others.total())):
        return True
    return max(len(one), len(other)) <= _SHORT and similarity(one, other) >= _ALIKE


def histories(journal: Journal, texts: Mapping[str, str]) -> Histories:
    """The files of a session, up to its last change.

    Args:
        journal: Its changes.
        texts: The texts before and after them, by content hash.
    """
    folded = Histories()
    for record in journal.records:
        if record.state == "applied":
            folded.fold(journal, record, texts)
    for file in folded.files:
        file.replaced = file.path in journal.replaced
    return folded


def texts_named(records: Sequence[ChangeRecord]) -> set[str]:
    """The hashes of all texts that a fold of these changes needs."""
    return {
        digest for one in records for digest in (one.before, one.planned, one.after) if digest is not None
    }
