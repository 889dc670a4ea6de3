"""The bottom of the terminal: live text, what waits, a question, the composer and the status line.

All else is printed above it and scrolls away as in any terminal. The composer and a question have inputs of their own.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from io import TextIOBase
from typing import Final, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition, FilterOrBool, has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.styles import Style

from outrider.cli.terminal import PASTE_SECONDS, QUIET_SECONDS, one_line

MOST_COMPOSED: Final = 8
"""Lines of the composer that are shown; it scrolls then."""
MOST_COMPLETIONS: Final = 8
"""Lines of the menu of what can be completed."""
MOST_WAITING: Final = 4
"""Lines of what waits."""
_BELOW_LIVE: Final = MOST_COMPOSED + MOST_WAITING + 4
_LEAST_LIVE: Final = 3
TICK_SECONDS: Final = 1.0
"""How often the status line is drawn anew while a turn runs."""
FRAME_SECONDS: Final = 0.05
"""How often the screen is drawn at most."""
STYLE: Final = Style.from_dict(
    {"status": "reverse", "question": "bold", "waiting": "italic", "hint": "", "mark": "bold"}
)


class Above(TextIOBase):
    """What is written here is printed above the screen, in the order in which it came, and by whole lines."""

    def __init__(self, out: TextIO) -> None:
        """Write to `out`, the terminal, where there is no screen."""
        self._out = out
        self._text = ""
        self._is_due = False
        self.screen: Screen | None = None

    def isatty(self) -> bool:
        """It is a terminal."""
        return True

    def writable(self) -> bool:
        """It takes text."""
        return True

    def write(self, text: str, /) -> int:
        """Take a text; it is printed with what else comes in this turn of the event loop."""
        self._text += text
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self.print_lines)
        return len(text)

    def print_lines(self) -> None:
        """Print the lines that are complete, if the screen is there."""
        self._is_due = False
        end = self._text.rfind("\n") + 1
        if end and self.screen is not None and self.screen.print_above(self._text[:end]):
            self._text = self._text[end:]

    def print_rest(self) -> None:
        """Print what is left, when there is no screen any more."""
        self._out.write(self._text)
        self._out.flush()
        self._text = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the screen shows."""

    live: Callable[[int, int], str]
    """The text that comes in, for a width and a number of lines."""
    status: Callable[[int], str]
    """The status line for a width."""
    waiting: Callable[[], Sequence[str]]
    """What waits in the queue, a line each."""
    completer: Completer
    """Completes what is composed."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user's keys do."""

    send: Callable[[str, bool], None]
    """With what was composed, and whether it is to wait in the queue."""
    interrupt: Callable[[], None]
    """Ctrl-C."""
    leave: Callable[[], None]
    """Ctrl-D in an empty composer."""
    withdraw: Callable[[], None]
    """The latest text that waits is wanted back in the composer."""


