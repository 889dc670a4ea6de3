"""One message: what was found in it, and the way through its text to the next call.

This is the only part that knows of pieces. It gives text away as soon as no call can begin in it, holds back what
may become a marker, and runs the handlers of the formats where a marker begins. A handler reads a call as from a
complete text (see `source`): it returns what it found, or raises `Mismatch`, and then what it read is text.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from outrider.models.text_tools.source import Incomplete, Mismatch, Source, Stops, T, Torn, Wait
from outrider.models.text_tools.tools import Call, Item, Tools, several
from outrider.ports.model import ReadAnew, ReasoningDelta, TextDelta, ToolSpec

_RESULT_LINES = ("Observation:", "Observation [")
_LONGEST_MARK = 13
_CODE_INDENT = 4


class _Line:
    """The last line of the text so far, as Markdown reads it."""

    def __init__(self) -> None:
        self._head = ""
        """How it begins, white space aside."""
        self._ticks = 0
        """How many backticks stand at its end."""
        self._opened = 0
        """How many backticks began the code that is open; 0 if none is."""
        self._indent = 0
        """How far it is indented."""
        self._behind_blank = False
        """Whether the line before it is blank, or indented code."""

    def follow(self, text: str) -> None:
        """Go on with `text`."""
        *whole, text = text.split("\n")
        for line in whole:
            self._read_head(line)
            self._behind_blank = not self._head or self.is_indented_code
            self._head, self._ticks, self._opened, self._indent = "", 0, 0, 0
        self._read_head(text)
        first, *others = text.split("`")
        for number, part in enumerate((first, *others)):
            self._ticks += number > 0
            if part:
                self._opened, self._ticks = self._open(), 0

    def _read_head(self, text: str) -> None:
        if not self._head:
            body = text.lstrip()
            self._indent += len(text[: len(text) - len(body)].expandtabs(_CODE_INDENT))
        if len(self._head) < _LONGEST_MARK:
            self._head = (self._head + text).lstrip()[:_LONGEST_MARK]

    @property
    def is_indented_code(self) -> bool:
        """Whether it is code by its indentation, if there is text before it."""
        return self._behind_blank and self._indent >= _CODE_INDENT

    @property
    def quotes(self) -> bool:
        """Whether it is a quotation, or repeats a tool's result."""
        return self._head.startswith((">", *_RESULT_LINES))

    @property
    def begins_item(self) -> bool:
        """Whether it holds nothing but the mark of a list item, such as `-` or `2.`."""
        mark = self._head.rstrip()
        return mark in ("-", "*", "+", "|", "•") or (mark[-1:] in (".", ")") and mark[:-1].isdecimal())

    @property
    def in_code(self) -> bool:
        """Whether code is open."""
        return self._open() > 0

    def _open(self) -> int:
        """The backticks of the code that is open, if those at the end are complete."""
        if not self._opened:
            return self._ticks
        return 0 if self._ticks == self._opened else self._opened


class Sink:
    """What was found, in order.

    White space around calls and reasoning belongs to no text: it is held back, and only goes out between two texts.
    A message without calls and reasoning stays as it is, to the last space.
    """

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._space: list[str] = []
        """White space at the end of the text."""
        self._gap = ""
        """White space between the last text and the calls after it."""
        self._texts = self._others = self._given = False
        """Whether there was text, anything else, anything that was taken from here."""
        self._said: list[str] = []
        """The whole text so far."""
        self.line = _Line()
        self.fresh = True
        """Whether no text stands behind the beginning or the last call, white space aside."""
        self.calls = 0
        """How many calls were found."""
        self.thinks = False
        """Whether this text or its server marked reasoning, so that a lone end of a thought means nothing."""

    def text(self, text: str) -> None:
        """Add text of the answer."""
        self.line.follow(text)
        self._said.append(text)
        body = text.strip()
        if not body:
            self._space.append(text)
            return
        start = text.index(body)
        space = "".join((self._gap, *self._space, text[:start])) if self._texts or not self._others else ""
        self._items.append(TextDelta(space + body))
        self._gap, self._space = "", [text[start + len(body) :]]
        self._texts, self.fresh = True, False

    def reasoning(self, text: str = "") -> None:
        """Add text of the reasoning."""
        self._others = self.thinks = True
        if text:
            self._items.append(ReasoningDelta(text))

    def add(self, found: Iterable[Item]) -> None:
        """Add what a handler found."""
        for item in found:
            if isinstance(item, TextDelta):
                self.text(item.text)
            elif isinstance(item, ReasoningDelta):
                self.reasoning(item.text)
            else:
                self._items.append(item)
                if not self.fresh:
                    self._gap = "".join(self._space)
                self._space = []
                self._others = self.fresh = True
                self.calls += 1

    def rethink(self) -> None:
        """Make reasoning of all text that was found so far, and drop its calls."""
        said = "".join(self._said).strip()
        self.forget()
        self.reasoning(said)

    def forget(self) -> None:
        """Withdraw everything that was found so far."""
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
    """Whether the message ended at a limit instead of by itself. Only known at its end."""
    opened: bool = False
    """Whether the message begins within a thought, because the prompt ended with the beginning of one."""
    start: int = 0
    """Where in the source the last `settled` step began."""


