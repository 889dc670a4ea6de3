"""How the page and what the person writes lie in one text, and how a new page gets in without a word of theirs being lost.

Above the mark all is Outrider's, but for what the person wrote under an open item, as its answer. Below it all is theirs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from outrider.agent.papers import MARK
from outrider.agent.task_document.page import Page, Section, may_be_ours
from outrider.workspace.diff import changed_ranges
from outrider.workspace.documents import split_lines


@dataclass(frozen=True, slots=True)
class Woven:
    """A document, taken apart."""

    above: list[str]
    """Lines with their ends, up to the mark."""
    below: list[str] | None
    """Those after it; None where there is no mark."""
    end: str = "\n"
    """How the line of the mark ends."""

    @property
    def written(self) -> str:
        """What the person wrote below the mark."""
        return "".join(self.below or ()).strip()


@dataclass(slots=True)
class _Theirs:
    """What somebody put between our lines."""

    under: dict[str, list[tuple[int, list[str]]]] = field(
        default_factory=dict[str, list[tuple[int, list[str]]]]
    )
    """By item: behind which line of its section, counted in it, and the lines."""
    elsewhere: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Found:
    """A section in a document: its lines `start:end`, with what is written under it, and that."""

    section: Section
    start: int
    end: int
    written: str


def taken_apart(text: str) -> Woven:
    """A document in its parts. The first mark counts: what Outrider writes holds none, as others are only quoted there."""
    lines = split_lines(text)
    at = next((number for number, line in enumerate(lines) if line.strip() == MARK), None)
    if at is None:
        return Woven(lines, None)
    return Woven(lines[:at], lines[at + 1 :], "\r\n" if lines[at].endswith("\r\n") else "\n")


def is_in(page: Page, text: str) -> bool:
    """Whether a page is in a document: with what somebody wrote between its lines, but with all of them."""
    ours, here = ([line.rstrip() for line in lines] for lines in (page.lines, taken_apart(text).above))
    if not set(ours) - {""} <= set(here):  # at once, as comparing takes long in a long document
        return False
    return not any(any(ours[one.start : one.end]) for one in changed_ranges(ours, here))


def found_in(text: str, page: Page) -> list[Found]:
    """The sections that stand in a document word for word: only there a yes is to what can be read.

    Args:
        text: The document.
        page: What was written into it.
    """
    above = [line.rstrip() for line in taken_apart(text).above]
    found: list[Found] = []
    at = 0
    for section in page.sections:
        wanted = [line.rstrip() for line in page.lines[section.start : section.end]]
        size = len(wanted)
        start = next((n for n in range(at, len(above) - size + 1) if above[n : n + size] == wanted), None)
        if start is not None:
            at = start + size
            found.append(Found(section, start, at, ""))
    return [_with_what_is_written(one, above, page) for one in found]


def _with_what_is_written(found: Found, above: list[str], page: Page) -> Found:
    theirs = _between(above, page, _lines_of(page), known=True).under.get(found.section.item.id, [])
    size = found.section.end - found.section.start
    written = [line for at, lines in theirs if at >= size for line in lines]
    return Found(found.section, found.start, found.end + len(written) + 1, "\n".join(written).strip())


def woven(
    text: str, page: Page, before: Page | None, taken: Sequence[str] = (), tried: Iterable[Page] = ()
) -> str:
    """A document with another page in it.

    Args:
        text: The document as it is.
        page: The new page.
        before: The page that is in it; None where that is not known.
        taken: What was written in it and is done, one after the other: it goes.
        tried: Further pages, of which lines may be in it.

    Returns:
        The document. What is below the mark stays to the letter; what the person wrote under an item that is still
        open stays there, and else comes below the mark.
    """
    parts = taken_apart(text)
    end = parts.end
    above = [line.rstrip("\r\n") for line in parts.above]
    below, ours = parts.below, _lines_of(page, *tried, *([before] if before is not None else []))
    if below is None:  # the mark is gone, so what is not ours is theirs
        theirs, below = _Theirs(elsewhere=_not_of(ours, above)), []
    else:
        is_known = before is not None and is_in(before, text)
        theirs = _between(above, before or page, ours, known=is_known)
    open_now = {section.item.id for section in page.sections}
    lines: list[str] = []
    for number, line in enumerate(page.lines):
        for section in page.sections:
            lines += _put(theirs, section, number - section.start, taken)
        lines.append(line)
    moved = list(theirs.elsewhere)
    for item_id, blocks in theirs.under.items():
        if item_id not in open_now:
            moved += [row for _, block in blocks for row in block]
    head = [f"{line}{end}" for line in [*lines, MARK]]
    return "".join([*head, *_below(moved, below, taken, end)])


def without(text: str, taken: Sequence[str]) -> str:
    """What stands below the mark without the lines that it begins with and that are done; else it stays to the letter."""
    for one in taken:
        start = len(text) - len(text.lstrip())
        rest = text[start + len(one) :]
        if text.startswith(one, start) and (not rest or rest[0] in "\r\n"):
            text = text[:start] + (rest[2:] if rest.startswith("\r\n") else rest.removeprefix("\n"))
    return text


def _put(theirs: _Theirs, section: Section, at: int, taken: Sequence[str]) -> list[str]:
    blocks = [block for place, block in theirs.under.get(section.item.id, []) if place == at]
    return [row for block in blocks if "\n".join(block).strip() not in taken for row in block]


def _below(moved: list[str], below: list[str], taken: Sequence[str], end: str) -> list[str]:
    text = without("".join(below), taken)
    added = "\n".join(moved).strip()
    if added and added not in taken:
        text = f"{end}{added.replace(chr(10), end)}{end}{text}"
    return [text or end]


def _between(above: list[str], base: Page, ours: frozenset[str], *, known: bool) -> _Theirs:
    """What somebody put between the lines of a page; a line of ours that was changed is no word of theirs."""
    lines, here = [line.rstrip() for line in base.lines], [line.rstrip() for line in above]
    theirs = _Theirs()
    for one in changed_ranges(lines, here):
        block, is_between = above[one.new_start : one.new_end], not any(lines[one.start : one.end])
        if not known or not is_between:  # lines of a page that is not known any more may be among them
            block = [line for line in _not_of(ours, block) if not may_be_ours(line)]
        elif not _not_of(ours, block):  # of an edit that was made in part
            continue
        if not any(line.strip() for line in block):
            continue
        section = _section_at(base, one.start) if is_between else None
        if section is not None:
            at = min(one.start - section.start, section.end - section.start + 1)
            theirs.under.setdefault(section.item.id, []).append((at, block))
        else:
            theirs.elsewhere += block
    return theirs


def _section_at(base: Page, line: int) -> Section | None:
    """The section that lines put before one of the page are under: with the empty line behind it, the last one with all of them."""
    last = base.sections[-1:]
    return next(
        (one for one in base.sections if one.start < line <= one.end + 1 or (one in last and line > one.end)),
        None,
    )


def _lines_of(*pages: Page) -> frozenset[str]:
    """Our lines, of pages before as well: an edit may have been made in part, or taken back."""
    return frozenset(line.rstrip() for page in pages for line in page.lines) - {""}


def _not_of(ours: frozenset[str], lines: list[str]) -> list[str]:
    return [line for line in lines if line.rstrip() not in ours]
