"""Sessions at random, through the front door: the agent edits, somebody types, opens, saves and closes, hunks come and go.

No character that somebody typed is lost, the first bytes come back where nobody typed, and what `outrider.changes`
says is what the texts say.
"""

import asyncio
import random
import re
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
NAMES = ["a.txt", "b.txt", "new.txt"]
FIRST = {"a.txt": "".join(f"line {n}\n" for n in range(8)), "b.txt": "}\n\n}\n\nend"}
TYPED, MADE = re.compile(r"<\d+>"), re.compile(r"\{\d+\}")
PERSON = ["type", "type", "type", "end", "editor undo"]
OTHERS = ["agent", "agent", "another", "undo", "undo", "redo", "open", "save", "close"]
EXAMPLES = settings.default.max_examples // 5 if settings.default else 20
"""Each takes about half a second."""


class House:
    """A session of the real server, an editor, and who does things at random."""

    def __init__(self, editor, workspace, seed):
        self.editor = editor
        self.workspace = workspace
        self.rng = random.Random(seed)
        self.turns = []
        self.count = 0
        self.session_id = None
        self.taken = 0
        """Questions that were answered with a yes: what is gone over then is gone with it."""

    def is_open(self, name):
        return self.editor.desk.uri(name) in self.editor.desk.buffers

    def text(self, name):
        """What the user sees; None: there is no file."""
        if self.is_open(name):
            return self.editor.text(name)
        return self.editor.disk(name) if (self.workspace / name).exists() else None

    def texts(self):
        return {name: self.text(name) for name in NAMES}

    def all_of(self, pattern):
        return {word for text in self.texts().values() for word in pattern.findall(text or "")}

    def answer(self, question):
        title = self.rng.choice(question.titles)
        self.taken += title.startswith("Take")
        return title

    def yes(self, question):
        return next(title for title in question.titles if title.startswith("Take"))

    def mark(self):
        self.count += 1
        return self.count

    # --- what may happen -------------------------------------------------------------------------------------

    def an_edit(self):
        """A call of the agent that leaves what somebody typed as it is."""
        name = self.rng.choice(NAMES)
        text, new = self.text(name), f"{{{self.mark()}}}\n"
        if text is None:
            return call("write_file", path=name, content=self.rng.choice(["", new, f"{new}made\n"]))
        lines = text.splitlines(keepends=True)
        plain = [
            n
            for n, line in enumerate(lines)
            if not TYPED.search(line) and text.count(line) == 1 and line.strip()
        ]
        kind = self.rng.choice(["replace", "replace", "insert", "whole", "patch", "several", "delete"])
        if kind == "insert" or not plain:
            return call("insert_lines", path=name, after_line=self.rng.randint(0, len(lines)), text=new)
        if kind == "delete" and not TYPED.search(text):
            return call("delete_file", path=name)
        at = self.rng.choice(plain)
        old, becomes = lines[at], self.rng.choice(["", new, lines[at].rstrip("\n") + new])
        if kind == "whole":
            content = "".join([*lines[:at], becomes, *lines[at + 1 :]])
            return call("write_file", path=name, content=content, overwrite=True)
        if kind == "patch":
            added = "".join(f"+{line}" for line in becomes.splitlines(keepends=True))
            old = old.rstrip("\n")
            patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-{old}\n{added}*** End Patch\n"
            return call("apply_patch", patch=patch)
        edits = [{"old": old, "new": becomes}]
        if kind == "several" and len(plain) > 1:
            other = self.rng.choice([n for n in plain if n != at])
            edits.append({"old": lines[other], "new": f"{{{self.mark()}}}\n"})
        return call("edit_file", path=name, edits=edits)

    def another_file(self):
        """A path that is used again: a file goes, or moves away, and another one is made where it was."""
        name = self.rng.choice([one for one in NAMES if self.text(one) is not None] or [None])
        free = [one for one in NAMES if self.text(one) is None]
        if name is None or TYPED.search(self.text(name)) or self.is_open(name):
            return [step(self.an_edit())]
        anew = f"{{{self.mark()}}}\n"
        more = call("edit_file", path=name, old=anew, new=f"{anew}{{{self.mark()}}}\n")
        calls = [call("delete_file", path=name), call("write_file", path=name, content=anew), more]
        if free and self.rng.random() < 0.5:
            move = call("rename_file", **{"from": name, "to": self.rng.choice(free)})
            calls = self.rng.choice([[move, *calls[1:]], [*calls, move], [calls[0], calls[1], move]])
        return [step(one) for one in calls[: self.rng.randint(1, len(calls))]]

    async def agent(self):
        await self.go(step(*(self.an_edit() for _ in range(self.rng.choice([1, 1, 2])))))

    async def another(self):
        await self.go(*self.another_file())

    async def go(self, *steps):
        self.turns += [*steps, DONE]
        model = scripted(self.workspace, self.turns, name=f"script{len(self.turns)}")
        more = {"sessionId": self.session_id} if self.session_id else {}
        assert (await self.editor.run("Go.", model=model, **more))["outcome"] == "completed"
        self.session_id = self.editor.session_id

    async def type(self):
        name = self.rng.choice(NAMES)
        if (text := self.text(name)) is None:
            return
        at = self.rng.randint(0, len(text))
        if self.rng.random() < 0.5:
            at = text.rfind("\n", 0, at) + 1
        word = f"<{self.mark()}>" + self.rng.choice(["", "\n"])
        if not self.is_open(name):
            (self.workspace / name).write_bytes((text[:at] + word + text[at:]).encode())
            return
        above = text[:at].split("\n")
        self.editor.type(name, word, at=(len(above) - 1, len(above[-1])))
        self.editor.settle()

    async def end(self):
        """The editor ends the last line when it saves, or takes its end away."""
        name = self.rng.choice(NAMES)
        if self.is_open(name) and (text := self.text(name)):
            *_, before, last = ["", *text.split("\n")]
            if last:
                self.editor.type(name, "\n")
            elif before and text.count(f"{before}\n") == 1:
                self.editor.type(name, before, replace=f"{before}\n")
            self.editor.settle()

    async def editor_undo(self):
        name = self.rng.choice(NAMES)
        if self.is_open(name):
            self.rng.choice([self.editor.undo, self.editor.redo])(name)
            self.editor.settle()

    async def open(self):
        name = self.rng.choice(NAMES)
        if not self.is_open(name) and (self.workspace / name).exists():
            self.editor.open(name)

    async def save(self):
        name = self.rng.choice(NAMES)
        if self.is_open(name):
            self.editor.save(name)

    async def close(self):
        name = self.rng.choice(NAMES)
        if self.is_open(name):
            if (self.workspace / name).exists():
                self.editor.save(name)
            self.editor.close(name)

    async def take(self, command, **given):
        """Undo or redo; what somebody typed stays, but for what they let it go over."""
        typed, taken = self.all_of(TYPED), self.taken
        try:
            await self.editor.command(command, {"sessionId": self.session_id, **given})
        except RpcError as error:
            assert error.data == {"reason": "nothing_to_undo"}
        lost = typed - self.all_of(TYPED)
        assert not lost or self.taken > taken, f"{command} {given} took {lost}"

    async def some(self, command):
        if self.session_id is None:
            return
        given = {"scope": self.rng.choice(["hunk", "step", "turn", "session"])}
        hunks = [hunk["id"] for change in await self.changes() for hunk in change["hunks"]]
        if hunks and self.rng.random() < 0.5:
            given["id"] = self.rng.choice(hunks)
        await self.take(command, **given)

    async def changes(self):
        return (await self.editor.command("outrider.changes", {"sessionId": self.session_id}))["changes"]

    async def do(self, action):
        match action:
            case "undo" | "redo":
                await self.some(f"outrider.{action}")
            case "editor undo":
                await self.editor_undo()
            case _:
                await getattr(self, action)()
        self.let_go()

    def let_go(self):
        """Close what is left open of files that are gone, unless somebody typed in it, and read again what is unchanged."""
        for name in NAMES:
            if not self.is_open(name):
                continue
            if (self.workspace / name).exists():
                if not self.editor.dirty(name) and self.editor.disk(name) != self.text(name):
                    self.editor.reload(name)
            elif not self.typed_in(name):
                self.editor.close(name)

    def typed_in(self, name):
        return TYPED.search(self.text(name) or "")

    # --- what must hold --------------------------------------------------------------------------------------

    async def check_states(self):
        """Every line of the agent is there, wherever its file was moved, or is not, as its hunk says."""
        if self.session_id is None:
            return
        # Of a file that an undo took away the document may be left, with what somebody typed.
        texts = {name: text for name, text in self.texts().items() if (self.workspace / name).exists()}
        made_in = {word for text in texts.values() for word in MADE.findall(text)}
        for change in await self.changes():
            for hunk in change["hunks"]:
                made = set(MADE.findall(hunk["added"])) - set(MADE.findall(hunk["removed"]))
                there = made & made_in
                if hunk["state"] == "applied":
                    assert there == made, (hunk, texts)
                elif hunk["state"] == "undone":
                    assert not there, (hunk, texts)


