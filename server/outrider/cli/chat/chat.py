"""Brings a conversation and a terminal together: a screen where the terminal can do that, else lines."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from outrider import __version__
from outrider.cli.chat.conversation import LATEST, Conversation, Surface
from outrider.cli.chat.markdown import LiveMarkdown
from outrider.cli.chat.slash import SLASH_COMMANDS, take
from outrider.cli.exits import ExitCode
from outrider.cli.problems import Problems
from outrider.cli.render import Renderer
from outrider.cli.terminal import Keyboard, TerminalKeyboard, make_console, one_line
from outrider.ports.toml import read_user_file
from outrider.settings import from_layers
from outrider.surroundings import surroundings
from outrider_protocol.settings import Tiers

Object = dict[str, Any]

__all__ = ["LATEST", "START", "chat"]

START: Final = "/start"
"""How a plan is started here."""
_DUMB: Final = frozenset({"", "dumb", "unknown"})


async def chat(
    workspace: Path, options: Object, session_id: str | None, checks: Sequence[str] = ()
) -> ExitCode:
    """Hold a conversation in this process's terminal; gives the exit code.

    Args:
        workspace: The folder to work in.
        options: The `initializationOptions`.
        session_id: A session of the log to go on with, or `LATEST`.
        checks: Commands that decide whether its tasks are done.
    """
    if _lacks_model(options) and (left := await _led_to_a_model()) is not None:
        return left
    if os.environ.get("TERM", "") in _DUMB:
        return await _in_lines(workspace, options, session_id, checks)
    return await _on_screen(workspace, options, session_id, checks)


def _lacks_model(options: Object) -> bool:
    """Whether neither the options nor the user's settings name a model. Blocks."""
    file = surroundings().user_settings
    given, problem = read_user_file(file)
    found = from_layers((str(file), given), ("initializationOptions", options)).settings
    return problem is None and found.model is None and found.tiers == Tiers()


async def _led_to_a_model() -> ExitCode | None:
    """Set a model up before the first message needs it; gives the exit code where the user left, None to begin."""
    console, keyboard = make_console(sys.stdout), TerminalKeyboard(sys.stdin.fileno())

    def draw(early: bool) -> None:
        if early:
            console.print("(what was typed before the question was shown does not count)", style="dim")
        console.print("No model is set yet. Set one up now? Enter for yes, n for no: ", end="")

    answer = await keyboard.answer(draw)
    if answer is None:
        return ExitCode.CANCELLED
    if answer.strip().casefold() in {"n", "no"}:
        return None
    from outrider.cli.setup import (
        Wanted,
        set_up,
    )  # with all of the application, which a chat leaves to its server

    code = await set_up(Wanted(), keyboard, None)
    return None if code == ExitCode.COMPLETED else code


# --- a screen -----------------------------------------------------------------------------------------------------


class _ScreenKeyboard:
    """Answers from the screen's question line."""

    def __init__(self, ask: Callable[[str], Coroutine[Any, Any, str | None]]) -> None:
        self._ask = ask
        self.label = ""

    def show(self, label: str) -> None:
        self.label = label

    async def answer(self, draw: Callable[[bool], None]) -> str | None:
        draw(False)  # only says the label: what came too early went elsewhere
        return await self._ask(self.label)


async def _on_screen(
    workspace: Path, options: Object, session_id: str | None, checks: Sequence[str]
) -> ExitCode:
    from outrider.cli.chat.completion import ComposerCompleter
    from outrider.cli.chat.screen import Above, Screen, Shown, Wishes

    above = Above(sys.stdout)
    console = make_console(above)  # pyright: ignore[reportArgumentType] - a text stream, as far as rich uses one

    def changed() -> None:
        screen.changed()

    async def ask(label: str) -> str | None:
        return await screen.ask(label)

    def compose(text: str) -> bool:
        return screen.compose(text)

    def complete() -> None:
        screen.complete()

    def suspended() -> AbstractAsyncContextManager[None]:
        return screen.suspended()

    markdown = LiveMarkdown(console, changed)
    keyboard = _ScreenKeyboard(ask)
    surface = Surface(
        renderer=Renderer(console, Problems(console), flow=markdown, start=START),
        keyboard=keyboard,
        changed=changed,
        ask=ask,
        compose=compose,
        complete=complete,
        show_prompt=keyboard.show,
        suspended=suspended,
    )
    conversation = Conversation(workspace, options, surface, checks)
    screen = Screen(
        above,
        Shown(
            markdown.live,
            conversation.status_line,
            conversation.waiting_lines,
            ComposerCompleter(workspace, SLASH_COMMANDS, conversation.known_commands),
        ),
        Wishes(
            send=lambda text, queue: conversation.spawn(take(conversation, text, queue=queue)),
            interrupt=lambda: conversation.interrupt(screen.composer.text, screen.composer.reset),
            leave=conversation.leave,
            withdraw=lambda: conversation.spawn(conversation.withdraw()),
        ),
    )

    async def drawn() -> None:
        try:
            await screen.run()
        except EOFError:  # the terminal is gone
            conversation.end()

    async def started() -> None:
        _greet(conversation)
        await conversation.ended.wait()

    drawing = asyncio.ensure_future(drawn())
    async with _signals(conversation):
        try:
            code = await conversation.run(started, session_id)
        finally:
            screen.stop()
            await asyncio.gather(drawing, return_exceptions=True)
            above.print_rest()
    _farewell(conversation)
    return code


# --- lines --------------------------------------------------------------------------------------------------------


async def _in_lines(
    workspace: Path, options: Object, session_id: str | None, checks: Sequence[str]
) -> ExitCode:
    """For a terminal that can only print: one message, its turn, and the next message."""
    console = make_console(sys.stdout)
    keyboard: Keyboard = TerminalKeyboard(sys.stdin.fileno())

    async def ask(label: str) -> str | None:
        return await keyboard.answer(lambda _: console.print(label, end=""))

    surface = Surface(Renderer(console, start=START), keyboard, _nothing, ask, lambda _: False, _nothing)
    conversation = Conversation(workspace, options, surface, checks)

    async def started() -> None:
        _greet(conversation)
        while not conversation.ended.is_set():
            await conversation.idle.wait()
            console.print(Text(conversation.status_line(console.width), style="dim"))
            text = await ask("> ")
            if text is None:
                conversation.end()
            elif text.strip():
                await conversation.shown(take(conversation, text))

    async with _signals(conversation):
        code = await conversation.run(started, session_id)
    _farewell(conversation)
    return code


# --- both ---------------------------------------------------------------------------------------------------------


def _greet(conversation: Conversation) -> None:
    where = one_line(conversation.workspace.name or "/")
    conversation.renderer.note(
        f"Outrider {__version__} in {where}. /help says what can be typed, Ctrl-D leaves."
    )


def _farewell(conversation: Conversation) -> None:
    """Say how the session is gone on with, where that is seen."""
    if conversation.session_id is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.write(f"To go on: outrider chat --session {conversation.session_id}\n")
            sys.stdout.flush()


@asynccontextmanager
async def _signals(conversation: Conversation) -> AsyncGenerator[None]:
    """Ctrl-C as a signal, where the terminal does not hand over keys; and the end of the terminal."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: conversation.interrupt("", _nothing))
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, conversation.end)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)


def _nothing() -> None:
    pass
