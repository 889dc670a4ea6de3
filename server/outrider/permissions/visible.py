"""Makes what hides in a text visible: what a terminal acts on, what cannot be seen, what turns the writing around."""

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # ECMA-48: controls, and ESC, with which sequences begin
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"  # Unicode: Default_Ignorable_Code_Point, Bidi_Control
    "|\r(?!\n)"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"  # they join what is not ASCII: letters, emoji
)


def visible(text: str) -> str:
    """A text with every character spelled out that would not be seen, as in a string of Python. Lines stay lines."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: _spelled(ord(found.group())), text)


def _spelled(code: int) -> str:
    if code < 0x100:
        return "\\r" if code == 0x0D else f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
