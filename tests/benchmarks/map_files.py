"""The repository map beside aider's: how many of the files that real commits touched each of them names, at the same number of tokens.

    python tests/benchmarks/map_files.py --aider PYTHON --repository PATH [--repository PATH …] [--commits 25] [--tokens 1024]

PYTHON is the interpreter of an environment of its own with aider-chat. Each PATH is a git repository with its history; it is only read.
Of each commit the tree before it is written out, the words of its message are the task, and both draw their map of it. What
aider's comes to, by the tokenizer cl100k_base, is what Outrider's may have at most.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from outrider.agent.context.workspace_news import words_of
from outrider.ports.maps import Focus
from outrider.workspace.repository_map.index import Index
from outrider.workspace.repository_map.tags import tongue_of

OTHER = Path(__file__).with_name("map_of_aider.py")
MOST_TOUCHED = 10


@dataclass
class Commit:
    digest: str
    message: str
    touched: list[str]
    """Files that it changed or deleted, so that they were there before."""


def git(repository: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *words], check=True, capture_output=True).stdout


def commits_of(repository: Path, count: int) -> list[Commit]:
    """Commits of one parent that touched one to ten files, one of which the map knows; evenly over the latest ones."""
    listed = git(
        repository,
        "log",
        "--no-merges",
        "-n",
        "1500",
        "--name-status",
        "--no-renames",
        "--format=%x01%H%x02%B%x03",
    )
    found: list[Commit] = []
    for record in listed.decode("utf-8", "replace").split("\x01")[1:-1]:
        digest, _, rest = record.partition("\x02")
        message, _, names = rest.partition("\x03")
        changes = [line.split("\t", 1) for line in names.strip().splitlines() if "\t" in line]
        touched = [path for state, path in changes if state in {"M", "D"}]
        if 1 <= len(touched) <= MOST_TOUCHED and any(map(tongue_of, touched)):
            found.append(Commit(digest, message.strip(), touched))
    return found[:: max(len(found) // count, 1)][:count]


class Other:
    """Aider's map and its tokenizer, in a process of their own."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, str(OTHER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, **request: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def own_map(root: Path, message: str, tokens: int, other: Other) -> str:
    """The longest map that has no more tokens."""
    index = Index()
    index.refresh({str(path.relative_to(root)): str(path) for path in root.rglob("*") if path.is_file()})
    focus, size = Focus(words=words_of(message)), 4 * tokens
    while True:
        text = "\n".join(index.map(focus, size))
        if (count := other.ask(do="count", text=text)) <= tokens:
            return text
        size = int(size * max(tokens / count, 0.5)) - 8


def named(text: str, paths: list[str]) -> int:
    lines = {line.strip().rstrip(":") for line in text.splitlines()}
    return sum(path in lines for path in paths)


def measured(
    repository: Path, count: int, tokens: int, other: Other
) -> Iterator[tuple[int, int, int, int, int]]:
    """For each commit: files touched, named by Outrider, by aider, and the tokens of both maps."""
    for commit in commits_of(repository, count):
        with tempfile.TemporaryDirectory() as place:
            root = Path(place) / "tree"
            root.mkdir()
            tree = git(repository, "archive", f"{commit.digest}^")
            with tarfile.open(fileobj=BytesIO(tree)) as archive:
                archive.extractall(root, filter="data")
            theirs = other.ask(do="map", root=str(root), message=commit.message, tokens=tokens)
            most = other.ask(do="count", text=theirs)
            ours = own_map(root, commit.message, most, other)
            yield (
                len(commit.touched),
                named(ours, commit.touched),
                named(theirs, commit.touched),
                other.ask(do="count", text=ours),
                most,
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--aider", required=True, metavar="PYTHON")
    parser.add_argument("--repository", required=True, action="append", type=Path, metavar="PATH")
    parser.add_argument("--commits", type=int, default=25)
    parser.add_argument("--tokens", type=int, default=1024)
    given = parser.parse_args()
    other, rows = Other(given.aider), list[tuple[str, int, list[int]]]()
    for repository in given.repository:
        found = list(measured(repository, given.commits, given.tokens, other))
        rows.append(
            (
                repository.name if repository.name != "repo" else repository.parent.name,
                len(found),
                [*map(sum, zip(*found, strict=True))],
            )
        )
    other.close()
    rows.append(
        ("all", sum(row[1] for row in rows), [*map(sum, zip(*(row[2] for row in rows), strict=True))])
    )
    print(
        "| repository | commits | files touched | named by Outrider | by aider | tokens of Outrider | of aider |\n|---|--:|--:|--:|--:|--:|--:|"
    )
    for name, commits, (touched, ours, theirs, size, most) in rows:
        print(f"| {name} | {commits} | {touched} | {ours} | {theirs} | {size:,} | {most:,} |")
    return 0 if rows[-1][2][1] > rows[-1][2][2] else 1


if __name__ == "__main__":
    sys.exit(main())