Handler = Callable[[Reading], list[Item]]
"""Reads a call whose marker stands here and returns what was found; raises `Mismatch` if it is no call."""
Handlers = Mapping[str, Handler]
Driver = Callable[[Reading], Wait[None]]
"""Reads a whole message."""

THOUGHTS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<mm:think>": "</mm:think>",
    "<think:opensource>": "</think:opensource>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|channel>thought\n": "<channel|>",
}
"""Reasoning in the text: how it begins and ends."""
THOUGHT_ENDS = ("</think>", "</think:opensource>")
"""Alone, such a tag ends a thought that began in the prompt, as many chat templates have it."""
_BEGUN_IN_PROMPT = ("<think>", "<think:opensource>")
_OF_PROSE = tuple(",.;:!?)\"'`")
"""What follows such a tag where the text only speaks of it; or a space, and more in its line."""
RESULTS = {
    "<tool_response>": "</tool_response>",
    "<tool_result>": "</tool_result>",
    "<result tool=": "</result>",
    "<function_results>": "</function_results>",
    "<|tool_response_start|>": "<|tool_response_end|>",
    "<｜tool▁output▁begin｜>": "<｜tool▁output▁end｜>",
    "[TOOL_RESULTS]": "[/TOOL_RESULTS]",
}
"""Results of tools as they stand in a conversation: how they begin and end. What a model repeats of them holds no calls."""
_RESULT_STOPS = {end: Stops([end]) for end in RESULTS.values()}
FENCES = ("```", "~~~")
_FENCE_STOPS = {fence: Stops([fence]) for fence in FENCES}


@dataclass(frozen=True)
class Markup:
    """What calls look like in a format."""

    calls: Handlers
    """By the marker with which a call begins."""
    whole: Handlers = field(default_factory=dict[str, Handler])
    """Calls that count only at the beginning of a line, and with nothing behind them."""
    fenced_behind_text: bool = False
    """Whether a code block of calls with nothing behind it counts behind text too."""
    waking: tuple[str, ...] = ()
    """Markers that end a thought although its own end is missing."""

    @cached_property
    def stops(self) -> Stops:
        """Where text is interrupted."""
        return Stops((*self.calls, *self.whole, *THOUGHTS, *THOUGHT_ENDS, *RESULTS, *FENCES))

    @cached_property
    def thought_stops(self) -> Mapping[str, Stops]:
        """Where a thought may end, by its beginning; `""` stands for one that began in the prompt."""
        ends = {"": THOUGHT_ENDS, **{opening: (end,) for opening, end in THOUGHTS.items()}}
        return {opening: Stops((*end, *self.waking)) for opening, end in ends.items()}


# Steps of a driver.


def stream(reading: Reading, stops: Stops, emit: Callable[[str], None]) -> Wait[str]:
    """Give text to `emit` as it arrives, up to the first of `stops`.

    Returns:
        The stop, which stays to be read; `""` at the end.
    """
    source = reading.source
    while True:
        end, stop = source.search(stops)
        if end > source.at:
            emit(source.take(end - source.at))
        if stop or source.ended:
            return stop
        yield from source.wait()


def settled(reading: Reading, read: Callable[[], T]) -> Wait[T]:
    """Run `read` from here, again each time that much more text is there, until it can tell its result."""
    source = reading.source
    reading.start = source.at
    while True:
        try:
            return read()
        except Incomplete:
            source.at = reading.start
            yield from source.wait(much=True)
            reading.start = source.at


def attempt(reading: Reading, handler: Handler) -> Wait[None]:
    """Let `handler` read a call; what it read becomes text if it is none."""
    found = yield from settled(reading, lambda: _tried(reading, handler))
    if found is None:
        reading.sink.text(_unread(reading))
    else:
        reading.sink.add(found)


