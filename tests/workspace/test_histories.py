"""Hunks come and go in any order: nothing that somebody typed is lost, and without anybody it is the first text."""

import random
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outrider.ports.events import from_old_log
from outrider.ports.model import content_hash
from outrider.workspace.history.histories import FileHistory, histories
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.records import Part
from outrider.workspace.history.weave import Place, Weave
from outrider.workspace.text.diff import line_hunks
from outrider.workspace.text.lines import split_lines
from outrider.workspace.text.merge import merge

REPETITIVE = st.lists(st.sampled_from(["a\n", "b\n", "{\n", "\n"]), max_size=9).map("".join)
LINES = st.lists(
    st.sampled_from([f"{word}\n" for word in ("one", "two", "three", "four", "five", "six")]), max_size=9
)
TEXTS = st.one_of(REPETITIVE, LINES.map("".join), LINES.map(lambda lines: "".join(lines).removesuffix("\n")))


def unended(text: str) -> str:
    """A text without the end of its last line, where there is something in that."""
    lines = split_lines(text)
    return "".join([*lines[:-1], *(line.rstrip("\r\n") or line for line in lines[-1:])])


def saved(text: str, end: str = "\n") -> str:
    """A text as an editor leaves it that ends the last line, or takes its end away."""
    bare = unended(text)
    return bare if bare != text else text if text.endswith(("\r", "\n")) or not text else text + end


class Session:
    """A file, edited by the agent and by a user, with the journal of it."""

    def __init__(self, text: str) -> None:
        self.journal = Journal()
        self.text = text
        self.texts: dict[str, str] = {}
        self._seq = 0

    def applied(self, after: str, **more: Any) -> str:
        self._seq += 1
        change_id = f"chg_{self._seq}"
        hashes = {"before": self._kept(self.text), "after": self._kept(after)}
        hunks = [{"line": one.line} for one in line_hunks(self.text, after)]
        data = {"changeId": change_id, "path": "a", "operation": "edit", "hunks": hunks} | hashes | more
        self.journal.apply(from_old_log(self._seq, "", "ses", "turn", "edit.applied", data))
        self.text = after
        return change_id

    def _kept(self, text: str) -> str:
        digest = content_hash(text.encode())
        self.texts[digest] = text
        return digest

    def file(self) -> FileHistory:
        """The file as it is now, folded anew from the journal."""
        file = histories(self.journal, self.texts).of("chg_1")
        assert file is not None
        file.catch_up(self.text)
        assert file.text == self.text
        return file

    def switch(self, change_id: str, numbers: list[int], *, undo: bool) -> int:
        """Undo or redo hunks as far as that goes; gives how many were left as they are."""
        file = self.file()
        wanted = [number for number in numbers if file.is_on(change_id, number) is undo]
        free = [number for number in wanted if file.why_held(change_id, number) is None]
        if free:
            for number in free:
                file.switch(change_id, number)
            undoes = change_id if undo else self.journal.last_undo(change_id)
            if undoes is not None:
                self.applied(file.text or "", undoes=undoes, undoesHunks=free)
        return len(wanted) - len(free)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=4), st.booleans(), st.data())
def test_undoing_everything_gives_the_first_text_back(
    first: str, texts: list[str], saves: bool, data: Any
) -> None:
    def meanwhile() -> None:
        """An editor gives the last line its end, or takes it: that is its own, and all that may be another."""
        text = saved(session.text)
        # A text that was there before is taken for what somebody went back to.
        if saves and text not in session.texts.values() and data.draw(st.booleans()):
            session.text = text

    text_of = unended if saves else str
    session = Session(first)
    for text in texts:
        session.applied(text)
        meanwhile()
    last, roots = session.text, session.journal.roots()
    single = [(one.change_id, number) for one in roots for number in one.hunks]
    for change_id, number in data.draw(st.lists(st.sampled_from(single), max_size=8)):
        session.switch(change_id, [number], undo=data.draw(st.booleans()))
        meanwhile()
    for record in reversed(roots):
        assert session.switch(record.change_id, list(record.hunks), undo=True) == 0
        meanwhile()
    assert text_of(session.text) == text_of(first)
    for record in roots:
        assert session.switch(record.change_id, list(record.hunks), undo=False) == 0
        meanwhile()
    assert text_of(session.text) == text_of(last)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(TEXTS, TEXTS, st.lists(st.integers(0, 3), min_size=1, max_size=12), st.data())
