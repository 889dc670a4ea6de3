"""The page that documents the wire, as its tables."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Table:
    """One table: the headings it stands below, innermost last, and its rows by column."""

    headings: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[dict[str, str], ...]


@dataclass(frozen=True)
class Page:
    """`protocol/README.md`."""

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


def read_page() -> Page:
    """Read the page."""
    text = (ROOT / "protocol" / "README.md").read_text(encoding="utf-8")
    return Page(text, tuple(_tables(text)))


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