def _tried(reading: Reading, handler: Handler) -> list[Item] | None:
    try:
        return handler(reading)
    except Mismatch as mismatch:
        if isinstance(mismatch, Torn):
            reading.source.upto(
                "\n"
            )  # what follows was meant to stand in a string: no call is looked for there
        return None


def _unread(reading: Reading) -> str:
    """What the last settled step read, at least one character."""
    return reading.source.text[reading.start : reading.source.at] or reading.source.take(1)


def prose(reading: Reading, markup: Markup) -> Wait[None]:
    """Read a whole message: text goes out at once, calls are handled, code blocks are left alone.

    A message that is nothing but a code block of calls is how some models write them; behind text a code block shows
    something. Neither code within a line, nor a line that quotes, nor code that is indented behind text holds calls.

    Args:
        reading: The message.
        markup: What calls look like.
    """
    source, sink = reading.source, reading.sink
    inside = {**markup.calls, **markup.whole}
    if reading.opened:
        yield from opened_thought(reading, markup)
    while stop := (yield from stream(reading, markup.stops, sink.text)):
        if stop in THOUGHTS:
            yield from thought(reading, stop, markup)
        elif stop in FENCES and source.on_blank_line:
            shown = not (sink.fresh or markup.fenced_behind_text)
            yield from code_block(reading, stop, {} if shown else inside)
        elif stop in THOUGHT_ENDS:
            yield from thought_end(reading, stop)
        elif stop in RESULTS and source.on_blank_line:
            yield from repeated_result(reading, RESULTS[stop])
        elif (
            stop in FENCES
            or stop in RESULTS
            or sink.line.quotes
            or (sink.line.is_indented_code and not sink.fresh)
        ):
            sink.text(source.take(len(stop)))
        elif stop in markup.whole and stop not in markup.calls:
            if source.on_blank_line or sink.fresh:
                yield from attempt(reading, lambda r: whole_message(r, markup.whole))
            else:
                sink.text(source.take(len(stop)))
        elif not sink.line.in_code:
            yield from attempt(reading, markup.calls[stop])
        elif source.last == "`":
            sink.text(source.take(len(stop)))
        else:
            yield from attempt(reading, _outside_code(markup.calls[stop]))


def repeated_result(reading: Reading, end: str) -> Wait[None]:
    """Read a tool's result that the model repeats or makes up, as text; one that never ends goes on to the end."""
    yield from stream(reading, _RESULT_STOPS[end], reading.sink.text)
    reading.sink.text(reading.source.literal(end))


def _outside_code(handler: Handler) -> Handler:
    """Reads a call behind a backtick in its line; it is none if another backtick follows in the line."""

    def read(reading: Reading) -> list[Item]:
        source, sink = reading.source, reading.sink
        reading.sink = trial = Sink()
        try:
            trial.add(handler(reading))
        except Mismatch:
            trial = Sink()
        finally:
            reading.sink = sink
        found, after = trial.taken(), source.upto("\n`")
        if not found or source.peek() == "`":
            raise Mismatch
        return [*found, TextDelta(after)]

    return read


def section(begin: str, handlers: Handlers, end: str) -> Handler:
    """Reads the markup that begins a section of calls, with its first call; without one it is text.

    Args:
        begin: The markup.
        handlers: By the markers with which calls begin.
        end: The markup at the section's end.
    """
    stops = Stops((*handlers, end))

    def read(reading: Reading) -> list[Item]:
        source = reading.source
        source.must(begin)
        between, stop = source.until(stops)
        if not stop or (stop == end and between.strip()):
            raise Mismatch
        if stop == end:
            source.take(len(end))
            return []
        return [TextDelta(between.strip() and between), *handlers[stop](reading)]

    return read


def sections(pairs: Mapping[str, str], handlers: Handlers) -> dict[str, Handler]:
    """Handlers for sections of calls, by their beginnings and ends, and for the calls themselves."""
    return {
        **{begin: section(begin, handlers, end) for begin, end in pairs.items()},
        **{end: section_end(end) for end in pairs.values()},
        **handlers,
    }


def section_end(end: str) -> Handler:
    """Reads markup that ends a section of calls, and is text if there was no call."""

    def read(reading: Reading) -> list[Item]:
        reading.source.must(end)
        if not reading.sink.calls:
            raise Mismatch
        return []

    return read


