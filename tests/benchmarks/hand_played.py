"""The steps and tokens of tasks that a review once played by hand, on fixtures of the same size, beside what the review counted.

    python tests/benchmarks/hand_played.py

The moves follow the review's notes, which do not have every call; where one is left out, `Task.without` says why, and fewer steps are then no
merit of the program. Fixtures are made here, in the sizes that the review names. Tokens are estimated, four bytes each, where the review counted
with o200k_base: read the two columns as about the same kind, not to a few percent. System and tools are apart, as every request has them.
A task in whose requests something is missing that the next move needs fails.
"""

import asyncio
import sys
from dataclasses import dataclass, field
from typing import Any

from outrider.testing import ScriptedModel, call, run_scenario, say

BYTES = 4


@dataclass
class Task:
    name: str
    prompt: str
    files: dict[str, str]
    moves: list[Any]
    needs: list[str]
    """What the requests must hold at least once."""
    steps: int
    tokens: int
    """Those of the review, in thousands."""
    window: int = 128_000
    purposes: dict[str, Any] = field(default_factory=dict)
    without: str = ""


def module(lines: int, marks: dict[int, str]) -> str:
    """A Python file of so many lines, with some of its own at their places."""
    body = (f"    total = total + values[{number}] * rate  # step {number}" for number in range(1, lines + 1))
    text = ["def compute(values, rate, total=0):", *body]
    for number, line in marks.items():
        text[number - 1] = line
    return "\n".join(text[:lines]) + "\n"


LONG = module(6_425, {5_200: "def quantize_here(value):", 5_201: "    return value"})
CORE = module(
    3_500,
    {
        2_414: "    def consume_value(self, ctx, opts):",
        2_420: "    # OMEGA-7: command line, env var, default_map, default",
    },
)
TASKS = [
    Task(
        "long file", "In decimal.py have quantize_here double its value.", {"decimal.py": LONG},
        [call("search", pattern="total|quantize_here", path="decimal.py"), call("read_file", path="decimal.py"),
         call("read_file", path="decimal.py", start_line=5_190, end_line=5_210),
         call("edit_file", path="decimal.py", old="    return value\n", new="    return 2 * value\n"),
         call("run_command", command="python -m py_compile decimal.py"), say("Doubled and compiled.")],
        ["quantize_here(value)", "continue with start_line="], 6, 141,
    ),
    Task(
        "16k window", "Write VALUES.md: in which order src/core.py takes a value.", {"src/core.py": CORE},
        [call("update_plan", items=[{"text": "Find the code"}, {"text": "Write VALUES.md"}]),
         call("search", pattern="def consume_value"),
         *(call("read_file", path="src/core.py", start_line=start, end_line=start + 140) for start in (2_125, 2_265, 2_405, 2_545)),
         call("write_file", path="VALUES.md", content="Command line, env var, default_map, default.\n"),
         call("read_file", path="VALUES.md"), say("Written.")],
        ["OMEGA-7"], 9, 72, 16_000, {"compaction": [{"text": "OMEGA-7: command line, env var, default_map, default."}] * 9},
    ),
    Task(
        "dev server", "Does /health of server.py answer 200?",
        {"server.py": "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200)\n"
                      "        self.end_headers()\nh.HTTPServer(('127.0.0.1', 8123), H).serve_forever()\n"},
        [call("read_file", path="server.py"), call("run_command", command="python server.py", background=True),
         call("run_command", command="sleep 1; curl -s -i http://127.0.0.1:8123/health | head -1"),
         call("run_command", command="python server.py >/dev/null 2>&1 & sleep 1; curl -s -i http://127.0.0.1:8123/health | head -1; kill $!"),
         say("Yes.")],
        ["200 OK"], 8, 29,
        without="`curl -v` outside the sandbox and the two looks at a note in /tmp: detours of the review. The last command is needed only "
        "where commands share no network; it stays, so that the task is the same with and without",
    ),
]  # fmt: skip


async def played(task: Task) -> tuple[int, int, int]:
    """Steps, thousand tokens of all requests, and those of them that are system and tools."""
    model = ScriptedModel(task.moves, context_window=task.window, purposes=task.purposes)
    settings = {"permissionMode": "full"}
    run = await run_scenario(
        task.prompt, model, workspace=task.files, settings=settings, allow_left_over=True
    )
    assert run.outcome == "completed", (task.name, run.outcome, run.reason)
    texts = [message.text for one in run.invocations for message in one.messages]
    for need in task.needs:
        assert any(need in text for text in texts), (task.name, need)
    size = fixed = 0
    for one in run.invocations:
        own = len(one.messages[0].text.encode()) + sum(
            len(f"{tool.name}{tool.description}{tool.schema}".encode()) for tool in one.tools
        )
        fixed += own
        size += own + sum(len(message.encoded) for message in one.messages[1:])
    return (
        sum(one.purpose == "main" for one in run.invocations),
        round(size / BYTES / 1_000),
        round(fixed / BYTES / 1_000),
    )


async def main() -> int:
    print(
        "| task | steps | of the review | thousand tokens | of these system and tools | of the review |\n|---|--:|--:|--:|--:|--:|"
    )
    is_worse = False
    for task in TASKS:
        steps, tokens, fixed = await played(task)
        is_worse |= steps > task.steps or tokens > 0.6 * task.tokens
        print(f"| {task.name} | {steps} | {task.steps} | {tokens} | {fixed} | {task.tokens} |")
    return int(is_worse)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
