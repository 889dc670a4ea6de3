"""The commands that look at a workspace by a server: `events`, `undo`, `redo`, `doctor`."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, TextIO, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

import outrider_protocol as names
from outrider.cli.answers import Answerer, OpenItems, Rules
from outrider.cli.exits import ExitCode
from outrider.cli.problems import Problems
from outrider.cli.progress import in_progress
from outrider.cli.render import Renderer, counted
from outrider.cli.run import exit_of_refusal, explained, with_the_way_to_a_model
from outrider.cli.sessions import NO_SESSIONS
from outrider.cli.terminal import Keyboard, one_line, print_json, visible
from outrider.lsp.client import (
    Client,
    ClientError,
    CommandError,
    OnEvent,
    OnQuestion,
    ignore,
    leave_unanswered,
)
from outrider_protocol import logged

Object = dict[str, Any]

PROBING_SECONDS: Final = 300.0
"""How long the checks may take, where models are asked."""
_CHECK_STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


class RefusedError(Exception):
    """The server said no, and the user was told."""

    def __init__(self, code: ExitCode) -> None:
        super().__init__()
        self.code = code


@asynccontextmanager
async def server_of(
    workspace: Path,
    options: Object,
    problems: Problems,
    on_question: OnQuestion = leave_unanswered,
    on_event: OnEvent = ignore,
    *,
    what: str | None = None,
) -> AsyncGenerator[Client, None]:
    """A server of a workspace, for a few commands that tell of its sessions.

    Args:
        workspace: Its folder.
        options: The settings of the server.
        problems: Shows what goes wrong.
        on_question: Answers questions.
        on_event: Is told of events.
        what: What is waited for, where nothing is shown until the end: a bar says so.

    Raises:
        RefusedError: It said no, or failed; `problems` showed why.
    """
    try:
        async with (
            nullcontext() if what is None else in_progress(what, problems),
            Client.start(
                workspace, options, on_question=on_question, on_event=on_event, on_message=problems.message
            ) as client,
        ):
            yield client
    except CommandError as problem:
        problems.error(explained(problem), told=str(problem))
        raise RefusedError(exit_of_refusal(problem)) from problem
    except ClientError as problem:
        problems.error(str(problem))
        raise RefusedError(ExitCode.FAILED) from problem
    finally:
        problems.show_held()


async def latest_session(client: Client) -> str | None:
    """The id of the workspace's latest session, None where it has none."""
    listed = cast("list[Object]", (await client.command(names.SESSIONS))["sessions"])
    return str(listed[0]["sessionId"]) if listed else None


