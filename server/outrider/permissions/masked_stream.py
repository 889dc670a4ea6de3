"""Keeps secrets out of a text that comes in pieces, wherever it is cut: any pieces give the same text in the end."""

import re

from outrider.permissions.masking import Masking
from outrider.permissions.secret_shapes import LONGEST_BLOCK, is_block_open

MOST_HELD = 65_536
"""Characters of one line that are held back until its end."""
_BACK = 4096
"""Characters from the end of those in which a place is looked for to cut them."""
_LINE = re.compile(r"[^\r\n]*[\r\n]")


class MaskedStream:
    """One text on its way. A line goes on when it is whole, a private key block when it has ended."""

    def __init__(self, masking: Masking) -> None:
        self._masking = masking
        self._line = ""
        self._block = ""

    def feed(self, text: str) -> str:
        """Take a piece; gives what can go on."""
        text, self._line = self._line + text, ""
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        whole, rest = text[:end], text[end:]
        given = self._whole(whole)
        while len(rest) > MOST_HELD:
            cut = self._cut(rest)
            given += self._unit(rest[:cut])
            rest = rest[cut:]
        self._line = rest
        return given

    def end(self) -> str:
        """What is left when nothing more comes."""
        rest, self._block, self._line = self._block + self._line, "", ""
        return self._masking.masked(rest).text

    def _whole(self, lines: str) -> str:
        """What becomes of whole lines. Nearly always there is nothing in any of them, which is known at one look."""
        is_plain = not self._block and "PRIVATE KEY" not in lines and len(lines) <= MOST_HELD
        if is_plain and self._masking.is_clean(lines):
            return lines
        given: list[str] = []
        for match in _LINE.finditer(lines):
            line = match.group()
            while len(line) > MOST_HELD:
                cut = self._cut(line)
                given.append(self._unit(line[:cut]))
                line = line[cut:]
            given.append(self._unit(line))
        return "".join(given)

    def _unit(self, text: str) -> str:
        if self._block or "PRIVATE KEY" in text:
            self._block += text
            if is_block_open(self._block) and len(self._block) <= LONGEST_BLOCK:
                return ""
            text, self._block = self._block, ""
        return self._masking.masked(text).text

    def _cut(self, line: str) -> int:
        head = line[:MOST_HELD]
        last = max(head.rfind(" ", MOST_HELD - _BACK), head.rfind("\t", MOST_HELD - _BACK)) + 1
        return self._masking.cut_before(head, last or MOST_HELD - _BACK)
