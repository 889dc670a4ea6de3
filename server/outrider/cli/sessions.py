"""`outrider sessions`: the sessions of a folder, without a server where the log alone says how they stand."""

from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import platformdirs
from rich.console import Console
from rich.table import Table
from rich.text import Text

import outrider_protocol as names
from outrider.cli.exits import ExitCode
from outrider.cli.problems import Problems
from outrider.cli.terminal import print_json, visible
from outrider.ports.toml import read_user_file
from outrider.store.locks import LOCKS, marked_failed
from outrider.store.reader import list_finished

Object = dict[str, Any]

NO_SESSIONS: Final = "this folder has no sessions yet"
NO_MATCH: Final = "no session of this folder has all these words in one text"
_GAP: Final = 2
"""Columns of a terminal between two columns of a table."""
_TITLE_WIDTH: Final = 16
"""What a title needs to be worth its place."""


async def sessions(
    workspace: Path, options: Object, console: Console, words: str | None = None, *, as_json: bool = False
) -> ExitCode:
    """List the sessions of a workspace: from the log alone where that is enough, else a server tells how they stand.

    Args:
        workspace: Its folder.
        options: The settings of the server.
        console: Where they are listed.
        words: Only those in which one text has all these words.
        as_json: Whether the result of `outrider.sessions` is printed instead.
    """
    listed = None if as_json or words is not None else _finished(workspace, options)
    if listed is None:
        from outrider.cli.look import RefusedError, server_of

        try:
            async with server_of(
                workspace, options | {"events": False}, Problems(), what="reading the log"
            ) as client:
                params: Object = {} if words is None else {"query": words}
                listed = cast("list[Object]", (await client.command(names.SESSIONS, params))["sessions"])
        except RefusedError as refused:
            return refused.code
    if as_json:
        print_json({"sessions": listed}, console.file)
        return ExitCode.COMPLETED
    if not listed:
        Problems().note(NO_SESSIONS if words is None else NO_MATCH)
        return ExitCode.COMPLETED
    console.print(sessions_table(listed, console.width), crop=False)
    return ExitCode.COMPLETED


def _finished(workspace: Path, options: Object) -> list[Object] | None:
    """The sessions of a workspace as the server lists them; None where it has more to say than the log."""
    file = platformdirs.user_config_path("outrider") / "settings.toml"
    given, problem = read_user_file(file)
    own = options.get("stateDir", given.get("stateDir"))
    if problem or not isinstance(own, str | None):
        return None  # a server says what is wrong
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


def sessions_table(listed: list[Object], width: int, *, numbered: bool = False) -> Table:
    """The sessions as a table of `width` columns: what is less needed makes room, an id is never cut.

    Args:
        listed: What the server says of them; below a title stands where it has the words that were searched.
        width: The columns of the terminal.
        numbered: Whether they have numbers in place of their ids.
    """
    first = (
        {"": [str(number) for number, _ in enumerate(listed, 1)]}
        if numbered
        else {"session": [str(row["sessionId"]) for row in listed]}
    )
    columns = {
        **first,
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
    titles = [_titled(row) for row in listed]
    if with_title := columns_width + _TITLE_WIDTH <= width:
        table.add_column("title", ratio=1, overflow="fold")
    for *cells, title in zip(*columns.values(), titles, strict=True):
        table.add_row(*map(Text, cells), *([title] if with_title else []))
    return table


def _titled(row: Object) -> Text:
    """The title, and where the session has the words that were searched, if that is another place."""
    title = visible(row["title"]).replace("\n", " ")
    found = visible(cast("Object", row.get("match", {})).get("text", "")).replace("\n", " ")
    return Text(title).append(f"\n{found}" if found not in title else "", "dim")


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
