"""The pytest plugin: fixtures that begin editors and scenarios, and end them with the test.

Pytest loads it wherever Outrider is installed, so it imports nothing of Outrider before a test asks for a fixture. The
fixtures are plain functions; what they began is ended within the test's own coroutine, so that it makes no difference
which plugin runs that (pytest-asyncio in either mode, anyio on asyncio), and that a script which was not used up fails the
test and not its teardown.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from outrider.testing import FakeEditor, Profile, ScenarioRun, ScriptedModel


SHOWN = "the last messages ("
"""How the wire's last messages begin where a failure shows them already."""


class _Begun:
    """What a test has begun."""

    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.editors: list[FakeEditor] = []
        self.scenarios = 0


_BEGUN = pytest.StashKey[_Begun]()


@pytest.fixture
def outrider_workspace(tmp_path: Path) -> Callable[..., Path]:
    """Makes workspaces out of texts by their path, and gives the folder; a second one needs another `name`."""

    def make(files: Mapping[str, str], name: str = "workspace") -> Path:
        from outrider.testing.scenario_folder import fill

        fill(tmp_path / name, files)
        return tmp_path / name

    return make


@pytest.fixture
def outrider_editor(
    request: pytest.FixtureRequest, outrider_workspace: Callable[..., Path]
) -> "Callable[..., Awaitable[FakeEditor]]":
    """Starts editors, which are stopped with the test.

    `await outrider_editor(profile, turns, settings, workspace=…, answers=…)`: `workspace` is a folder or a mapping for
    `outrider_workspace`; the rest is as in `start_session`.
    """
    begun = _begun(request)

    async def start(
        profile: "Profile | str",
        turns: "ScriptedModel | Sequence[Any]",
        settings: Mapping[str, Any] | None = None,
        *,
        workspace: Path | Mapping[str, str] | None = None,
        **how: Any,
    ) -> "FakeEditor":
        from outrider.testing import ScriptedModel, scripted, start_session

        folder = workspace if isinstance(workspace, Path) else outrider_workspace(workspace or {})
        script = turns if isinstance(turns, ScriptedModel) else ScriptedModel(turns)
        model = scripted(folder, name=f"script{len(begun.editors)}", **script.data)
        editor = await begun.stack.enter_async_context(start_session(profile, folder, model, settings, **how))
        begun.editors.append(editor)
        return editor

    return start


@pytest.fixture
def outrider_scenario(
    request: pytest.FixtureRequest, tmp_path: Path
) -> "Callable[..., Awaitable[ScenarioRun]]":
    """Begins scenarios, which can be gone on with until the test ends and are closed then.

    `run = await outrider_scenario(prompt, script, …)` takes what `run_scenario` takes. The script and the log stay in
    `tmp_path`.
    """
    begun = _begun(request)

    async def begin(prompt: str, script: "ScriptedModel | Sequence[Any]", **how: Any) -> "ScenarioRun":
        __tracebackhide__ = True
        from outrider.testing import run_scenario

        begun.scenarios += 1
        kept: dict[str, Any] = {"keep_in": tmp_path / f"scenario{begun.scenarios}", **how}
        run = await begun.stack.enter_async_context(run_scenario(prompt, script, **kept))
        begun.editors.append(run.editor)
        return run

    return begin


def _begun(request: pytest.FixtureRequest) -> _Begun:
    item: pytest.Item = request.node
    if not (isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj)):
        pytest.fail(
            f"the fixture {request.fixturename} needs a test that is a coroutine (`async def`)", pytrace=False
        )
    return item.stash.setdefault(_BEGUN, _Begun())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """End what the test has begun when its coroutine ends."""
    __tracebackhide__ = True
    begun = item.stash.get(_BEGUN, None)
    if begun is None or not isinstance(item, pytest.Function):
        return (yield)
    test = item.obj

    @functools.wraps(test)
    async def ended(*arguments: Any, **named: Any) -> None:
        __tracebackhide__ = True
        try:
            await test(*arguments, **named)
        except BaseException as failure:
            await begun.stack.__aexit__(type(failure), failure, failure.__traceback__)
            raise
        problem = ""
        try:
            await begun.stack.aclose()
        except AssertionError as broken:
            problem = str(broken)
        if problem:
            pytest.fail(problem, pytrace=False)

    item.obj = ended
    try:
        return (yield)
    finally:
        item.obj = test


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what went over the wire in a test that failed."""
    report = yield
    begun = item.stash.get(_BEGUN, None)
    if begun is not None and report.when == "call" and report.failed and SHOWN not in str(report.longrepr):
        for number, editor in enumerate(begun.editors, 1):
            report.sections.append((f"Outrider, editor {number}", editor.last_messages().removeprefix("; ")))
    return report
