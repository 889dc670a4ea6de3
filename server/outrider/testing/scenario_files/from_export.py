"""A scenario out of an exported session.

What was read is its workspace, what the model answered its script, and what the user did its steps. Playing it
runs everything again, tools and commands too.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, cast

from pydantic import ValidationError

from outrider.models.scripted import script_of
from outrider.replay.tape import Input, LoggedEvent, Tape
from outrider_protocol import ALWAYS_ALLOW, ALWAYS_EVERYWHERE, ALWAYS_HERE, PUT_BACK, RUN_OUTSIDE, allow_all
from outrider_protocol.events import Decision, ReviewedHunk
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event
from outrider_protocol.scenario import (
    Answer,
    Cancel,
    Configure,
    EditorTool,
    Expect,
    Occurrence,
    Rename,
    Reply,
    Restart,
    Run,
    Scenario,
    Steer,
    Step,
    ToolAnswer,
    Undo,
    Until,
    Wait,
)
from outrider_protocol.settings import Settings

_TITLES = {
    "allow_once": "Allow once",
    "allow_session": "Allow for this session",
    "allow_always": ALWAYS_ALLOW,
    "choose": "Choose…",
    "reject": "Reject",
}

_MEANWHILE: Final = frozenset({"steering.received", "settings.changed", "workspace.renamed"})
"""What a user can do while a question is on the screen that they answer there."""
_TASK: Final = frozenset({"turn.queued", "turn.started"})
_STEPS: Final = frozenset(
    {*_MEANWHILE, *_TASK, "session.restored", "approval.resolved", "question.answered", "turn.finished"}
)
"""What is a step of its own."""


@dataclass(frozen=True, slots=True)
class Untold:
    """Why a session cannot be told as a scenario."""

    message: str


def scenario_of(export: Export, name: str) -> Scenario | Untold:
    """The scenario that plays a session again, and expects the same course and the same files.

    What an export cannot know is left out: files that were only searched or read by commands, and what was unsaved.

    Args:
        export: The session.
        name: Name of the scenario.

    Returns:
        The scenario, or why the session cannot be told as one.
    """
    try:
        unsandboxed = _without_sandbox(export)
        if isinstance(unsandboxed, str):
            return Untold(f"no scenario can do this: {unsandboxed}")
        tape = Tape(unsandboxed)
        reason = _not_told(tape)
        return Untold(f"no scenario can do this: {reason}") if reason else _told(tape, export, name)
    except (ValidationError, LookupError) as error:
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else f"{error} is missing"
        return Untold(f"the session {export.session_id} does not hold together: {said}")


def _without_sandbox(export: Export) -> Export | str:
    """The session as it goes where commands are not sandboxed, as in every scenario: none asks to run outside, or about files that a sandbox protects.

    Returns:
        The session, or why it cannot go on like that.
    """
    leaving = {
        event.data["id"]
        for event in export.events
        if event.type == "approval.requested"
        and not {RUN_OUTSIDE, PUT_BACK}.isdisjoint(event.data["options"])
    }
    resolved = {event.data["id"]: event for event in export.events if event.type == "approval.resolved"}
    for item in leaving:
        if item not in resolved:
            return "a question waits that only a sandbox brings up, and a scenario has none"
        if resolved[item].data["decision"] == "reject":
            return f"event {resolved[item].seq}: a command was kept in its sandbox, and a scenario has none"
        if resolved[item].data["decision"] == "put_back":
            return f"event {resolved[item].seq}: files were put back that a sandbox protects, and a scenario has none"
    left: list[Event] = []
    for event in export.events:
        if event.data.get("id") in leaving:
            continue
        data = event.data
        if event.type == "turn.parked":
            data = {**data, "open": [one for one in data["open"] if one["id"] not in leaving]}
            if not data["open"]:
                continue
        left.append(event.model_copy(update={"seq": len(left) + 1, "data": data}))
    return export.model_copy(update={"events": left}) if leaving else export


def _told(tape: Tape, export: Export, name: str) -> Scenario:
    before, after, opened = _texts(tape)
    finished = [event for event in tape.events if event.type == "turn.finished"]
    outcome = finished[-1].data["outcome"] if finished else None
    script = script_of(export)
    return Scenario(
        version=1,
        name=name,
        description=f"From session {export.session_id}: {_first_task(tape)}{_left_open(tape)}",
        workspace=before,
        settings=_settings(tape),
        open=sorted(opened & before.keys()),
        tools=list(_tools(tape)),
        model=script,
        steps=list(_steps(tape)),
        answers=list(_answers(tape)),
        expect=Expect(
            outcome=outcome,
            reason=finished[-1].data["reason"] if finished and not _is_changed_by_command(tape) else None,
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


def _left_open(tape: Tape) -> str:
    """What the log does not know of the steps."""
    undone = any(_is_of_undo(one.event) for one in tape.inputs)
    return (
        " (How far an undo was to go is not in the log: each one is of the default scope.)" if undone else ""
    )


def _settings(tape: Tape) -> dict[str, Any]:
    started = next((event for event in tape.events if event.type == "turn.started"), None)
    told: dict[str, Any] = (started.data.get("settings") if started else None) or {}
    default: dict[str, Any] = Settings().to_wire()["limits"]
    of_session: dict[str, Any] = told.get("limits", {})
    limits = {key: value for key, value in of_session.items() if value != default.get(key)}
    mode: str = told.get("permissionMode", tape.events[0].data.get("permissionMode", "ask"))
    verified = next((event for event in tape.events if event.type == "verify.started"), None)
    verify = [call["command"] for call in verified.data["calls"]] if verified else []
    return (
        {"permissionMode": mode}
        | ({"limits": limits} if limits else {})
        | ({"verify": verify} if verify else {})
    )


# --- what the editor brings --------------------------------------------------------------------------------


def _is_changed_by_command(tape: Tape) -> bool:
    """Whether a command changed files, of which the scenario may know none: then nothing is changed there."""
    return any(
        event.type in {"workspace.changed", "workspace.touched"} and "callId" in event.data
        for event in tape.events
    )


def _not_told(tape: Tape) -> str | None:
    """What happened that has no step and no answer; None if all has."""
    answered = {
        event.data["callId"]
        for event in tape.events
        if event.type == "tool.answered" and event.data.get("channel") == "client"
    }
    for event in tape.events:
        call = event.data.get("callId")
        if event.type == "tool.asked" and call not in answered:
            return f"event {event.seq}: the editor did not answer the call {call} of its own tool"
    handed = Counter(event.data["callId"] for event in tape.events if event.type == "tool.asked")
    for call, times in handed.items():
        if times > 1:
            return f"the call {call} of the editor's own tool was handed over {times} times"
    parked: set[str] = set()
    for event in tape.events:
        if event.type == "turn.parked":
            parked |= {item["id"] for item in event.data["open"]}
        elif event.type == "session.restored":
            parked.clear()
        elif event.data.get("channel") == "message" and event.data.get("id") in parked:
            return f"event {event.seq}: a question was answered on the screen after its turn had parked"
    return None


def _tools(tape: Tape) -> Iterator[EditorTool]:
    """The editor's tools as they were registered last, with what they gave in the order of the calls."""
    names = {
        event.data["callId"]: event.data["name"] for event in tape.events if event.type == "tool.requested"
    }
    registered = {
        tool.name: tool
        for event in tape.events
        if event.type in {"session.started", "session.restored"}
        for tool in tape.client_tools(event.seq + 1)
    }
    for tool in registered.values():
        yield EditorTool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            effect=tool.effect,
            replies=[
                ToolAnswer(content=event.data["content"], is_error=event.data["status"] == "error")
                for event in tape.events
                if event.type == "tool.answered" and names[event.data["callId"]] == tool.name
            ],
        )


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
        for one in data["files"] if event.type == "workspace.renamed" else ():
            before.setdefault(one["to"], None)
            if (text := after.get(one["path"])) is not None:
                after |= {one["to"]: text, one["path"]: None}
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


