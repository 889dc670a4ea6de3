"""What became of each file that a session changed: its changes by hunk, and what others wrote between them.

A file that is made anew where one was deleted is another file, and has a history of its own.
Folded from the journal and the texts that it names. What somebody wrote is whatever no change accounts for.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Literal

from outrider.ports.text import TextEncoding
from outrider.workspace.documents.overlay import is_alike, same_text
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.patch import Hidden, Shown, as_known, with_hidden
from outrider.workspace.history.records import ChangeRecord, Part, hunk_id
from outrider.workspace.history.weave import Place, Weave
from outrider.workspace.text.matching.nearest import similarity

TAKEN = "another file has its path now"
"""Why a file cannot come back to where it was: one of the session was moved there."""
EXISTS_AGAIN = "the file exists again"
"""Why one cannot that somebody made anew."""
MADE_ANEW = "the file was created again since"
"""Why nothing can be done in it then."""
GONE = "the file no longer exists: it was deleted or renamed"
"""Why nothing can be done in a file that somebody took away: nobody tells what became of it."""
LOST = "its text is no longer in the log, or is damaged there"
"""Why nothing can be said of a change, or done about it."""
IS_ELSEWHERE = "most of the lines to restore are already elsewhere in the file"
"""Why a hunk is not switched where somebody put its lines at another place."""
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
    """One file, wherever it is now, from when it is made until it is deleted, and when that is taken back."""

    path: str
    exists: bool
    weave: Weave
    real: str | None = None
    """Its real path; None where the log does not tell."""
    number: int = 0
    """How many files of the session were known before it."""
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
    replaced: bool = False
    """Whether a command put something in its place: a link there is not the file."""
    made_at: str = field(init=False)
    """The key that it had at first."""
    _known: str | None = None
    """The text that the last change left."""
    _left: str | None = None
    """The text that it had when somebody else took it away: it is the same file if it comes back with it."""
    _lost: Weave | None = None
    """All that was in it then."""
    _went: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    """What others wrote that went with a strand, as somebody said: it comes back with it."""
    _stood: dict[int, bytes] = field(default_factory=dict[int, bytes])
    """How its strands stood when it had a text, by the hash of it."""

    def __post_init__(self) -> None:
        """Take note of where it is at first."""
        self.made_at = self.key

    @property
    def key(self) -> str:
        """What tells it from the files at other places."""
        return self.real or self.path

    @property
    def text(self) -> str | None:
        """The text; None: there is no file."""
        return self.weave.text if self.exists else None

    def catch_up(self, text: str | None) -> None:
        """Take in what the file is now. While there is none, a text that it never had is that of another file."""
        if text is None:
            if self.exists and not self._whole_again(None):
                self._left, self._lost = self.text, deepcopy(self.weave)
                # What was in it is gone with it, and not taken back, even if it comes to the same text.
                self.weave.put("")
                self.exists = False
        elif self.exists:
            if text == self.text or not self._is_back_at(text):
                self.weave.catch_up(text)
        else:
            self.comes_again(text)

    def comes_again(self, text: str) -> bool:
        """Take in that somebody made the file again, if that is its text: whether it is."""
        if self.exists:
            return False
        if self._whole_again(text):
            return True
        if not is_alike(text, self._left):
            return False
        self.exists = True
        if text == self.text or not self._is_back_at(text):
            self.weave.catch_up(text)
        return True

    def had(self, text: str) -> bool:
        """Whether the file had this very text when something was done to it."""
        return hash(text) in self._stood

    def _is_back_at(self, text: str) -> bool:
        """Let the strands stand as they did when the file had this very text, if it had it."""
        standing = self._stood.get(hash(text))
        is_same = standing is not None and all(
            strand < len(standing) and bool(standing[strand]) == self.weave.is_on(strand)
            for strand in self.whole
        )
        self._remember()
        return standing is not None and is_same and self.weave.go_back_to(standing, text)

    def _remember(self) -> None:
        self._stood[hash(self.text)] = self.weave.standing
        if len(self._stood) > _MOST_REMEMBERED:
            del self._stood[next(iter(self._stood))]

    def look(self, text: str | None) -> None:
        """Take in what the file is seen to be now, apart from what an editor hides of it, or cannot show otherwise."""
        # In Vim no text is empty: it has one line, of which the end is seen.
        is_empty = self.text == "" and text in {"\n", "\r\n"}
        if not is_empty and not is_alike(text, self.text):
            self.catch_up(as_known(text, self.text, self.encoding) if text and self.text else text)

    def to_the_byte(self, text: str | None) -> str | None:
        """A text of the file as the disk had it: as its last deletion found it, if it is that one, or with what was hidden."""
        if text is None or (self.deleted is not None and same_text(text, self.deleted)):
            return self.deleted if text is not None else None
        return with_hidden(text, self.hidden)

    def _whole_again(self, text: str | None) -> bool:
        """Whether somebody undid, or did again, just the creation or the deletion of the file."""
        for strand in sorted(self.whole, reverse=True):
            self.weave.switch(strand)
            if self._exists_by_now() == (text is not None) and self.weave.text == (text or ""):
                self.exists, self._left, self._lost = text is not None, None, None
                return True
            self.weave.switch(strand)
        return False

    def _exists_by_now(self) -> bool:
        """Whether its creation is there, and no deletion."""
        return all(self.weave.is_on(strand) == made for strand, made in self.whole.items())

    def put(self, record: ChangeRecord, after: str | None) -> None:
        """Make a change."""
        self._remember()
        strands = self.weave.put(after or "") or [self.weave.empty()]
        if record.operation in {"create", "delete"}:
            # The text is one hunk then.
            self.whole[strands[0]] = record.operation == "create"
        self.exists, self._left, self._lost = after is not None, None, None
        for number, strand in enumerate(strands, 1):
            self.strands[record.change_id, number] = strand

    def knows(self, change_id: str, number: int) -> bool:
        """Whether there is such a hunk."""
        return (change_id, number) in self.strands

    def is_on(self, change_id: str, number: int) -> bool:
        """Whether a hunk is in the text, or was when the file was deleted; none is in one that is not made."""
        strand = self.strands.get((change_id, number))
        if strand is None or not self.weave.is_on(strand):
            return False
        return strand in self.whole or all(self.weave.is_on(one) for one, made in self.whole.items() if made)

    def switch(self, change_id: str, number: int) -> None:
        """Take a hunk out, or put it back."""
        if (strand := self.strands.get((change_id, number))) is not None:
            self.weave.switch(strand)
            if strand in self.whole:
                self.exists = self._exists_by_now()

    def take(self, change_id: str, numbers: Sequence[int], text: str | None) -> None:
        """Take hunks out, or put them back, as somebody did: that gave `text`. One alone may have gone over others."""
        if text is not None and self.brings_back(change_id, numbers):
            self.exists, self._left = True, None
            self.weave, self._lost = self._lost or self.weave, None
        with_it = self._comes_with(change_id, numbers)
        for number in numbers:
            self.switch(change_id, number)
            if self.strands.get((change_id, number)) in self.whole:
                self._left, self._lost = None, None
        if with_it and not is_alike(text, self.text):
            self.weave.switch_all(with_it)
            if not is_alike(text, self.text):
                self.weave.switch_all(with_it)
        if len(numbers) == 1 and text is not None and not is_alike(text, self.text):
            self.switch(change_id, numbers[0])
            if self.knows(change_id, numbers[0]) and is_alike(text, self.forced(change_id, numbers[0])):
                strand = self.strands[change_id, numbers[0]]
                self._went[strand] = self.weave.over(strand) - set(self.strands.values())
                self.weave.go_over(strand)
            else:
                self.switch(change_id, numbers[0])
        self.look(text)
        if numbers:
            self.settle()

    def settle(self) -> None:
        """Take note that a change left the file as it is now."""
        self._known = self.text

    def why_not_renamed(self) -> str | None:
        """Why what is there now seems to be another file than the one that was renamed."""
        if self.text and self._known and not _are_related(self.text, self._known):
            return "little of the renamed file is left in it, so it may be another file"
        return None

    def text_without(self, change_ids: AbstractSet[str]) -> str | None:
        """The text as it would be without these changes; None: there would be no file."""
        on = [key for key in self.strands if key[0] in change_ids and self.is_on(*key)]
        existed = self.exists
        for key in reversed(on):
            self.switch(*key)
        text = self.text
        for key in on:
            self.switch(*key)
        self.exists = existed
        return text

    def text_with(self, change_id: str, numbers: Sequence[int]) -> str | None:
        """The text as it would be with hunks switched, and with what others wrote that went with them."""
        with_them = self._comes_with(change_id, numbers)
        for number in numbers:
            self.switch(change_id, number)
        self.weave.switch_all(with_them)
        text = self.text
        self.weave.switch_all(with_them)
        for number in numbers:
            self.switch(change_id, number)
        return text

    def brings(self, hunks: Iterable[tuple[str, int]], *, back: bool) -> set[str]:
        """The changes whose lines come into the text if hunks are switched one after the other, where nothing is in their way.

        Args:
            hunks: The hunks, by change and number.
            back: Whether they are put back, else taken out.
        """
        there = deepcopy(self)
        for change_id, number in hunks:
            is_meant = there.knows(change_id, number) and there.is_on(change_id, number) is not back
            if is_meant and there.why_held(change_id, number) is None:
                there.switch(change_id, number)
        return self._of(there.weave.came_since(self.weave)) if there.exists else set()

    def holds(self) -> set[str]:
        """The changes whose lines are in the text."""
        return self._of(self.weave.shown)

    def _of(self, strands: AbstractSet[int]) -> set[str]:
        return {change_id for (change_id, _), strand in self.strands.items() if strand in strands}

    def _comes_with(self, change_id: str, numbers: Sequence[int]) -> set[int]:
        """What others wrote over hunks, went with them, and comes back where these do."""
        gone = (strand for number in numbers if (strand := self.strands.get((change_id, number))) is not None)
        with_them = {
            other for strand in gone if not self.weave.is_on(strand) for other in self._went.get(strand, ())
        }
        return {other for other in with_them if not self.weave.is_on(other)}

    def why_held(self, change_id: str, number: int) -> str | None:
        """Why a hunk cannot be switched without touching what somebody else wrote."""
        strand = self.strands[change_id, number]
        if strand not in self.whole:
            if not self.exists:
                return GONE
            if self.weave.is_held(strand):
                return f"the same place was changed since{self._by_whom(strand)}"
            return IS_ELSEWHERE if self.weave.repeats(strand) else None
        if self.appears(change_id, number):
            return None
        if not self.exists:
            return GONE
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
        whole = [one for one in strands if one in self.whole]
        return not self.exists and any(self.whole[one] != self.weave.is_on(one) for one in whole)

    @property
    def creation(self) -> str | None:
        """The change that made the file, as long as it stands."""
        return self._whole_change(made=True)

    @property
    def deletion_undone(self) -> str | None:
        """The last change that deleted the file and was taken back."""
        return self._whole_change(made=False)

    def _whole_change(self, *, made: bool) -> str | None:
        found = [
            (strand, change_id)
            for (change_id, _), strand in self.strands.items()
            if self.whole.get(strand) is made and self.weave.is_on(strand) is made
        ]
        return max(found)[1] if found else None

    def may_go_over(self, change_id: str, number: int) -> bool:
        """Whether a hunk can be switched over what went over it: neither is a whole file that came or went."""
        strand = self.strands[change_id, number]
        return not self.whole.keys() & {strand, *self.weave.over(strand)}

    def brings_back(self, change_id: str, numbers: Sequence[int]) -> bool:
        """Whether the file can come back with these hunks switched: somebody else took it away, with them in it."""
        strands = [self.strands[change_id, number] for number in numbers]
        is_known = not self.exists and self._lost is not None and not self.whole.keys() & set(strands)
        return is_known and bool(strands)

    def gone_over(self, change_id: str, number: int) -> str | None:
        """The text with a hunk switched over what somebody wrote there; None: there would be no file."""
        if self.brings_back(change_id, [number]):
            return self.brought_back(change_id, number)
        return None if self.is_whole(change_id, number) else self.forced(change_id, number)

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
            fits = other != strand and lost.is_on(other) == was_on
            if fits and other not in self.whole and not lost.is_held(other):
                lost.switch(other)
        return lost.text

    def place(self, change_id: str, number: int) -> Place:
        """Where a hunk is now."""
        return self.weave.place(self.strands[change_id, number])

    def forced(self, change_id: str, number: int) -> str:
        """The text with a hunk switched and without the edits that went over its lines."""
        return self.weave.forced(self.strands[change_id, number])

    def is_covered(self, change_id: str, number: int) -> bool:
        """Whether nothing is left of what a hunk put there, though it is in the text."""
        return self.weave.is_covered(self.strands[change_id, number])


class Histories:
    """The files of a session."""

    def __init__(self) -> None:
        """Begin with none."""
        self._at: dict[str, FileHistory] = {}
        self._of: dict[str, FileHistory] = {}
        self._all: dict[str, dict[int, FileHistory]] = {}
        """By key and number, those too that are about no change of the session."""
        self._begun = 0
        self._named: dict[str, str] = {}
        """Of changes the path of their file since it was renamed in the editor."""
        self.lost: set[str] = set()
        """The changes whose texts are not there any more."""

    @property
    def files(self) -> list[FileHistory]:
        """Each file once, in the order of their first changes."""
        return list({id(one): one for one in self._of.values()}.values())

    @property
    def claiming(self) -> list[FileHistory]:
        """One file for each path: the one that is there, or was there last."""
        return list({one.key: self.there(one) for one in self.files}.values())

    def of(self, change_id: str) -> FileHistory | None:
        """The file that a change is about; None if that is not known any more."""
        return self._of.get(change_id)

    def path_of(self, record: ChangeRecord) -> str:
        """Where a change is: where it was made, or where somebody renamed its file to since. A rename is where it was."""
        return record.path if record.operation == "rename" else self._named.get(record.change_id, record.path)

    def is_taken(self, file: FileHistory, path: str | None = None, place: str | None = None) -> bool:
        """Whether another file of the session is where one was, or at `path`: what is read there is not that one."""
        other = self._at.get(file.key if path is None else place or path)
        return other is not None and other is not file and other.exists

    def at(self, path: str, place: str | None) -> FileHistory | None:
        """The file of the session that is at a path, with its real one; None: none that is known of."""
        other = self._at.get(place or path)
        return other if other is not None and other.exists else None

    def there(self, file: FileHistory) -> FileHistory:
        """The file that is where one was, or was there last."""
        return self._at.get(file.key, file)

    def see(self, file: FileHistory, text: str | None) -> None:
        """Take in what is at the path of a file now: it is that file, or another one."""
        there = self.there(file)
        if text is not None and not is_alike(text, there.text):
            others = [one for _, one in sorted(self._all[file.key].items(), reverse=True) if one is not there]
            # Nobody writes the whole text of a deleted file by chance: somebody took the deletion back.
            if there.exists and (not text or there.had(text)):
                others = []
            there = next((one for one in (there, *others) if one.comes_again(text)), there)
            if not there.exists:
                there = self._begin(file.path, file.real, text)
        there.look(text)
        for one in self._all[file.key].values():
            if one is not there:
                one.look(None)
        self._at[file.key] = there

    def _begin(self, path: str, real: str | None, text: str | None) -> FileHistory:
        file = FileHistory(path, text is not None, Weave(text or ""), real, self._begun)
        self._begun += 1
        self._all.setdefault(file.key, {})[file.number] = file
        self._at[file.key] = file
        return file

    def why_taken(self, file: FileHistory) -> str | None:
        """Why a file is not where it was; None: no other one is there."""
        if not self.is_taken(file):
            return None
        other = self.there(file)
        return MADE_ANEW if other.made_at == other.key else TAKEN

    def why_held(self, file: FileHistory, change_id: str, number: int) -> str | None:
        """Why a hunk of a file cannot be switched without touching what somebody else wrote, or made."""
        taken = self.why_taken(file)
        is_back = file.is_whole(change_id, number) and file.appears(change_id, number)
        if taken is None:
            return file.why_held(change_id, number)
        return EXISTS_AGAIN if taken == MADE_ANEW and is_back else taken

    def state(self, file: FileHistory, change_id: str, number: int) -> HunkState:
        """How a hunk of a file stands."""
        if not file.is_on(change_id, number):
            return "undone"
        if file.is_covered(change_id, number):
            return "altered"
        return "conflict" if self.why_held(file, change_id, number) else "applied"

    def in_order(self, parts: Sequence[Part]) -> list[Part]:
        """Hunks that are to be switched: what brings a file that is gone back is before all else that is about it."""
        back: dict[int, list[Part]] = {}
        files = [self._of.get(part.record.change_id) for part in parts]
        comes = [
            file is not None and file.comes_back(part.record.change_id, part.hunks)
            for file, part in zip(files, parts, strict=True)
        ]
        for file, part, is_first in zip(files, parts, comes, strict=True):
            if is_first:
                back.setdefault(id(file), []).insert(0, part)
        ordered: list[Part] = []
        for file, part, is_first in zip(files, parts, comes, strict=True):
            ordered += back.pop(id(file), [])
            if not is_first:
                ordered.append(part)
        return ordered

    def moved(self, file: FileHistory, to: str, place: str | None) -> None:
        """Take note that a file has another path, and another real one."""
        if self._at.get(file.key) is file:
            del self._at[file.key]
        del self._all[file.key][file.number]
        file.path, file.real = to, place
        self._all.setdefault(file.key, {})[file.number] = file
        self._at[file.key] = file

    def claim(self, file: FileHistory) -> None:
        """Take note that a file is at its path, whichever was there before."""
        if file.exists:
            self._at[file.key] = file

    def fold(self, journal: Journal, record: ChangeRecord, texts: Mapping[str, str]) -> None:
        """Take a change in, after those before it."""
        if record.by_user:
            self._follow(record)
            return
        hashes = {record.before, record.planned, record.after} - {None}
        if hashes - texts.keys():
            self.lost.add(record.change_id)
            self._at.pop(record.place or record.path, None)
            return
        before, planned, left = (
            texts.get(digest or "") for digest in (record.before, record.planned, record.after)
        )
        root = journal.root_of(record)
        if root is record:
            file = self._found(record, before)
        elif (known := self._of.get(root.change_id)) is not None:
            file = known
            self.see(file, before)
        else:
            self.lost.add(record.change_id)
            return
        self._of[record.change_id] = file
        if record.operation != "rename":
            put = record.mode if record.mode_after is None else record.mode_after
            file.hidden = record.hidden
            file.encoding, file.mode = record.encoding, put if record.kept_mode is None else record.kept_mode
        if record.operation == "delete":
            file.deleted, file.gone = before, record
        if record.operation == "rename":
            self.moved(file, record.to or record.path, record.to_place)
        elif root is record:
            # In the way in which the history has it: else what an editor hides would be a part of the change.
            way = Shown(file.text, before)
            file.put(record, None if planned is None else way.of(planned))
        else:
            numbers = [one for one in record.hunks if file.is_on(root.change_id, one) == record.takes_away]
            file.take(root.change_id, numbers, planned)
        self.claim(file)
        self.see(file, left)
        file.settle()

    def _follow(self, record: ChangeRecord) -> None:
        """Take in that somebody renamed a file in the editor. One that is gone stays: another one had its path."""
        file = self._at.get(record.place or record.path)
        if file is None or not file.exists:
            return
        self.moved(file, record.to or record.path, record.to_place)
        self._named |= {change_id: file.path for change_id, one in self._of.items() if one is file}
        self._of[record.change_id] = file

    def _found(self, record: ChangeRecord, before: str | None) -> FileHistory:
        """The file that a change was made to; what it made is a new one."""
        there = self._at.get(record.place or record.path)
        if there is not None:
            self.see(there, before)
            there = self.there(there)
        return there if there is not None and there.exists else self._begin(record.path, record.place, before)


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