def left_out(marker: str) -> Handler:
    """Reads markup that is no text and means nothing."""

    def read(reading: Reading) -> list[Item]:
        reading.source.must(marker)
        return []

    return read


# Thoughts.


def thought(reading: Reading, opening: str, markup: Markup) -> Wait[None]:
    """Read a thought that begins here with `opening`; behind text it is none.

    One that never ends, in a message that ends with calls in markup, ended before them.
    """
    source, sink = reading.source, reading.sink
    marker = source.take(len(opening))
    if not sink.fresh:
        sink.text(marker)
        sink.thinks = True  # the text speaks of it, and of its end as well
        return
    sink.reasoning()
    yield from settled(reading, source.space)
    within: list[str] = []

    def emit(text: str) -> None:
        within.append(text)
        sink.reasoning(text)

    ended = yield from stream(reading, markup.thought_stops[opening], emit)
    yield from settled(reading, lambda: source.literal(THOUGHTS[opening]))
    if not ended and not reading.cut_off and markup.calls:
        sink.add(_calls_at_end("".join(within), markup, reading.tools))


def _calls_at_end(text: str, markup: Markup, tools: Tools) -> list[Item]:
    """The calls with which `text` ends."""
    begin, _ = Source(text).search(Stops(markup.calls))
    reading = Reading(tools, Source(text[begin:]))
    for _ in prose(reading, Markup(markup.calls)):
        raise AssertionError("a parser waits for text after the end")
    found = reading.sink.taken()
    last_text = max((number for number, one in enumerate(found, 1) if not isinstance(one, Call)), default=0)
    return found[last_text:]


def thought_end(reading: Reading, tag: str) -> Wait[None]:
    """Read the end of a thought without a beginning: all before it was the thought, unless the text speaks of it."""
    source, sink = reading.source, reading.sink
    begins_line = source.on_blank_line
    source.take(len(tag))
    if sink.thinks or sink.line.quotes or sink.line.in_code:
        sink.text(tag)
        return
    gap, following = yield from settled(reading, lambda: (source.any_of(" \t"), source.peek()))
    spoken_of = following not in ("", "\n", "\r") if gap else following in _OF_PROSE
    if spoken_of and not begins_line:
        sink.text(tag)
    else:
        sink.rethink()
    sink.text(gap)


def opened_thought(reading: Reading, markup: Markup) -> Wait[None]:
    """Read a thought that began in the prompt. If it never ends it was none, but for a message that was cut off."""
    source, sink = reading.source, reading.sink
    leading = yield from settled(
        reading, lambda: source.space() + source.literal(*_BEGUN_IN_PROMPT) + source.space()
    )
    whole = [leading]
    sink.reasoning()

    def emit(text: str) -> None:
        whole.append(text)
        sink.reasoning(text)

    end = yield from stream(reading, markup.thought_stops[""], emit)
    if end or reading.cut_off:
        yield from settled(reading, lambda: source.literal(*THOUGHT_ENDS))
    else:
        sink.forget()
        source.again("".join(whole))


# Calls with nothing behind them, and code blocks.


def whole_message(reading: Reading, handlers: Handlers) -> list[Item]:
    """Read calls behind which nothing stands in the message.

    Raises:
        Mismatch: If something does, or there are none.
    """
    found, _ = _closing(reading, handlers, "")
    if not found:
        raise Mismatch
    return found


def _closing(reading: Reading, handlers: Handlers, fence: str) -> tuple[list[Item], bool]:
    """Read calls up to the end of the message.

    Args:
        reading: The message; one of the markers stands here.
        handlers: By the marker with which a call begins.
        fence: What ends the code block in which they stand, `""` if they stand in none.

    Returns:
        The calls, none if something else follows, and whether the code block is still open.
    """
    source, sink = reading.source, reading.sink
    reading.sink = trial = Sink()
    is_open = bool(fence)
    try:
        while marker := source.standing(*handlers):
            trial.add(handlers[marker](reading))
            source.space(",;")
            while fence and source.literal(fence):
                is_open = not is_open
                source.any_of(fence[0])
                source.upto("\n`")
                source.space()
            if not source.peek():
                return trial.taken(), is_open
    except Mismatch:
        pass
    finally:
        reading.sink = sink
    return [], is_open


