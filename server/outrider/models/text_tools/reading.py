"""What all formats share: where a parser reads, what it found, and the way through prose to the next call."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from outrider.models.text_tools.source import LINE, Mismatch, Source, Stops, Torn, Wait
from outrider.models.text_tools.tools import Tools
from outrider.ports.model import ReadAnew, ReasoningDelta, TextDelta


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a model wrote."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments)


Item = TextDelta | ReasoningDelta | ReadAnew | Call


class _Line:
    """The line of the text that is being written, as Markdown takes it."""

    def __init__(self) -> None:
        self._head = ""
        """How it begins, white space aside."""
        self._ticks = 0
        """Backticks at its end."""
        self._opened = 0
        """How many backticks began the code that is open; 0 if none is."""

    @property
    def quotes(self) -> bool:
        """Whether it quotes."""
        return self._head.startswith(">")

    @property
    def begins_item(self) -> bool:
        """Whether nothing but the mark of an item of a list stands in it."""
        return _ITEM.fullmatch(self._head) is not None

    def follow(self, text: str) -> None:
        """Go on with `text`."""
        before, new_line, text = text.rpartition("\n")
        if before or new_line:
            self._head = ""
            self._ticks = self._opened = 0
        if len(self._head) < _LONGEST_MARK:
            self._head = (self._head + text).lstrip()[:_LONGEST_MARK]
        if not self._ticks and "`" not in text:
            return
        for run in _TICKS.findall(text):
            if run[0] == "`":
                self._ticks += len(run)
            else:
                self._opened, self._ticks = self._open(), 0

    @property
    def in_code(self) -> bool:
        """Whether code is open."""
        return self._open() > 0

    def _open(self) -> int:
        """How many backticks began the code that is open, were those at the end all that follow each other."""
        if not self._opened:
            return self._ticks
        return 0 if self._ticks == self._opened else self._opened


_TICKS = re.compile("`+|[^`]+")
_ITEM = re.compile(r"(?:[-*+|•]|\d+[.)])\s*")
_LONGEST_MARK = 12


class Sink:
    """What was found, in its order.

    White space around calls and reasoning is nobody's text: it is kept back, and only goes out between two
    texts. A message without calls and reasoning stays as it is, to the last space.
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._space: list[str] = []
        self._gap = ""
        """White space between the last text and the calls after it."""
        self._texts = False
        self._others = False
        self._given = False
        """Whether anything was taken."""
        self._said: list[str] = []
        """The whole text so far."""
        self._line = _Line()
        self.fresh = True
        """Whether no text stands since the beginning or the last call, white space aside."""
        self.calls = 0
        """How many calls were found."""
        self.thinks = False
        """Whether reasoning is told apart, by this text or by who serves it, so that the end of a thought alone says nothing."""

    @property
    def in_code(self) -> bool:
        """Whether the text stands behind a backtick that may begin code in its line."""
        return self._line.in_code

    @property
    def quotes(self) -> bool:
        """Whether the text stands in a line that quotes."""
        return self._line.quotes

    @property
    def begins_item(self) -> bool:
        """Whether the text stands behind the mark of an item of a list, and nothing else."""
        return self._line.begins_item

    def text(self, text: str) -> None:
        """Text of the answer."""
        self._line.follow(text)
        self._said.append(text)
        body = text.rstrip()
        if not body:
            self._space.append(text)
            return
        space = self._gap + "".join(self._space) + body[: len(body) - len(body.lstrip())]
        if not self._texts and self._others:
            space = ""
        self._items.append(TextDelta(space + body.lstrip()))
        self._gap, self._space = "", [text[len(body) :]]
        self._texts, self.fresh = True, False

    def reasoning(self, text: str) -> None:
        """Text of the reasoning."""
        self._others = self.thinks = True
        if text:
            self._items.append(ReasoningDelta(text))

    def call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """A call."""
        self._items.append(Call(name, arguments))
        if not self.fresh:
            self._gap = "".join(self._space)
        self._space = []
        self._others = self.fresh = True
        self.calls += 1

    def rethink(self) -> None:
        """All that was found so far was reasoning: its text is given as such, and calls in it are none."""
        said = "".join(self._said).strip()
        self.forget()
        self.reasoning(said)

    def forget(self) -> None:
        """Withdraw what was found so far."""
        self._items = [ReadAnew()] if self._given else []
        self._space, self._said, self._gap = [], [], ""
        self._texts = self._others = self.thinks = False
        self.fresh, self.calls = True, 0

    def taken(self) -> list[Item]:
        """What was found since the last time."""
        items, self._items = self._items, []
        self._given = self._given or bool(items)
        return items

    def end(self) -> None:
        """The text is at its end."""
        space, self._space = "".join(self._space), []
        if space and not self._others:
            self._items.append(TextDelta(space))