def test_no_line_that_somebody_typed_is_lost(first: str, second: str, doings: list[int], data: Any) -> None:
    session, typed = Session(first), 0
    session.applied(second)
    for doing in doings:
        lines = session.text.splitlines(keepends=True)
        at = data.draw(st.integers(0, len(lines)))
        if doing == 0:
            typed += 1
            if at and not lines[at - 1].endswith("\n"):
                lines[at - 1] += "\n"
            lines[at : at + data.draw(st.integers(0, 1))] = [f"typed {typed}\n"]
            # What the user replaces of their own is theirs to replace.
            kept = [line for line in lines if line.startswith("typed")]
            session.text = "".join(lines)
            assert session.text.count("typed") == len(kept)
        elif doing == 1:
            lines[at:at] = data.draw(LINES)
            if "".join(lines) != session.text:
                session.applied("".join(lines))
        else:
            before = [line for line in session.text.splitlines() if line.startswith("typed")]
            record = data.draw(st.sampled_from(session.journal.roots()))
            numbers = data.draw(st.lists(st.sampled_from(record.hunks), unique=True))
            session.switch(record.change_id, sorted(numbers), undo=doing == 2)
            after = [line for line in session.text.splitlines() if line.startswith("typed")]
            assert before == after


# --- thousands of random sessions, by their seed -------------------------------------------------------------


ENDS = {"lf": ["\n"], "crlf": ["\r\n"], "mixed": ["\n", "\r\n", "\r"]}
WORDS = {"repetitive": ["", "}", "    return", "a"], "words": [f"word {n}" for n in range(40)]}
SEEDS = 400
"""Of each kind of text."""


class Doings:
    """What happens to a file, at random: the agent edits, somebody types within lines, hunks come and go."""

    def __init__(self, seed: int, ends: str, words: str) -> None:
        self._rng = random.Random(f"{seed} {ends} {words}")
        self._ends, self._words = ENDS[ends], WORDS[words]
        self.typed = 0
        self.session = Session(self._joined([self._line() for _ in range(self._rng.choice([0, 1, 3, 12]))]))

    def _line(self) -> str:
        return self._rng.choice(self._words) + self._rng.choice(self._ends)

    def _joined(self, lines: list[str]) -> str:
        text = "".join(lines)
        return text.rstrip("\r\n") if self._rng.random() < 0.3 else text

    def edit(self) -> None:
        """The agent replaces, inserts or deletes lines at up to three places."""
        lines = split_lines(self.session.text)
        for _ in range(self._rng.randint(1, 3)):
            at = self._rng.randint(0, len(lines))
            lines[at : at + self._rng.randint(0, 2)] = [self._line() for _ in range(self._rng.randint(0, 2))]
        after = self._joined(lines)
        if after != self.session.text:
            self.session.applied(after)

    def type(self) -> None:
        """Somebody types a word that nobody else has, anywhere, within a line or as one."""
        self.typed += 1
        at = self._rng.randint(0, len(self.session.text))
        word = f"<{self.typed}>" + self._rng.choice(["", *self._ends])
        self.session.text = self.session.text[:at] + word + self.session.text[at:]

    def save(self) -> None:
        """An editor ends the last line, or takes its end away, as the first line has it."""
        self.session.text = saved(self.session.text, self._ends[0])

    def words(self) -> set[str]:
        return set(re.findall(r"<\d+>", self.session.text))

    def switch(self) -> None:
        """A hunk, a step, a turn or everything is undone or redone: no word that is there goes."""
        undo, scope = self._rng.random() < 0.6, self._rng.choice(["hunk", "hunk", "step", "turn", "session"])
        journal = self.session.journal
        parts = journal.to_undo(scope, None) if undo else journal.to_redo(scope, None)
        if self._rng.random() < 0.5 and journal.roots():
            record = self._rng.choice(journal.roots())
            parts = [
                Part(record, tuple(self._rng.sample(record.hunks, self._rng.randint(1, len(record.hunks)))))
            ]
        for part in parts:
            words = self.words()
            self.session.switch(part.record.change_id, list(part.hunks), undo=undo)
            lost = words - self.words()
            assert lost <= self.agents_own(part, undo=undo), lost

    def agents_own(self, part: Part, *, undo: bool) -> set[str]:
        """Words that the agent wrote down anew in these hunks, or took with the user's yes: those go with them."""
        before, after = (
            self.session.texts[digest or ""] for digest in (part.record.before, part.record.planned)
        )
        hunks = [line_hunks(before, after)[number - 1] for number in part.hunks]
        removed, added = (
            set(re.findall(r"<\d+>", "".join(texts)))
            for texts in ([one.removed for one in hunks], [one.added for one in hunks])
        )
        return added - removed if undo else removed - added

    def undo_everything(self) -> int:
        left = 0
        for record in reversed(self.session.journal.roots()):
            left += self.session.switch(record.change_id, list(record.hunks), undo=True)
        return left


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("ends", ENDS)
def test_whatever_the_order_no_word_that_somebody_typed_is_lost(ends: str, words: str) -> None:
    for seed in range(SEEDS):
        doings = Doings(seed, ends, words)
        doings.edit()
        rng = random.Random(seed)
        for _ in range(rng.randint(2, 9)):
            rng.choice([doings.edit, doings.type, doings.type, doings.save, doings.switch, doings.switch])()


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("ends", ENDS)
def test_whatever_the_order_the_first_bytes_come_back_where_nobody_typed(ends: str, words: str) -> None:
    for seed in range(SEEDS):
        doings = Doings(seed, ends, words)
        first = doings.session.text
        rng = random.Random(seed)
        doings.edit()
        for _ in range(rng.randint(0, 8)):
            rng.choice([doings.edit, doings.switch])()
        assert doings.undo_everything() == 0, seed
        assert doings.session.text == first, seed


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("ends", ["lf", "crlf"])
def test_whatever_the_order_an_end_that_an_editor_gives_or_takes_is_in_no_ones_way(
    ends: str, words: str
) -> None:
    for seed in range(SEEDS):
        doings = Doings(seed, ends, words)
        first = doings.session.text
        rng = random.Random(seed)
        doings.edit()
        for _ in range(rng.randint(1, 8)):
            rng.choice([doings.edit, doings.save, doings.save, doings.switch])()
        assert doings.undo_everything() == 0, seed
        assert unended(doings.session.text) == unended(first), seed


