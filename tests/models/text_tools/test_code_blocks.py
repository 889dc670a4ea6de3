"""Calls in code blocks: how some models write them, or something that is shown."""

import pytest

from models.text_tools.tools import outcome, read
from outrider.models.text_tools import FORMATS, Call

JSON = '{"name": "bash", "arguments": {"command": "ls"}}'
ACTION = '{"action": "bash", "action_input": {"command": "ls"}}'
CALLED = [{"name": "bash", "arguments": {"command": "ls"}}]
BEHIND_TEXT = ("bare-json", "json-array", "react", "react-json")
"""Formats whose calls have no markup of their own."""
IN_JSON = ("hermes", "llama3-json", "granite", "mistral", "gemma", *BEHIND_TEXT[:2])
OTHERS = [form for form in FORMATS if form not in (*BEHIND_TEXT, "harmony", "gemma")]
"""Harmony and Gemma have code of their own."""


def in_every_way(form, text):
    whole = outcome(read(form, [text]))
    assert outcome(read(form, list(text))) == whole
    return whole


def of(form):
    """A call in a code block, as a model of the format may write it there."""
    if form.startswith("react"):
        return ACTION
    if form in ("granite", "mistral"):
        return f"[{JSON}]"  # their token may be missing before a list
    return JSON if form in IN_JSON else FORMATS[form].write([Call("bash", {"command": "ls"})])


@pytest.mark.parametrize("form", [*OTHERS, *BEHIND_TEXT])
@pytest.mark.parametrize("fence", ["```", "```json", "~~~xml"])
def test_a_message_that_is_nothing_but_a_code_block_of_calls_is_those(form, fence):
    for before in ("", "<think>\nHm.\n</think>\n\n", "\n", "Hm.\n</think>\n"):
        found = in_every_way(form, f"{before}{fence}\n{of(form)}\n{fence[:3]}\n")
        assert (found["calls"], found["content"]) == (CALLED, "")


@pytest.mark.parametrize("form", OTHERS)
def test_behind_text_a_code_block_shows_something(form):
    text = f"This is how it is called:\n\n```json\n{of(form)}\n```"
    assert in_every_way(form, text) == {"calls": [], "content": text, "reasoning": ""}


@pytest.mark.parametrize("form", BEHIND_TEXT)
def test_where_calls_have_no_markup_a_code_block_at_the_end_is_one(form):
    text = f"I look.\n\n```json\n{of(form)}\n```"
    found = in_every_way(form, text)
    assert (found["calls"], found["content"]) == (CALLED, "I look.")
    text += "\nThat would list the files."
    assert in_every_way(form, text) == {"calls": [], "content": text, "reasoning": ""}


@pytest.mark.parametrize("form", OTHERS)
@pytest.mark.parametrize("indent", ["    ", "\t", "      "])
def test_behind_text_indented_code_shows_something(form, indent):
    shown = "\n".join(f"{indent}{line}" for line in of(form).strip().splitlines())
    text = f"This is how it is called:\n\n{shown}\n\nThat would list the files."
    assert in_every_way(form, text) == {"calls": [], "content": text, "reasoning": ""}


@pytest.mark.parametrize("form", OTHERS)
def test_a_call_is_one_however_it_is_indented_at_the_beginning_or_right_behind_a_line(form):
    for before in ("", "\n\n    ", "I look.\n    ", "I look.\n\n  "):
        found = in_every_way(form, f"{before}{of(form).strip()}")
        assert (found["calls"], found["content"]) == (CALLED, before.strip()), before