@dataclass(slots=True)
class Reading:
    """One message being read."""

    tools: Tools
    source: Source = field(default_factory=Source)
    sink: Sink = field(default_factory=Sink)
    cut_off: bool = False
    """Whether the message ended at a limit, not by itself; known at its end only."""
    held: str = ""
    """Markup that becomes text if no call follows it."""
    opened: bool = False
    """Whether the message begins within a thought, as the prompt ended with its beginning."""


Handler = Callable[[Reading], Wait[None]]
"""Reads a call whose first marker stands here; a `Mismatch` if it is none."""
NO_HANDLERS: Mapping[str, Handler] = {}

THOUGHTS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<mm:think>": "</mm:think>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|channel>thought\n": "<channel|>",
}
"""Reasoning inside the text: how it begins and ends."""

THOUGHT_END = "</think>"
"""Alone it ends a thought that began in the prompt, as many templates have it."""
_OF_PROSE = tuple(",.;:!?)\"'`")
"""What follows that tag where it is only spoken of; or a space, and more in its line."""
_LINE_ENDS = ("", "\n", "\r")
_LINE_SPACE = re.compile(r"[ \t]*")

FENCES = ("```", "~~~")
_FENCE_RUN = {fence: re.compile(f"[{fence[0]}]*") for fence in FENCES}
_FENCE_STOPS = {fence: Stops([fence]) for fence in FENCES}
_INFO = re.compile(r"[^\n`]*")
_UP_TO_TICK = re.compile(r"[^\n`]*")
_BETWEEN = re.compile(r"[\s,;]*")


def prose(
    reading: Reading,
    handlers: Mapping[str, Handler],
    *,
    whole: Mapping[str, Handler] | None = None,
    fenced_behind_text: bool = False,
    waking: Iterable[str] = (),
) -> Wait[None]:
    """Read a whole message: text goes out at once, calls are handled, code blocks are left alone.

    A message that is nothing but a code block of calls is how some models write them; behind text a code block shows
    something. In code within a line, or in a line that quotes, there are none.

    Args:
        reading: The message.
        handlers: By the marker with which a call begins.
        whole: How calls may begin that count only at the beginning of a line, with nothing after them.
        fenced_behind_text: Whether a code block of calls with nothing after it counts behind text too.
        waking: Markers that end a thought although its own end is missing.
    """
    source, sink = reading.source, reading.sink
    whole = whole or {}
    inside = {**handlers, **whole}
    stops = Stops({*handlers, *whole, *THOUGHTS, THOUGHT_END, *FENCES})
    ends = {opening: Stops([end, *waking]) for opening, end in THOUGHTS.items()}
    if reading.opened:
        yield from opened_thought(reading, Stops([THOUGHT_END, *waking]))
    while True:
        stop = yield from source.until(stops, sink.text)
        if not stop:
            return
        in_code, blank_line = source.last == "`" and sink.in_code, source.on_blank_line
        if stop in THOUGHTS:
            yield from thought(reading, stop, ends[stop], handlers)
        elif stop in FENCES:
            if blank_line:
                shown = not (sink.fresh or fenced_behind_text)
                yield from code_block(reading, stop, {} if shown else inside)
            else:
                sink.text(source.take(len(stop)))
        elif stop == THOUGHT_END:
            yield from thought_end(reading)
        elif sink.quotes:
            sink.text(source.take(len(stop)))
        elif stop in whole and stop not in handlers:
            if blank_line or sink.fresh:
                source.record()
                yield from closing_calls(reading, whole)
            else:
                sink.text(source.take(len(stop)))
        elif in_code:
            sink.text(source.take(len(stop)))
        elif sink.in_code:
            yield from _unless_in_code(reading, handlers[stop])
        else:
            yield from attempt(reading, handlers[stop])