@pytest.mark.parametrize(
    ("first", "agent", "then", "undone"),
    [
        ("a\nb\n", "a\nB", "a\nB\n", "a\nb\n"),
        ("a\nb", "a\nB", "a\nB\n", "a\nb\n"),
        ("a\nb", "a\nb\nc", "a\nb\nc\n", "a\nb\n"),
        ("a\r\nb", "a\r\nB", "a\r\nB\r\n", "a\r\nb\r\n"),
        ("b", "B", "B\r\n", "b\r\n"),
        ("a\nb\n", "a\nB\n", "a\nB", "a\nb"),
        ("", "a", "a\n", ""),
    ],
)
def test_an_editor_that_ends_the_last_line_is_in_no_ones_way(
    first: str, agent: str, then: str, undone: str
) -> None:
    session = Session(first)
    change = session.applied(agent)
    session.text = then
    assert session.switch(change, [1], undo=True) == 0
    assert session.text == undone
    assert session.switch(change, [1], undo=False) == 0
    assert session.text == then


def test_nobody_loses_the_end_of_a_line_that_came_later() -> None:
    weave = Weave("a\nb")
    (strand,) = weave.put("a\nb\nc\n")
    weave.catch_up("a\nb\nmine\nc\n")
    assert not weave.is_held(strand)
    weave.switch(strand)
    assert weave.text == "a\nb\nmine\n"


def test_a_change_of_the_last_end_alone_is_taken_back_and_known_when_somebody_reverses_it() -> None:
    weave = Weave("a\nb")
    (strand,) = weave.put("a\nb\n")
    assert weave.place(strand).reads_like(Place(2, "b\n", "b"))
    weave.catch_up("a\nb")
    assert not weave.is_on(strand)
    weave.catch_up("a\nb\n")
    assert weave.is_on(strand)
    weave.switch(strand)
    assert weave.text == "a\nb"


