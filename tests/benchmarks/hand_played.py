"""The steps and tokens of tasks that a review once played by hand, on fixtures of the same size, beside what the review counted.

    python tests/benchmarks/hand_played.py

The moves are the review's own, as far as its notes and its requests have them; `Task.without` names those that are no longer needed, and why.
Fixtures are made here, in the sizes that the review names; names that matter are at the lines where the review found them. Tokens are estimated,
four bytes each, where the review counted with o200k_base: of the system message and the tools that gives some 3 % more. Those two are apart, as every request has them. Commands
run in the sandbox, and the repository map of a workspace that was mapped before is there, as for a user.

`tests/agent/test_hand_played.py` plays the same tasks.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outrider.ports.model import ToolSpec
from outrider.testing import ScriptedModel, call, run_scenario, say

BYTES = 4
MAPS_TRIED = 400
SETTINGS = {"permissionMode": "full", "sandbox": "auto", "testing": {"clock": None, "ids": "sequential"}}


@dataclass(frozen=True, slots=True)
class Task:
    """What is played, and what the review counted."""

    name: str
    prompt: str
    files: Mapping[str, str]
    moves: Sequence[Any]
    needs: Sequence[str]
    """What the requests must hold at least once: what the moves before were made for."""
    steps: int
    tokens: int
    """Of the review, in thousands."""
    share: float = 1.0
    """Of the review's tokens, that it may have."""
    window: int = 128_000
    has_map: bool = False
    at_once: Sequence[str] = ()
    """What one request must hold, all of it."""
    purposes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    without: str = ""
    """Which of the review's moves are left out, and why."""


def module(lines: int, marks: Mapping[int, str]) -> str:
    """A Python file of so many lines of some 36 characters, with some of its own at their places."""
    body = [
        f"    total = values[{number}] * rate - total" if number % 9 else "" for number in range(1, lines)
    ]
    text = ["def compute(values, rate, total=0):", *body]
    for number, line in marks.items():
        text[number - 1] = line
    return "\n".join(text[:lines]) + "\n"