# --- the user ----------------------------------------------------------------------------------------------


def _answers(tape: Tape) -> Iterator[str | Answer]:
    """What the user did with each question on the screen; a restart asks again what is open."""
    on_screen: dict[str, LoggedEvent] = {}
    for event in tape.events:
        data = event.data
        if event.type == "approval.requested" and data.get("group", data["id"]) != data["id"]:
            continue  # it is in the question about the first of its group
        if event.type == "approval.requested" or (event.type == "question.asked" and data.get("options")):
            on_screen[data["id"]] = event
            yield _answer(tape, data["id"], event.seq)
        elif event.type in {"approval.resolved", "question.answered"}:
            on_screen.pop(data["id"], None)
            if (
                data.get("channel") == "message" and "scope" in data
            ):  # it was asked once more where the rules hold
                yield ALWAYS_HERE if data["scope"] == "workspace" else ALWAYS_EVERYWHERE
        elif event.type == "turn.finished":
            on_screen.clear()
        elif event.type == "session.restored":
            for item in on_screen:
                yield _answer(tape, item, event.seq)


def _title(tape: Tape, resolved: LoggedEvent) -> str:
    """The button that was pressed."""
    data = resolved.data
    asked = next(e for e in tape.events if e.type == "approval.requested" and e.data["id"] == data["id"])
    if data["decision"] == "allow_once" and (group := asked.data.get("group")) is not None:
        ids = {
            e.data["id"]
            for e in tape.events
            if e.type == "approval.requested" and e.data.get("group") == group
        }
        before = {e.data["id"] for e in tape.events[: resolved.seq - 1] if e.type == "approval.resolved"}
        return allow_all(len(ids - before))
    left = data["decision"] == "allow_once" and RUN_OUTSIDE in asked.data["options"]
    return RUN_OUTSIDE if left else _TITLES[data["decision"]]