def attempt(reading: Reading, handler: Handler) -> Wait[None]:
    """Let `handler` read a call; what it read becomes text if it is none.

    After a quote too many, what follows on the line was meant to stand in a string: no call is looked for there.
    """
    source = reading.source
    held, reading.held = reading.held, ""
    source.record()
    try:
        yield from handler(reading)
    except Mismatch as mismatch:
        if isinstance(mismatch, Torn):
            yield from source.run(LINE)
        reading.sink.text(held + (source.recorded() or source.take(1)))
    else:
        source.recorded()


def _unless_in_code(reading: Reading, handler: Handler) -> Wait[None]:
    """Let `handler` read a call behind a backtick: it is none if a further one follows in its line."""
    source, sink, trial = reading.source, reading.sink, Sink()
    source.record()
    reading.sink = trial
    try:
        yield from handler(reading)
    except Mismatch:
        trial = Sink()
    finally:
        reading.sink = sink
        reading.held = ""
    found = trial.taken()
    mark = source.record()
    yield from source.run(_UP_TO_TICK)
    is_code = (yield from source.peek()) == "`"
    after, read = source.since(mark), source.recorded()
    if is_code or not found:
        sink.text(read or source.take(1))
        return
    put(found, sink)
    sink.text(after)


def put(found: Iterable[Item], sink: Sink) -> None:
    """Give what was found on trial."""
    for item in found:
        if isinstance(item, Call):
            sink.call(item.name, item.arguments)
        elif isinstance(item, TextDelta):
            sink.text(item.text)
        elif isinstance(item, ReasoningDelta):
            sink.reasoning(item.text)


def section(begin: str, calls: Iterable[str], end: str) -> Handler:
    """Reads markup that begins a section of calls; it is text if none of them comes before its end.

    Args:
        begin: The markup.
        calls: The markers with which calls begin.
        end: The markup at the section's end.
    """
    stops = Stops([*calls, end])

    def handler(reading: Reading) -> Wait[None]:
        source = reading.source
        marker = yield from source.must(begin)
        parts: list[str] = []
        stop = yield from source.until(stops, parts.append)
        between = "".join(parts)
        if not stop or (stop == end and between.strip()):
            raise Mismatch
        if stop == end:
            source.take(len(end))
        elif between.strip():
            reading.sink.text(between)
        else:
            reading.held = marker + between

    return handler


def section_end(end: str) -> Handler:
    """Reads markup that ends a section of calls, and is text if there were none."""

    def handler(reading: Reading) -> Wait[None]:
        yield from reading.source.must(end)
        if not reading.sink.calls:
            raise Mismatch

    return handler


def standing(source: Source, markers: Iterable[str]) -> Wait[str]:
    """The longest of `markers` that stands here, and stays to be read; `""` if none does."""
    found = ""
    for marker in sorted(markers, key=len):
        for length in range(1, len(marker) + 1):
            if not (yield from source.fill(length)) or not marker.startswith(source.ahead(length)):
                break
        else:
            found = marker
    return found


def thought(
    reading: Reading, opening: str, ends: Stops, handlers: Mapping[str, Handler] = NO_HANDLERS
) -> Wait[None]:
    """Read a thought that begins here with `opening`; behind text it is none.

    Args:
        reading: The message.
        opening: How it begins.
        ends: Where it may end.
        handlers: Of calls with markup. One that never ends, in a message that ends with calls, ended before them.
    """
    source, sink = reading.source, reading.sink
    marker = source.take(len(opening))
    if not sink.fresh:
        sink.text(marker)
        sink.thinks = True  # it is spoken of, and so is its end
        return
    sink.reasoning("")
    yield from source.space()
    source.record()
    ended = yield from source.until(ends, sink.reasoning)
    within = source.recorded()
    yield from source.literal(THOUGHTS[opening])
    if not ended and not reading.cut_off:
        put(_calls_at_end(within, handlers, reading.tools), sink)