async def play(folder, seed, actions, *, typing):
    workspace = folder / "workspace"
    workspace.mkdir()
    for name, text in FIRST.items():
        (workspace / name).write_text(text)
    async with start_session("stock", workspace, scripted(workspace, [DONE]), FULL) as editor:
        house = House(editor, workspace, seed)
        editor.answers = house.answer
        for action in ["agent", *actions]:
            await house.do(action)
            await house.check_states()
        if not typing:
            editor.answers = house.yes
            # A new file that is open with what was undone in it, unsaved, is only deleted once that is saved.
            for _ in range(2):
                await house.take("outrider.undo", scope="session")
                editor.save_all()
            left = {name: (workspace / name).read_text() for name in NAMES if (workspace / name).exists()}
            # What had the name of a renamed file is put aside with a yes, and stays so.
            aside = list(workspace.glob("*.mine*"))
            assert left == FIRST or aside, (left, await house.changes())
        events = editor.events
    assert_well_formed(events)
    await keep_sessions(folder / "workspace.state")


def run(seed, actions, *, typing):
    with tempfile.TemporaryDirectory(prefix="outrider-random-") as folder:
        asyncio.run(play(Path(folder), seed, actions, typing=typing))


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32), st.lists(st.sampled_from([*OTHERS, *PERSON]), min_size=3, max_size=10))
def test_nothing_that_somebody_typed_is_lost(seed, actions):
    run(seed, actions, typing=True)


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(OTHERS), min_size=3, max_size=10))
def test_the_first_bytes_come_back_where_nobody_typed(seed, actions):
    run(seed, actions, typing=False)