def test_a_line_without_its_end_stays_a_line() -> None:
    weave = Weave("a")
    strands = weave.put("a\nb\n")
    weave.catch_up("a\nb\nmine\n")
    for strand in strands:
        assert not weave.is_held(strand)
        weave.switch(strand)
    assert weave.text == "a\nmine\n"


def test_the_reverse_of_a_hunk_is_its_undo_whatever_is_typed_beside_it() -> None:
    weave = Weave("1\n2\n3\n4\n5\n")
    first, second = weave.put("1\ntwo\n3\nfour\n5\n")
    weave.catch_up("1\n2\nmine\n3\nfour\n5\n")
    assert (weave.is_on(first), weave.is_on(second)) == (False, True)
    weave.catch_up("1\ntwo\nmine\n3\n4\n5\n")
    assert (weave.is_on(first), weave.is_on(second)) == (True, False)
    weave.catch_up("1\nmine\n3\n4\n5\n")
    assert weave.is_on(first), "its line is gone, but the line before it did not come back"


# --- what the agent deleted and the user took back ---------------------------------------------------------------

LIKE_CODE = st.lists(
    st.sampled_from(["def {}:\n", "    x = {}\n", "    return {}\n", "\n", "}\n"]), max_size=14
)


def numbered(lines: list[str]) -> list[str]:
    """Lines of which none is there twice but blank ones and brackets."""
    return [line.replace("{}", str(number)) for number, line in enumerate(lines)]


def taken_back(block: list[str], data: Any) -> list[str]:
    """A block, or a part of it, as the user leaves it: with lines of their own in it, beside it, or for some of it."""
    lines: list[str] = ["mine above\n"] if data.draw(st.booleans()) else []
    for number, line in enumerate(block):
        match data.draw(st.sampled_from("=====x~+")):
            case "x":
                pass
            case "~":
                lines.append(f"mine for {number}\n")
            case "+":
                lines += [line, f"mine after {number}\n"]
            case _:
                lines.append(line)
    return [*lines, "mine below\n"] if data.draw(st.booleans()) else lines


@settings(max_examples=1000, suppress_health_check=list(HealthCheck), deadline=None)
@given(LIKE_CODE, st.data())
def test_what_the_user_took_back_is_not_there_twice_after_an_undo(code: list[str], data: Any) -> None:
    first = numbered(code)
    start = data.draw(st.integers(0, len(first)))
    end = data.draw(st.integers(start, len(first)))
    above, block, below = first[:start], first[start:end], first[end:]
    if not block:
        return
    session = Session("".join(first))
    change = session.applied("".join(above + below))
    back = taken_back(block, data)
    now = above + back + below
    if data.draw(st.booleans()):
        now.insert(data.draw(st.integers(0, len(now))), "mine elsewhere\n")
    session.text = "".join(now)
    left = session.switch(change, list(session.journal.roots()[0].hunks), undo=True)
    lines = split_lines(session.text)
    telling = [line for line in first if line.strip(" }\n")]
    twice = [line for line in telling if lines.count(line) > 1]
    assert not twice
    rest = iter(lines)
    assert all(line in rest for line in now), "the user's text is there, in its order"
    # What is not undone is named, and then nothing is changed.
    assert (set(telling) <= set(lines)) if left == 0 else session.text == "".join(now)


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(LIKE_CODE, st.data())
def test_what_the_user_put_at_another_place_is_not_there_twice(code: list[str], data: Any) -> None:
    first = numbered(code)
    start = data.draw(st.integers(0, len(first)))
    end = data.draw(st.integers(start, len(first)))
    block, rest = first[start:end], first[:start] + first[end:]
    telling = [line for line in block if line.strip(" }\n")]
    if not telling:
        return
    session = Session("".join(first))
    change = session.applied("".join(rest))
    at = data.draw(st.integers(0, len(rest)))
    session.text = "".join([*rest[:at], "mine\n", *block, *rest[at:]])
    session.switch(change, list(session.journal.roots()[0].hunks), undo=True)
    lines = split_lines(session.text)
    assert [lines.count(line) for line in telling] == [1] * len(telling)
    assert "mine\n" in lines


