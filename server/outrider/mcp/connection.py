"""One configured server as it runs: started when it is needed, started again when it died, and what it has.

No failure of a server leaves this module as an exception, but `NotConnectedError`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

from outrider.mcp.around import Around
from outrider.mcp.configuration import ServerConfig
from outrider.mcp.results import Answer, Given, Lists, Progress, ToolDefinition
from outrider.ports.text import visible

if TYPE_CHECKING:
    from outrider.mcp.login import Login
    from outrider.mcp.session import Ask, Session

log = logging.getLogger(__name__)

State = Literal["off", "starting", "ready", "failed", "login"]
START_SECONDS: Final = 60.0
"""How long a server may take to be ready; `npx` may load it from the network first."""
AGAIN_SECONDS: Final = (1.0, 5.0, 30.0, 120.0)
"""How long a server that failed is left alone, by how often it failed in a row."""
LAST_WORDS: Final = 600
"""Characters of standard error that a failure quotes."""
ASKED_AGAIN: Final = (
    "files that it may run have changed: you are asked about it with the next task, before it starts again"
)
MISSING: Final = "the extra outrider[mcp] is not installed: run `uv tool install 'outrider[mcp]'` or `pip install 'outrider[mcp]'`"


class NotConnectedError(Exception):
    """A server cannot be asked now; the text says why."""


class Connection:
    """One server."""

    def __init__(
        self,
        config: ServerConfig,
        around: Around,
        changed: Callable[[], None],
        may_start: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """Begin with nothing started.

        Args:
            config: The server.
            around: What it needs of this program.
            changed: Told of another state or other lists.
            may_start: Whether it may be started now; asked before each start. None: always.
        """
        self.config = config
        self._may_start = may_start
        self._around = around
        self._changed = changed
        self.state: State = "off"
        self.error = ""
        """Why it failed last."""
        self.lists = Lists()
        self.version = ""
        self.protocol = ""
        self.login_url = ""
        """The page of a log-in that is going on."""
        self._said = ""
        self._session: Session | None = None
        self._task: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._listing = asyncio.Lock()
        """Held while the lists are read anew."""
        self._failures = 0
        self._failed_at = 0.0
        self._closed = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self.config.name

    @property
    def is_running(self) -> bool:
        """Whether it runs or is being started."""
        return self._task is not None

    def begin(self, *, at_once: bool = False) -> None:
        """Start it, unless it runs, was closed, or failed a moment ago.

        Args:
            at_once: Whether it is started however often it failed.
        """
        if self._closed or self._task is not None:
            return
        wait = AGAIN_SECONDS[min(self._failures, len(AGAIN_SECONDS)) - 1] if self._failures else 0.0
        since = self._around.clock.monotonic() - self._failed_at
        if self.state == "login" and not at_once:
            return
        if at_once or since >= wait:
            self._launch(self._run)

    def _launch(self, work: "Callable[[Login | None], Awaitable[None]]") -> None:
        """Do what leads to a connection, after what went on before has come to its end."""
        before, self._settled, self._session = self._task, asyncio.Event(), None
        self._set("starting")

        async def run() -> None:
            if before is not None:
                before.cancel()
                await asyncio.wait({before}, timeout=5.0)
            if self._may_start is not None and not await self._may_start():
                self.error = ASKED_AGAIN
                self._set("off")
                return
            await work(None)

        self._task = asyncio.create_task(run(), name=f"MCP server {self.name}")
        self._task.add_done_callback(self._ended)

    async def ready(self, seconds: float) -> bool:
        """Wait until it is ready or failed; whether it is ready."""
        if self._task is not None:
            with suppress(TimeoutError):
                async with self._around.clock.timeout(seconds):
                    await self._settled.wait()
        return self.state == "ready"

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        ask: "Ask",
        on_progress: Callable[[Progress], None],
        state: str | None = None,
        answers: Mapping[str, Answer] | None = None,
    ) -> Given:
        """Have a tool do something, for as long as it makes progress. See `Session.call`.

        Raises:
            NotConnectedError: The server cannot be asked, or is gone.
        """
        session = await self._open()
        clock, last, asking = self._around.clock, self._around.clock.monotonic(), 0

        def told(one: Progress) -> None:
            nonlocal last
            last = clock.monotonic()
            on_progress(one)

        async def asked(wanted: Any, request_state: str | None) -> Any:
            nonlocal last, asking
            asking += 1
            try:
                return await ask(wanted, request_state)
            finally:
                asking -= 1
                last = clock.monotonic()

        calling = asyncio.ensure_future(
            session.call(name, arguments, ask=asked, on_progress=told, state=state, answers=answers)
        )
        gone = asyncio.ensure_future(session.gone.wait())
        try:
            while not calling.done():
                left = self.config.seconds - (clock.monotonic() - last)
                if left <= 0 and not asking:
                    raise NotConnectedError(
                        f"it made no progress for {self.config.seconds:g} s, so the call was cancelled"
                    )
                await asyncio.wait(
                    {calling, gone}, timeout=max(0.05, left), return_when=asyncio.FIRST_COMPLETED
                )
                if gone.done() and not calling.done():
                    await asyncio.wait({calling}, timeout=0.5)
                    if not calling.done():
                        raise NotConnectedError(self._why_gone(session))
            return self._result(calling, session)
        finally:
            for task in (calling, gone):
                task.cancel()
            await asyncio.wait({calling}, timeout=2.0)

    def _result(self, calling: "asyncio.Future[Given]", session: "Session") -> Given:
        problem = calling.exception()
        if problem is None:
            return calling.result()
        if session.gone.is_set():
            raise NotConnectedError(self._why_gone(session)) from problem
        raise NotConnectedError(_reason(problem)) from problem

    async def ask(self, what: Literal["prompt", "resources", "resource", "completions"], *given: Any) -> Any:
        """Make another request of `Session`.

        Raises:
            NotConnectedError: The server cannot be asked, or did not answer.
        """
        session = await self._open()
        asking = asyncio.ensure_future(getattr(session, what)(*given))
        gone = asyncio.ensure_future(session.gone.wait())
        try:
            await asyncio.wait(
                {asking, gone}, timeout=self.config.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not asking.done():
                raise NotConnectedError(
                    self._why_gone(session) if gone.done() else "it did not answer in time"
                )
            if (problem := asking.exception()) is not None:
                raise NotConnectedError(_reason(problem)) from problem
            return asking.result()
        finally:
            asking.cancel()
            gone.cancel()

    async def definition(self, tool: str) -> ToolDefinition | None:
        """A tool as it is defined now, or None: what the server said it has changed is read first.

        Raises:
            NotConnectedError: The server cannot be asked, or did not answer.
        """
        await self._open()
        try:
            async with asyncio.timeout(self.config.seconds):
                await self._read_changes()
        except TimeoutError:
            raise NotConnectedError("it changed its tools and did not list them in time") from None
        except Exception as problem:  # whatever the SDK raises for a server that has gone or lists nonsense
            raise NotConnectedError(
                f"it changed its tools and could not list them: {_reason(problem)}"
            ) from problem
        return next((one for one in self.lists.tools if one.name == tool), None)

    async def _read_changes(self) -> None:
        async with self._listing:
            session = self._session
            if session is not None and session.changed.is_set():
                session.changed.clear()
                was_read = False
                try:
                    self.lists = await session.lists()
                    was_read = True
                finally:
                    if not was_read:
                        session.changed.set()
                self._changed()

    async def _open(self) -> "Session":
        if self._session is None:
            self.begin(at_once=self.state == "off")
            await self.ready(START_SECONDS)
        if self._session is None:
            raise NotConnectedError(self.error or f"it is {self.state}")
        return self._session

    def log_in(self) -> None:
        """Begin a log-in: the server is reached anew, and the user is shown its page."""
        if not self.config.url:
            return
        self._launch(self._log_in)

    def restart(self) -> None:
        """End it and start it again."""
        self._failures = 0
        self._launch(self._run)

    async def _log_in(self, _login: Any) -> None:
        try:
            module: Any = await asyncio.to_thread(import_module, "outrider.mcp.login")
        except ImportError:
            self._fail(MISSING)
            return
        await module.logging_in(self.config, self._around, self._run)
        self.login_url = ""

    async def forget_login(self) -> str | None:
        """Forget its token; a text says why that failed."""
        try:
            module: Any = await asyncio.to_thread(import_module, "outrider.mcp.login")
        except ImportError:
            return MISSING
        problem = await module.forget(self.config, self._around)
        self.restart()
        return problem

    async def close(self) -> None:
        """End it, for good."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=5.0)
        self._session = None
        self.state = "off"

    # --- running ---------------------------------------------------------------------------------------------

    async def _run(self, login: "Login | None") -> None:
        try:
            module: Any = await asyncio.to_thread(import_module, "outrider.mcp.session")
        except ImportError:
            self._fail(MISSING)
            return
        logins: Any = import_module("outrider.mcp.login")
        if (
            login is None
            and self.config.url
            and "authorization" not in {key.lower() for key in self.config.headers}
        ):
            login = logins.Login(self.config, self._around)
        self._said = ""
        try:
            async with (
                self._around.clock.timeout(None),
                module.opened(self.config, self._around, login, self._hear) as session,
            ):
                async with asyncio.timeout(START_SECONDS):
                    self.lists = await session.lists()
                self.version, self.protocol, self.error = session.version, session.protocol, ""
                self._session, self._failures = session, 0
                self._set("ready")
                self._settled.set()
                await self._look_on(session)
                if session.gone.is_set():
                    self._fail(self._why_gone(session))
        except asyncio.CancelledError:
            raise
        except BaseException as problem:
            if isinstance(problem, KeyboardInterrupt | SystemExit):
                raise
            found = module.causes(problem)
            if any(isinstance(one, asyncio.CancelledError) for one in found) and len(found) == 1:
                raise
            log.info("the MCP server %s failed", self.name, exc_info=problem)
            if any(isinstance(one, logins.LoginNeededError) for one in found):
                self.error = "it wants you to log in"
                self._set("login")
            else:
                self._fail(f"{module.reason(problem)}{self._last_words()}")
        finally:
            if self._task is asyncio.current_task():
                self._session = None

    async def _look_on(self, session: "Session") -> None:
        """Keep the lists up to date as long as the server is there."""
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(session.watch())]
        try:
            while not session.gone.is_set():
                waits[1:] = [asyncio.ensure_future(one.wait()) for one in (session.changed, session.gone)]
                await asyncio.wait(waits[1:], return_when=asyncio.FIRST_COMPLETED)
                for one in waits[1:]:
                    one.cancel()
                if not session.gone.is_set():
                    await self._read_changes()
                    # A server that changes its lists all the time is read now and then.
                    await asyncio.sleep(0.2)
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def _hear(self, text: str) -> None:
        self._said = text

    def _last_words(self) -> str:
        said = visible(self._said.strip()[-LAST_WORDS:])
        return f". Its last words: {said}" if said else ""

    def _why_gone(self, session: "Session") -> str:
        return f"{session.why_gone or 'the connection ended'}{self._last_words()}"

    def _fail(self, why: str) -> None:
        self.error = why
        self._failures += 1
        self._failed_at = self._around.clock.monotonic()
        self._set("failed")

    def _set(self, state: State) -> None:
        self.state = state
        self._changed()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if self._task is not task:
            return  # another attempt has taken its place
        self._task = None
        self._settled.set()
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("the MCP server %s failed", self.name, exc_info=problem)
            self._fail(_reason(problem))


def _reason(problem: BaseException) -> str:
    text = str(problem)
    return text or type(problem).__name__
