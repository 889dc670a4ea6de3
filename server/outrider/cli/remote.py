"""The commands about what runs already, in this folder and in whatever process: `status`, `steer`, `cancel`, `wait`, `jobs` and others.

Each asks a server of its own, which hands over what is about a session of another process. The result is that of the wire.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

import outrider_protocol as names
from outrider.cli.exits import ExitCode
from outrider.cli.export import read_given
from outrider.cli.look import RefusedError, server_of
from outrider.cli.problems import Problems
from outrider.cli.run import exit_code
from outrider.cli.sessions import NO_SESSIONS
from outrider.cli.terminal import one_line, print_json, visible
from outrider.lsp.client import Client
from outrider.store.exported import ExportProblem

Object = dict[str, Any]

NOTHING_RUNS: Final = (
    "no task runs in this folder; `outrider sessions` lists its sessions, -C names another folder"
)
_MOST_SESSIONS: Final = 20
"""Sessions, the latest, whose jobs are looked for: one at rest may have some."""
_STATES: Final = {"parked": "waits for you", "running": "running", "idle": "at rest"}


class _NothingError(Exception):
    """There is nothing that the command could be about; the text says it to the user."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


class Asked:
    """A folder, whose sessions a command asks about, and where its result goes."""

    def __init__(self, workspace: Path, options: Object, console: Console, *, as_json: bool) -> None:
        """Take note of them.

        Args:
            workspace: The folder.
            options: The settings of the server.
            console: Where the result is shown.
            as_json: Whether it is printed as JSON instead.
        """
        self._workspace = workspace
        self._options = options | {"events": False}
        self._console = console
        self._as_json = as_json
        self._problems = Problems()

    async def status(self, session_id: str | None) -> ExitCode:
        """Say what the sessions are doing that run or wait, or one that is named."""
        titles: dict[str, str] = {}

        async def ask(client: Client) -> Object:
            if session_id is not None:
                return {"sessions": [await _status(client, session_id)]}
            rows = [one for one in await _sessions(client) if one["state"] in {"running", "parked"}]
            titles.update((str(one["sessionId"]), str(one["title"])) for one in rows)
            found = [
                await _status(client, one["sessionId"], elsewhere=bool(one.get("elsewhere"))) for one in rows
            ]
            return {"sessions": found}

        return await self._show(ask, lambda done: self._show_status(done, titles))

    async def steer(self, session_id: str | None, text: str | None, withdrawn: str | None) -> ExitCode:
        """Add a text for the running turn, or withdraw one that the model has not got yet."""

        async def ask(client: Client) -> Object:
            given = {"text": text} if withdrawn is None else {"remove": withdrawn}
            return await client.command(
                names.STEER, {"sessionId": await _meant(client, session_id, {"running"}), **given}
            )

        return await self._show(
            ask,
            lambda done: self._say(f"{'added' if withdrawn is None else 'withdrawn'}: {done['pendingId']}"),
        )

    async def cancel(self, session_id: str | None) -> ExitCode:
        """End the turn of a session that runs or waits, and everything that it started."""

        async def ask(client: Client) -> Object:
            return await client.command(
                names.CANCEL, {"turnId": await _turn(client, session_id)}, seconds=None
            )

        return await self._show(
            ask, lambda done: self._say(f"{done['turnId']}: {done['outcome'].replace('_', ' ')}")
        )

    async def wait(self, session_id: str | None, seconds: float | None) -> ExitCode:
        """Wait for the end of a turn, or until it needs an answer; gives the exit code that `run` gives."""

        async def ask(client: Client) -> Object:
            limit = {} if seconds is None else {"timeout": seconds}
            return await client.command(
                names.WAIT, {"turnId": await _turn(client, session_id), **limit}, seconds=None
            )

        def show(done: Object) -> None:
            outcome = str(done.get("outcome", "it still runs")).replace("_", " ")
            self._say(
                f"{done['turnId']}: {outcome}{': ' if done.get('summary') else ''}{done.get('summary', '')}"
            )

        def code(done: Object) -> ExitCode:
            return exit_code(str(done["outcome"])) if "outcome" in done else ExitCode.COMPLETED

        return await self._show(ask, show, code, what="waiting for the task")

    async def jobs(self, action: str, job_id: str | None, session_id: str | None) -> ExitCode:
        """List the background jobs of a folder's sessions, or read one, wait for it or end it."""

        async def ask(client: Client) -> Object:
            rows = (
                [session_id]
                if session_id
                else [one["sessionId"] for one in await _sessions(client)][:_MOST_SESSIONS]
            )
            found: list[Object] = []
            for one in rows:
                found += (await client.command(names.JOBS, {"sessionId": one}))["jobs"]
            if job_id is None:
                return {"jobs": found}
            of = next((one["sessionId"] for one in found if one["jobId"] == job_id), None)
            if of is None:
                raise _NothingError(f"there is no job {job_id!r}; `outrider jobs` lists them", ExitCode.USAGE)
            # The session says in which process the job is.
            return await client.command(
                names.JOBS, {"action": action, "id": job_id, "sessionId": of}, seconds=None
            )

        def show(done: Object) -> None:
            rows = [
                (one["jobId"], one["status"], f"{one['seconds']:.0f} s", one["sessionId"], one["command"])
                for one in done["jobs"]
            ]
            self._table(rows, "no background job runs or has just ended")
            if output := done.get("output"):
                self._say(output)

        return await self._show(ask, show)

    async def tools(self, mode: str) -> ExitCode:
        """List the tools that the model has."""

        def show(done: Object) -> None:
            rows = [
                (one["name"], one["effect"], one["description"].partition("\n")[0].partition(". ")[0])
                for one in done["tools"]
            ]
            self._table(rows, "there are no tools")

        return await self._show(lambda client: client.command(names.TOOLS, {"mode": mode}), show)

    async def servers(self, action: str, name: str | None) -> ExitCode:
        """List the language servers and MCP servers, or restart one, log in to it or out of it."""

        def show(done: Object) -> None:
            rows = [
                (one["name"], one["kind"], one["state"], one.get("detail", "")) for one in done["servers"]
            ]
            self._table(rows, "there are no servers")
            for problem in done.get("problems", ()):
                self._problems.warning(problem)

        given = {"action": action} | ({} if name is None else {"name": name})
        return await self._show(lambda client: client.command(names.SERVERS, given, seconds=None), show)

    async def commands(self) -> ExitCode:
        """List the custom commands and skills that a task can call."""

        def show(done: Object) -> None:
            rows = [(f"/{one['name']}", one["source"], one["description"]) for one in done["commands"]]
            self._table(rows, "there are no custom commands")
            if withheld := done.get("withheld"):
                self._problems.note(
                    f"{withheld} more are in folders that are not trusted; `outrider trust add` trusts one"
                )

        return await self._show(lambda client: client.command(names.CUSTOM_COMMANDS), show)

    async def rename(self, session_id: str, title: str) -> ExitCode:
        """Name a session."""
        given = {"sessionId": session_id, "title": title}
        return await self._show(
            lambda client: client.command(names.RENAME, given),
            lambda done: self._say(f"{done['sessionId']}: {done['title']}"),
        )

    async def delete(self, session_id: str) -> ExitCode:
        """Remove a session for good."""
        given = {"sessionId": session_id}
        return await self._show(
            lambda client: client.command(names.DELETE, given, seconds=None),
            lambda done: self._say(f"deleted: {done['sessionId']}"),
        )

    async def take_in(self, file: Path) -> ExitCode:
        """Take an exported session into the folder."""
        export = await asyncio.to_thread(read_given, file)
        if isinstance(export, ExportProblem):
            self._problems.error(export.message)
            return ExitCode.USAGE
        given = {"export": export.to_wire()}
        return await self._show(
            lambda client: client.command(names.IMPORT, given, seconds=None),
            lambda done: self._say(f"{done['sessionId']}: {done['title']}"),
            what="importing",
        )

    # --- what they share -----------------------------------------------------------------------------------------

    async def _show(
        self,
        ask: Callable[[Client], Any],
        show: Callable[[Object], None],
        code: Callable[[Object], ExitCode] = lambda _: ExitCode.COMPLETED,
        what: str = "asking the server",
    ) -> ExitCode:
        try:
            async with server_of(self._workspace, self._options, self._problems, what=what) as client:
                done = await ask(client)
        except RefusedError as refused:
            return refused.code
        except _NothingError as nothing:
            self._problems.error(str(nothing))
            return nothing.code
        if self._as_json:
            print_json(done, self._console.file)
        else:
            show(done)
        return code(done)

    def _say(self, text: str) -> None:
        self._console.print(Text(visible(text)), soft_wrap=True)

    def _table(self, rows: list[tuple[str, ...]], nothing: str) -> None:
        if not rows:
            self._problems.note(nothing)
            return
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for _ in rows[0][:-1]:
            table.add_column(no_wrap=True)
        table.add_column(ratio=1, overflow="fold")
        for row in rows:
            table.add_row(*(Text(one_line(str(cell))) for cell in row))
        self._console.print(table)

    def _show_status(self, done: Object, titles: Mapping[str, str]) -> None:
        if not done["sessions"]:
            self._problems.note(NOTHING_RUNS)
        for one in cast("list[Object]", done["sessions"]):
            where = " in another process" if one.get("elsewhere") else ""
            phase = f" ({one['phase']})" if "phase" in one else ""
            title = titles.get(one["sessionId"])
            called = f": {one_line(title)}" if title else ""
            self._say(f"{one['sessionId']}  {_STATES[one['state']]}{where}{phase}{called}")
            for item in one["open"]:
                self._say(f"  asks: {one_line(item.get('summary') or item['title'])}")
            for step in one["plan"]:
                self._say(f"  {step['status']}: {one_line(step['text'])}")
            for task in one["queue"]:
                self._say(f"  next: {one_line(task['prompt'])}")
            for text in one["steering"]:
                self._say(f"  not yet read, {text['pendingId']}: {one_line(text['text'])}")


