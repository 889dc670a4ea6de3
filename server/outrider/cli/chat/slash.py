"""The commands of the composer: `/name`, for what is no message."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from rich.text import Text

import outrider_protocol as names
from outrider.agent.interaction.plan_papers import PLANS
from outrider.cli.changes import listed_changes
from outrider.cli.chat.conversation import Conversation
from outrider.cli.diffs import diff_lines, diff_style
from outrider.cli.look import show_undone
from outrider.cli.sessions import NO_MATCH, NO_SESSIONS, sessions_table
from outrider.cli.terminal import one_line, visible
from outrider.lsp.client import CommandError
from outrider_protocol import logged
from outrider_protocol.choices import PERMISSION_MODES, THINKING_LEVELS

Object = dict[str, Any]

_TASK_MODES: Final = ("agent", "plan", "explore")
_MODEL_SECONDS: Final = 30.0
_NO_CHECK: Final = "none"
_NO_SESSION: Final = "There is no session yet."
_YES: Final = frozenset({"y", "Y", "yes"})
_MOST_MESSAGES: Final = 20
"""Messages in one listing, the latest ones."""
_GOING_BACK: Final[Mapping[str, Object]] = {
    "files and conversation": {},
    "conversation": {"files": False},
    "files": {"conversation": False},
}
"""What can go back to before a message, and how that is asked for."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command of the composer."""

    description: str
    run: Callable[[Conversation, str], Awaitable[None]]
    """Does it, with what follows its name."""
    hint: str = ""


async def _help(chat: Conversation, _rest: str) -> None:
    print_ = chat.renderer.console.print
    commands = [(f"/{name} {one.hint}".rstrip(), one.description) for name, one in SLASH_COMMANDS.items()]
    width = max(len(typed) for typed, _ in (*commands, *_KEYS))
    for typed, what in commands:
        print_(Text(f"  {typed:{width}}  {what}"))
    for keys, what in _KEYS:
        print_(Text(f"  {keys:{width}}  {what}", style="dim"))
    await chat.list_commands()
    if custom := chat.known_commands():
        print_(Text("Custom commands, in the words of their files:"))
    for one in custom:
        name = str(one["name"])
        called = (
            f"/{'/' if name in SLASH_COMMANDS else ''}{visible(name)} {one_line(str(one.get('hint', '')))}"
        )
        print_(Text(f"  {called.rstrip():{width}}  {one_line(str(one['description']))}"))


_KEYS: Final = (
    ("Enter", "send; while a task runs, the model gets it with its next step"),
    ("Ctrl-Q", "send after the running task"),
    ("Alt-Enter, Ctrl-J", "a new line"),
    ("Ctrl-X Ctrl-E", "write the message in $EDITOR"),
    ("Alt-Up", "take back the latest message that waits, to change it"),
    ("Up, Down", "earlier messages"),
    ("@", "names a file"),
    ("!command", "run a command of your own; the next message tells of it"),
    ("Tab, Esc", "go to a question and back; leave it open"),
    ("Ctrl-C", "cancel what runs; twice leaves at once"),
)


async def _pick(
    chat: Conversation, what: str, choices: Sequence[str], now: str | None, rest: str
) -> str | None:
    """What the user chose: what was typed behind the command, else from a list; None where they left it."""
    typed: str | None = rest
    if not rest:
        for number, one in enumerate(choices, 1):
            chat.renderer.console.print(Text(f"  {number}  {visible(one)}{'  (now)' if one == now else ''}"))
        typed = await chat.surface.ask(f"{what}, a number or a name; Esc leaves it: ")
    typed = (typed or "").strip()
    if typed.isdecimal() and 1 <= int(typed) <= len(choices):
        return choices[int(typed) - 1]
    if typed in choices:
        return typed
    if typed:
        chat.renderer.note(f"“{typed}” is not one of them: {', '.join(choices)}")
    return None


async def _new(chat: Conversation, _rest: str) -> None:
    if chat.status.is_running:
        chat.renderer.note("A task runs: Ctrl-C cancels it.")
        return
    chat.new()
    chat.renderer.note("The next message begins a new session.")


