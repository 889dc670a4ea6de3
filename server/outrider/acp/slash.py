"""What ACP has no word for, as slash commands: each begins a message of the user and is answered in the conversation."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from outrider.acp.options import MODE, MODEL, THINKING, Options
from outrider.acp.questions import KEEP_REST, KEEP_THIS, UNDO_THIS, Questions
from outrider.acp.updates import Updates
from outrider.agent.interaction.quoting import code_block, short
from outrider.agent.interaction.review_document import UnderReview
from outrider.agent.session.session import Refused
from outrider.app import App
from outrider.commands import Commands
from outrider.ports.refusal import CommandError
from outrider_protocol import (
    CHANGES,
    CONTINUE,
    DOCTOR,
    INVALID_PARAMS,
    JOBS,
    PERMISSIONS,
    REDO,
    RENAME,
    REQUEST_FAILED,
    RESEND,
    RESTORE,
    RETRY,
    STATUS,
    STEER,
    UNDO,
)  # fmt: skip
from outrider_protocol.events import Mode

_LONGEST_PATCH: Final = 100_000
"""Characters of a patch that are put in the conversation."""
_MOST_MESSAGES: Final = 20
"""Messages in one listing, the latest ones."""
_NO_MESSAGE: Final = "There is no message yet."


class Conversation(Protocol):
    """The session that a command is given in."""

    id: str
    app: App
    commands: Commands
    options: Options
    questions: Questions
    updates: Updates

    async def choose(self, option: str, value: str) -> None:
        """Take over what the user chose."""
        ...

    def tell_options(self) -> None:
        """Tell the client what is chosen now."""
        ...

    async def resume(self) -> str | None:
        """Let what was cut off go on; gives its turn."""
        ...


@dataclass(frozen=True, slots=True)
class Slash:
    """A slash command in a message."""

    name: str
    rest: str
    mode: Mode | None = None
    """Of a task: the mode of its turn."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command that the client offers."""

    description: str
    run: Callable[[Conversation, str], Awaitable[str | None]]
    """Does it; gives a turn that is waited for then."""
    hint: str = ""
    """What follows its name."""
    mode: Mode | None = None
    """That of the task that follows."""


def slash_in(text: str) -> Slash | None:
    """The slash command that a message is; None where it is none of these: others are the agent's own."""
    head, _, rest = text.partition(" ")
    if not head.startswith("/") or (command := SLASH_COMMANDS.get(head[1:])) is None:
        return None
    rest = rest.strip()
    return Slash(head[1:], rest, command.mode if rest else None)


async def _help(session: Conversation, _rest: str) -> None:
    lines = [
        f"- `/{name}{f' {one.hint}' if one.hint else ''}`: {one.description}"
        for name, one in SLASH_COMMANDS.items()
    ]
    session.updates.say("\n".join(lines))


async def _task(session: Conversation, _rest: str) -> None:
    session.updates.say("Write the task behind the command.")


async def _undo(session: Conversation, rest: str) -> None:
    await _take_back(session, UNDO, rest)


async def _redo(session: Conversation, rest: str) -> None:
    await _take_back(session, REDO, rest)


async def _take_back(session: Conversation, command: str, rest: str) -> None:
    params: dict[str, Any] = {"sessionId": session.id}
    if rest in {"step", "turn", "session"}:
        params["scope"] = rest
    elif rest:
        params["id"] = rest
    elif command == UNDO:
        params["latest"] = True
    try:
        result = await session.commands.execute(command, params)
    except CommandError as error:
        if error.data is None or error.data.get("reason") != "not_latest":
            raise
        prompt, turn_id = short(str(error.data["prompt"]), 80), error.data["turnId"]
        session.updates.say(
            f"The latest turn has nothing to undo. `/undo {turn_id}` undoes the one before it: “{prompt}”."
        )
        return
    session.updates.say(_undone(result, command))


def _undone(result: Mapping[str, Any], command: str) -> str:
    done = "Undid" if command == UNDO else "Brought back"
    lines = [
        f"{done} {one['hunks']} {_changes(one['hunks'])} in `{one['path']}`." for one in result["undone"]
    ]
    lines += [f"Left `{one['path']}`, line {one['line']}: {one['reason']}." for one in result["conflicts"]]
    lines += [f"Not undoable: {one['what']}: {one['reason']}." for one in result["notUndoable"]]
    return "\n\n".join(lines) or f"There was nothing to {'undo' if command == UNDO else 'redo'}."


def _changes(number: int) -> str:
    return "change" if number == 1 else "changes"


