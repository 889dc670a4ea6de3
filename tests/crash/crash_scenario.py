"""The run that is cut off: a read, edits of a closed and of an open file, a command, a question, an answer.

What a log must be like after any cut is said once, in `check_log`.
"""

import random
import shutil
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from everyday import is_thorough
from outrider.store.blobs import read
from outrider.store.schema import FILE_NAME
from outrider.testing.editor.answers import Dismiss
from outrider.testing.scenario import scripted
from outrider_protocol import ALLOW_ONCE, ANSWER, REJECT, RESUME, SAVE_AND_CONTINUE, WAIT

RANDOM_IDS = {"testing": {"ids": None}}
"""Settings: two processes that count their ids would give the same ones twice."""

CLOSED, OPEN, NEW = "README.md", "tariff.py", "notes/new.txt"
ANSWERED = "in hours"


@dataclass
class Cut:
    """A workspace with its script, and what the run leaves behind outside of it."""

    workspace: Path

    @property
    def ran(self):
        """A file outside the workspace: a line for each time the command ran."""
        return self.workspace.parent / "ran.txt"

    @property
    def times_ran(self):
        return len(self.ran.read_text().splitlines()) if self.ran.exists() else 0

    @property
    def model(self):
        turns = [
            [("read_file", {"path": CLOSED}, "c_read"), ("read_file", {"path": OPEN}, "c_read_2")],
            [("edit_file", {"path": CLOSED, "old": "Parking", "new": "Tariffs"}, "c_closed")],
            [("edit_file", {"path": OPEN, "old": "* 3", "new": "* 2"}, "c_open")],
            [("write_file", {"path": NEW, "content": "new\n"}, "c_new")],
            [("run_command", {"command": f"echo ran >> {self.ran}"}, "c_run")],
            [("ask_user", {"question": "In what?", "options": [ANSWERED, "in days"]}, "c_ask")],
            [("edit_file", {"path": CLOSED, "old": "Counts", "new": "Knows"}, "c_rejected")],
        ]
        scripted_turns = [
            {"tool_calls": [{"name": name, "input": given, "id": call} for name, given, call in calls]}
            for calls in turns
        ]
        return scripted(self.workspace, [*scripted_turns, {"text": "Done."}])

    def expected(self):
        """The texts of the workspace when all is done."""
        return {
            CLOSED: "# Tariffs\n\nCounts what parking costs.\n",
            OPEN: 'def price(hours):\n    """Two for each hour begun."""\n    return hours * 2\n',
            NEW: "new\n",
        }


def person(editor):
    """Who answers: saves what is to be saved, leaves the question open, rejects the last edit."""

    def answer(question):
        if SAVE_AND_CONTINUE in question.titles:
            editor.save_all()
            return SAVE_AND_CONTINUE
        if ALLOW_ONCE not in question.titles:
            return Dismiss()
        if "are not saved" in question.message:  # the command starts once they are
            editor.save_all()
        return REJECT if "Knows" in question.message else ALLOW_ONCE

    return answer


async def to_the_end(editor, turn_id):
    """Answer what is open until the turn is over; gives the result of the last wait."""
    while True:
        result = await editor.command(WAIT, {"turnId": turn_id})
        if result.get("outcome") != "needs_input":
            return result
        for item in result["open"]:
            assert item["kind"] == "question", item
            await editor.command(ANSWER, {"id": item["id"], "answer": ANSWERED})


async def resume(editor, session_id):
    """Open the session again; gives the result of the command."""
    editor.answers = person(editor)
    return await editor.command(RESUME, {"sessionId": session_id})


async def whole_log(editor, session_id):
    """The session's log, page by page."""
    events, following, more = [], 1, True
    while more:
        page = await editor.command("outrider.events", {"sessionId": session_id, "fromSeq": following})
        events += page["events"]
        following, more = page["nextSeq"], page["more"]
    return events


