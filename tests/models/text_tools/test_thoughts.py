"""Thoughts in a text: those that begin in it, and those that began in the prompt."""

import pytest

from models.text_tools.tools import TOOLS, outcome
from outrider.models.text_tools import FORMATS, Call
from outrider.models.text_tools.formats import thoughts_parser
from outrider.ports.model import ReadAnew, ReasoningDelta, TextDelta

CALL = Call("bash", {"command": "ls"})
CALLED = [{"name": "bash", "arguments": {"command": "ls"}}]
THINKING = [form for form in FORMATS.values() if form.id != "harmony"]
"""Harmony has channels for it."""


def read(parser, pieces, *, cut_off=False):
    return [item for piece in pieces for item in parser.feed(piece)] + parser.finish(cut_off=cut_off)


def in_every_way(make, text, *, cut_off=False):
    """What a message is, which is the same whole and character by character."""
    whole = outcome(read(make(), [text], cut_off=cut_off))
    assert outcome(read(make(), text, cut_off=cut_off)) == whole
    return whole


LONE = [
    ("I see.\n\nSo be it.\n</think>\n\nHello.", "I see.\n\nSo be it.", "Hello."),
    ("I see.</think>Hello.", "I see.", "Hello."),
    ("I see.</think>\nHello.", "I see.", "Hello."),
    ("I see.</think>", "I see.", ""),
    ("I see.\n</think> Hello.", "I see.", "Hello."),
    ("\n</think>\n\nHello.", "", "Hello."),
    ("I see.</think> \t\nHello.", "I see.", "Hello."),
    ("I see.</think>  ", "I see.", ""),
    ("Use `a`:\n```\nls\n```\n</think>\nHello.", "Use `a`:\n```\nls\n```", "Hello."),
    ("I see.\n</think>\nAnd\n</think>\nso.", "I see.", "And\n</think>\nso."),
]
SPOKEN_OF = [
    "The tag </think> ends it.",
    "It ends with `</think>`.",
    "It ends with `x</think>\ny`.",
    "> </think>\nSo it says.",
    "Look:\n```\n<think>\n</think>\n```\nThat is all.",
    "A model writes <think> and </think>\n there.",
    "Is it (</think>)?",
]


@pytest.mark.parametrize("form", THINKING, ids=lambda form: form.id)
@pytest.mark.parametrize(("text", "thought", "said"), LONE)
def test_what_stands_before_the_end_of_a_thought_is_the_thought(form, text, thought, said):
    found = in_every_way(lambda: form.parser(TOOLS), text)
    assert found == {"calls": [], "content": said, "reasoning": thought}
    called = in_every_way(lambda: form.parser(TOOLS), text + "\n\n" + form.write([CALL]))
    if not text.endswith("so."):
        assert (called["calls"], called["reasoning"], called["content"]) == (CALLED, thought, said)


@pytest.mark.parametrize(
    "form", ["hermes", "qwen3-coder-xml", "glm-xml", "minimax-xml", "deepseek", "outrider"]
)
def test_a_thought_that_never_ends_ended_before_the_calls_at_the_end_of_the_message(form):
    made = FORMATS[form]
    calls, thought = made.write([CALL, CALL]), "<think>Maybe so.\n"
    assert in_every_way(lambda: made.parser(TOOLS), f"{thought}{calls}\n")["calls"] == CALLED * 2
    spoken_of = f"{thought}{calls}\nNo, {made.write([CALL])}"
    assert in_every_way(lambda: made.parser(TOOLS), spoken_of)["calls"] == CALLED
    assert in_every_way(lambda: made.parser(TOOLS), f"{thought}{calls}\nNo.")["calls"] == []
    assert in_every_way(lambda: made.parser(TOOLS), thought + calls, cut_off=True)["calls"] == []


@pytest.mark.parametrize("form", THINKING, ids=lambda form: form.id)
def test_a_call_in_such_a_thought_is_none(form):
    text = f"Maybe so:\n\n{form.write([CALL])}\n\nNo.\n</think>\n\nHello."
    found = in_every_way(lambda: form.parser(TOOLS), text)
    assert (found["calls"], found["content"]) == ([], "Hello.")


@pytest.mark.parametrize("form", [None, *THINKING], ids=lambda form: form and form.id)
@pytest.mark.parametrize("text", SPOKEN_OF)
def test_a_tag_that_is_spoken_of_ends_nothing(form, text):
    parser = thoughts_parser if form is None else lambda: form.parser(TOOLS)
    assert in_every_way(parser, text) == {"calls": [], "content": text, "reasoning": ""}


@pytest.mark.parametrize("form", [None, *THINKING], ids=lambda form: form and form.id)
def test_a_message_may_begin_within_a_thought(form):
    def opened():
        return thoughts_parser(opened=True) if form is None else form.parser(TOOLS, opened=True)

    for begin in ("", "<think>\n", "\n"):
        found = in_every_way(opened, f"{begin}I see. `</t\n</think>\n\nHello.")
        assert (found["reasoning"].rstrip(), found["content"]) == ("I see. `</t", "Hello.")
    assert in_every_way(opened, "Hello.\n") == {"calls": [], "content": "Hello.\n", "reasoning": ""}
    cut = in_every_way(opened, "I see.", cut_off=True)
    assert cut == {"calls": [], "content": "", "reasoning": "I see."}
    if form is not None and form.id != "kimi":  # which calls in the middle of a thought
        found = in_every_way(opened, "I look.\n\n" + form.write([CALL]))
        assert (found["calls"], found["content"], found["reasoning"]) == (CALLED, "I look.", "")
        assert opened().feed("I see.") == [ReasoningDelta("I see.")]


def test_what_was_shown_is_withdrawn_and_nothing_else():
    parser = thoughts_parser()
    assert parser.feed("I see.") == [TextDelta("I see.")]
    assert parser.feed("\n</think>\n") == [ReadAnew(), ReasoningDelta("I see.")]
    assert parser.feed("Hello.") == [TextDelta("Hello.")]
    parser = thoughts_parser()
    assert parser.feed("I see.\n</think>\nHello.") == [ReasoningDelta("I see."), TextDelta("Hello.")]


def test_thoughts_that_are_told_apart_by_the_server_leave_the_text_as_it_is():
    text = "I see.\n</think>\nHello."
    parser = thoughts_parser()
    parser.told_apart()
    assert outcome(read(parser, text))["content"] == text