def fenced_calls(reading: Reading, fence: str, handlers: Handlers) -> tuple[str, list[Item], bool]:
    """Read an opening fence, and the calls behind it if they end the message.

    Args:
        reading: The message.
        fence: How the fence begins.
        handlers: By the marker with which a call begins.

    Returns:
        The fence, the calls, and whether the code block is still open.
    """
    source = reading.source
    run = source.any_of(fence[0])
    source.upto("\n`")
    source.space()
    if not source.standing(*handlers):
        return run, [], True
    return run, *_closing(reading, handlers, run)


def code_block(reading: Reading, fence: str, handlers: Handlers) -> Wait[None]:
    """Read a code block from its opening fence on, also what follows if all of it is calls.

    Args:
        reading: The message.
        fence: How the opening fence begins.
        handlers: What may be calls in it.
    """
    source, sink = reading.source, reading.sink

    def line() -> tuple[str, str]:
        return source.any_of(fence[0]), source.upto("\n")

    run, found, is_open = yield from settled(reading, lambda: fenced_calls(reading, fence, handlers))
    if found:
        sink.add(found)
        return
    sink.text(_unread(reading))
    while is_open and (yield from stream(reading, _FENCE_STOPS[fence], sink.text)):
        if not source.on_blank_line:
            sink.text((yield from settled(reading, lambda: source.any_of(fence[0]))))
            continue
        end, rest = yield from settled(reading, line)
        # A shorter fence, or one with something behind it, belongs to what the block shows.
        is_open = len(end) < len(run) or bool(rest.strip())
        sink.text(end + rest)


# End tokens, and the parser as others see it.


class _EndTokens:
    """Leaves out the tokens that a server left at the end of a message.

    Before the end they are text or part of an argument: a model can write about them.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self._stops = Stops(tokens)
        self._source = Source()
        self._held: list[str] = []
        """Tokens, and the white space behind them, that nothing followed so far."""

    def feed(self, text: str) -> str:
        """Take what arrived; give what is known to be text."""
        if not self._stops.all:
            return text
        source = self._source
        source.push(text)
        source.join()
        given: list[str] = []
        while True:
            end, token = source.search(self._stops)
            before = source.take(end - source.at)
            if before.strip() or not self._held:
                given += (*self._held, before)
                self._held.clear()
            elif before:
                self._held.append(before)
            if not token:
                return "".join(given)
            self._held.append(source.take(len(token)))

    def finish(self) -> str:
        """The text is at its end; give what was no token."""
        rest = self._source.text[self._source.at :]
        return "".join((*self._held, rest)) if rest else ""


class TextToolParser:
    """Reads one message as it arrives."""

    def __init__(
        self, read: Driver, tools: Iterable[ToolSpec] | None, end_tokens: Iterable[str], *, opened: bool
    ) -> None:
        """Make a parser.

        Args:
            read: Reads a message in its format.
            tools: What may be called; None if that is not known, so that every name counts.
            end_tokens: What may end the message and is left out.
            opened: Whether the message begins within a thought.
        """
        self._ends = _EndTokens(end_tokens)
        self._reading = Reading(Tools(tools), opened=opened)
        self._steps = self._run(read)

    def feed(self, text: str) -> list[Item]:
        """Read on.

        Args:
            text: What arrived.

        Returns:
            What is certain by now, in order: text, reasoning, calls.
        """
        text = self._ends.feed(text)
        if not text:
            return []
        self._reading.source.push(text)
        next(self._steps)
        return self._taken()

    def told_apart(self) -> None:
        """Say that the server gives the reasoning apart from the text, so that the text is nothing but the answer."""
        self._reading.sink.thinks = True

    def finish(self, *, cut_off: bool = False) -> list[Item]:
        """Read to the end.

        Args:
            cut_off: Whether the message ended at a limit; then a call that might go on is none.

        Returns:
            What was still open. What began as a call and is none comes as text, so nothing is lost.
        """
        self._reading.cut_off = cut_off
        self._reading.source.push(self._ends.finish())
        self._reading.source.end()
        for _ in self._steps:
            raise AssertionError("a parser waits for text after the end")
        self._reading.sink.end()
        return self._taken()

    def _run(self, read: Driver) -> Wait[None]:
        yield from self._reading.source.wait()
        yield from read(self._reading)

    def _taken(self) -> list[Item]:
        """What was found since the last time; a call of several tools as those calls."""
        items: list[Item] = []
        for item in self._reading.sink.taken():
            within = (
                several(item.name, item.arguments, self._reading.tools) if isinstance(item, Call) else None
            )
            items += [item] if within is None else [Call(name, given) for name, given in within]
        return items
