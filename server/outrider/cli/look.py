"""The commands that look at a workspace's sessions: `sessions`, `events`, `undo`, `redo`, `doctor`."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TextIO, cast

import platformdirs
from rich.console import Console
from rich.table import Table
from rich.text import Text

import outrider_protocol as names
from outrider.cli.answers import Answerer, OpenItems, Rules
from outrider.cli.problems import Problems
from outrider.cli.render import Renderer, counted
from outrider.cli.run import ExitCode, exit_of_refusal, explained, with_the_way_to_a_model
from outrider.cli.terminal import Keyboard, one_line, visible
from outrider.lsp.client import (
    Client,
    ClientError,
    CommandError,
    OnEvent,
    OnQuestion,
    ignore,
    leave_unanswered,
)
from outrider.settings import from_layers, read_user_file
from outrider.store.locks import LOCKS, marked_failed
from outrider.store.reader import list_finished
from outrider_protocol import logged

Object = dict[str, Any]

NO_SESSIONS: Final = "this folder has no sessions yet"
_GAP: Final = 2
"""Columns of a terminal between two columns of a table."""
_TITLE_WIDTH: Final = 16
"""What a title needs to be worth its place."""
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
) -> AsyncGenerator[Client, None]:
    """A server of a workspace, for a few commands that tell of its sessions.

    Raises:
        RefusedError: It said no, or failed; `problems` showed why.
    """
    try:
        async with Client.start(
            workspace, options, on_question=on_question, on_event=on_event, on_message=problems.message
        ) as client:
            yield client
    except CommandError as problem:
        problems.error(explained(problem))
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


async def sessions(workspace: Path, options: Object, console: Console, *, as_json: bool = False) -> ExitCode:
    """List the sessions of a workspace: from the log alone where that is enough, else a server tells how they stand.

    Args:
        workspace: Its folder.
        options: The settings of the server.
        console: Where they are listed.
        as_json: Whether the result of `outrider.sessions` is printed instead.
    """
    listed = None if as_json else _finished(workspace, options)
    if listed is None:
        try:
            async with server_of(workspace, options | {"events": False}, Problems()) as client:
                listed = cast("list[Object]", (await client.command(names.SESSIONS))["sessions"])
        except RefusedError as refused:
            return refused.code
    if as_json:
        _print_json({"sessions": listed}, console)
        return ExitCode.COMPLETED
    if not listed:
        Problems().note(NO_SESSIONS)
        return ExitCode.COMPLETED
    console.print(sessions_table(listed, console.width), crop=False)
    return ExitCode.COMPLETED


def _finished(workspace: Path, options: Object) -> list[Object] | None:
    """The sessions of a workspace as the server lists them; None where it has more to say than the log."""
    file = platformdirs.user_config_path("outrider") / "settings.toml"
    given, problem = read_user_file(file)
    layered = from_layers((str(file), given), ("initializationOptions", options))
    if problem or layered.messages:
        return None
    own = layered.settings.state_dir
    state_dir = Path(own).expanduser() if own else platformdirs.user_state_path("outrider")
    if marked_failed(state_dir / LOCKS):
        return None
    rows = list_finished(state_dir, workspace.as_uri())
    if rows is None:
        return None
    return [
        {
            "sessionId": row.session_id,
            "title": row.title,
            "state": "closed",
            "outcome": row.last_turn_state or "interrupted",
            "lastAt": row.last_at,
            "turns": row.turns,
        }
        for row in rows
    ]


def sessions_table(listed: list[Object], width: int) -> Table:
    """The sessions as a table of `width` columns: what is less needed makes room, an id is never cut."""
    columns = {
        "session": [str(row["sessionId"]) for row in listed],
        "state": [_state(row) for row in listed],
        "last used": [_local(str(row["lastAt"])) for row in listed],
        "turns": [str(row["turns"]) for row in listed],
    }

    def needed() -> int:
        return sum(max(map(len, (name, *texts))) + _GAP for name, texts in columns.items())

    for name in ("turns", "last used"):
        if needed() + _TITLE_WIDTH > width:
            del columns[name]
    columns_width = needed()
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), width=max(width, columns_width + _GAP))
    for name in columns:
        table.add_column(name, no_wrap=True)
    titles = [visible(row["title"]).replace("\n", " ") for row in listed]
    if with_title := columns_width + _TITLE_WIDTH <= width:
        table.add_column("title", ratio=1, overflow="fold")
    for *cells, title in zip(*columns.values(), titles, strict=True):
        table.add_row(*map(Text, cells), *([Text(title)] if with_title else []))
    return table


def _local(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def _state(row: Object) -> str:
    match row["state"]:
        case "parked":
            return "waits for you"
        case "running":
            return "running"
        case state:
            absent = "interrupted" if state == "closed" else state
            return str(row.get("outcome", absent)).replace("_", " ")


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
) -> ExitCode:
    """Take changes of a session back, or with `redo` bring them back; gives 1 if something was not.

    Args:
        workspace: The folder.
        options: The settings of the server.
        params: What to take back, as the command of the protocol has it.
        console: Where it is said what was done.
        keyboard: Where conflicts are asked about.
        redo: Whether it is an undo that is taken back.
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
                if not await _is_meant(problem, renderer, keyboard):
                    return ExitCode.FAILED
                named = {
                    "sessionId": problem.data["sessionId"],
                    "scope": "turn",
                    "id": problem.data["turnId"],
                }
                done = await client.command(names.UNDO, named, seconds=None)
    except RefusedError as refused:
        return refused.code
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


async def _is_meant(problem: CommandError, renderer: Renderer, keyboard: Keyboard | None) -> bool:
    """Whether a turn is to be taken back that is not the latest one. Where nobody can be asked it is said, and done."""
    prompt = one_line(str(problem.data["prompt"]))
    if keyboard is None:
        renderer.problems.warning(
            f"the latest turn has nothing to undo; this turn is undone instead: {prompt}"
        )
        return True

    def draw(_again: bool) -> None:
        question = f"The latest turn has nothing to undo. Undo this one instead? {prompt}"
        renderer.console.print(Text(question))
        renderer.console.print("  y for yes, Enter for no: ", end="")

    return ((await keyboard.answer(draw)) or "").strip().lower() in {"y", "yes"}


async def _nothing(params: Object) -> None:
    pass


def _print_json(result: Object, console: Console) -> None:
    console.file.write(json.dumps(result, ensure_ascii=False) + "\n")


async def doctor(
    workspace: Path, options: Object, console: Console, *, probe: bool = False, as_json: bool = False
) -> ExitCode:
    """Show the checks of the server, with the model's answer to a probe where that is wanted; gives 1 if one failed."""
    try:
        async with server_of(workspace, options | {"events": False}, Problems()) as client:
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
        _print_json({"checks": checks}, console)
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
