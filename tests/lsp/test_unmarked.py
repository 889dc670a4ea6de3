"""What a message says of a text in Markdown."""

import time

import pytest

from outrider.lsp.features.progress_reporter import unmarked


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("The price is **two** now:\n\n- `check.py` passes.", "The price is two now:\n\n• check.py passes."),
        ("## Done\n1. See [the file](src/a.py).", "Done\n1. See the file."),
        ("```python\ndef f(**given):\n    # `x`\n```\nis **new**.", "def f(**given):\n    # `x`\nis new."),
        ("[Mercury](https://x.y/Mercury_(planet)) is hot", "Mercury is hot"),
        ("2 ** 3 ** 4, a # b, x - y and __init__", "2 ** 3 ** 4, a # b, x - y and __init__"),
        ("`**kwargs` stays **as `it`** is", "**kwargs stays as it is"),
    ],
)
def test_words_stay_and_marks_go(written: str, said: str) -> None:
    assert unmarked(written) == said


@pytest.mark.parametrize("written", ["[" * 10_000, "[a" * 10_000, "[a](" * 10_000, "[a](b(" * 10_000])
def test_a_long_line_of_brackets_is_read_at_once(written: str) -> None:
    begun = time.process_time()
    assert unmarked(written) == written
    assert time.process_time() - begun < 1