async def events(
    workspace: Path,
    options: Object,
    session_id: str | None,
    first: int,
    console: Console,
    lines: TextIO | None,
) -> ExitCode:
    """Show a session's log from event `first` on: rendered, or as JSON lines to `lines`; without an id the latest."""
    renderer = Renderer(console)
    try:
        async with server_of(workspace, options | {"events": False}, renderer.problems) as client:
            session_id = session_id or await latest_session(client)
            if session_id is None:
                renderer.problems.note(NO_SESSIONS)
                return ExitCode.COMPLETED
            more = True
            while more:
                page = await client.command(names.EVENTS, {"sessionId": session_id, "fromSeq": first})
                for event in cast("list[logged.WireEvent]", page["events"]):
                    if lines is None:
                        renderer.event(event)
                    else:
                        lines.write(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n")
                more, first = bool(page["more"]), int(page["nextSeq"])
    except RefusedError as refused:
        return refused.code
    return ExitCode.COMPLETED


async def undo(
    workspace: Path,
    options: Object,
    params: Object,
    console: Console,
    keyboard: Keyboard | None,
    *,
    redo: bool,
    lines: TextIO | None = None,
) -> ExitCode:
    """Take changes of a session back, or with `redo` bring them back; gives 1 if something was not.

    Args:
        workspace: The folder.
        options: The settings of the server.
        params: What to take back, as the command of the protocol has it.
        console: Where it is said what was done.
        keyboard: Where conflicts are asked about.
        redo: Whether it is an undo that is taken back.
        lines: Where the result goes as JSON instead.
    """
    renderer = Renderer(console)
    answerer = Answerer(renderer, OpenItems(), Rules(), keyboard, _nothing)
    made: list[logged.WireEvent] = []
    try:
        async with server_of(workspace, options, renderer.problems, answerer, made.append) as client:
            asked = params if redo else {"latest": True, **params}
            try:
                done = await client.command(names.REDO if redo else names.UNDO, asked, seconds=None)
            except CommandError as problem:
                if problem.reason != "not_latest":
                    raise
                foresees = bool(params.get("dryRun"))  # which changes nothing, so there is nothing to ask
                if not await _is_meant(problem, renderer, keyboard, foresees=foresees):
                    return ExitCode.FAILED
                named = {
                    "sessionId": problem.data["sessionId"],
                    "scope": "turn",
                    "id": problem.data["turnId"],
                    "dryRun": foresees,
                }
                done = await client.command(names.UNDO, named, seconds=None)
    except RefusedError as refused:
        return refused.code
    if lines is not None:
        print_json(done, lines)
        stayed = bool(done["conflicts"] or done["notUndoable"])
    else:
        if params.get("dryRun"):
            console.print("nothing is changed; this is what would be:")
        stayed = show_undone(done, made, console, redo=redo)
    return ExitCode.COMPLETED if done["undone"] and not stayed else ExitCode.FAILED


def show_undone(done: Object, made: Sequence[logged.WireEvent], console: Console, *, redo: bool) -> bool:
    """Show the result of an undo or a redo; gives whether something stayed as it was.

    Args:
        done: The result.
        made: The events of it.
        console: Where it is shown.
        redo: Whether it is an undo that was taken back.
    """
    cannot = "redone" if redo else "undone"
    for row in cast("list[Object]", done["undone"]):
        console.print(Text(_done(row, made, redo=redo), style="green"))
    for row in cast("list[Object]", done["conflicts"]):
        place = f"{one_line(row['path'])}:{row['line']}"
        console.print(Text(f"left unchanged: {place}: {visible(row['reason'])}", style="yellow"))
    for row in cast("list[Object]", done["notUndoable"]):
        console.print(
            Text(f"cannot be {cannot}: {one_line(row['what'])}: {visible(row['reason'])}", style="yellow")
        )
    stayed = bool(done["conflicts"] or done["notUndoable"])
    if not done["undone"] and not stayed:
        console.print(f"there was nothing to {'redo' if redo else 'undo'}")
    return stayed


def _done(row: Object, events: Sequence[logged.WireEvent], *, redo: bool) -> str:
    """What was done to a file, by the events of it."""
    path, hunks = str(row["path"]), counted(row["hunks"], "hunk")
    edits = [one["data"] for one in events if one["type"] == "edit.applied" or one["type"] == "edit.merged"]
    made = [one for one in edits if "undoes" in one and path in {one["path"], one.get("to")}]
    name = one_line(path)
    for one in made:
        if one["operation"] == "rename" and "to" in one:
            name = f"{one_line(one['path'])} → {one_line(one['to'])}"
    if redo and made and made[-1]["operation"] == "delete":
        return f"deleted again: {name}"
    return f"{'redone' if redo else 'undone'}: {name} ({hunks})"


async def _is_meant(
    problem: CommandError, renderer: Renderer, keyboard: Keyboard | None, *, foresees: bool
) -> bool:
    """Whether a turn is to be taken back that is not the latest one. Where nobody can be asked it is said, and done."""
    prompt = one_line(str(problem.data["prompt"]))
    if keyboard is None or foresees:
        does = "would be" if foresees else "is"
        renderer.problems.warning(
            f"the latest turn has nothing to undo; this turn {does} undone instead: {prompt}"
        )
        return True

    def draw(_again: bool) -> None:
        question = f"The latest turn has nothing to undo. Undo this one instead? {prompt}"
        renderer.console.print(Text(question))
        renderer.console.print("  y for yes, Enter for no: ", end="")

    return ((await keyboard.answer(draw)) or "").strip().lower() in {"y", "yes"}


async def _nothing(params: Object) -> None:
    pass


async def doctor(
    workspace: Path, options: Object, console: Console, *, probe: bool = False, as_json: bool = False
) -> ExitCode:
    """Show the checks of the server, with the model's answer to a probe where that is wanted; gives 1 if one failed."""
    try:
        what = "asking the models" if probe else "looking at the set-up"
        async with server_of(workspace, options | {"events": False}, Problems(), what=what) as client:
            checked = cast(
                "list[Object]",
                (
                    await client.command(
                        names.DOCTOR, {"probe": True} if probe else {}, seconds=PROBING_SECONDS
                    )
                )["checks"],
            )
    except RefusedError as refused:
        return refused.code
    # Here the editor is this program itself, which says nothing about the user's own.
    checks = [check for check in checked if check["name"] != "editor"]
    if as_json:
        print_json({"checks": checks}, console.file)
    else:
        console.print(_checks_table(checks))
    return ExitCode.FAILED if any(check["status"] == "fail" for check in checks) else ExitCode.COMPLETED


def _checks_table(checks: list[Object]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for check in checks:
        table.add_row(
            Text(check["status"], style=_CHECK_STYLES.get(check["status"], "")),
            Text(visible(check["name"]), style="bold"),
            Text(visible(with_the_way_to_a_model(check["detail"]))),
        )
    return table
