"""Live text on its way out: at once while the client keeps up, else merged."""

import asyncio

from outrider.ports.events import StreamFrame
from outrider.transport.connection import NEARLY_EMPTY
from outrider.transport.frames import FrameSender


class Outbox:
    """A way to the client whose backlog is whatever the test says."""

    def __init__(self):
        self.backlog = 0
        self.drained = []

    def send(self, body):
        raise AssertionError(body)

    def when_drained(self, callback):
        self.drained.append(callback)

    def drain(self):
        self.backlog = 0
        callbacks, self.drained = self.drained, []
        for callback in callbacks:
            callback()


def frame(text, offset=0, source="msg_1", kind="text"):
    return StreamFrame("ses_1", "turn_1", source, kind, offset, text)


class Sent:
    def __init__(self):
        self.outbox = Outbox()
        self.texts = []
        self.sender = FrameSender(self._emit, self.outbox)

    def _emit(self, first, text):
        self.texts.append((first.source_id, first.offset, text))


async def test_frames_go_at_once_while_the_client_keeps_up():
    sent = Sent()
    for offset, text in enumerate("abc"):
        sent.sender.send(frame(text, offset))
        assert sent.texts[-1] == ("msg_1", offset, text)
        await asyncio.sleep(0)


async def test_frames_that_come_at_once_are_merged_behind_the_first():
    sent = Sent()
    for offset, text in enumerate("abc"):
        sent.sender.send(frame(text, offset))
    assert sent.texts == [("msg_1", 0, "a")]
    await asyncio.sleep(0)
    assert sent.texts == [("msg_1", 0, "a"), ("msg_1", 1, "bc")]
    for offset, text in enumerate("de", 3):
        sent.sender.send(frame(text, offset))
    sent.outbox.backlog = NEARLY_EMPTY + 1
    await asyncio.sleep(0)
    assert len(sent.texts) == 3
    sent.outbox.drain()
    assert sent.texts[2:] == [("msg_1", 3, "d"), ("msg_1", 4, "e")]


async def test_frames_are_merged_while_the_client_does_not_keep_up():
    sent = Sent()
    sent.outbox.backlog = NEARLY_EMPTY + 1
    for offset, text in enumerate("abc"):
        sent.sender.send(frame(text, offset))
        sent.sender.send(frame(text.upper(), offset, "call_1", "output"))
    sent.sender.send(frame("z", 0))  # the model began anew
    assert sent.texts == []
    assert len(sent.outbox.drained) == 1
    sent.outbox.drain()
    assert sent.texts == [("msg_1", 0, "abc"), ("call_1", 0, "ABC"), ("msg_1", 0, "z")]
    sent.sender.send(frame("y", 1))
    assert sent.texts[-1] == ("msg_1", 1, "y")


def test_an_event_takes_the_merged_frames_along():
    sent = Sent()
    sent.outbox.backlog = NEARLY_EMPTY + 1
    for round_ in range(3):
        sent.sender.send(frame("a", round_))
        sent.sender.flush()
    assert sent.texts == [("msg_1", 0, "a"), ("msg_1", 1, "a"), ("msg_1", 2, "a")]
    assert len(sent.outbox.drained) == 1


def test_merged_frames_do_not_grow_without_end():
    sent = Sent()
    sent.outbox.backlog = NEARLY_EMPTY + 1
    for number in range(9):
        sent.sender.send(frame("x" * 1_000_000, number * 1_000_000))
    assert sum(len(text) for _, _, text in sent.texts) >= 4_000_000