async def _sessions(client: Client) -> list[Object]:
    return cast("list[Object]", (await client.command(names.SESSIONS))["sessions"])


async def _status(client: Client, session_id: str, *, elsewhere: bool = False) -> Mapping[str, Any]:
    """What a session is doing, by the word of the process that runs it."""
    (status,) = (await client.command(names.STATUS, {"sessionId": session_id}))["sessions"]
    return {**status, "elsewhere": True} if elsewhere else status


async def _meant(client: Client, session_id: str | None, states: set[str]) -> str:
    """The session that is named, or the only one in such a state; of several states the first that there is counts."""
    if session_id is not None:
        return session_id
    rows = await _sessions(client)
    if not rows:
        raise _NothingError(NO_SESSIONS)
    for state in ("running", "parked"):
        found = [one for one in rows if one["state"] == state and state in states]
        if len(found) > 1:
            listed = ", ".join(f"{one['sessionId']} ({one_line(one['title'])})" for one in found)
            raise _NothingError(f"which of these sessions is meant? {listed}", ExitCode.USAGE)
        if found:
            return str(found[0]["sessionId"])
    raise _NothingError(NOTHING_RUNS)


async def _turn(client: Client, session_id: str | None) -> str:
    """The turn of that session."""
    meant = await _meant(client, session_id, {"running", "parked"})
    if turn_id := (await _status(client, meant)).get("turnId"):
        return str(turn_id)
    raise _NothingError(f"no task runs in session {meant}")