async def _sessions(chat: Conversation, rest: str) -> None:
    if chat.status.is_running:
        chat.renderer.note("A task runs: Ctrl-C cancels it.")
        return
    listed = cast("list[Object]", (await chat.command(names.SESSIONS, {}))["sessions"])
    if not listed:
        chat.renderer.note(NO_SESSIONS)
        return
    ids = [str(one["sessionId"]) for one in listed]
    if rest and not rest.isdecimal() and rest not in ids:
        found = await chat.command(names.SESSIONS, {"query": rest})
        listed, rest = cast("list[Object]", found["sessions"]), ""
        ids = [str(one["sessionId"]) for one in listed]
        if not listed:
            chat.renderer.note(NO_MATCH)
            return
    if not rest:
        console = chat.renderer.console
        console.print(sessions_table(listed, console.width, numbered=True), crop=False)
        rest = ((await chat.surface.ask("its number, or an id; Esc leaves it: ")) or "").strip()
    if rest.isdecimal() and 1 <= int(rest) <= len(ids):
        rest = ids[int(rest) - 1]
    if rest:
        await chat.open(rest)


async def _fork(chat: Conversation, rest: str) -> None:
    """Go on in a copy of the session, which ends with the latest turn or the one that is named."""
    if chat.session_id is None:
        chat.renderer.note(_NO_SESSION)
        return
    params: Object = {"sessionId": chat.session_id}
    if rest:
        turns = await chat.turns()
        params["turnId"] = turns[int(rest) - 1] if rest.isdecimal() and 1 <= int(rest) <= len(turns) else rest
    forked = await chat.command(names.FORK, params, seconds=None)
    await chat.open(str(forked["sessionId"]))
    chat.renderer.note(f"This is a copy of {forked['fromSessionId']}, which stays as it is.")


async def _rename(chat: Conversation, rest: str) -> None:
    if chat.session_id is None or not rest:
        chat.renderer.note(_NO_SESSION if chat.session_id is None else "Write the new name behind /rename.")
        return
    named = await chat.command(names.RENAME, {"sessionId": chat.session_id, "title": rest})
    chat.renderer.note(f"The session is named “{visible(str(named['title']))}”.")


async def _delete(chat: Conversation, _rest: str) -> None:
    """Delete the session for good, after a yes; the next message begins another one."""
    if chat.session_id is None:
        chat.renderer.note(_NO_SESSION)
        return
    asked = "Delete this session for good? What it changed in files stays. Type yes, or Esc to keep it: "
    if ((await chat.surface.ask(asked)) or "").strip().casefold() != "yes":
        chat.renderer.note("The session is kept.")
        return
    await chat.command(names.DELETE, {"sessionId": chat.session_id}, seconds=None)
    chat.new()
    chat.renderer.note("The session is deleted. The next message begins a new one.")


async def _mode(chat: Conversation, rest: str) -> None:
    if chosen := await _pick(chat, "mode of the next tasks", _TASK_MODES, chat.mode, rest):
        chat.mode = chosen
        chat.renderer.note(f"The next tasks run in mode {chosen}.")


async def _permissions(chat: Conversation, rest: str) -> None:
    if chosen := await _pick(chat, "what may happen without a question", PERMISSION_MODES, None, rest):
        widest = await chat.widest_mode()
        if PERMISSION_MODES.index(chosen) > PERMISSION_MODES.index(widest):
            again = f" --session {chat.session_id}" if chat.session_id else ""
            chat.renderer.note(
                f"The permission mode stays as it is: this chat began with {widest}, and only what allows less can be chosen in "
                f"it. For {chosen}, leave it and run: outrider chat --permission-mode {chosen}{again}"
            )
            return
        chat.configure({"permissionMode": chosen})
        chat.renderer.note(f"The permission mode is {chosen}.")