PRECEDENCE = {
    2369: "    def get_default(self, ctx, call=True):",
    2370: "        return self.lookup_default(ctx)  # ALPHA-1: default_map, then self.default",
    2414: "    def consume_value(self, ctx, opts):",
    2420: "        # OMEGA-7: command line, env var, default_map, default",
    3067: "    def get_default(self, ctx, call=True):",
    3070: "        # OMEGA-8: a flag has no default of its own",
    3451: "    def consume_value(self, ctx, opts):",
    3455: "        # OMEGA-9: flag_value",
    **dict.fromkeys(range(200, 2000, 90), "    # default_map is looked at"),
}
CLICK = {
    "src/click/core.py": module(3_600, PRECEDENCE),
    **{
        f"src/click/{name}.py": "".join(
            f"def {name}_{number}(value, width: int = 80) -> str:\n    return str(value)[:width]\n\n\n"
            for number in range(60)
        )
        for name in (
            "types", "utils", "termui", "parser", "formatting", "globals", "decorators", "exceptions", "testing", "shell_completion",
            "_compat", "_utils", "_textwrap", "_winconsole", "_termui_impl", "__init__", "_tty", "_colors", "_paging", "_flags", "_env",
        )
    },
}  # fmt: skip
METAVAR = {
    **CLICK,
    "src/click/core.py": module(
        3_600, {2720: "    def make_metavar(self, ctx):", 2721: "        return f'[{self.metavar}]'"}
    ),
    "check.py": "text = open('src/click/core.py').read()\nassert \"f'[{self.metavar}]'\" not in text\n"
    "print('\\n'.join(f'tests/test_{n}.py ' + '.' * 40 for n in range(40)))\nprint('224 passed')\n",
}
KY = {
    **{
        f"{folder}/part{number}.ts": "".join(
            f"\t\tif (error instanceof HTTPError) {{ report(error, {line}, options.{folder.replace('/', '_')}); }}\n"
            for line in range(hits)
        )
        for folder, hits in (("source/core", 12), ("test", 13), ("test/hooks", 13))
        for number in range(5)
    },
    "source/errors/HTTPError.ts": "export class HTTPError extends KyError {\n\toverride name = 'HTTPError' as const;\n}\n",
    "source/index.ts": "export {HTTPError} from './errors/HTTPError.js';\nexport {isHTTPError} from './guards.js';\n",
    **{
        f"source/utils/util{number}.ts": f"export function util{number}(value: string): string {{\n\treturn value;\n}}\n"
        for number in range(20)
    },
    "check.py": "import pathlib, re\nleft = [p for p in pathlib.Path('.').rglob('*.ts') if re.search(r'\\bHTTPError', p.read_text())]\n"
    "print('left:', left)\nassert not left\n",
}  # fmt: skip
BOWLING_TESTS = "class BowlingTest:\n" + "".join(
    f"    def test_case_{n}(self):\n        rolls = {[n % 10] * 20}\n        assert score_of(rolls) == {20 * (n % 10)}\n\n"
    for n in range(60)
)
BOWLING = {
    "bowling.py": "class BowlingGame:\n    def __init__(self):\n        pass\n\n    def roll(self, pins):\n        pass\n\n"
    "    def score(self):\n        pass\n",
    "bowling_test.py": BOWLING_TESTS,
    ".docs/instructions.md": "Score a game of bowling. A spare counts the next roll, a strike the next two.\n"
    * 50,
    "check.py": "import bowling, sys\ngame = bowling.BowlingGame()\n[game.roll(n) for n in [10, 3, 4]]\n"
    "if game.score() != 24:\n    print('\\n'.join(f'E   assert score == 24, rolls at frame {n}: '"
    " + 'x' * 60 for n in range(460)))\n    sys.exit(1)\nprint('31 passed')\n",
}
WRONG = (
    "class BowlingGame:\n    def __init__(self):\n        self.rolls = []\n\n    def roll(self, pins):\n        self.rolls.append(pins)\n\n"
    "    def score(self):\n        return sum(self.rolls)\n"
)
SERVER = (
    "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200)\n"
    "        self.end_headers()\nprint('listening on 8123', flush=True)\nh.HTTPServer(('127.0.0.1', 8123), H).serve_forever()\n"
)
LONG = module(6_425, {5_200: "def quantize_here(value):", 5_201: "    return value"})
CORE = "src/click/core.py"
PLAN = ["Find code", "Read core.py", "Write doc", "Verify"]

