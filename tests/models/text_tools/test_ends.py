"""Tokens that end a message and that a server left in it."""

import pytest

from models.text_tools.tools import outcome, read
from outrider.models.text_tools import FORMATS, Call

IN_FORMAT = [(form, token) for form in FORMATS.values() for token in form.end_tokens]
NAMED = [f"{form.id}-{token}" for form, token in IN_FORMAT]
ALSO_WITHIN = ("harmony", "llama3-json")
"""Formats whose tokens mean something within a message as well."""
CALL = Call("bash", {"command": "ls"})
FAMILIES = {
    "hermes": "<|im_end|>", "qwen3-coder-xml": "<|endoftext|>", "llama3-json": "<|eom_id|>", "pythonic": "<|eot_id|>",
    "llama4-pythonic": "<|eot|>", "mistral": "</s>", "deepseek": "<｜end▁of▁sentence｜>", "glm-xml": "<|observation|>",
    "kimi": "[EOS]", "granite": "<|end_of_text|>", "gemma": "<end_of_turn>", "lfm2": "<|im_end|>", "react": "<|eot_id|>",
    "bare-json": "</s>", "outrider": "<|im_end|>", "json-array": "<|im_end|>", "bracket": "<end_of_turn>",
    "react-json": "</s>", "minimax-xml": "[e~[", "harmony": "<|endoftext|>",
}  # fmt: skip


def in_every_way(form, text):
    """What a message is, which is the same whole and character by character."""
    whole = outcome(read(form.id, [text]))
    for pieces in (list(text), [text[:-3], text[-3:]], [text[:-9], text[-9:]]):
        assert outcome(read(form.id, pieces)) == whole
    return whole


def test_every_format_knows_how_its_models_end():
    assert FAMILIES.keys() == FORMATS.keys()
    assert all(token in FORMATS[form].end_tokens for form, token in FAMILIES.items())


@pytest.mark.parametrize(("form", "token"), IN_FORMAT, ids=NAMED)
@pytest.mark.parametrize("behind", ["{0}", "{0}\n", "\n{0}{0}", "{0} \n{0}\n"])
def test_the_end_of_a_message_is_neither_text_nor_argument(form, token, behind):
    end = behind.format(token)
    said = in_every_way(form, "Hello." + end)
    assert (said["content"].rstrip(), said["calls"]) == ("Hello.", [])
    assert in_every_way(form, end)["content"].strip() == ""
    asked = in_every_way(form, form.write([CALL]) + end)
    assert asked == {
        "calls": [{"name": "bash", "arguments": {"command": "ls"}}],
        "content": "",
        "reasoning": "",
    }


@pytest.mark.parametrize(
    ("form", "token"), [(form, token) for form, token in IN_FORMAT if form.id not in ALSO_WITHIN]
)
def test_what_does_not_end_the_message_stays_as_it_is(form, token):
    text = f"It writes {token} {token}and ends."
    assert in_every_way(form, text)["content"] == text
    cut = f"It writes {token}{token[:-1]}"
    assert in_every_way(form, cut)["content"] == cut


def test_an_input_that_is_no_json_ends_before_the_token():
    message = "Action: bash\nAction Input: ls -l"
    for end in ("<|im_end|>", "</s>\n", "<|eot_id|><|end_of_text|>"):
        asked = in_every_way(FORMATS["react"], message + end)
        assert asked["calls"] == [{"name": "bash", "arguments": {"command": "ls -l"}}]