async def _list_changes(session: Conversation, rest: str) -> None:
    wants_patch = rest == "patch"
    params = {"sessionId": session.id, "format": "patch" if wants_patch else "list"}
    result = await session.commands.execute(CHANGES, params)
    if wants_patch:
        patch = str(result["patch"])
        cut = f"\nThe patch is too long; `outrider changes {session.id} --patch` gives all of it."
        shown = code_block(patch[:_LONGEST_PATCH]) + (cut if len(patch) > _LONGEST_PATCH else "")
        session.updates.say(shown if patch else "Nothing is changed.")
        return
    lines: list[str] = []
    for change in cast("Sequence[Mapping[str, Any]]", result["changes"]):
        where = f"`{change['path']}`" + (f" → `{change['to']}`" if "to" in change else "")
        lines.append(f"- {change['operation']} {where} ({change.get('state') or change['changeId']})")
        for hunk in change["hunks"]:
            removed, added = (len(str(hunk[key]).splitlines()) for key in ("removed", "added"))
            lines.append(f"  - `{hunk['id']}` line {hunk['line']}, +{added} −{removed}, {hunk['state']}")
    session.updates.say("\n".join(lines) or "Nothing is changed.")


async def _review(session: Conversation, rest: str) -> None:
    """Go through what a turn changed, hunk by hunk: each is kept or undone."""
    turn_id = rest or await _last_changed(session)
    found = await session.app.sessions.made_by(turn_id) if turn_id else None
    if isinstance(found, Refused):
        raise CommandError(REQUEST_FAILED, found.message)
    if found is None or not found[1].changes:
        session.updates.say("There is nothing to review: no change of this session is in place.")
        return
    left_out = await _left_out(session, found[1])
    if left_out is None:
        session.updates.say("All stays as it is.")
        return
    # The last first, so that no line of one moves another.
    result = await session.commands.execute(UNDO, {"sessionId": session.id, "ids": list(reversed(left_out))})
    session.updates.say(_undone(result, UNDO))


async def _last_changed(session: Conversation) -> str | None:
    result = await session.commands.execute(CHANGES, {"sessionId": session.id})
    for change in reversed(cast("Sequence[Mapping[str, Any]]", result["changes"])):
        if change.get("turnId") and change["undoable"]:
            return str(change["turnId"])
    return None


async def _left_out(session: Conversation, made: UnderReview) -> list[str] | None:
    """The ids of the hunks that the user leaves out; None where all are kept, or the user stopped."""
    hunks = [
        (name, change, hunk)
        for change in made.changes
        for name, hunk in zip(change.ids, change.hunks, strict=True)
    ]
    left_out: list[str] = []
    for number, (name, change, hunk) in enumerate(hunks, 1):
        title = f"Change {number} of {len(hunks)}: {change.where(hunk)}"
        chosen = await session.questions.hunk(title, change, hunk, (KEEP_THIS, KEEP_REST, UNDO_THIS))
        if chosen == UNDO_THIS:
            left_out.append(name)
        elif chosen == KEEP_REST:
            break
        elif chosen is None:
            return None
    return left_out or None


async def _mode(session: Conversation, rest: str) -> None:
    await _choose(session, MODE, rest)


async def _model(session: Conversation, rest: str) -> None:
    await _choose(session, MODEL, rest)


async def _thinking(session: Conversation, rest: str) -> None:
    await _choose(session, THINKING, rest)


async def _choose(session: Conversation, option: str, rest: str) -> None:
    if rest:
        await session.choose(option, rest)
        session.tell_options()
    shown = next((one for one in session.options.shown() if one.id == option), None)
    if shown is None:
        session.updates.say("No model is set.")
        return
    values = [getattr(one, "value", "") for one in shown.options]
    others = ", ".join(f"`{one}`" for one in values if one != shown.current_value)
    session.updates.say(f"{shown.name}: `{shown.current_value}`. Others: {others}.")


async def _steer(session: Conversation, rest: str) -> None:
    if not rest:
        raise CommandError(INVALID_PARAMS, "Write the text for the running task behind /steer")
    await session.commands.execute(STEER, {"sessionId": session.id, "text": rest})
    session.updates.say("The model gets it with its next step.")


async def _status(session: Conversation, _rest: str) -> None:
    try:
        status = (await session.commands.execute(STATUS, {"sessionId": session.id}))["sessions"][0]
    except CommandError:
        session.updates.say("The session is at rest.")
        return
    usage = status["usage"]
    lines = [
        f"{status['state'].capitalize()}; {usage['inputTokens']} tokens in, {usage['outputTokens']} out."
    ]
    lines += [f"- waits for you: {one.get('summary') or one['title']}" for one in status["open"]]
    lines += [f"- next: {short(one['prompt'], 80)}" for one in status["queue"]]
    lines += [f"- for the next step: {short(one['text'], 80)}" for one in status["steering"]]
    session.updates.say("\n".join(lines))


async def _jobs(session: Conversation, rest: str) -> None:
    action, _, job = rest.partition(" ")
    params = {"action": "kill", "id": job.strip()} if action == "kill" else {"sessionId": session.id}
    result = await session.commands.execute(JOBS, params)
    lines = [
        f"- `{one['jobId']}` {one['status']}, {one['seconds']:.0f} s: `{one['command']}`"
        for one in result["jobs"]
    ]
    session.updates.say("\n".join(lines) or "No command runs in the background.")


async def _doctor(session: Conversation, _rest: str) -> None:
    result = await session.commands.execute(DOCTOR, {})
    session.updates.say(
        "\n".join(f"- {one['status']}: {one['name']}: {one['detail']}" for one in result["checks"])
    )


