"""Any prefix of the log can be resumed, with the workspace as it can be at that moment."""

from dataclasses import dataclass

import pytest
from crash_scenario import (
    CLOSED,
    NEW,
    OPEN,
    RANDOM_IDS,
    Cut,
    check_log,
    cut_log,
    cuts_of,
    open_items,
    person,
    resume,
    texts_of,
    to_the_end,
    whole_log,
)

from outrider.testing.scenario import start_session
from outrider_protocol import RUN, STATUS, UNDO
from replayed import keep_sessions

ALTERED = "altered by somebody\n"


@dataclass
class Finished:
    """A run from its beginning to its end, and what came after."""

    cut: Cut
    before: dict[str, str | None]
    """Texts of the workspace at the beginning."""
    events: list[dict]
    texts: dict[str, str]
    """The contents of its log by hash."""

    @property
    def state(self):
        return self.cut.workspace.parent / f"{self.cut.workspace.name}.state"

    def read(self):
        paths = {name: self.cut.workspace / name for name in self.before}
        return {name: path.read_text() if path.exists() else None for name, path in paths.items()}


@dataclass
class InTheAir:
    """What had begun and not ended when the log was cut."""

    paths: set[str]
    command: bool


async def play(workspace, *, undo):
    """Let the run come to its end, and take it back if `undo`."""
    cut = Cut(workspace)
    before = {CLOSED: (workspace / CLOSED).read_text(), OPEN: (workspace / OPEN).read_text(), NEW: None}
    async with start_session("stock", workspace, cut.model, RANDOM_IDS) as editor:
        editor.answers = person(editor)
        editor.open(OPEN)
        started = await editor.command(RUN, {"prompt": "Tidy up"})
        assert (await to_the_end(editor, started["turnId"]))["outcome"] == "completed"
        editor.save_all()
        finished = Finished(cut, before, [], {})
        assert finished.read() == cut.expected()
        if undo:
            await editor.command(UNDO, {"sessionId": started["sessionId"]})
            editor.save_all()
            assert finished.read() == before
        finished.events = await whole_log(editor, started["sessionId"])
    check_log(finished.events)
    assert cut.times_ran == 1
    finished.texts = texts_of(finished.state)
    return finished


def arrange(finished, events, pending):
    """Make the workspace as it was after `events`; `pending` says how far what was in the air had come."""
    cut, files, applying, command = finished.cut, dict(finished.before), {}, "no"
    for event in events:
        data = event["data"]
        match event["type"]:
            case "edit.applying":
                applying[data["changeId"]] = data
            case "edit.applied":
                del applying[data["changeId"]]
                files[data["path"]] = finished.texts.get(data.get("after"))
            case "tool.started" | "tool.finished" if data["callId"] == "c_run":
                command = event["type"]
    for data in applying.values():
        come_to = {
            "not": files[data["path"]],
            "done": finished.texts.get(data.get("after")),
            "altered": ALTERED,
        }
        files[data["path"]] = come_to[pending]
    for name, text in files.items():
        path = cut.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
    cut.ran.unlink(missing_ok=True)
    if command == "tool.finished" or (command == "tool.started" and pending == "done"):
        cut.ran.write_text("ran\n")
    return InTheAir({data["path"] for data in applying.values()}, command == "tool.started")


async def go_on(finished, events, pending, in_the_air, state):
    """Resume what is left, bring it to its end, and check all that must hold then."""
    cut, session_id, ran_before = finished.cut, events[0]["sessionId"], finished.cut.times_ran
    turns = [event["turnId"] for event in events if event["type"] == "turn.started"]
    settings = {**RANDOM_IDS, "stateDir": str(state)}
    async with start_session("stock", cut.workspace, cut.model, settings) as editor:
        editor.open(OPEN)
        status = await resume(editor, session_id)
        assert [item["id"] for item in status["open"]] == open_items(events)
        if not turns:
            return
        result = await to_the_end(editor, turns[0])
        assert (result["outcome"], result["summary"]) == ("completed", "Done."), result
        log = await whole_log(editor, session_id)
        assert log[: len(events)] == events, "what was in the log has changed"
        check_log(log)
        (status,) = (await editor.command(STATUS, {"sessionId": session_id}))["sessions"]
        assert (status["state"], status["open"]) == ("idle", [])
        results = {
            event["data"]["callId"]: event["data"] for event in log if event["type"] == "tool.finished"
        }
        if in_the_air.command:
            assert cut.times_ran == ran_before
            assert results["c_run"]["status"] == "interrupted"
            assert "effect is unknown" in results["c_run"]["content"]
        else:
            assert (cut.times_ran, results["c_run"]["status"]) == (1, "ok")
        altered = in_the_air.paths if pending == "altered" else set()
        await check_files(finished, editor, altered)
        assert results["c_rejected"]["status"] == ("error" if CLOSED in altered else "denied")
        await take_back(editor, session_id)
        left = finished.read()
        assert {name: text for name, text in left.items() if name not in altered} == {
            name: text for name, text in finished.before.items() if name not in altered
        }
    await keep_sessions(state)


async def check_files(finished, editor, altered):
    """Each edit is there once, but for where somebody wrote."""
    editor.save_all()
    for name, text in finished.read().items():
        if name in altered:
            assert text.startswith(ALTERED)
        else:
            assert text == finished.cut.expected()[name], name


async def take_back(editor, session_id):
    await editor.command(UNDO, {"sessionId": session_id})
    editor.save_all()


async def try_every(finished, tmp_path, first, try_one):
    """Call `try_one` with prefixes of at least `first` events, and with each state the workspace may be in."""
    failures = []
    for last in cuts_of(finished.events, first, one_in=8):
        events = finished.events[:last]
        for pending in ("not", "done", "altered"):
            in_the_air = arrange(finished, events, pending)
            state = tmp_path / f"state-{last}-{pending}"
            cut_log(finished.state, state, last)
            try:
                await try_one(events, pending, in_the_air, state)
            except Exception as failure:  # noqa: BLE001 - all that fail are named at the end
                failures.append(f"{last} {events[-1]['type']}, {pending}: {failure!r}"[:600])
            if not in_the_air.paths and not (in_the_air.command and pending == "not"):
                break
    assert not failures, "\n".join(failures)


@pytest.mark.timeout(120)
async def test_every_prefix_of_a_run_is_resumed_to_the_same_end(workspace, tmp_path):
    finished = await play(workspace, undo=False)

    async def try_one(events, pending, in_the_air, state):
        await go_on(finished, events, pending, in_the_air, state)

    await try_every(finished, tmp_path, 1, try_one)


async def test_an_undo_that_is_cut_off_is_found_out_and_can_be_gone_on_with(workspace, tmp_path):
    finished = await play(workspace, undo=True)
    over = next(event["seq"] for event in finished.events if event["type"] == "turn.finished")

    async def try_one(events, pending, in_the_air, state):
        settings = {**RANDOM_IDS, "stateDir": str(state)}
        async with start_session("stock", workspace, finished.cut.model, settings) as editor:
            editor.open(OPEN)
            session_id = events[0]["sessionId"]
            await resume(editor, session_id)
            check_log(await whole_log(editor, session_id))
            if finished.read() != finished.before:
                await take_back(editor, session_id)
            check_log(await whole_log(editor, session_id))
            left = finished.read()
            altered = in_the_air.paths if pending == "altered" else set()
            for name, text in finished.before.items():
                assert name in altered or left[name] == text, name
                assert name not in altered or left[name] == ALTERED

    await try_every(finished, tmp_path, over, try_one)
