"""Params of the wrong type and ids of nothing, for every command: a clear error, and the server goes on."""

import json

import pytest

from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session
from outrider_protocol import INVALID_PARAMS, REQUEST_FAILED
from outrider_protocol.commands import COMMANDS

WRONG = [
    None,
    True,
    7,
    1.5,
    "text",
    "",
    [],
    [None],
    {},
    {"a": None},
    {"": []},
    "\ud800",
    "x" * 100_000,
    -1,
    2**70,
]
"""Values of which at most a few fit any one parameter."""
DEEP = json.loads("[" * 200 + "]" * 200)

UNKNOWN = {
    "outrider.run": {"prompt": "x", "sessionId": "ses_none"},
    "outrider.explore": {"prompt": "x", "sessionId": "ses_none"},
    "outrider.steer": {"sessionId": "ses_none", "text": "x"},
    "outrider.cancel": {"turnId": "turn_none"},
    "outrider.answer": {"id": "open_none", "answer": "x"},
    "outrider.status": {"sessionId": "ses_none"},
    "outrider.wait": {"turnId": "turn_none", "timeout": 0},
    "outrider.events": {"sessionId": "ses_none"},
    "outrider.resume": {"sessionId": "ses_none"},
    "outrider.retry": {"turnId": "turn_none"},
    "outrider.undo": {"sessionId": "ses_none"},
    "outrider.redo": {"sessionId": "ses_none"},
    "outrider.open": {"what": "answer", "id": "open_none"},
    "outrider.changes": {"sessionId": "ses_none"},
    "outrider.export": {"sessionId": "ses_none"},
    "outrider.prompt": {"sessionId": "ses_none"},
    "outrider.jobs": {"action": "read", "id": "job_none"},
    "outrider.permissions": {"action": "remove", "id": "rule_none"},
    "outrider.continue": {"sessionId": "ses_none"},
    "outrider.resend": {"sessionId": "ses_none", "turnId": "turn_none", "prompt": "x"},
    "outrider.restore": {"sessionId": "ses_none", "turnId": "turn_none"},
    "outrider.queue": {"sessionId": "ses_none", "id": "turn_none", "action": "remove"},
    "outrider.fork": {"sessionId": "ses_none"},
    "outrider.rename": {"sessionId": "ses_none", "title": "x"},
    "outrider.delete": {"sessionId": "ses_none"},
    "outrider.leave": {"sessionId": "ses_none"},
}
"""A call of each command that takes an id, with one of nothing."""


REQUIRED = {
    "outrider.plan": {"uri": "file:///none.md"},
    "outrider.queue": {"action": "remove"},
    "outrider.rename": {"title": "x"},
    "outrider.import": {
        "export": {"format": "outrider-export", "version": 1, "program": "0", "sessionId": "s", "events": [], "contents": {}}
    },
}  # fmt: skip
"""What some commands need besides ids and texts."""


async def refused(editor, name, argument):
    with pytest.raises(RpcError) as caught:
        await editor.command(name, argument)
    return caught.value


@pytest.fixture
async def editor(workspace):
    model = scripted(workspace, [{"text": "Done."}] * 200)
    async with start_session("stock", workspace, model) as started:
        yield started
        assert (await started.run("Go on"))["outcome"] == "completed"


@pytest.mark.parametrize("name", COMMANDS)
async def test_no_value_of_a_wrong_type_is_taken_or_breaks_anything(editor, name):
    fields = COMMANDS[name].params.model_fields.values()
    keys = [field.alias or "" for field in fields] + ["nothingOfTheKind"]
    valid = {"prompt": "x", "sessionId": "ses_none", "turnId": "turn_none", "id": "open_none", "timeout": 0}
    base = {key: valid[key] for key in keys if key in valid and key != "timeout"} | REQUIRED.get(name, {})
    for key in keys:
        for value in [*WRONG, DEEP]:
            try:
                await editor.command(name, {**base, key: value})
            except RpcError as error:
                assert error.code in {INVALID_PARAMS, REQUEST_FAILED}, (name, key, error)
                if error.code == INVALID_PARAMS:
                    assert error.data["path"].split(".")[0] in {key, ""}, (name, key, error)
                    assert error.data["problem"]
                    assert name in error.message
                    assert len(error.message) < 1000, (name, key)
                else:
                    assert error.data["reason"]


@pytest.mark.parametrize("name", COMMANDS)
async def test_an_unknown_key_is_named(editor, name):
    error = await refused(editor, name, {"sesionId": "x"})
    assert error.code == INVALID_PARAMS
    assert error.data["path"]


def test_every_command_with_an_id_is_tried():
    with_ids = {
        name
        for name, command in COMMANDS.items()
        if {"session_id", "turn_id", "id"} & set(command.params.model_fields)
    }
    assert with_ids == {*UNKNOWN, "outrider.plan"}  # which reads its document first


@pytest.mark.parametrize(
    "hostile", ["", "../../etc/passwd", "a\x00b", "\ud800", "x" * 100_000, "ses_none'; DROP TABLE events"]
)
@pytest.mark.parametrize("name", UNKNOWN)
async def test_an_id_of_nothing_is_said(editor, name, hostile):
    for unknown in ("none", hostile):
        argument = {
            key: unknown if key in {"sessionId", "turnId", "id"} else value
            for key, value in UNKNOWN[name].items()
        }
        error = await refused(editor, name, argument)
        assert error.code == REQUEST_FAILED, error
        assert error.data == {"reason": "unknown_id"}
        assert len(error.message) < 1000


@pytest.mark.parametrize("item", [json.loads("[" * 300 + "]" * 300), {"\ud800": 1}])
async def test_what_the_log_cannot_hold_is_not_taken_in(editor, item):
    context = {"diagnostics": [{"uri": "file:///x", "items": [{"data": item}]}]}
    error = await refused(editor, "outrider.run", {"prompt": "x", "context": context})
    assert error.code == INVALID_PARAMS
    assert (await editor.command("outrider.status"))["sessions"] == []


async def test_things_that_are_not_there_any_more(editor):
    await editor.run("First")
    session = {"sessionId": editor.session_id}
    assert (await refused(editor, "outrider.steer", {**session, "text": "x"})).data == {
        "reason": "no_running_turn"
    }
    assert (await refused(editor, "outrider.steer", {**session, "remove": "x"})).data["reason"] in {
        "unknown_id", "no_running_turn",
    }  # fmt: skip
    assert (await refused(editor, "outrider.undo", session)).data == {"reason": "nothing_to_undo"}
    assert (await refused(editor, "outrider.redo", session)).data == {"reason": "nothing_to_undo"}
    for scope in ("hunk", "step", "turn"):
        error = await refused(editor, "outrider.undo", {**session, "scope": scope, "id": "chg_none"})
        assert error.data["reason"] in {"nothing_to_undo", "unknown_id"}
    assert (await editor.command("outrider.cancel", {"turnId": editor.turn_id}))["outcome"] == "completed"
