"""What a message says of a text in Markdown."""

import pytest

from outrider.lsp.unmarked import unmarked


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("The price is **two** now:\n\n- `check.py` passes.", "The price is two now:\n\n• check.py passes."),
        ("## Done\n1. See [the file](src/a.py).", "Done\n1. See the file."),
        ("```python\ndef f(**given):\n    # `x`\n```\nis **new**.", "def f(**given):\n    # `x`\nis new."),
        ("2 ** 3 ** 4, a # b, x - y and __init__", "2 ** 3 ** 4, a # b, x - y and __init__"),
        ("`**kwargs` stays **as `it`** is", "**kwargs stays as it is"),
    ],
)
def test_words_stay_and_marks_go(written: str, said: str) -> None:
    assert unmarked(written) == said
