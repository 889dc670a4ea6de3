"""Makes what hides in a text visible: what a terminal acts on, what cannot be seen, what turns the writing around."""

import re
from typing import Final

_HIDING: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # ECMA-48: controls, and ESC, with which sequences begin
    # Unicode: Default_Ignorable_Code_Point, Bidi_Control
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
_SELECTORS: Final = "\ufe00-\ufe0f"
# One of them chooses how the sign before it looks (UTS #51, section 2); of ASCII only a digit, `#` and `*` have a choice.
_STRAY_SELECTOR: Final = rf"(?<![^\x00-\x7f{_SELECTORS}]|[0-9#*])[{_SELECTORS}]"
_HIDDEN: Final = re.compile(
    f"[{_HIDING}]|{_STRAY_SELECTOR}"
    "|\r(?!\n)"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"  # they join what is not ASCII: letters, emoji
)
_HIDDEN_OR_JOINING: Final = re.compile(f"[{_HIDING}\r\u200c\u200d]|{_STRAY_SELECTOR}")


def visible(text: str) -> str:
    """A text with every character spelled out that would not be seen, as in a string of Python. Lines stay lines."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(_as_in_python, text)


def spelled_out(text: str) -> str:
    """The same of what a yes or a no is about, and of names: there nothing joins, and no line ends with a return."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_OR_JOINING.sub(_as_in_python, text)


def _as_in_python(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")
