"""What the repository map costs: the first one of a workspace, and one more after a file has changed."""

import random
import time
from pathlib import Path

from outrider.ports.clock import SystemClock
from outrider.ports.maps import Focus
from outrider.processes import Supervisor
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.overlay import Overlay
from outrider.workspace.paths import folders_of
from outrider.workspace.repository_map.repository_map import RepositoryMap, Rooms
from outrider.workspace.search import Search, find_ripgrep

FILES = 10_000
UPDATES = 20
SIZE = 4_500
"""Bytes of a map, as of 1500 tokens."""
_FORMS = {
    "py": (
        "from pkg.m{other} import Thing{other}, helper_{other}\n\n\nclass Thing{number}(Thing{other}):\n",
        (
            "    def method_{line}(self, given: Thing{other}) -> int:\n        value = helper_{other}(self.method_{line}(given))\n"
            '        if value > {line}:\n            raise ValueError("too much of it")\n        return value + len(str(given))\n\n'
        ),
        "\ndef helper_{number}(value: int) -> int:\n    return value + {number}\n",
    ),
    "ts": (
        'import {{ Thing{other} }} from "./m{other}";\n\nexport class Thing{number} extends Thing{other} {{\n',
        (
            "  method{line}(given: Thing{other}): number {{\n    const value = helper{other}(this.method{line}(given));\n"
            "    if (value > {line}) {{\n      throw new Error('too much of it');\n    }}\n    return value;\n  }}\n\n"
        ),
        "}}\n\nexport function helper{number}(value: number): number {{\n  return value + {number};\n}}\n",
    ),
    "go": (
        "package pkg\n\ntype Thing{number} struct {{\n\tinner Thing{other}\n}}\n\n",
        (
            "func (t *Thing{number}) Method{line}(given Thing{other}) int {{\n\tvalue := helper{other}(t.inner.Method{line}(given))\n"
            '\tif value > {line} {{\n\t\tpanic("too much of it")\n\t}}\n\treturn value\n}}\n\n'
        ),
        "func helper{number}(value int) int {{\n\treturn value + {number}\n}}\n",
    ),
}


class MapMeasures:
    """Measures on a workspace of files of about 4 kB that use each other."""

    def __init__(self, folder: Path) -> None:
        self._root = folder / "mapped"
        self._paths: list[Path] = []
        self._runs = 0

    async def first_seconds(self) -> float:
        """A map of a workspace that was never seen: a child that starts, a listing, all files read, ranked, written."""
        self._write()
        self._runs += 1
        supervisor = Supervisor(SystemClock())
        maps = self._maps(supervisor, self._root.with_name(f"cache{self._runs}"))
        try:
            began = time.perf_counter()
            await maps.draw(Focus(words=["Thing7"]), SIZE)
            return time.perf_counter() - began
        finally:
            await maps.close()
            await supervisor.close()

    async def update_ms(self) -> float:
        """A map after one file changed on disk: it is read and ranked again. The best of some."""
        self._write()
        supervisor = Supervisor(SystemClock())
        maps = self._maps(supervisor, self._root.with_name("cache1"))
        best = float("inf")
        try:
            await maps.draw(Focus(), SIZE)
            for number in range(UPDATES):
                path = self._paths[number]
                with path.open("a") as file:
                    file.write("\n\n")
                began = time.perf_counter()
                await maps.draw(Focus(open=[str(path.relative_to(self._root))]), SIZE)
                best = min(best, (time.perf_counter() - began) * 1000)
        finally:
            await maps.close()
            await supervisor.close()
        return best

    def _maps(self, supervisor: Supervisor, cache: Path) -> RepositoryMap:
        clock, documents = SystemClock(), DocumentStore()
        folders = folders_of([("mapped", self._root.as_uri())])
        overlay = Overlay(folders, documents)
        search = Search(folders, documents, overlay, supervisor, clock, find_ripgrep(None), lambda _: False)

        async def nothing() -> None:
            pass

        return RepositoryMap(
            lambda: Rooms(folders, search, documents), supervisor, clock, cache, {},
            leaves_out=lambda _: False, before_listing=nothing, tell=print,
        )  # fmt: skip

    def _write(self) -> None:
        if self._paths:
            return
        chance = random.Random(7)
        for number in range(FILES):
            suffix = ("py", "ts", "go")[number % 3]
            head, middle, end = _FORMS[suffix]
            of = {"number": number, "other": chance.randrange(FILES // 3) * 3 + number % 3}
            text = head.format(**of) + "".join(middle.format(line=line, **of) for line in range(18))
            path = self._root / f"pkg{number % 100}" / f"m{number}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + end.format(**of))
            self._paths.append(path)
