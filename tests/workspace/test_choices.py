"""What came of a choice is found by the texts of the documents, however an editor tells them, and nothing else counts."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from outrider.ports.clock import SteppingClock
from outrider.ports.editor import Applied, DocumentEdit, EditorTraits, Unanswered
from outrider.workspace import choosing
from outrider.workspace.change import Change, NotWritten, Written
from outrider.workspace.choosing import OWN_CHANGE, REASONS, STILL_THERE, Choosing, Stop
from outrider.workspace.diff import apply_hunks
from outrider.workspace.documents import ContentChange
from outrider.workspace.taken import hunks_of

LINES = "".join(f"line {number}\n" for number in range(1, 31))
PLANNED = LINES.replace("line 5\n", "LINE 5\n").replace("line 15\n", "LINE 15\n").replace("line 25\n", "")


class Clock(SteppingClock):
    """Time that passes by itself while somebody waits, unless the test has it pass."""

    def __init__(self):
        super().__init__(datetime(2026, 1, 1, tzinfo=UTC))
        self.passes = True

    def timeout(self, seconds):
        loop = asyncio.get_running_loop()
        if self.passes:
            loop.call_soon(lambda: loop.call_soon(lambda: loop.call_soon(self.advance, seconds)))
        return super().timeout(seconds)


class Boxes:
    """An editor that shows boxes, and a person who does with them as they are told."""

    def __init__(self, documents):
        self.traits = EditorTraits(
            can_apply_edits=True,
            can_show_documents=True,
            settle_seconds=1.0,
            debounce_seconds=0.0,
            lets_choose=True,
        )
        self.documents = documents
        self.shown: list[DocumentEdit] = []
        self.acts: Callable[[], Applied | Unanswered] = lambda: Applied(False)
        self.late: Callable[[bool], None] = lambda claimed: None
        self.said: list[str] = []
        self.hangs = asyncio.Event()
        self.caught_up: Callable[[], None] = lambda: None

    async def catch_up(self):
        self.caught_up()
        return True

    async def offer(self, label, edits: Sequence[DocumentEdit], *, seconds, late):
        self.shown += edits
        self.late = late
        self.hangs.set()
        if (answer := self.acts()) is None:
            await asyncio.Event().wait()
        return answer

    def say(self, level, text):
        self.said.append(text)

    def becomes(self, uri, text):
        document = self.documents.get(uri)
        self.documents.change(uri, document.version + 1, [ContentChange(None, None, text)])


@pytest.fixture
def boxes(desk):
    return Boxes(desk.documents)


@pytest.fixture
def ask(desk, boxes):
    """Has the person choose from `PLANNED`: gives what came of it."""
    desk.write("wide.txt", LINES)
    uri = desk.open("wide.txt")
    change = Change("edit", desk.at("wide.txt"), None, LINES, PLANNED)
    clock = Clock()
    house = Choosing(desk.documents, boxes, clock)

    async def chosen(*, stop=None):
        document = desk.documents.get(uri)
        assert house.can_offer([change], [document])
        return await house.offer([(change, document)], "label", stop or Stop(lambda: True))

    chosen.house, chosen.uri, chosen.change, chosen.clock = house, uri, change, clock
    chosen.text = lambda numbers: apply_hunks(LINES, [hunks_of(change)[number - 1] for number in numbers])
    return chosen


async def test_it_is_shown_by_hunks_for_the_version(ask, boxes):
    await ask()
    (edit,) = boxes.shown
    assert [one.new for one in edit.edits] == ["LINE 5\n", "LINE 15\n", ""]
    assert len(edit.notes) == 3
    assert edit.version == 1


@pytest.mark.parametrize("claimed", [True, False])
async def test_the_text_counts_and_not_the_answer(claimed, ask, boxes):
    def act():
        boxes.becomes(ask.uri, ask.text((1, 3)))
        return Applied(claimed)

    boxes.acts = act
    chosen = await ask()
    (written,) = chosen.done
    assert isinstance(written, Written)
    assert (written.after, written.without, chosen.taken) == (ask.text((1, 3)), LINES, [(1, 3)])


async def test_a_text_that_comes_after_the_answer_counts_piece_by_piece(ask, boxes):
    def act():
        loop = asyncio.get_running_loop()
        loop.call_soon(boxes.becomes, ask.uri, ask.text((3,)))
        loop.call_soon(lambda: loop.call_soon(boxes.becomes, ask.uri, ask.text((1, 3))))
        return Applied(True)

    boxes.acts = act
    chosen = await ask()
    assert chosen.taken == [(1, 3)]


async def test_what_was_in_place_stays_so_though_it_is_typed_over_at_once(ask, boxes):
    def act():
        boxes.becomes(ask.uri, ask.text((2,)))
        boxes.becomes(ask.uri, ask.text((2,)).replace("LINE 15", "LINE fifteen"))
        return Applied(True)

    boxes.acts = act
    (written,) = (await ask()).done
    assert isinstance(written, Written)
    assert written.after == ask.text((2,))


async def test_what_somebody_typed_besides_stays_theirs(ask, boxes):
    def act():
        boxes.becomes(ask.uri, "typed\n" + ask.text((1,)))
        return Applied(True)

    boxes.acts = act
    (written,) = (await ask()).done
    assert isinstance(written, Written)
    assert (written.merged, written.without) == (True, "typed\n" + LINES)


@pytest.mark.parametrize("claimed", [True, False])
async def test_a_text_that_nothing_explains_is_not_built_upon(claimed, ask, boxes):
    def act():
        boxes.becomes(ask.uri, LINES.replace("line 5", "another"))
        return Applied(claimed)

    boxes.acts = act
    chosen = await ask()
    assert chosen.why_not == ("unclear" if claimed else "changed")
    (problem,) = chosen.done
    assert isinstance(problem, NotWritten)
    assert problem.message == REASONS[chosen.why_not]
    assert any(REASONS[chosen.why_not] in text for text in boxes.said)


async def test_a_document_that_is_closed_meanwhile_is_asked_about_again(ask, boxes):
    def act():
        boxes.documents.close(ask.uri)
        return Applied(False)

    boxes.acts = act
    assert (await ask()).why_not == "closed"
    assert any(REASONS["closed"] in text for text in boxes.said)


async def test_a_document_that_is_closed_already_is_said_to_be(desk, ask, boxes):
    document = desk.documents.get(ask.uri)
    boxes.documents.close(ask.uri)
    chosen = await ask.house.offer([(ask.change, document)], "label", Stop(lambda: True))
    assert (chosen.why_not, boxes.shown) == ("closed", [])


async def test_an_editor_without_boxes_is_never_asked(desk, ask, boxes):
    boxes.traits = replace(boxes.traits, lets_choose=False)
    document = desk.documents.get(ask.uri)
    chosen = await ask.house.offer([(ask.change, document)], "label", Stop(lambda: True))
    assert (chosen.why_not, boxes.shown) == ("failed", [])


async def test_who_types_on_does_not_make_the_wait_longer(ask, boxes):
    ask.clock.passes = False
    boxes.acts = lambda: Applied(True)
    asking = asyncio.ensure_future(ask())
    await boxes.hangs.wait()
    typed = 0
    while not asking.done() and typed < 100:
        typed += 1
        boxes.becomes(ask.uri, LINES + "x" * typed)
        ask.clock.advance(0.1)
        await asyncio.wait({asking}, timeout=0.01)
    assert typed < 100
    assert (await asking).why_not == "unclear"


async def test_who_stops_waiting_does_not_wait_for_the_text_of_an_answer(ask, boxes):
    ask.clock.passes = False
    stop = Stop(lambda: True)

    def act():
        boxes.caught_up = lambda: stop.now("cancelled")
        return Applied(True)

    boxes.acts = act
    async with asyncio.timeout(5):
        chosen = await ask(stop=stop)
    assert chosen.why_not == "cancelled"
    assert OWN_CHANGE in boxes.said, "its text may still come"


async def test_a_text_that_is_another_one_already_is_not_shown(desk, ask, boxes):
    document = desk.documents.get(ask.uri)
    boxes.becomes(ask.uri, "typed\n" + LINES)
    chosen = await ask.house.offer([(ask.change, document)], "label", Stop(lambda: True))
    assert (chosen.why_not, boxes.shown) == ("changed", [])
    assert ask.house.is_free


async def test_what_is_not_allowed_any_more_is_not_shown(ask, boxes):
    chosen = await ask(stop=Stop(lambda: False))
    assert (chosen.why_not, boxes.shown) == ("forbidden", [])
    assert not any(STILL_THERE in text for text in boxes.said)


@pytest.mark.parametrize("claimed", [True, False])
async def test_while_it_may_still_be_shown_no_other_is(claimed, ask, boxes, monkeypatch):
    boxes.acts = lambda: Unanswered("timeout")
    assert (await ask()).why_not == "late"
    assert STILL_THERE in boxes.said[-1]
    assert not ask.house.is_free
    boxes.late(claimed)
    assert ask.house.is_free
    assert (OWN_CHANGE in boxes.said) == claimed


@pytest.mark.parametrize("besides", ["", "typed\n"])
async def test_who_stops_waiting_leaves_what_came(besides, ask, boxes):
    stop = Stop(lambda: True)
    boxes.acts = lambda: None
    asking = asyncio.ensure_future(ask(stop=stop))
    await boxes.hangs.wait()
    boxes.becomes(ask.uri, besides + ask.text((2,)))
    stop.now("cancelled")
    chosen = await asking
    assert chosen.taken == [(2,)]
    assert chosen.why_not is None
    boxes.late(True)
    assert ask.house.is_free
    assert boxes.said == [], "it counts, so it is no change of their own"


async def test_a_narrower_mode_ends_the_wait(ask, boxes):
    allowed = [True]
    boxes.acts = lambda: None
    asking = asyncio.ensure_future(ask(stop=Stop(lambda: allowed[0])))
    await boxes.hangs.wait()
    ask.house.look_again()
    assert not asking.done()
    allowed[0] = False
    ask.house.look_again()
    assert (await asking).why_not == "forbidden"
    assert STILL_THERE in boxes.said[-1]


async def test_an_editor_that_cannot_is_not_asked_again(ask, boxes):
    boxes.acts = lambda: Unanswered("error")
    assert (await ask()).why_not == "failed"
    assert not ask.house.is_free
    assert choosing.CHOOSE_SECONDS == 600