async def _model(chat: Conversation, rest: str) -> None:
    told = await chat.command(names.MODELS, {}, seconds=_MODEL_SECONDS)
    models = [str(one["model"]) for one in cast("list[Object]", told["models"])]
    now = chat.model or cast("str | None", told.get("model"))
    choices = models if now is None or now in models else [now, *models]
    if not choices and not rest:
        chat.renderer.note("No model is known: `outrider setup` sets one up, /model provider/name names one.")
        return
    # Some providers list not all they have.
    chosen = rest if "/" in rest else await _pick(chat, "model of the next tasks", choices, now, rest)
    if chosen:
        chat.model = chosen
        chat.renderer.note(f"The next tasks run with {chosen}.")


async def _thinking(chat: Conversation, rest: str) -> None:
    if chosen := await _pick(chat, "how much the model thinks", THINKING_LEVELS, chat.thinking, rest):
        chat.thinking = chosen


async def _undo(chat: Conversation, rest: str) -> None:
    await _take_back(chat, names.UNDO, rest)


async def _redo(chat: Conversation, rest: str) -> None:
    await _take_back(chat, names.REDO, rest)


async def _take_back(chat: Conversation, command: str, rest: str) -> None:
    if chat.session_id is None:
        chat.renderer.note(_NO_SESSION)
        return
    params: Object = {"sessionId": chat.session_id}
    if rest in {"step", "turn", "session"}:
        params["scope"] = rest
    elif rest:
        params["id"] = rest
    elif command == names.UNDO:
        params["latest"] = True
    try:
        done = await chat.command(command, params, seconds=None)
    except CommandError as problem:
        if problem.reason != "not_latest":
            raise
        prompt = one_line(str(problem.data["prompt"]))
        chat.renderer.console.print(Text(f"The latest turn has nothing to undo. This one has: {prompt}"))
        if ((await chat.surface.ask("Undo it? y for yes, Esc leaves it: ")) or "").strip() not in _YES:
            return
        named = {"sessionId": problem.data["sessionId"], "scope": "turn", "id": problem.data["turnId"]}
        done = await chat.command(names.UNDO, named, seconds=None)
    show_undone(done, cast("list[logged.WireEvent]", []), chat.renderer.console, redo=command == names.REDO)


async def _continue(chat: Conversation, _rest: str) -> None:
    """Go on where the latest turn stopped: its budget was spent, it failed, or it was cancelled."""
    if chat.session_id is None:
        chat.renderer.note(_NO_SESSION)
        return
    await chat.go_on()


async def _retry(chat: Conversation, _rest: str) -> None:
    """Ask the model again: at once where a turn waits to do that, else for the latest turn, which failed."""
    messages = await chat.messages()
    if not messages:
        chat.renderer.note(_NO_SESSION)
        return
    params: Object = {"turnId": chat.status.turn_id or list(messages)[-1]}
    if chat.model is not None and not chat.status.is_running:
        params["model"] = chat.model
    await chat.command(names.RETRY, params)


async def _restore(chat: Conversation, rest: str) -> None:
    """Go back to before a message: files, conversation or both. The message comes back into the composer."""
    messages = await chat.messages()
    if not messages:
        chat.renderer.note(_NO_SESSION)
        return
    console, typed = chat.renderer.console, rest
    if not rest:
        for number, prompt in list(enumerate(messages.values(), 1))[-_MOST_MESSAGES:]:
            console.print(Text(f"  {number}  {one_line(prompt)}"), no_wrap=True, overflow="ellipsis")
        typed = (await chat.surface.ask("back to before which message, its number; Esc leaves it: ")) or ""
    if not (typed.strip().isdecimal() and 1 <= int(typed) <= len(messages)):
        if typed.strip():
            chat.renderer.note(f"“{visible(typed)}” is no number of a message.")
        return
    what = await _pick(chat, "what goes back", tuple(_GOING_BACK), None, "")
    if what is None:
        return
    turn_id = list(messages)[int(typed) - 1]
    params: Object = {"sessionId": chat.session_id, "turnId": turn_id, **_GOING_BACK[what]}
    done = await chat.command(names.RESTORE, params, seconds=None)
    if "undo" in done:
        show_undone(cast("Object", done["undo"]), cast("list[logged.WireEvent]", []), console, redo=False)
    if done["turns"]:
        chat.renderer.note(f"The model has forgotten your message {int(typed)} and all after it.")
        if chat.surface.compose(str(done["prompt"])):
            chat.renderer.note("The message is in the composer: change it, and send it again.")


