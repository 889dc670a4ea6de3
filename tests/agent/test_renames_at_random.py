"""Sessions at random in which the user renames files and folders: an undo of all gives back their text, where they put it."""

import asyncio
import random
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from scripting import DONE, call, step
from well_formed import assert_well_formed

from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session
from replayed import keep_sessions

FULL = {"permissionMode": "full"}
FILES = {"a": "a.txt", "b": "d/b.txt", "c": "d/deep/c.txt"}
ACTIONS = [
    "agent", "agent", "agent", "agent_renames", "agent_deletes", "person_renames", "person_renames",
    "person_renames_folder", "type", "type", "open", "save", "close", "undo", "redo",
]  # fmt: skip
EXAMPLES = settings.default.max_examples // 5 if settings.default else 20
"""Each takes about half a second."""


def head(label):
    return f"= {label} =\n"


class House:
    """A session of the real server, an editor that tells what is renamed in it, and who does things at random."""

    def __init__(self, editor, workspace, seed):
        self.editor = editor
        self.workspace = workspace
        self.rng = random.Random(seed)
        self.turns = []
        self.count = 0
        self.session_id = None
        self.places = dict(FILES)
        """Where each file is when the agent has renamed nothing."""
        self.typed = dict.fromkeys(FILES, "")

    def mark(self):
        self.count += 1
        return self.count

    def where(self):
        """The path of each file that is there."""
        found = {}
        for path in self.workspace.rglob("*.txt"):
            name = str(path.relative_to(self.workspace))
            for label in FILES:
                if head(label) in self.text(name):
                    found[label] = name
        return found

    def is_open(self, name):
        return self.editor.desk.uri(name) in self.editor.desk.buffers

    def text(self, name):
        return self.editor.text(name) if self.is_open(name) else self.editor.disk(name)

    def one(self):
        """A file, where it is."""
        return self.rng.choice(sorted(self.where().items()) or [(None, None)])

    async def go(self, calls):
        self.turns += [step(*calls), DONE]
        model = scripted(self.workspace, self.turns, name=f"script{len(self.turns)}")
        more = {"sessionId": self.session_id} if self.session_id else {}
        assert (await self.editor.run("Go.", model=model, **more))["outcome"] == "completed"
        self.session_id = self.editor.session_id

    async def agent(self):
        label, name = self.one()
        calls = [call("write_file", path=f"made{self.mark()}.md", content="made\n")]
        if label is not None:
            # Far from the top, where the user writes, so that nobody has to be asked.
            lines = [line for line in self.text(name).splitlines(keepends=True) if line.startswith("line")]
            for line in self.rng.sample(lines, min(len(lines), self.rng.randint(1, 2))):
                calls += [call("edit_file", path=name, old=line, new=f"{{{self.mark()}}}\n")]
        await self.go(calls)

    async def agent_renames(self):
        label, name = self.one()
        if label is not None:
            await self.go([call("rename_file", **{"from": name, "to": f"by_agent{self.mark()}.txt"})])

    async def agent_deletes(self):
        label, name = self.one()
        if label is not None and not (self.is_open(name) and self.editor.dirty(name)):
            await self.go([call("delete_file", path=name)])

    async def person_renames(self):
        label, name = self.one()
        if label is not None:
            n = self.mark()
            await self.rename(name, self.rng.choice([f"n{n}.txt", f"e{n}/n.txt", f"d/n{n}.txt"]))

    async def person_renames_folder(self):
        folders = [
            path for path in self.workspace.rglob("*") if path.is_dir() and ".outrider" not in path.parts
        ]
        if folders:
            folder = self.rng.choice(sorted(folders)).relative_to(self.workspace)
            await self.rename(str(folder), f"f{self.mark()}")

    async def rename(self, name, to):
        before = self.where()
        self.editor.rename(name, to)
        after = self.where()
        self.places |= {label: path for label, path in after.items() if before[label] != path}

    async def type(self):
        label, name = self.one()
        if label is None:
            return
        word = f"<{self.mark()}>\n"
        self.typed[label] = word + self.typed[label]
        if self.is_open(name):
            self.editor.type(name, word, at=(0, 0))
            self.editor.settle()
        else:
            (self.workspace / name).write_text(word + self.text(name))

    async def open(self):
        label, name = self.one()
        if label is not None and not self.is_open(name):
            self.editor.open(name)

    async def save(self):
        self.editor.save_all()

    async def close(self):
        label, name = self.one()
        if label is not None and self.is_open(name):
            self.editor.save(name)
            self.editor.close(name)

    async def take(self, command, **given):
        if self.session_id is not None:
            try:
                return await self.editor.command(command, {"sessionId": self.session_id, **given})
            except RpcError as error:
                assert error.data == {"reason": "nothing_to_undo"}
        return None

    async def undo(self):
        await self.take("outrider.undo", scope=self.rng.choice(["hunk", "step", "turn"]))

    async def redo(self):
        await self.take("outrider.redo", scope=self.rng.choice(["hunk", "step", "turn"]))

    def let_go(self):
        """Close what is left open of files that are gone, and read again what is unchanged and was changed below."""
        for buffer in list(self.editor.desk.buffers.values()):
            name = str(buffer.path.relative_to(self.workspace))
            if not buffer.path.exists():
                self.editor.close(name)
            elif not self.editor.dirty(name) and self.editor.disk(name) != self.text(name):
                self.editor.reload(name)

    async def do(self, action):
        await getattr(self, action)()
        self.let_go()


async def play(folder, seed, profile, actions):
    workspace = folder / "workspace"
    first = {}
    for label, name in FILES.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        first[label] = head(label) + "".join(f"line {n} of {label}\n" for n in range(1, 9))
        (workspace / name).write_text(first[label])
    async with start_session(profile, workspace, scripted(workspace, [DONE]), FULL) as editor:
        house = House(editor, workspace, seed)
        for action in ["agent", *actions]:
            await house.do(action)
        editor.save_all()
        undone = await house.take("outrider.undo", scope="session")
        editor.save_all()
        assert undone is None or undone["conflicts"] == [], undone
        assert house.where() == house.places, (undone, editor.events_of("workspace.renamed"))
        for label, name in house.places.items():
            assert (workspace / name).read_text() == house.typed[label] + first[label], (label, undone)
        assert list(workspace.rglob("*.md")) == []
        assert editor.questions == []
        events = editor.events
    assert_well_formed(events)
    await keep_sessions(folder / "workspace.state")


@settings(max_examples=EXAMPLES)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["stock", "vscode", "helix-25.07"]),
    st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=12),
)
def test_an_undo_of_all_gives_back_the_text_of_the_person_where_they_put_it(seed, profile, actions):
    with tempfile.TemporaryDirectory(prefix="outrider-renames-") as folder:
        asyncio.run(play(Path(folder), seed, profile, actions))