def check_log(events):
    """Raise AssertionError where the log of a session whose turns are over is not well formed."""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    of = {}
    for event in events:
        of.setdefault(event["type"], []).append(event["data"])
    called = [call["id"] for data in of["model.responded"] for call in data["toolCalls"]]
    once = dict.fromkeys(called, 1)
    assert Counter(called) == once
    assert Counter(data["callId"] for data in of["tool.requested"]) == once
    assert Counter(data["callId"] for data in of["tool.finished"]) == once
    assert max(Counter(data["callId"] for data in of["tool.started"]).values()) == 1
    started = [event["turnId"] for event in events if event["type"] == "turn.started"]
    finished = [event["turnId"] for event in events if event["type"] == "turn.finished"]
    assert Counter(finished) == dict.fromkeys(started, 1)
    _check_items(of, "approval.requested", "approval.resolved")
    _check_items(of, "question.asked", "question.answered")
    begun = [data["changeId"] for data in of.get("edit.applying", [])]
    ended = [
        data["changeId"]
        for kind in ("edit.applied", "edit.merged", "edit.rejected")
        for data in of.get(kind, [])
        if data["changeId"] in begun
    ]
    assert Counter(begun) == Counter(ended) == dict.fromkeys(begun, 1)


def _check_items(of, asked, answered):
    opened = Counter(data["id"] for data in of.get(asked, []))
    closed = Counter(data["id"] for data in of.get(answered, []) if data["id"] in opened)
    assert opened == dict.fromkeys(opened, 1)
    # What became pointless in a restart, as the question to save what is saved, ends with its call.
    assert closed == dict.fromkeys(closed, 1)
    given = [(data["callId"], data.get("digest", data.get("question"))) for data in of.get(asked, [])]
    assert len(set(given)) == len(given), "the same thing was asked again under another id"


def open_items(events):
    """Ids of the items that are open at the end of `events`."""
    opened = []
    for event in events:
        if event["type"] in {"approval.requested", "question.asked"}:
            opened.append(event["data"]["id"])
        elif event["type"] in {"approval.resolved", "question.answered"} and event["data"]["id"] in opened:
            opened.remove(event["data"]["id"])
    return opened


def every_one():
    """Whether a run is cut after each of its events: with `--hypothesis-profile=search`, else after each kind of event."""
    return is_thorough()


def cuts_of(events, first, one_in):
    """The seqs from `first` on that a run of these events is cut after; all of them if `every_one`.

    Else the first event of each kind, and one in `one_in` of the others, always the same ones. A kind is a type and, where
    the event has them, the tool of its call, its file and its decision.
    """
    after = range(first, len(events) + 1)
    if every_one():
        return list(after)
    tools = {e["data"]["callId"]: e["data"]["name"] for e in events if e["type"] == "tool.requested"}
    kinds = {}
    for seq in after:
        data = events[seq - 1]["data"]
        tool = tools.get(data.get("callId"))
        kind = events[seq - 1]["type"], tool, *(data.get(key) for key in ("path", "phase", "decision"))
        kinds.setdefault(kind, seq)
    others = sorted(set(after).difference(kinds.values()))
    return sorted([*kinds.values(), *random.Random(1).sample(others, len(others) // one_in)])


def texts_of(state):
    """The contents of the log in `state`, by hash."""
    connection = sqlite3.connect(state / FILE_NAME)
    digests = [digest for (digest,) in connection.execute("SELECT digest FROM blobs")]
    contents = read(connection, digests)
    connection.close()
    return {digest: content.decode() for digest, content in contents.items()}


def cut_log(source, target, last):
    """Copy the log in `source` to `target` without what comes after event `last` of its only session."""
    target.mkdir(parents=True)
    shutil.copyfile(source / FILE_NAME, target / FILE_NAME)
    connection = sqlite3.connect(target / FILE_NAME)
    with connection:
        connection.execute("DELETE FROM events WHERE seq > ?", (last,))
    connection.close()
