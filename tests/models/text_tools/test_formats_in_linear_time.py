"""Reading a message takes time in proportion to its length, whatever it says and however it is cut into pieces."""

import time

import pytest

from models.text_tools.tools import TOOLS
from outrider.models.text_tools import FORMATS, Call

SHORT, TIMES = 2_000, 10
MOST = 20
"""How many times longer a text that is `TIMES` as long may take."""
LEAST = 0.001
"""Seconds below which a measurement says nothing."""
PIECE = 20
CALL = Call("bash", {"command": "ls"})
EVERYWHERE = [
    "[",
    '{"a":',
    "[1,",
    '"',
    "'",
    "\\",
    "`",
    "` ",
    "<",
    "```json\n",
    "<think>",
    "</think>",
    " ",
    "> ",
    "{}\n",
]
"""Brackets, quotes, half markers, and what begins a block that never ends."""


def texts(form: str) -> list[str]:
    """What is repeated: calls of a format, complete, cut off at each quarter, and without their first half."""
    call = FORMATS[form].write([CALL])
    quarters = [len(call) * part // 4 for part in (1, 2, 3)]
    return [call, f"{call}\n", f"`{call}", *(call[:end] for end in quarters), call[len(call) // 2 :]]


def seconds(form: str, text: str, piece: int) -> float:
    parser = FORMATS[form].parser(TOOLS)
    begun = time.process_time()
    for start in range(0, len(text), piece):
        parser.feed(text[start : start + piece])
    parser.finish()
    return time.process_time() - begun


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("in_pieces", [False, True], ids=["whole", "in pieces"])
def test_time_is_linear(form: str, in_pieces: bool) -> None:
    for unit in texts(form) if in_pieces else [*EVERYWHERE, *texts(form)]:
        text = unit * (SHORT * TIMES // len(unit))
        piece = PIECE if in_pieces else len(text)

        def ratio(text: str = text, piece: int = piece) -> float:
            return seconds(form, text, piece) / max(seconds(form, text[:SHORT], piece), LEAST)

        # A busy machine may disturb a measurement.
        assert any(ratio() < MOST for _ in range(5)), unit
