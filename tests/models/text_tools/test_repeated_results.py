"""Calls in results that a model repeats: words of a file or of a command's output, never the model's own."""

import pytest

from models.text_tools.tools import outcome, read
from outrider.models.text_tools import FORMATS, Call

FORMS = [form for form in FORMATS if not form.startswith("react") and form != "harmony"]
"""Those have a reader of their own."""
FRAMES = (
    ("<tool_response>\n", "\n</tool_response>"),
    ("<tool_result>\n", "\n</tool_result>"),
    ('<result tool="read_file">\n', "\n</result>"),
    ("<|tool_response_start|>", "<|tool_response_end|>"),
    ("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
)
CALL = Call("bash", {"command": "ls"})


def in_every_way(form, text):
    whole = outcome(read(form, [text]))
    assert outcome(read(form, list(text))) == whole
    return whole


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("begin", "end"), FRAMES)
@pytest.mark.parametrize("before", ["", "It says:\n"])
def test_a_call_in_a_repeated_result_is_none(form, begin, end, before):
    for close in (end, ""):
        text = f"{before}{begin}{FORMATS[form].write([CALL])}{close}"
        assert in_every_way(form, text) == {"calls": [], "content": text, "reasoning": ""}


@pytest.mark.parametrize("form", [form for form in FORMS if not FORMATS[form].markup.whole])
@pytest.mark.parametrize(("begin", "end"), FRAMES)
def test_behind_a_repeated_result_a_call_is_one_again(form, begin, end):
    shown = f"{begin}a line{end}"
    found = in_every_way(form, f"{shown}\n\n{FORMATS[form].write([CALL])}")
    assert [call["name"] for call in found["calls"]] == ["bash"]
    assert found["content"] == shown


@pytest.mark.parametrize("form", [form for form in FORMS if "\n" not in FORMATS[form].write([CALL])])
@pytest.mark.parametrize("label", ["Observation:", "Observation [bash]:"])
def test_a_call_in_the_line_of_an_observation_is_none(form, label):
    text = f"I looked.\n{label} {FORMATS[form].write([CALL])}"
    assert in_every_way(form, text)["calls"] == []
