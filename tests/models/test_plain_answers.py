"""An answer is told apart the same, whether what comes before its first tag is read at once or when a tag comes."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.models.text_answers import read_answer
from outrider.models.text_tools import TextToolParser
from outrider.models.text_tools.formats import thoughts_parser
from outrider.ports.ids import SequentialIds
from outrider.ports.model import ModelResponse, ReadAnew, ReasoningDelta, TextDelta

PIECES = ["<think>", "</think>", "plain ", "words\n", "`", "```\n", "<", ">", "\n\n", "a </b> c", '"', "é\u2028", "</thi", "nk>"]  # fmt: skip


def read(pieces, *, opened=False, only_tags, reasoning_at=None):
    async def said():
        for number, piece in enumerate(pieces):
            if number == reasoning_at:
                yield ReasoningDelta("aside")
            yield TextDelta(piece)
        yield ModelResponse("".join(pieces), (), "stop")

    def parser(is_opened: bool) -> TextToolParser:
        return thoughts_parser(opened=is_opened)

    async def take():
        answer = read_answer(
            said(), parser, SequentialIds(), model="some/model", opened=opened, only_tags=only_tags
        )
        return [item async for item in answer]

    return asyncio.run(take())


def shown(items):
    """What the user sees in the end, and whether something was withdrawn."""
    kinds = {TextDelta: "", ReasoningDelta: ""}
    withdrawn = False
    for item in items[:-1]:
        if isinstance(item, ReadAnew):
            kinds, withdrawn = dict.fromkeys(kinds, ""), True
        else:
            kinds[type(item)] += item.text
    return kinds, withdrawn, items[-1].text, items[-1].reasoning


@given(
    st.lists(st.sampled_from(PIECES), max_size=12),
    st.booleans(),
    st.none() | st.integers(0, 5),
)
def test_it_is_the_same_answer(pieces, opened, reasoning_at):
    at_once = read(pieces, opened=opened, only_tags=False, reasoning_at=reasoning_at)
    later = read(pieces, opened=opened, only_tags=True, reasoning_at=reasoning_at)
    assert shown(later) == shown(at_once)


@pytest.mark.parametrize("pieces", [["plain ", "words"], ["", "two\n", "", "lines\n", "`code`"], [""]])
def test_text_without_a_tag_goes_out_piece_by_piece(pieces):
    items = read(pieces, only_tags=True)
    assert items[:-1] == [TextDelta(piece) for piece in pieces if piece]
    assert items[-1].text == "".join(pieces)


def test_what_was_shown_before_a_lone_end_is_withdrawn():
    items = read(["thinking\n", "</think>\n", "said"], only_tags=True)
    assert ReadAnew() in items
    assert (items[-1].text.strip(), items[-1].reasoning.strip()) == ("said", "thinking")