PLAIN = st.lists(st.sampled_from([f"{word}\n" for word in ("one", "two", "three", "}", "")]), max_size=9)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(PLAIN, PLAIN, st.booleans(), st.booleans(), st.data())
def test_a_line_beside_a_change_is_not_in_its_way(
    first: list[str], then: list[str], ended: bool, undone: bool, data: Any
) -> None:
    before, after = (
        "".join(lines) if ended else "".join(lines).removesuffix("\n") for lines in (first, then)
    )
    if before == after:
        return
    session = Session(before)
    change = session.applied(after)
    hunks = list(session.journal.roots()[0].hunks)
    if undone:
        assert session.switch(change, hunks, undo=True) == 0
    place = session.file().place(change, data.draw(st.sampled_from(hunks)))
    lines = split_lines(session.text)
    at = place.line - 1 + data.draw(st.sampled_from([0, len(split_lines(place.now))]))
    if at == len(lines) and lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    session.text = "".join([*lines[:at], "typed\n", *lines[at:]])
    for undo in (not undone, undone, not undone):
        assert session.switch(change, hunks, undo=undo) == 0
        left = split_lines(session.text)
        left.remove("typed\n")
        # A last line without an end has one as soon as another line follows.
        assert "".join(left).rstrip("\n") == (before if undo else after).rstrip("\n")


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(PLAIN, st.lists(PLAIN, min_size=2, max_size=4), st.data())
def test_a_line_beside_the_latest_change_is_not_in_its_way(
    first: list[str], later: list[list[str]], data: Any
) -> None:
    session = Session("".join(first))
    for lines in later:
        if "".join(lines) != session.text:
            session.applied("".join(lines))
    if not session.journal.roots():
        return
    record = session.journal.roots()[-1]
    place = session.file().place(record.change_id, data.draw(st.sampled_from(record.hunks)))
    lines = split_lines(session.text)
    at = place.line - 1 + data.draw(st.sampled_from([0, len(split_lines(place.now))]))
    session.text = "".join([*lines[:at], "typed\n", *lines[at:]])
    assert session.switch(record.change_id, list(record.hunks), undo=True) == 0
    left = split_lines(session.text)
    left.remove("typed\n")
    assert "".join(left) == session.texts[record.before or ""]


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("after", ["1\ntwo", "1\ntwo\nthree", "1", "one\n2"])
def test_a_line_above_or_below_a_change_stays_where_it_was_typed(after: str, end: str, above: bool) -> None:
    weave = Weave(f"1\n2{end}")
    strands = weave.put(after + end)
    at = weave.place(strands[0]).line - 1
    lines = split_lines(after + end)
    if not above:
        at += len(split_lines(weave.place(strands[0]).now))
    if at == len(lines):
        lines[-1] = lines[-1].removesuffix("\n") + "\n"
    weave.catch_up("".join([*lines[:at], "mine\n", *lines[at:]]))
    for strand in strands:
        assert not weave.is_held(strand)
        weave.switch(strand)
    assert weave.text.count("mine\n") == 1
    assert weave.text.replace("mine\n", "").split("\n")[:2] == ["1", "2"]


# --- over what somebody wrote --------------------------------------------------------------------------------


def written_over(lines: list[str], data: Any, mark: str) -> list[str]:
    """Lines with up to three places replaced by lines that were never there before."""
    lines = list(lines)
    for place in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines)))
        new = [f"{mark} {place} {number}\n" for number in range(data.draw(st.integers(0, 3)))]
        lines[at : at + data.draw(st.integers(0, 4))] = new
    return lines


def taken_and_put(before: list[str], after: list[str]) -> list[tuple[set[str], set[str]]]:
    """The lines that each hunk takes away, and those that it puts there."""
    hunks = line_hunks("".join(before), "".join(after))
    return [(set(split_lines(one.removed)), set(split_lines(one.added))) for one in hunks]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.integers(1, 9), st.integers(0, 3), st.data())