async def _changes(chat: Conversation, rest: str) -> None:
    if chat.session_id is None:
        chat.renderer.note(_NO_SESSION)
        return
    is_patch = rest == "patch"
    params: Object = {"sessionId": chat.session_id, "format": "patch" if is_patch else "list"}
    told = await chat.command(names.CHANGES, params, seconds=None)
    text = str(told["patch"]) if is_patch else listed_changes(told)
    for line in visible(text).splitlines():
        chat.renderer.console.print(Text(line, style=diff_style(line) if is_patch else ""))
    if not text:
        chat.renderer.note("Nothing is changed.")


async def _review(chat: Conversation, _rest: str) -> None:
    """Go through what the session changed, hunk by hunk: each is kept or undone."""
    if chat.session_id is None:
        chat.renderer.note(_NO_SESSION)
        return
    console = chat.renderer.console
    told = await chat.command(names.CHANGES, {"sessionId": chat.session_id}, seconds=None)
    hunks = [
        (one_line(str(change.get("to") or change["path"])), hunk)
        for change in cast("list[Object]", told["changes"])
        for hunk in cast("list[Object]", change["hunks"])
        if hunk["state"] == "applied"
    ]
    undone: list[str] = []
    for number, (path, hunk) in enumerate(hunks, 1):
        console.print(Text(f"\n  change {number} of {len(hunks)}: {path} line {hunk['line']}", style="bold"))
        for line in diff_lines([cast("logged.WireHunk", hunk)])[1:]:
            console.print(Text(f"    {line}", style=diff_style(line)))
        typed = (
            await chat.surface.ask("y keep, n undo, a keep the rest, q leave all as it is: ") or "q"
        ).strip()
        if typed == "n":
            undone.append(str(hunk["id"]))
        elif typed == "a":
            break
        elif typed != "y":
            return
    if undone:
        # The last first, so that no line of one moves another.
        ids = list(reversed(undone))
        done = await chat.command(names.UNDO, {"sessionId": chat.session_id, "ids": ids}, seconds=None)
        show_undone(done, cast("list[logged.WireEvent]", []), console, redo=False)
    elif not hunks:
        chat.renderer.note("There is nothing to review.")


async def _plan(chat: Conversation, rest: str) -> None:
    await _in_mode(chat, rest, "plan")


async def _explore(chat: Conversation, rest: str) -> None:
    await _in_mode(chat, rest, "explore")


async def _in_mode(chat: Conversation, rest: str, mode: str) -> None:
    if rest:
        await chat.send(rest, mode=mode)
    else:
        chat.renderer.note(f"Write the task behind /{mode}.")


async def _start(chat: Conversation, rest: str) -> None:
    """Carry out a plan document: the one that is named, else the latest of the session, else one from a list."""
    chosen: str | None = rest or chat.plan
    if not chosen:
        listed = await asyncio.to_thread(_plans, chat.workspace)
        if not listed:
            chat.renderer.note("There is no plan yet: /plan with a task makes one.")
            return
        chosen = await _pick(chat, "plan to start", listed, None, "")
    if chosen:
        await chat.start(_place(chat.workspace, chosen))


def _place(workspace: Path, typed: str) -> Path:
    return workspace / Path(typed).expanduser()


def _plans(workspace: Path) -> list[str]:
    """The plan documents of a workspace, the newest first. Blocks."""
    found: list[tuple[float, str]] = []
    for path in (workspace / PLANS).glob("*.md"):
        with contextlib.suppress(OSError):  # it went away
            found.append((-path.stat().st_mtime, str(path.relative_to(workspace))))
    return [path for _, path in sorted(found)]


