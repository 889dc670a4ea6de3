"""A command line looked up as the server does it, git's history with it."""

import asyncio
import os
from functools import partial

from outrider.permissions.decide import Access, decide
from outrider.permissions.guarded import Guarded
from outrider.ports.clock import SystemClock
from outrider.processes import Supervisor
from outrider.tools.command_line import look_at, look_with_past
from outrider.tools.git.history import GitHistory
from outrider.workspace.paths import folders_of


async def looked_at(command, folder, cwd, history):
    """The command line, by what `history` knows."""
    guarded = Guarded([folder])
    guarded.refresh_now()
    path = os.environ["PATH"]
    folders = folders_of([("work", folder.as_uri())])
    return await look_with_past(
        partial(look_at, command, folders, cwd or folder, guarded.why_shut, path), history, path
    )


def looked(folder, *commands, cwd=None):
    """Several command lines, one after the other, in one server."""

    async def all_of_them():
        clock = SystemClock()
        supervisor = Supervisor(clock)
        try:
            history = GitHistory(supervisor, clock)
            return [await looked_at(command, folder, cwd, history) for command in commands]
        finally:
            await supervisor.close()

    return asyncio.run(all_of_them())


def verdicts(folder, *commands, mode="auto-edit", cwd=None):
    """What is decided about them without a rule."""
    return [
        decide(Access("execute", command=one), mode, frozenset()).verdict
        for one in looked(folder, *commands, cwd=cwd)
    ]
