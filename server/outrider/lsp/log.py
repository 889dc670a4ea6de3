"""The log of the server on standard error, where clients keep it. Writing it never waits for the client."""

import contextlib
import logging
import os
import queue
import threading
from typing import Final

LEVELS: Final = ("debug", "info", "warning", "error")

_MOST_LINES: Final = 1000
_FLUSH_SECONDS: Final = 0.2
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class StderrHandler(logging.Handler):
    """Writes in a thread of its own; lines that the client leaves unread for too long are dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[str] = queue.Queue(_MOST_LINES)
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(self.format(record))

    def flush(self) -> None:
        """Wait a moment for what is queued; called at the end of the process."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(lambda: not self._lines.unfinished_tasks, _FLUSH_SECONDS)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            with contextlib.suppress(OSError):
                os.write(2, f"{line}\n".encode("utf-8", "backslashreplace"))
            self._lines.task_done()


def log_to_stderr(level: str) -> None:
    """Log from `level` (one of `LEVELS`) on."""
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    # At INFO it logs every payload.
    logging.getLogger("pygls").setLevel(logging.WARNING)
