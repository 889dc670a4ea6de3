"""A scenario out of an exported session.

What was read is its workspace, what the model answered its script, and what the person did its steps. Playing it
runs everything again, tools and commands too.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, cast

from outrider.models.recorded import script_of
from outrider.ports.events import LoggedEvent
from outrider.replay.tape import Input, Tape
from outrider_protocol.events import Decision
from outrider_protocol.export import Export
from outrider_protocol.scenario import (
    Answer,
    Cancel,
    Configure,
    Expect,
    Occurrence,
    Reply,
    Restart,
    Run,
    Scenario,
    Steer,
    Step,
    Undo,
    Until,
    Wait,
)
from outrider_protocol.settings import Settings

_TITLES = {"allow_once": "Allow once", "allow_session": "Allow for this session", "reject": "Reject"}


def scenario_of(export: Export, name: str) -> Scenario:
    """The scenario that plays a session again, and expects the same course and the same files.

    What an export cannot know is left out: files that were only searched or read by commands, and what was unsaved.

    Args:
        export: The session.
        name: What the scenario is called.
    """
    tape = Tape(export)
    before, after, opened = _texts(tape)
    finished = [event for event in tape.events if event.type == "turn.finished"]
    outcome = finished[-1].data["outcome"] if finished else None
    script = script_of(export)
    return Scenario(
        version=1,
        name=name,
        description=f"From session {export.session_id}: {_first_task(tape)}",
        workspace=before,
        settings=_settings(tape),
        open=sorted(opened & before.keys()),
        model=script,
        steps=list(_steps(tape)),
        answers=list(_answers(tape)),
        expect=Expect(
            outcome=outcome,
            reason=finished[-1].data["reason"] if finished else None,
            contains=list(_course(tape)),
            files={path: text for path, text in after.items() if path not in opened},
            buffers={path: text for path, text in after.items() if path in opened and text is not None},
        ),
    )


def written(scenario: Scenario) -> dict[str, Any]:
    """A scenario as it stands in its file: without what is as it would be anyway."""
    return {
        "version": scenario.version,
        **scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"version"}),
    }


def _first_task(tape: Tape) -> str:
    task = next((event.data["prompt"] for event in tape.events if "prompt" in event.data), "")
    return " ".join(str(task).split())[:80]


def _settings(tape: Tape) -> dict[str, Any]:
    started = next((event for event in tape.events if event.type == "turn.started"), None)
    told: dict[str, Any] = (started.data.get("settings") if started else None) or {}
    default: dict[str, Any] = Settings().to_wire()["limits"]
    of_session: dict[str, Any] = told.get("limits", {})
    limits = {key: value for key, value in of_session.items() if value != default.get(key)}
    mode: str = told.get("permissionMode", tape.events[0].data.get("permissionMode", "ask"))
    return {"permissionMode": mode} | ({"limits": limits} if limits else {})


# --- files ---------------------------------------------------------------------------------------------------


def _texts(tape: Tape) -> tuple[dict[str, str], dict[str, str | None], set[str]]:
    """The texts at the beginning, those at the end of what was changed, and what was open when it was changed."""
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    opened: set[str] = set()
    for event in tape.events:
        data = event.data
        for one in data.get("read", ()):
            before.setdefault(one["path"], tape.text(one["hash"]))
        if not event.type.startswith("edit."):
            continue
        path, new = data["path"], data.get("to")
        if event.type != "edit.rejected":
            before.setdefault(path, tape.text(data.get("before")))
        if new is not None:
            before.setdefault(new, None)
        if event.type in {"edit.applied", "edit.merged"}:
            after[new or path] = tape.text(data.get("after"))
            if new is not None:
                after[path] = None
            if data.get("where", "buffer") == "buffer":
                opened.add(path)
    ours = {path: text for path, text in before.items() if _is_inside(path)}
    known = {path: text for path, text in ours.items() if text is not None}
    return known, {path: text for path, text in after.items() if _is_inside(path)}, opened


def _is_inside(path: str) -> bool:
    pure = PurePath(path)
    return not pure.is_absolute() and ".." not in pure.parts and not path.startswith("untitled:")


# --- the person ----------------------------------------------------------------------------------------------


def _answers(tape: Tape) -> Iterator[str | Answer]:
    """What the person did with each question on the screen; a restart asks again what is open."""
    on_screen: dict[str, LoggedEvent] = {}
    for event in tape.events:
        data = event.data
        if event.type == "approval.requested" or (event.type == "question.asked" and data.get("options")):
            on_screen[data["id"]] = event
            yield _answer(tape, data["id"], event.seq)
        elif event.type in {"approval.resolved", "question.answered"}:
            on_screen.pop(data["id"], None)
        elif event.type == "turn.finished":
            on_screen.clear()
        elif event.type == "session.restored":
            for item in on_screen:
                yield _answer(tape, item, event.seq)


def _answer(tape: Tape, item: str, seq: int) -> str | Answer:
    """What the person did with a question that came on the screen after event `seq`."""
    parked = False
    for event in tape.events[seq:]:
        data = event.data
        if event.type == "session.restored":
            break
        if event.type in {"approval.resolved", "question.answered"} and data["id"] == item:
            if data.get("channel") == "message":
                return str(data.get("answer") or _TITLES[data["decision"]])
            break
        parked = parked or (event.type == "turn.parked" and data["open"][0]["id"] == item)
    return Answer(how="dismiss" if parked else "never")


def _steps(tape: Tape) -> Iterator[Step]:
    asked_again = False
    undoing = False
    for one in tape.inputs:
        if one.kind in {"begin", "close", "park"}:
            continue
        if one.kind == "undo":
            if one.event.type == "undo.requested":
                yield Wait(do="wait")
                yield _undo(one.event.data)
            elif (
                not undoing and one.event.type == "edit.applying"
            ):  # of a log that does not say what was asked for
                yield Wait(do="wait")
                yield Undo(do="undo")
            undoing = True
            continue
        undoing = False
        if asked_again or one.kind not in {"task", "restore"}:
            yield _place(tape, one)
        step = _step(tape, one)
        if step is not None:
            yield step
        asked_again = one.kind == "task" or asked_again
    if not undoing:
        yield Wait(do="wait")


def _undo(data: dict[str, Any]) -> Undo:
    return Undo(do="redo" if data["redo"] else "undo", scope=data["scope"], id=data.get("id"))


def _place(tape: Tape, one: Input) -> Step:
    """Wait for the event after which it came."""
    event = tape.events[one.due - 1]
    if event.type in {"turn.finished", "session.closed", "session.restored"} or event.turn_id is None:
        return Wait(do="wait")
    count = Counter(known.type for known in tape.events[: one.due])[event.type]
    return Until(do="until", event=Occurrence(type=event.type), count=count)


def _step(tape: Tape, one: Input) -> Step | None:
    data = one.event.data
    match one.kind:
        case "task":
            return Run(
                do="run", prompt=data["prompt"], mode=data["mode"], limits=data.get("limits"), wait=False
            )
        case "steer" if data.get("state", "queued") == "queued":
            return Steer(do="steer", text=data["text"])
        case "approve" if data.get("channel") != "message":
            decision = cast("Decision", data["decision"])
            return Reply(do="answer", decision=decision, note=data.get("note"))
        case "answer" if data.get("channel") != "message":
            return Reply(do="answer", answer=data["answer"])
        case "cancel":
            return Cancel(do="cancel", reason=data["reason"])
        case "settings":
            return Configure(do="configure", values={"permissionMode": data["permissionMode"]})
        case "restore":
            closed = tape.events[one.due - 1].type == "session.closed"
            return Restart(do="restart" if closed else "kill")
        case _:
            return None


# --- what must come of it ------------------------------------------------------------------------------------

_COURSE = frozenset(
    {
        "turn.started", "turn.parked", "turn.finished", "tool.requested", "tool.finished", "approval.requested",
        "question.asked", "edit.applied", "edit.merged", "plan.updated", "budget.exhausted",
    }
)  # fmt: skip


def _course(tape: Tape) -> Iterator[Occurrence]:
    """The events that make the course of a session, with what does not depend on the machine."""
    for event in tape.events:
        if event.type not in _COURSE:
            continue
        keys = {
            "tool.requested": ("name",),
            "tool.finished": ("name", "status"),
            "turn.finished": ("outcome",),
        }
        data = {key: event.data[key] for key in keys.get(event.type, ()) if key in event.data}
        if event.type == "tool.finished" and event.data["name"] == "run_command":
            data.pop("status", None)  # another machine may not have the program
        yield Occurrence(type=event.type, data=data)