async def _permissions(session: Conversation, _rest: str) -> None:
    result = await session.commands.execute(PERMISSIONS, {})
    lines = [f"- {one['text']}" for one in result["rules"]]
    session.updates.say("\n".join([*lines, f"Your rules are in `{result['path']}`."]))


async def _continue(session: Conversation, _rest: str) -> str | None:
    """Go on with what was cut off, or where the latest turn stopped, with new limits."""
    if (turn_id := await session.resume()) is not None:
        return turn_id
    return str((await session.commands.execute(CONTINUE, {"sessionId": session.id}))["turnId"])


async def _retry(session: Conversation, _rest: str) -> str | None:
    """Ask the model again: at once where the turn waits to do that, else for the latest turn, which failed."""
    if not (messages := await _messages(session)):
        session.updates.say(_NO_MESSAGE)
        return None
    return str((await session.commands.execute(RETRY, {"turnId": list(messages)[-1]}))["turnId"])


async def _messages(session: Conversation) -> dict[str, str]:
    """What the user said of what the model still knows: turn → the message that began it."""
    await session.resume()
    found = session.app.sessions.get(session.id)
    turns = {} if isinstance(found, Refused) else found.turns
    return {name: one.prompt for name, one in turns.items() if one.started and not one.forgotten}


async def _one_of(session: Conversation, command: str, rest: str) -> tuple[str | None, str]:
    """The turn that a number means, and what stands behind it; without a number the messages are listed."""
    messages = await _messages(session)
    number, _, behind = rest.partition(" ")
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(messages):
        return list(messages)[int(number) - 1], behind.strip()
    lines = [f"{at}. {short(prompt, 80)}" for at, prompt in enumerate(messages.values(), 1)]
    hint = SLASH_COMMANDS[command].hint
    session.updates.say(
        "\n".join([*lines[-_MOST_MESSAGES:], f"\n`/{command} {hint}`"]) if lines else _NO_MESSAGE
    )
    return None, ""


async def _restore(session: Conversation, rest: str) -> None:
    """Go back to before a message: files, conversation or both."""
    turn_id, what = await _one_of(session, "restore", rest)
    if turn_id is None:
        return
    if what not in {"", "files", "conversation"}:
        raise CommandError(INVALID_PARAMS, f"“{what}” is neither files nor conversation")
    only = {"files": what != "conversation", "conversation": what != "files"}
    result = await session.commands.execute(RESTORE, {"sessionId": session.id, "turnId": turn_id, **only})
    said = [_undone(result["undo"], UNDO)] if "undo" in result else []
    if result["turns"]:
        said.append(
            f"The model has forgotten this message and all after it: “{short(result['prompt'], 80)}”."
        )
    session.updates.say("\n\n".join(said))


async def _resend(session: Conversation, rest: str) -> str | None:
    """Go back to before a message, files too, and send another one in its place."""
    turn_id, text = await _one_of(session, "resend", rest)
    if turn_id is None:
        return None
    if not text:
        raise CommandError(INVALID_PARAMS, "Write the new message behind the number")
    params = {"sessionId": session.id, "turnId": turn_id, "prompt": text}
    return str((await session.commands.execute(RESEND, params))["turnId"])


async def _rename(session: Conversation, rest: str) -> None:
    if not rest:
        raise CommandError(INVALID_PARAMS, "Write the new name behind /rename")
    named = await session.commands.execute(RENAME, {"sessionId": session.id, "title": rest})
    session.updates.say(f"The session is named “{named['title']}”.")


SLASH_COMMANDS: Final[Mapping[str, SlashCommand]] = {
    "help": SlashCommand("what can be typed here", _help),
    "plan": SlashCommand("only read, and answer with a plan", _task, "task", "plan"),
    "explore": SlashCommand("only read, and answer", _task, "question", "explore"),
    "review": SlashCommand("go through the last changes one by one, and undo some", _review),
    "undo": SlashCommand("undo the last turn, or what is named", _undo, "[step | turn | session | id]"),
    "redo": SlashCommand("bring back what was undone", _redo, "[id]"),
    "changes": SlashCommand("list what this session changed", _list_changes, "[patch]"),
    "continue": SlashCommand("go on where the last task stopped, with a new budget", _continue),
    "retry": SlashCommand("ask the model again after a failure", _retry),
    "restore": SlashCommand("go back to before a message", _restore, "[number] [files | conversation]"),
    "resend": SlashCommand(
        "replace an earlier message, and undo what came of it", _resend, "[number] [text]"
    ),
    "rename": SlashCommand("name this session", _rename, "name"),
    "steer": SlashCommand("tell the running task something", _steer, "text"),
    "mode": SlashCommand("show or choose the mode", _mode, "[mode]"),
    "model": SlashCommand("show or choose the model", _model, "[model]"),
    "thinking": SlashCommand("show or choose how much the model thinks", _thinking, "[level]"),
    "status": SlashCommand("what runs and what waits", _status),
    "jobs": SlashCommand("list background commands, or end one", _jobs, "[kill id]"),
    "permissions": SlashCommand("list your rules", _permissions),
    "doctor": SlashCommand("check the set-up", _doctor),
}
