"""What a terminal shows, as a picture: an SVG of its cells with their colours."""

from html import escape
from itertools import groupby

WIDTH, HEIGHT = 8, 17
"""Of a cell."""
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
NO_BREAK = "\u00a0"
"""For a space: others would be made one."""
TEXT, GROUND = "#d4d4d4", "#1e1e1e"
"""The colours of a terminal that is told none."""
NAMED = {
    "black": "#000000",
    "red": "#e06c75",
    "green": "#98c379",
    "brown": "#d19a66",
    "blue": "#61afef",
    "magenta": "#c678dd",
    "cyan": "#56b6c2",
    "white": "#d4d4d4",
    "brightblack": "#7f848e",
    "brightred": "#ff7b86",
    "brightgreen": "#b5e890",
    "brightbrown": "#e5c07b",
    "brightblue": "#82c4ff",
    "brightmagenta": "#de98f2",
    "brightcyan": "#7fd6e0",
    "brightwhite": "#ffffff",
}


def svg(screen):
    """The picture of a `pyte.Screen`."""
    width, height = screen.columns * WIDTH, screen.lines * HEIGHT
    size = f'width="{width}" height="{height}"'
    font = f'font-family="{FONT}" font-size="13"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {font}>',
        f'<rect {size} fill="{GROUND}"/>',
    ]
    for row in range(screen.lines):
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        column = 0
        for (text, ground, bold), found in groupby(cells, _look):
            run = list(found)
            parts += _run("".join(cell.data for cell in run), column, len(run), row, text, ground, bold)
            column += len(run)
    return "\n".join([*parts, "</svg>", ""])


def _look(cell):
    text, ground = _colour(cell.fg, TEXT), _colour(cell.bg, GROUND)
    return (ground, text, cell.bold) if cell.reverse else (text, ground, cell.bold)


def _colour(name, otherwise):
    return otherwise if name == "default" else NAMED.get(name, f"#{name}")


def _run(shown, column, cells, row, text, ground, bold):
    x, y = column * WIDTH, row * HEIGHT
    if ground != GROUND:
        yield f'<rect x="{x}" y="{y}" width="{cells * WIDTH}" height="{HEIGHT}" fill="{ground}"/>'
    if shown.strip():
        left = len(shown) - len(shown.lstrip())
        word = shown.strip()
        weight = ' font-weight="bold"' if bold else ""
        yield (
            f'<text x="{x + left * WIDTH}" y="{y + 13}" textLength="{len(word) * WIDTH}" fill="{text}"{weight}>'
            f"{escape(word).replace(' ', NO_BREAK)}</text>"
        )
