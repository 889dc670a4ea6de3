"""The log of the server on standard error, where clients keep it. Writing it never waits for the client.

Where something fails, the words of the failure may hold anything: no secret and nothing that a terminal acts on gets out.
"""

import contextlib
import logging
import os
import queue
import secrets
import sys
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final

_MOST_LINES: Final = 1000
_FLUSH_SECONDS: Final = 0.2
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class StderrHandler(logging.Handler):
    """Writes in a thread of its own; lines that the client leaves unread for too long are dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[str] = queue.Queue(_MOST_LINES)
        self._keys: Callable[[], Iterable[str]] = _keys_of_the_environment
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def keep_out(self, keys: Callable[[], Iterable[str]]) -> None:
        """Say which keys are known by more than their shape; asked in the thread that writes."""
        self._keys = keys

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(self.format(record))

    def flush(self) -> None:
        """Wait a moment for what is queued; called at the end of the process."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, _FLUSH_SECONDS)

    def _write(self) -> None:
        harmless: Callable[[str], str] | None = None
        while True:
            line = self._lines.get()
            harmless = harmless or self._cleaner()
            with contextlib.suppress(OSError):
                os.write(2, f"{harmless(line)}\n".encode("utf-8", "backslashreplace"))
            self._lines.task_done()

    def _cleaner(self) -> Callable[[str], str]:
        from outrider.permissions.secrets.masking import Masking
        from outrider.ports.text import visible

        masking = Masking(secrets.token_bytes(), {}, self._keys_of_now)
        return lambda line: visible(masking.without_secrets(line))

    def _keys_of_now(self) -> Iterable[str]:
        return self._keys()


def _keys_of_the_environment() -> Iterable[str]:
    from outrider.permissions.secrets.masking import may_be_key
    from outrider.processes.environment import holds_key

    # A copy, as another thread may change it.
    return [value for name, value in os.environ.copy().items() if holds_key(name) and may_be_key(value)]


def keep_out(keys: Callable[[], Iterable[str]]) -> None:
    """Leave these keys, too, out of what is logged from now on; a log that is not Outrider's own is left alone."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, StderrHandler):
            handler.keep_out(keys)


def log_to_stderr(level: str) -> None:
    """Log from `level` on: `debug`, `info`, `warning` or `error`."""
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    sys.excepthook = _log_the_end
    threading.excepthook = lambda failed: _log_the_end(
        failed.exc_type, failed.exc_value, failed.exc_traceback
    )
    # At INFO it logs every payload.
    logging.getLogger("pygls").setLevel(logging.WARNING)


def _log_the_end(
    kind: type[BaseException], problem: BaseException | None, trace: TracebackType | None
) -> None:
    """In place of what Python prints by itself where nobody caught a failure."""
    logging.getLogger("outrider").critical("unhandled exception", exc_info=(kind, problem or kind(), trace))
