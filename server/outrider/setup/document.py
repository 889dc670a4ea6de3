"""The set-up document of a workspace: each time it is saved, the step is done that it asks for.

Only a document that the user had opened by command counts: one that a repository brought names no provider to ask.
"""

import asyncio
import logging
from pathlib import Path
from typing import Final, Literal

from outrider.agent.interaction import shown_documents
from outrider.agent.services import Services
from outrider.agent.task_document.writing import Writing
from outrider.ports.clock import Clock
from outrider.setup import paper
from outrider.setup.paper import Unclear
from outrider.setup.steps import Setup
from outrider.workspace.documents.documents import uri_key
from outrider_protocol.commands import SetupParams

_MOST_SAID: Final = 500
_log = logging.getLogger(__name__)


class SetupDocument:
    """The one of a house."""

    def __init__(self, services: Services, setup: Setup, clock: Clock) -> None:
        """Prepare.

        Args:
            services: The services of the server.
            setup: Does the steps.
            clock: Counts how long the editor may take to put a text in.
        """
        self._services = services
        self._setup = setup
        self._writing = Writing(services.workspace.documents, services.runtime.editor, clock, "set-up")
        self._path: Path | None = None
        self._done: SetupParams | None = None
        """The step that was done last, if that was no failure: some editors save by themselves what was put in."""
        self._doing: asyncio.Task[None] | None = None
        self._is_saved_again = False
        """Whether it was saved while a step was done."""

    async def opened(self) -> Path | str:
        """Write the document anew; a text says why it cannot be."""
        found = await self._setup.do(SetupParams(action="list"))
        text = paper.written(found.providers or (), self._setup.around.user_settings)
        path = await shown_documents.setup_paper(self._services.workspace.folders, text)
        if isinstance(path, Path):
            self._path, self._done = path, None
            self._writing.opened_anew()
            if self._services.workspace.documents.get(path.as_uri()) is not None:
                await self._writing.put(path, lambda _: text)
        return path

    def saved(self, uri: str) -> None:
        """Do what the document asks for, if that is the one that was saved."""
        if self._path is None or uri_key(uri) != uri_key(self._path.as_uri()):
            return
        if self._doing is not None and not self._doing.done():
            self._is_saved_again = True
            return
        self._doing = asyncio.get_running_loop().create_task(self._steps(self._path), name="set up a model")
        self._doing.add_done_callback(_told)

    async def close(self) -> None:
        """Do nothing more."""
        if self._doing is not None:
            self._doing.cancel()
            await asyncio.gather(self._doing, return_exceptions=True)

    async def _steps(self, path: Path) -> None:
        """Do what the document asks for, until it was not saved meanwhile."""
        self._is_saved_again = True
        while self._is_saved_again:
            self._is_saved_again = False
            document = self._services.workspace.documents.get(path.as_uri())
            step = None if document is None else paper.read(document.text)
            if isinstance(step, Unclear):
                await self._failed(path, step.message)
            elif step is not None and step != self._done:
                self._done = step if await self._step(path, step) else None

    async def _step(self, path: Path, step: SetupParams) -> bool:
        """List the models, or try one and save it; whether that succeeded."""
        inform = self._services.runtime.inform
        if step.action == "models":
            found = await self._setup.do(step)
            if found.problem is not None or not found.models:
                return await self._failed(path, found.problem or "no models are listed")
            await self._came(path, paper.listed(found.models))
            where = f"{path.parent.name}/{path.name}"
            inform(f"the models of {step.provider} are listed in {where}: fill in one and save.")
            return True
        tried = await self._setup.do(step)
        trial = tried.trial
        if trial is None or not trial.ok:
            return await self._failed(path, trial.detail if trial else tried.problem or "")
        saved = await self._setup.do(step.model_copy(update={"action": "save"}))
        if saved.problem is not None:
            return await self._failed(path, saved.problem)
        lines = "".join(f"    {line}\n" for line in (saved.written or "").splitlines())
        await self._came(path, f"{saved.model} answers: {trial.detail}.\nWritten to {saved.file}:\n\n{lines}")
        note = f", but {saved.note}" if saved.note else ""
        inform(f"{saved.model} answers, and is used from the next task on{note}.")
        return True

    async def _failed(self, path: Path, why: str) -> Literal[False]:
        await self._came(path, why)
        self._services.runtime.warn(why[:_MOST_SAID])
        return False

    async def _came(self, path: Path, result: str) -> None:
        """Say in the document what came of a step."""
        problem = await self._writing.put(path, lambda text: paper.with_result(text, result))
        if problem is not None:
            _log.warning("the set-up document is not up to date: %s", problem)


def _told(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()) is not None:
        _log.error("setting up a model failed", exc_info=problem)