def _calls_at_end(text: str, handlers: Mapping[str, Handler], tools: Tools) -> list[Item]:
    """The calls behind which nothing else stands in `text`."""
    markers = Stops(handlers).pattern.search(text) if handlers else None
    if markers is None:
        return []
    reading = Reading(tools)
    reading.source.push(text[markers.start() :])
    reading.source.end()
    for _ in prose(reading, handlers):
        raise AssertionError("a parser waits for text after the end")
    found = reading.sink.taken()
    last_text = max((number for number, one in enumerate(found, 1) if not isinstance(one, Call)), default=0)
    return found[last_text:]


def thought_end(reading: Reading) -> Wait[None]:
    """Read the end of a thought whose beginning is not there: all before it was the thought, unless it is spoken of."""
    source, sink = reading.source, reading.sink
    begins_line = source.on_blank_line
    quoted = sink.thinks or sink.quotes or sink.in_code
    tag = source.take(len(THOUGHT_END))
    gap = "" if quoted else (yield from source.run(_LINE_SPACE))
    following = yield from source.peek()
    spoken_of = following not in _LINE_ENDS if gap else following in _OF_PROSE
    if quoted or (spoken_of and not begins_line):
        sink.text(tag + gap)
    else:
        sink.rethink()
        sink.text(gap)


def opened_thought(reading: Reading, ends: Stops) -> Wait[None]:
    """Read a thought that began in the prompt. If it never ends it was none, but for a message that was cut off."""
    source, sink = reading.source, reading.sink
    source.record()
    yield from source.space()
    yield from source.literal("<think>")
    yield from source.space()
    sink.reasoning("")
    end = yield from source.until(ends, sink.reasoning)
    whole = source.recorded()
    if end or reading.cut_off:
        yield from source.literal(THOUGHT_END)
    else:
        sink.forget()
        source.again(whole)


def code_block(reading: Reading, fence: str, handlers: Mapping[str, Handler]) -> Wait[None]:
    """A code block from its opening fence on; also what follows it, if that could be calls as well."""
    source, sink = reading.source, reading.sink
    source.record()
    run = yield from source.run(_FENCE_RUN[fence])
    yield from source.run(_INFO)
    yield from source.space()
    is_open = True
    if (yield from standing(source, handlers)):
        are_calls, is_open = yield from closing_calls(reading, handlers, run)
        if are_calls:
            return
    else:
        sink.text(source.recorded())
    while is_open:
        if not (yield from source.until(_FENCE_STOPS[fence], sink.text)):
            return
        begins_line = source.on_blank_line
        end = yield from source.run(_FENCE_RUN[fence])
        rest = (yield from source.run(LINE)) if begins_line else ""
        # A shorter one, or one that says what follows it, stands in the block.
        is_open = not begins_line or len(end) < len(run) or bool(rest.strip())
        sink.text(end + rest)


def closing_calls(
    reading: Reading, handlers: Mapping[str, Handler], fence: str = ""
) -> Wait[tuple[bool, bool]]:
    """Read calls that count only if nothing else follows them; they are text if something does.

    Args:
        reading: The message; on its tape is what comes before them.
        handlers: By the marker with which a call begins; one of them stands here.
        fence: What ends the code block in which they stand.

    Returns:
        Whether they are calls, and whether the code block is still open.
    """
    source, sink, trial = reading.source, reading.sink, Sink()
    reading.sink = trial
    is_open = bool(fence)
    try:
        while marker := (yield from standing(source, handlers)):
            yield from handlers[marker](reading)
            yield from source.run(_BETWEEN)
            while fence and (yield from source.literal(fence)):
                is_open = not is_open
                yield from source.run(_FENCE_RUN[fence[:3]])
                yield from source.run(_INFO)
                yield from source.space()
            if not (yield from source.peek()):
                break
    except Mismatch:
        trial = Sink()
    finally:
        reading.sink = sink
        reading.held = ""
    found = trial.taken()
    if not found or (yield from source.peek()):
        sink.text(source.recorded() or source.take(1))
        return False, is_open
    source.recorded()
    put(found, sink)
    return True, False