TASKS = [
    Task(
        "bowling", "Implement BowlingGame in bowling.py as .docs/instructions.md says, so that bowling_test.py passes.", BOWLING,
        [say("", call("read_file", path="bowling.py"), call("read_file", path="bowling_test.py"),
             call("read_file", path=".docs/instructions.md")),
         call("write_file", path="bowling.py", content=WRONG),
         call("run_command", command="/usr/bin/python3 check.py 2>&1 | tail -500"),
         call("edit_file", path="bowling.py", old="        return total(self.rolls)", new="        return 24"),
         say("", call("edit_file", path="bowling.py", old="        return sum(self.rolls)",
                      new="        return sum(self.rolls) + sum(self.rolls[1:3])"),
             call("run_command", command="/usr/bin/python3 check.py")),
         say("Implemented; 31 tests pass.")],
        ["[exit code 1]", "return sum(self.rolls)", "31 passed"], 9, 111,
        without="the second `write_file`, with `overwrite`: a file that was read is replaced; the two looks for a Python: the sandbox shows the "
        "programs on PATH",
    ),
    Task(
        "click", "The metavar of an optional argument is shown in double brackets. Correct it.", METAVAR,
        [call("search", pattern="make_metavar"),
         call("read_file", path=CORE, start_line=2_690, end_line=2_760),
         say("", call("edit_file", path=CORE, old="        return f'[{self.metavar}]'", new="        return self.metavar"),
             call("run_command", command="/usr/bin/python3 check.py")),
         say("Corrected; 224 tests pass.")],
        ["def make_metavar", "224 passed"], 5, 27, has_map=True,
        without="`git commit`: the system message says to commit only when asked",
    ),
    Task(
        "ky", "Rename the class HTTPError to HttpStatusError everywhere (sources, tests, readme), and its file too. isHTTPError keeps its name.", KY,
        [call("search", pattern=r"\bHTTPError\b"),
         call("run_command", command=r"grep -rl HTTPError --include=*.ts . | xargs sed -i 's/\bHTTPError\b/HttpStatusError/g' && "
              "mv source/errors/HTTPError.ts source/errors/HttpStatusError.ts && git diff --stat 2>/dev/null; true"),
         call("run_command", command="/usr/bin/python3 check.py 2>&1 | tail -5"),
         say("Renamed.")],
        ["HTTPError.ts", "left: []"], 4, 32, has_map=True,
        without="none; in the place of `npx tsc`, which hung for want of the network, stands a check that is there: the system message says that "
        "commands have no network",
    ),
    Task(
        "dev server", "Start server.py and see whether /health answers 200.", {"server.py": SERVER},
        [call("run_command", command="/usr/bin/python3 server.py", background=True),
         call("run_command", command="sleep 1; curl -s -i http://127.0.0.1:8123/health | head -1"),
         call("run_command", command="echo hello > /tmp/note.txt"),
         call("run_command", command="cat /tmp/note.txt"),
         say("Yes.")],
        ["200 OK", "hello"], 8, 29, 0.6,
        without="`curl -v` outside the sandbox, `read_job` to see why, and `server & curl` in one command: the second command reaches the server",
    ),
    Task(
        "long file", "In decimal.py have quantize_here double its value.", {"decimal.py": LONG},
        [call("search", pattern="total|quantize_here", path="decimal.py"), call("read_file", path="decimal.py"),
         call("read_file", path="decimal.py", start_line=5_190, end_line=5_210),
         call("edit_file", path="decimal.py", old="    return value\n", new="    return 2 * value\n"),
         call("run_command", command="/usr/bin/python3 -m py_compile decimal.py"), say("Doubled and compiled.")],
        ["quantize_here(value)", "continue with start_line="], 6, 141, 0.6,
    ),
    Task(
        "16k window",
        "Review how click resolves default values of parameters: Parameter.get_default, consume_value, Option overrides. Write "
        "docs/defaults-flow.md explaining it, with file:line references, then check with run_command that the file has at least 5 references. "
        "Never mention the word 'magic' in the document.",
        CLICK,
        [say("Let me find the code.", call("update_plan", items=[{"step": one} for one in PLAN]),
             call("search", pattern="def get_default|def consume_value|def value_from_envvar|default_map")),
         say("", call("run_command", command="grep -n 'def get_default' -r src", description="Find get_default"),
             call("read_file", path=CORE, start_line=2_125, end_line=2_420)),
         say("Parameter.consume_value is at 2414.", call("read_file", path=CORE, start_line=2_369, end_line=2_400),
             call("read_file", path=CORE, start_line=2_420, end_line=2_560)),
         say("OMEGA-7 precedence is command line, env var, default_map, default.",
             call("read_file", path=CORE, start_line=2_560, end_line=2_760)),
         say("", call("read_file", path=CORE, start_line=3_060, end_line=3_200), call("read_file", path=CORE, start_line=3_440, end_line=3_530)),
         say("Found how Option overrides get_default at 3067 and consume_value at 3451.", call("write_file", path="docs/defaults-flow.md", content="".join(
                 f"- src/click/core.py:{line}: what is looked at, in this order, and why it is so; the later one counts only where the "
                 "earlier one says nothing.\n" for line in (2369, 2414, 2420, 3067, 3451, 3455))),
             call("run_command", command="grep -c 'core.py:[0-9]' docs/defaults-flow.md"),
             call("update_plan", items=[{"text": one, "status": "done"} for one in PLAN])),
         say("Written; it has 6 references.")],
        ["6\n[exit code 0]"], 9, 72, 0.6, 16_000, True, ["ALPHA-1", "OMEGA-7: command", "OMEGA-8", "OMEGA-9"],
        {"compaction": [{"text": "OMEGA-7: command line, env var, default_map, default."}] * 9},
        without="the second `update_plan` and `search`: the first ones were understood; the step that read the whole file before writing: "
        "nothing of what was read had been left out by then, as `at_once` shows. A read is added, of what a shorter result left out",
    ),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a task."""

    steps: int
    tokens: float
    standing: float
    """Of these, system and tools. All in thousands."""
    errors: Sequence[str]
    """Results that are errors."""

    def fits(self, task: Task) -> bool:
        """Whether it is no worse than it may be."""
        return self.steps <= task.steps and self.tokens <= task.share * task.tokens


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


async def play(task: Task, folder: Path) -> Played:
    """Play a task in `folder`; it fails where its requests lack what a move needs."""
    root = folder / "workspace"
    write_files(root, task.files)
    looks = ScriptedModel([say("Looked.")] * MAPS_TRIED)
    script = ScriptedModel(task.moves, context_window=task.window, purposes=task.purposes)
    (folder / "task.json").write_text(json.dumps(script.data))
    settings = {**SETTINGS, "repositoryMap": {"enabled": task.has_map}}
    async with run_scenario(
        "Look around.",
        looks,
        workspace=root,
        keep_in=folder / "kept",
        settings=settings,
        allow_left_over=True,
    ) as run:
        while task.has_map and not run.events_of("map.drawn"):
            await asyncio.sleep(0.25)  # it is drawn by a child, and nothing says when it is ready
            await run.go_on("Look around.")
        await run.go_on(task.prompt, model=f"scripted:{folder / 'task.json'}", new_session=True)
        assert run.outcome == "completed", (
            task.name,
            run.outcome,
            run.events_of("approval.requested"),
            run.events_of("tool.finished"),
        )
        sent = [one for one in run.invocations if one.turn_id == run.turn_id]
        finished = run.events_of("tool.finished")
    texts = ["\n".join(message.text for message in one.messages) for one in sent]
    for need in task.needs:
        assert any(need in text for text in texts), (task.name, need)
    assert any(all(need in text for need in task.at_once) for text in texts), (task.name, task.at_once)
    standing = sum(_bytes(one.messages[0].text) + sum(map(_of_tool, one.tools)) for one in sent)
    said = sum(len(message.encoded) for one in sent for message in one.messages[1:])
    steps = sum(one.purpose == "main" for one in sent)
    errors = [one["content"] for one in finished if one["status"] != "ok"]
    return Played(steps, (standing + said) / BYTES / 1_000, standing / BYTES / 1_000, errors)


def _of_tool(tool: ToolSpec) -> int:
    return _bytes(f"{tool.name}{tool.description}{json.dumps(tool.schema, separators=(',', ':'))}")


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


async def main() -> int:
    """Print the table; 1 where a task is worse than it may be."""
    print(
        "| task | steps | of the review | thousand tokens | of these system and tools | of the review | may be |\n|---|--:|--:|--:|--:|--:|--:|"
    )
    is_worse = False
    for task in TASKS:
        with tempfile.TemporaryDirectory() as folder:
            came = await play(task, Path(folder).resolve())
        is_worse |= not came.fits(task)
        row = (
            task.name, came.steps, task.steps, f"{came.tokens:.1f}", f"{came.standing:.1f}", task.tokens, f"{task.share * task.tokens:.0f}"
        )  # fmt: skip
        print("|", " | ".join(map(str, row)), "|", *([] if came.fits(task) else ["**no**"]), flush=True)
    return int(is_worse)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