class Screen:
    """The bottom of the terminal."""

    def __init__(self, above: Above, shown: Shown, wishes: Wishes) -> None:
        """Prepare to draw below what is written to `above`."""
        self._above, self._shown, self._wishes = above, shown, wishes
        self._suspended = 0
        """How many other programs have the terminal."""
        self._is_drawn = False
        self.history = InMemoryHistory()
        self.composer = Buffer(
            multiline=True, completer=shown.completer, complete_while_typing=True, history=self.history
        )
        self._answer = Buffer(multiline=False)
        self._asked: asyncio.Future[str | None] | None = None
        self._label = ""
        self._is_armed = False
        """Whether the question takes keys: it is on the screen, and the keyboard has been quiet since."""
        self._key_came = asyncio.Event()
        self.app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            style=STYLE,
            erase_when_done=True,
            min_redraw_interval=FRAME_SECONDS,
            refresh_interval=TICK_SECONDS,
        )
        self.app.key_processor.before_key_press += self._key_pressed
        self.app.after_render += self._rendered
        above.screen = self

    # --- what others do with it ---------------------------------------------------------------------------------

    async def run(self) -> None:
        """Draw, and take keys, until `stop`."""
        await self.app.run_async(handle_sigint=False)

    def stop(self) -> None:
        """Draw no more."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def changed(self) -> None:
        """Draw again, soon."""
        if self.app.is_running:
            self.app.invalidate()

    def print_above(self, text: str) -> bool:
        """Print lines above; False while that cannot be. The keyboard stays as it is, so that no key is lost meanwhile."""
        if not self._is_drawn or self._suspended or not self.app.is_running or self.app.is_done:
            return False
        self.app.renderer.erase()
        self.app.output.write_raw(text)
        self.app.output.flush()
        self.app.renderer.request_absolute_cursor_position()
        self.app.renderer.render(self.app, self.app.layout)  # at once: the composer would be gone for a frame
        return True

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """Leave the terminal to another program."""
        self._suspended += 1
        try:
            async with in_terminal():
                yield
        finally:
            self._resumed()

    def _resumed(self, _: object = None) -> None:
        self._suspended -= 1
        self._above.print_lines()

    def _edit(self) -> None:
        """Write the message in the user's editor."""
        self._suspended += 1
        self.composer.open_in_editor().add_done_callback(self._resumed)

    def _rendered(self, _: object) -> None:
        if not self._is_drawn:
            self._is_drawn = True
            self._above.print_lines()

    def compose(self, text: str) -> bool:
        """Put a text into the composer, if that is empty."""
        if self.composer.text:
            return False
        self.composer.text = text
        self.composer.cursor_position = len(text)
        return True

    def complete(self) -> None:
        """Complete the name of a command that is being typed once more: more is known."""
        if self.app.is_running and self.composer.text.startswith("/"):
            self.composer.start_completion()

    async def ask(self, label: str) -> str | None:
        """Have a line typed below a label; None where the user left it. Only keys that come after it was drawn count.

        The composer is left alone: with a draft in it the question waits for Tab.
        """
        answer = self._asked = asyncio.get_running_loop().create_future()
        self._label, self._is_armed = label, False
        self._answer.reset()
        try:
            arming = asyncio.ensure_future(self._arm())
            try:
                return await answer
            finally:
                arming.cancel()
        finally:
            self._asked = None
            self._answer.reset()
            self.app.layout.focus(self.composer)
            self.changed()

    async def _arm(self) -> None:
        """Wait until the question is drawn and the keyboard is quiet."""
        drawn = asyncio.Event()

        def after(_: object) -> None:
            drawn.set()

        self.app.after_render += after
        try:
            self.changed()
            await drawn.wait()
        finally:
            self.app.after_render -= after
        while await self._goes_on():
            pass
        self._is_armed = True
        if not self.composer.text:
            self.app.layout.focus(self._answer)
        self.changed()

    async def _goes_on(self) -> bool:
        """Whether a key comes within the time in which none may."""
        self._key_came.clear()
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                await self._key_came.wait()
        except TimeoutError:
            return False
        return True

    def _key_pressed(self, _: object) -> None:
        self._key_came.set()

    # --- keys ---------------------------------------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        composing, answering = has_focus(self.composer), has_focus(self._answer)
        armed = Condition(lambda: self._asked is not None and self._is_armed)
        completing = Condition(lambda: self.composer.complete_state is not None)
        empty = Condition(lambda: not self.composer.text)
        bindings = KeyBindings()

        def bind(
            do: Callable[[], object], *keys: str, when: FilterOrBool = True, eager: bool = False
        ) -> None:
            def pressed(_event: KeyPressEvent) -> None:
                do()

            bindings.add(*keys, filter=when, eager=eager)(pressed)

        def pasted(event: KeyPressEvent) -> None:
            # Its line ends answer nothing.
            self._answer.insert_text(" ".join(event.data.splitlines()))

        bind(self._enter, "enter", when=composing)
        bind(partial(self._sent, queue=True), "c-q", when=composing)
        bind(self._new_line, "escape", "enter", when=composing)
        bind(self._new_line, "c-j", when=composing)
        bind(self._wishes.withdraw, "escape", "up", when=composing)
        bind(self._edit, "c-x", "c-e", when=composing)
        bind(self._wishes.leave, "c-d", when=composing & empty)
        bind(partial(self._focus, self._answer), "tab", when=composing & armed & ~completing)
        bind(partial(self._focus, self.composer), "tab", when=answering)
        bind(self._confirm, "enter", when=answering & armed)
        bind(partial(self._resolve, None), "escape", when=answering, eager=True)
        bind(partial(self._resolve, None), "c-d", when=answering)
        bind(self._wishes.interrupt, "c-c")
        bind(self._wishes.interrupt, "<sigint>")
        bindings.add(Keys.BracketedPaste, filter=answering)(pasted)
        return bindings

    def _enter(self) -> None:
        state = self.composer.complete_state
        if state is not None and state.current_completion is not None:
            self.composer.complete_state = None  # it is taken
        else:
            self._sent()

    def _new_line(self) -> None:
        self.composer.insert_text("\n")

    def _focus(self, buffer: Buffer) -> None:
        self.app.layout.focus(buffer)

    def _confirm(self) -> None:
        asyncio.get_running_loop().call_later(PASTE_SECONDS, self._answered, self._answer.text)

    def _sent(self, *, queue: bool = False) -> None:
        text = self.composer.text
        if text.strip():
            self.composer.append_to_history()
            self.composer.reset()
            self._wishes.send(text, queue)

    def _answered(self, text: str) -> None:
        """Take an answer, unless more came right behind its line end: that was pasted, and is no answer to this question."""
        if text == self._answer.text:
            self._resolve(text)

    def _resolve(self, answer: str | None) -> None:
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(answer)

    # --- layout -------------------------------------------------------------------------------------------------

    def _layout(self) -> Layout:
        is_live = Condition(lambda: bool(self._live_text()))
        is_waiting = Condition(lambda: bool(self._shown.waiting()))
        is_asked = Condition(lambda: self._asked is not None)
        body = HSplit(
            [
                ConditionalContainer(
                    Window(FormattedTextControl(lambda: ANSI(self._live_text())), dont_extend_height=True),
                    is_live,
                ),
                ConditionalContainer(
                    Window(
                        FormattedTextControl(self._waiting_text),
                        height=Dimension(max=MOST_WAITING + 1),
                        dont_extend_height=True,
                        style="class:waiting",
                    ),
                    is_waiting,
                ),
                ConditionalContainer(
                    Window(
                        BufferControl(self._answer),
                        height=Dimension(min=1, max=3),
                        dont_extend_height=True,
                        wrap_lines=True,
                        get_line_prefix=self._question_prefix,
                    ),
                    is_asked,
                ),
                Window(
                    BufferControl(self.composer),
                    height=self._composer_height,
                    dont_extend_height=True,
                    wrap_lines=True,
                    get_line_prefix=_composer_prefix,
                ),
                Window(
                    FormattedTextControl(lambda: self._shown.status(self.app.output.get_size().columns)),
                    height=1,
                    style="class:status",
                ),
            ]
        )
        menu = Float(CompletionsMenu(max_height=MOST_COMPLETIONS), xcursor=True, ycursor=True)
        return Layout(FloatContainer(body, [menu]), focused_element=self.composer)

    def _composer_height(self) -> Dimension:
        """The lines of the composer, with empty ones below: at the bottom of the terminal the menu would have no room."""
        completing = self.composer.complete_state
        menu = min(len(completing.completions), MOST_COMPLETIONS) if completing is not None else 0
        typed = min(self.composer.document.line_count, MOST_COMPOSED)
        return Dimension(min=typed + menu, max=MOST_COMPOSED + menu)

    def _live_text(self) -> str:
        size = self.app.output.get_size()
        return self._shown.live(size.columns, max(_LEAST_LIVE, size.rows - _BELOW_LIVE))

    def _waiting_text(self) -> str:
        waiting = [one_line(one) for one in self._shown.waiting()]
        more = len(waiting) - MOST_WAITING
        return "\n".join([*waiting[:MOST_WAITING], *([f"… {more} more"] if more > 0 else [])])

    def _question_prefix(self, number: int, wrapped: int) -> StyleAndTextTuples:
        if number or wrapped:
            return [("", "  ")]
        hint = "" if self.app.layout.has_focus(self._answer) else "(Tab to answer) "
        return [("class:question", f"{self._label.strip()} {hint}")]


def _composer_prefix(number: int, wrapped: int) -> StyleAndTextTuples:
    return [("class:mark", "> " if number == 0 and wrapped == 0 else "  ")]