def _answer(tape: Tape, item: str, seq: int) -> str | Answer:
    """What the user did with a question that came on the screen after event `seq`."""
    parked = False
    for event in tape.events[seq:]:
        data = event.data
        if event.type == "session.restored":
            break
        if event.type in {"approval.resolved", "question.answered"} and data["id"] == item:
            if data.get("channel") == "message":
                title = str(data.get("answer") or _title(tape, event))
                first = [
                    step
                    for one in tape.inputs
                    if one.event.type in _MEANWHILE and seq <= one.due < event.seq
                    for step in [_step(tape, one)]
                    if step is not None
                ]
                return Answer(title=title, first=first) if first else title
            break
        parked = parked or (event.type == "turn.parked" and data["open"][0]["id"] == item)
    return Answer(how="dismiss" if parked else "never")


def _is_answered_on_screen(tape: Tape, seq: int) -> bool:
    """Whether a question is on the screen after event `seq` that is answered there."""
    shown: set[str] = set()
    for event in tape.events[:seq]:
        data = event.data
        if event.type == "approval.requested" or (event.type == "question.asked" and data.get("options")):
            shown.add(data["id"])
        elif event.type == "turn.parked":
            shown.clear()
    for event in tape.events[seq:]:
        if event.type == "session.restored":
            return False
        if event.data.get("id") in shown and event.type in {"approval.resolved", "question.answered"}:
            return event.data.get("channel") == "message"
    return False


def _steps(tape: Tape) -> Iterator[Step]:
    asked_again = False
    undoing = False
    for one in tape.inputs:
        kind = one.event.type
        if _is_of_undo(one.event):
            if kind == "undo.requested":
                yield Wait(do="wait")
                yield _undo(one.event.data)
            undoing = True
        if kind not in _STEPS:
            continue
        undoing = False
        if kind in _MEANWHILE and _is_answered_on_screen(tape, one.due):
            continue
        if asked_again or kind not in {*_TASK, "session.restored"}:
            yield _place(tape, one)
        step = _step(tape, one)
        if step is not None:
            yield step
        asked_again = kind in _TASK or asked_again
    if not undoing:
        yield Wait(do="wait")


def _is_of_undo(event: LoggedEvent) -> bool:
    return event.turn_id is None and event.type.startswith(("edit.", "undo."))


def _undo(data: dict[str, Any]) -> Undo:
    return Undo(do="redo" if data.get("redo") else "undo", scope=data["scope"], id=data.get("id"))


def _place(tape: Tape, one: Input) -> Step:
    """Wait for the event after which it came."""
    event = tape.events[one.due - 1]
    if event.type in {"turn.finished", "session.closed", "session.restored"} or event.turn_id is None:
        return Wait(do="wait")
    count = Counter(known.type for known in tape.events[: one.due])[event.type]
    return Until(do="until", event=Occurrence(type=event.type), count=count)


def _step(tape: Tape, one: Input) -> Step | None:
    data = one.event.data
    match one.event.type:
        case "turn.queued" | "turn.started":
            return Run(
                do="run", prompt=data["prompt"], mode=data["mode"], limits=data.get("limits"), wait=False
            )
        case "steering.received" if data.get("state", "queued") == "queued":
            return Steer(do="steer", text=data["text"])
        case "approval.resolved" if data.get("channel") != "message":
            decision = cast("Decision", data["decision"])
            review = [ReviewedHunk.from_wire(one) for one in data.get("review", ())]
            return Reply(do="answer", decision=decision, note=data.get("note"), review=review or None)
        case "question.answered" if data.get("channel") != "message":
            return Reply(do="answer", answer=data["answer"])
        case "turn.finished":
            return Cancel(do="cancel", reason=data["reason"])
        case "workspace.renamed":
            return Rename(do="rename", path=data["path"], to=data["to"])
        case "settings.changed":
            return Configure(do="configure", values={"permissionMode": data["permissionMode"]})
        case "session.restored":
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