async def _check(chat: Conversation, rest: str) -> None:
    if rest == _NO_CHECK:
        chat.checks.clear()
    elif rest and rest not in chat.checks:
        chat.checks.append(rest)
    named = ", ".join(f"`{visible(one)}`" for one in chat.checks)
    chat.renderer.note(
        f"Checks of the next tasks: {named}. /check {_NO_CHECK} removes them."
        if named
        else "The next tasks have no check of their own."
    )


async def _queue(chat: Conversation, rest: str) -> None:
    if rest:
        await chat.send(rest, queue=True)
    elif not chat.status.queue:
        chat.renderer.note("Nothing waits.")
    for _, text, steers in chat.status.queue:
        chat.renderer.note(f"{'for the next step' if steers else 'next'}: {one_line(text)}")


async def _answer(chat: Conversation, _rest: str) -> None:
    if chat.open_items:
        chat.ask_about(chat.open_items[0])
    else:
        chat.renderer.note("Nothing waits for an answer.")


async def _jobs(chat: Conversation, rest: str) -> None:
    action, _, job = rest.partition(" ")
    params: Object = {"action": "kill", "id": job.strip()} if action == "kill" else {}
    told = cast("list[Object]", (await chat.command(names.JOBS, params))["jobs"])
    for one in told:
        chat.renderer.note(
            f"{one['jobId']} {one['status']}, {one['seconds']:.0f} s: {one_line(one['command'])}"
        )
    if not told:
        chat.renderer.note("No command runs in the background.")


async def _quit(chat: Conversation, _rest: str) -> None:
    chat.end()


SLASH_COMMANDS: Final[Mapping[str, SlashCommand]] = {
    "help": SlashCommand("what can be typed here", _help),
    "new": SlashCommand("begin a new session", _new),
    "sessions": SlashCommand("go on with another session", _sessions, "[number|id|words]"),
    "fork": SlashCommand("go on in a copy of this session, up to one of its turns", _fork, "[number]"),
    "rename": SlashCommand("name this session", _rename, "name"),
    "delete": SlashCommand("delete this session for good", _delete),
    "plan": SlashCommand("only read, and answer with a plan", _plan, "task"),
    "explore": SlashCommand("only read, and answer", _explore, "question"),
    "start": SlashCommand("carry out a written plan", _start, "[document]"),
    "check": SlashCommand("a command that decides whether the next tasks are done", _check, "[command|none]"),
    "queue": SlashCommand("what waits, or a message after the running task", _queue, "[text]"),
    "answer": SlashCommand("be asked again what you left open", _answer),
    "review": SlashCommand("go through the changes hunk by hunk, and undo some", _review),
    "undo": SlashCommand("undo the last turn, or what is named", _undo, "[step|turn|session|id]"),
    "redo": SlashCommand("bring back what was undone", _redo, "[id]"),
    "continue": SlashCommand("go on where the last task stopped, with a new budget", _continue),
    "retry": SlashCommand("ask the model again after a failure", _retry),
    "restore": SlashCommand("go back to before a message, and change it", _restore, "[number]"),
    "changes": SlashCommand("what this session changed", _changes, "[patch]"),
    "mode": SlashCommand("choose the mode of the next tasks", _mode, "[mode]"),
    "permissions": SlashCommand("choose what may happen without a question", _permissions, "[mode]"),
    "model": SlashCommand("choose the model", _model, "[provider/name]"),
    "thinking": SlashCommand("choose how much the model thinks", _thinking, "[level]"),
    "jobs": SlashCommand("background commands, or end one", _jobs, "[kill id]"),
    "quit": SlashCommand("leave", _quit),
}


async def take(chat: Conversation, text: str, *, queue: bool = False) -> None:
    """Do what was typed: a command of the user, one of the composer, or a message. Raises ClientError."""
    line = text.strip()
    head, _, rest = line.partition(" ")
    if line.startswith("!"):
        await chat.shell(line[1:].strip())
    elif line.startswith("//"):  # a custom command that is called like one of these
        await chat.send(line[1:], queue=queue)
    elif head.startswith("/") and (command := SLASH_COMMANDS.get(head[1:])) is not None:
        await command.run(chat, rest.strip())
    elif line:
        await chat.send(line, queue=queue)
