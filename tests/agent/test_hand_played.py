"""Tasks that a review played by hand: its moves lead to the end, in its steps and tokens or fewer; and one of them in a window far too small for it."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from hand_played import TASKS, play, write_files

from outrider.testing.scenario import embedded, start_session
from provider_server import ProviderServer, Said, streams
from sandboxes import needs_bubblewrap

PLACES = {f"FACT-{number}": 400 * number for number in range(1, 13)}
"""Where in the file what the task asks for is said."""


@needs_bubblewrap
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
async def test_the_moves_of_the_review_need_no_more_steps_and_tokens(task, tmp_path):
    # When a map comes is a matter of luck; the benchmark has it.
    played = await play(replace(task, has_map=False), tmp_path)
    assert played.fits(task), played


class Reader:
    """A model that knows what its request says and nothing else: it looks up what it does not see, and notes what it found."""

    def __init__(self, server):
        self.server = server
        self.read, self.questions, self.sizes = [], 0, []
        self.noted = set()

    async def answer(self, connection):
        body = self.server.bodies[-1]
        said = self._summary(body) if "tools" not in body else self._step(body)
        await streams("openai-chat", said)(connection)

    def _summary(self, body):
        return Said(
            "Notes: "
            + ", ".join(_facts(body))
            + ". The folder is docs. Left: the other facts, then facts.md."
        )

    def _step(self, body):
        self.sizes.append(len(json.dumps(body)))
        text, known = "\n".join(one.get("content") or "" for one in body["messages"]), _facts(body)
        assert "Collect the facts of core.py" in text
        note = f"Seen: {', '.join(known)}."
        missing = [name for name in PLACES if not any(fact.startswith(f"{name}=") for fact in known)]
        if "docs" not in text:
            self.questions += 1
            return Said(
                "",
                [
                    (
                        f"q{len(self.sizes)}",
                        "ask_user",
                        {"question": "Which folder?", "options": ["docs", "notes"]},
                    )
                ],
            )
        if missing:
            line = PLACES[missing[0]]
            self.read.append(missing[0])
            place = {"path": "core.py", "start_line": line - 2, "end_line": line + 150}
            return Said(note, [(f"r{len(self.sizes)}", "read_file", place)])
        if "facts.md" not in "".join(
            call["function"]["arguments"] for one in body["messages"] for call in one.get("tool_calls", [])
        ):
            content = "\n".join(known)
            return Said(note, [("w", "write_file", {"path": "docs/facts.md", "content": content})])
        return Said("All facts are in docs/facts.md.")


def _facts(body):
    """What the request says, in a result, a note or a summary."""
    return sorted(set(re.findall(r"FACT-\d+=\d+", json.dumps(body["messages"]))))


async def collect(workspace, window):
    """Have a reader collect the facts in a window of so many tokens."""
    lines = [f"    total = values[{number}] * rate - total" for number in range(5_200)]
    for name, line in PLACES.items():
        lines[line - 1] = f"    # {name}={line}"
    write_files(workspace, {"core.py": "\n".join(lines)})
    async with ProviderServer() as server:
        reader = Reader(server)
        server.answers = [reader.answer] * 200
        near = {"kind": "openai-chat", "baseUrl": server.url, "contextWindow": window}
        options = {"providers": {"near": near}, "testing": None, "permissionMode": "full", "reminders": False}
        async with start_session(
            "stock",
            workspace,
            "near/m",
            {**options, "repositoryMap": {"enabled": False}, "modelTitles": False},
            connection=embedded(workspace),
            answers=["docs"],
        ) as editor:
            done = await editor.run(
                "Collect the facts of core.py in facts.md, in the folder that the user wants."
            )
            cuts = [event["type"] for event in editor.events if event["type"].startswith("context.")]
    assert done["outcome"] == "completed", done
    return reader, (workspace / "docs" / "facts.md").read_text(), cuts


async def test_a_session_cut_to_a_sixth_finishes_its_task_and_asks_nothing_twice(workspace):
    reader, whole, cuts = await collect(workspace, 1_000_000)
    assert cuts == []
    assert (len(reader.read), reader.questions) == (len(PLACES), 1)
    shutil.rmtree(workspace / "docs")  # its name would be told with the task
    tokens = max(reader.sizes) // 4
    cut, again, cuts = await collect(workspace, tokens // 6)
    assert "context.compacted" in cuts
    assert again == whole
    assert sorted(cut.read) == sorted(PLACES)
    assert cut.questions == 1
