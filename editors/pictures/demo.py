"""The picture of `outrider demo` in README.md: `python editors/pictures/demo.py > editors/pictures/demo.svg`.

It runs the demo in a terminal and draws what that shows, in its colours. Paths of the machine are shortened, and what
the README has no room for is left out.
"""

import os
import pty
import re
import subprocess
import sys
from html import escape
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 92
LINE, LETTER = 17, 7.8
GROUND, INK = "#1e1e1e", "#d4d4d4"
SHADES = {
    "red": "#f14c4c", "green": "#23d18b", "yellow": "#e5e510", "blue": "#3b8eea", "magenta": "#d670d6",
    "cyan": "#29b8db", "white": "#e5e5e5", "black": "#808080",
}  # fmt: skip


def run() -> str:
    """Give what a terminal shows of the demo, with its escape sequences."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    env |= {"COLUMNS": "160", "LINES": "60", "TERM": "xterm-256color"}
    program = [sys.executable, "-m", "outrider", "demo"]
    with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env) as demo:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # the last writer has closed the terminal
            pass
        if demo.wait(timeout=60) != 0:
            raise SystemExit("the demo failed")
    return shown.decode().replace("\r\n", "\n")


def picked(shown: str) -> list[Text]:
    """Give the lines that are drawn: from the failing test on, without its trace and the updates of the plan."""
    shown = shown.replace(sys.executable, "python").replace(f"{Path(sys.executable).parent}/", "")
    text = Text.from_ansi(re.sub(r"\x1b\[\?25[lh]|\x1b\[\d*[KJA]", "", shown))
    lines: list[Text] = [Text.assemble(("$ ", "green"), ("outrider demo", "bold")), Text("  …")]
    out = True
    for line in text.split("\n"):
        plain = line.plain.strip()
        if plain.startswith(("In the workspace folder", "=====", "-----", "The sample")):
            out = True
        elif plain.startswith(("$ python", "Ran 6", "There it is", "> Allow")):
            out = False
        gap = plain == "" and lines[-1].plain.strip() in {"", "…"}
        early = plain.startswith("> Allow") and len(lines) == 2  # the answer to a question that is left out
        if not (out or gap or early or plain.startswith(("[x]", "[>]"))):
            lines += line.wrap(Console(width=WIDTH), WIDTH)
    return lines


def svg(lines: list[Text]) -> str:
    """Draw lines of text."""
    width, height = round(WIDTH * LETTER) + 24, len(lines) * LINE + 24
    font = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"
    size = f'width="{width}" height="{height}"'
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{font}" font-size="13">',
        f'<rect {size} rx="6" fill="{GROUND}"/>',
    ]
    console = Console(color_system="standard")
    for number, line in enumerate(lines):
        left = 0
        for segment in line.render(console):
            part, style = segment.text.rstrip("\n"), segment.style
            if part.strip():
                name = style.color.name.removeprefix("bright_") if style and style.color else ""
                more = f' fill="{SHADES.get(name, INK)}"'
                more += ' font-weight="bold"' if style and style.bold else ""
                more += ' opacity="0.6"' if style and style.dim else ""
                x, y = 12 + left * LETTER, 24 + number * LINE
                rows.append(
                    f'<text x="{x:.1f}" y="{y}" textLength="{len(part) * LETTER:.1f}" xml:space="preserve"{more}>{escape(part)}</text>'
                )
            left += len(part)
    return "\n".join([*rows, "</svg>", ""])


if __name__ == "__main__":
    sys.stdout.write(svg(picked(run())))
