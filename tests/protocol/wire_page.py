"""The pages that document the wire, as their tables, lists and blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "protocol"
BEHAVIOUR = ("README.md", "sessions.md", "edits.md", "permissions.md", "models.md")
"""The pages that are written by hand."""
REFERENCE = "reference.md"


@dataclass(frozen=True)
class Table:
    """One table: the headings it stands below, innermost last, and its rows by column."""

    headings: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]


@dataclass(frozen=True)
class Page:
    """Some of the pages, one after the other."""

    text: str
    tables: tuple[Table, ...]

    def table(self, heading: str, first_column: str) -> Table:
        """The only table below that heading whose first column has that name."""
        found = [t for t in self.tables if t.headings[-1] == heading and t.columns[0] == first_column]
        assert len(found) == 1, f"{len(found)} tables of {first_column} below “{heading}”"
        return found[0]

    def blocks(self, language: str) -> list[str]:
        """The fenced blocks of a language."""
        parts = self.text.split(f"\n```{language}\n")[1:]
        return [part.partition("\n```")[0] for part in parts]

    def section(self, heading: str) -> str:
        """What stands below a heading, up to the next one."""
        found = re.findall(
            rf"^#+ `?{re.escape(heading)}`?\n(.*?)(?=^#|\Z)", self.text, re.MULTILINE | re.DOTALL
        )
        assert len(found) == 1, f"{len(found)} headings “{heading}”"
        return found[0]

    def keys(self, heading: str, caption: str = "") -> dict[str, str]:
        """The keys that are listed below a heading, with their lines; of a command below `Params` or `Result`."""
        text = self.section(heading)
        if caption:
            text = re.split(r"^(?:Params|Result):", text.partition(f"\n{caption}:")[2], flags=re.MULTILINE)[0]
        lines = (re.fullmatch(r"- `([^`]+)` (.*)", line) for line in text.splitlines())
        return {line[1]: line[2] for line in lines if line is not None}


def read_page(*names: str) -> Page:
    """Read these pages, those of behaviour if none is named."""
    text = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names or BEHAVIOUR)
    return Page(text, tuple(_tables(text)))


def anchors(path: Path) -> list[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(
        r"^#+ (.*)$",
        re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL),
        re.MULTILINE,
    )
    return [re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]


def _tables(text: str) -> list[Table]:
    tables: list[Table] = []
    headings: list[str] = []
    lines: list[list[str]] = []
    fenced = False
    for line in [*text.splitlines(), ""]:
        fenced ^= line.startswith("```")
        if line.startswith("|") and not fenced:
            lines.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        if lines:
            columns = tuple(lines[0])
            for row in lines[2:]:
                assert len(row) == len(columns), f"cells of {row}"
            rows = tuple(dict(zip(columns, row, strict=True)) for row in lines[2:])
            tables.append(Table(tuple(headings), columns, rows))
            lines = []
        if line.startswith("#") and not fenced:
            level = len(line) - len(line.lstrip("#"))
            headings = [*headings[: level - 1], line.lstrip("# ").strip("`")]
    return tables