def test_going_over_takes_no_line_but_those_of_the_edits_over_the_hunk(
    size: int, times: int, data: Any
) -> None:
    first = [f"line {number}\n" for number in range(size)]
    lines = written_over(first, data, "agent")
    weave = Weave("".join(first))
    strands = weave.put("".join(lines))
    made = taken_and_put(first, lines)
    later: list[tuple[set[str], set[str]]] = []
    for time in range(times):
        before, lines = lines, written_over(lines, data, f"mine {time}")
        later += taken_and_put(before, lines)
        weave.catch_up("".join(lines))
    for strand, (removed, added) in zip(strands, made, strict=True):
        if not weave.is_on(strand):
            continue
        back, goes = set(removed), set(added)
        for taken, put in later:
            if taken & goes:
                goes |= put
                back |= taken
        place, forced = weave.place(strand), split_lines(weave.forced(strand))
        assert [line for line in forced if line in lines] == [line for line in lines if line not in goes]
        assert set(forced) - set(lines) == back - goes - set(lines)
        above = lines[: place.line - 1]
        below = lines[len(above) + len(split_lines(place.now)) :]
        assert "".join(lines) == "".join(above) + place.now + "".join(below)
        assert "".join(forced) == "".join(above) + place.switched + "".join(below)
    assert weave.text == "".join(lines)


def test_a_line_that_stands_within_a_hunk_stays() -> None:
    weave = Weave("1\n2\n3\n")
    (strand,) = weave.put("1\na\nb\n3\n")
    weave.catch_up("1\na\nmine\nb\n3\n")
    assert weave.is_held(strand)
    place = weave.place(strand)
    assert (place.line, place.now, place.switched) == (2, "a\nmine\nb\n", "2\nmine\n")
    assert weave.forced(strand) == "1\n2\nmine\n3\n"


# --- git as the oracle ---------------------------------------------------------------------------------------


def by_git(folder: Path, base: str, mine: str, theirs: str) -> str | None:
    """What `git merge-file` makes of it; None where it finds a conflict."""
    names = ("mine", "base", "theirs")
    for name, text in zip(names, (mine, base, theirs), strict=True):
        (folder / name).write_text(text)
    done = subprocess.run(
        ["git", "merge-file", "-p", *names], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


BLOCKS = st.lists(
    st.sampled_from([f"{letter}\n" for letter in "abcdefghijkl"]), min_size=6, max_size=12, unique=True
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("git")


def _edited(lines: list[str], data: Any, mark: str) -> list[str]:
    edited: list[str] = []
    for index, line in enumerate(lines):
        match data.draw(st.sampled_from("======x+-")):
            case "=":
                edited.append(line)
            case "x":
                edited.append(f"{mark}{index}\n")
            case "+":
                edited += [line, f"{mark}{index} more\n"]
            case _:
                pass
    return edited


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(BLOCKS, st.data())
def test_where_git_finds_no_conflict_the_merge_is_the_same(folder: Path, lines: list[str], data: Any) -> None:
    base, mine, theirs = (
        "".join(lines),
        "".join(_edited(lines, data, "mine ")),
        "".join(_edited(lines, data, "theirs ")),
    )
    if (wanted := by_git(folder, base, mine, theirs)) is not None:
        assert merge(base, mine, theirs).text == wanted


@settings(max_examples=200, suppress_health_check=list(HealthCheck), deadline=None)
@given(BLOCKS, st.data())
def test_where_git_finds_no_conflict_the_undo_is_the_same(folder: Path, lines: list[str], data: Any) -> None:
    before, after = "".join(lines), "".join(_edited(lines, data, "agent "))
    now = "".join(_edited(after.splitlines(keepends=True), data, "mine "))
    if (wanted := by_git(folder, after, now, before)) is None:
        return
    weave = Weave(before)
    strands = weave.put(after)
    weave.catch_up(now)
    for strand in strands:
        if weave.is_on(strand):
            assert not weave.is_held(strand)
            weave.switch(strand)
    assert weave.text == wanted


def test_a_text_that_the_file_had_is_that_text_again_whatever_lies_between() -> None:
    session = Session("a\nfirst\nb\n")
    one = session.applied("a\nsecond\nb\n")
    two = session.applied("a\nthird\nb\n")
    session.text = "a\nfirst\nb\n"  # as a checkout leaves it
    file = session.file()
    assert not file.is_on(one, 1)
    assert not file.is_on(two, 1)
    file.switch(one, 1)
    assert file.text == "a\nsecond\nb\n"
    file.switch(two, 1)
    assert file.text == "a\nthird\nb\n"
