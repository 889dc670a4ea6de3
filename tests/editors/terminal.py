"""An editor in a terminal of its own: a user's keys go in, and what a user sees can be waited for."""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

import pace
import pyte
from screen_picture import svg

ROWS, COLUMNS = 40, 120


class _Screen(pyte.Screen):
    """Answers what a program asks the terminal, so that none waits for it."""

    def __init__(self, descriptor, rows, columns):
        super().__init__(columns, rows)
        self._descriptor = descriptor

    def report_device_status(self, mode, private=False):
        # A private question is about an extension that pyte has not: no answer is the answer of a terminal without it.
        if not private:
            super().report_device_status(mode)

    def write_process_input(self, data):
        os.write(self._descriptor, data.encode())


class Terminal:
    """A program with a terminal as its controlling one. `environment` is added to this process's."""

    def __init__(self, command, folder, environment, rows=ROWS, columns=COLUMNS):
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen = _Screen(self._master, rows, columns)
        self._stream = pyte.Stream(self._screen)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        # The first terminal that a session's leader opens becomes its controlling one: Emacs needs that for C-g.
        self.process = subprocess.Popen(
            ["sh", "-c", 'exec "$@" <>"$0" >&0 2>&0', os.ttyname(slave), *command],
            cwd=folder, env=os.environ | environment, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._slave = slave

    @property
    def lines(self):
        """The lines on the screen, without the spaces at their ends."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self):
        """The lines in which there is something."""
        return "\n".join(filter(None, self.lines))

    def shot(self, name):
        """Take a picture, where pictures are wanted (`OUTRIDER_SHOTS`)."""
        if folder := os.environ.get("OUTRIDER_SHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.svg").write_text(svg(self._screen), encoding="utf-8")

    def resize(self, rows, columns):
        """Have another size from now on; the program gets SIGWINCH."""
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen.resize(rows, columns)

    def keys(self, keys):
        os.write(self._master, keys.encode())

    def paste(self, text):
        """Paste a long text, as terminals mark it; what the program writes meanwhile is read, or both would wait."""
        left = f"\x1b[200~{text}\x1b[201~".encode()
        os.set_blocking(self._master, False)
        try:
            while left:
                reading, writing, _ = select.select([self._master], [self._master], [], 20)
                assert reading or writing, "the program takes nothing"
                if reading:
                    self._stream.feed(self._decode(os.read(self._master, 65536)))
                if writing:
                    left = left[os.write(self._master, left[:4096]) :]
        finally:
            os.set_blocking(self._master, True)

    def wait(self, condition, seconds=20):
        """Wait until the screen holds a text, or until a function of nothing is true. Gives what it gave."""
        holds = (lambda: condition in self.text) if isinstance(condition, str) else condition
        deadline = time.monotonic() + seconds
        while not (found := holds()):
            left = deadline - time.monotonic()
            assert left > 0, f"never: {condition}; the screen:\n{self.text}"
            # A condition may also be about a file or a process, of which no byte of the terminal tells.
            if select.select([self._master], [], [], min(left, 0.1))[0]:
                self._stream.feed(self._decode(os.read(self._master, 65536)))
        return found

    def read(self, condition):
        """Wait for a question, and read it as long as a user would."""
        self.wait(condition)
        read = time.monotonic() + pace.READING
        self.wait(lambda: time.monotonic() >= read)

    def close(self):
        """End the program, if it has not ended."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        os.close(self._slave)
        os.close(self._master)
