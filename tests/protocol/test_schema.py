"""The JSON Schema is the generated one, is valid, and says the same as the models."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import ValidationError

from outrider_protocol import schema
from outrider_protocol.commands import COMMANDS, RunParams, SteerParams
from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.notifications import Event, Frame, Left
from outrider_protocol.script import Script
from outrider_protocol.settings import Settings
from outrider_protocol.wire import Wire

SCHEMA_FILE = Path(__file__).resolve().parents[2] / "protocol" / "schema.json"
SCHEMA: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
PROVIDER = {"kind": "openai-chat", "baseUrl": "https://models.example/v1"}


def test_the_file_is_what_the_models_give() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema.render(), (
        "run: cd protocol && python -m outrider_protocol.schema > schema.json"
    )


def test_it_names_every_command_and_event() -> None:
    assert SCHEMA["commands"].keys() == COMMANDS.keys()
    assert SCHEMA["events"].keys() == EVENT_TYPES.keys()


def parts() -> dict[str, dict[str, Any]]:
    """Every schema of the file that stands for a whole message or file."""
    found = {"settings": SCHEMA["settings"], "script": SCHEMA["script"]}
    for name, command in SCHEMA["commands"].items():
        found |= {f"{name} params": command["params"], f"{name} result": command["result"]}
    for name, request in SCHEMA["requests"].items():
        found |= {f"{name} params": request["params"], f"{name} result": request["result"]}
    return found | SCHEMA["notifications"] | SCHEMA["events"]


def validator(part: dict[str, Any]) -> Draft202012Validator:
    whole = {"$schema": SCHEMA["$schema"], "$defs": SCHEMA["$defs"], **part}
    return Draft202012Validator(whole, format_checker=FormatChecker())


@pytest.mark.parametrize("name", parts())
def test_every_part_is_a_schema_whose_references_lead_somewhere(name: str) -> None:
    part = parts()[name]
    Draft202012Validator.check_schema(part)
    list(validator(part).iter_errors({}))


def test_so_is_every_definition() -> None:
    Draft202012Validator.check_schema({"$defs": SCHEMA["$defs"]})
    for definition in SCHEMA["$defs"].values():
        list(validator(definition).iter_errors({}))


USAGE = {"inputTokens": 5, "outputTokens": 2}
OPEN = {
    "id": "open_1",
    "kind": "approval",
    "turnId": "turn_1",
    "callId": "call_1",
    "title": "Edit a.py (+1 −1)",
    "detail": "…",
    "options": ["Allow once", "Reject"],
    "allowFreeForm": False,
}
HUNK = {"line": 3, "removed": "a\n", "added": "b\n"}

GOOD: list[tuple[str, type[Wire], Any]] = [
    ("settings", Settings, {}),
    ("settings", Settings, {"model": "my/m", "providers": {"my": PROVIDER}, "limits": {"cost": 0.5}}),
    ("settings", Settings, {"testing": {"clock": {"start": "2026-01-01T00:00:00Z"}, "ids": "sequential"}}),
    (
        "script",
        Script,
        {"turns": [{"text": "…", "tool_calls": [{"name": "read_file", "input": {"path": "a"}}]}]},
    ),
    ("script", Script, {"turns": [{"fault": {"kind": "cut", "after": 3}, "text": "abcdef"}]}),
    ("outrider.run params", RunParams, {"prompt": "go", "limits": {"steps": 3}, "mode": "plan"}),
    (
        "outrider.run params",
        RunParams,
        {
            "prompt": "go",
            "context": {
                "selection": {
                    "uri": "file:///a",
                    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 2}},
                },
                "diagnostics": [{"uri": "file:///a", "items": [{"message": "wrong"}]}],
            },
        },
    ),
    (
        "outrider.wait result",
        COMMANDS["outrider.wait"].result,
        {"turnId": "t", "outcome": "needs_input", "open": [OPEN]},
    ),
    (
        "outrider/event",
        Event,
        {"v": 1, "seq": 1, "ts": "2026-01-01T00:00:00.000Z", "sessionId": "s", "type": "error", "data": {}},
    ),
    ("outrider/left", Left, {"sessionId": "s", "unfinished": True}),
    (
        "outrider/stream",
        Frame,
        {"sessionId": "s", "turnId": "t", "messageId": "m", "kind": "text", "offset": 0, "text": "…"},
    ),
    (
        "turn.finished",
        EVENT_TYPES["turn.finished"],
        {"outcome": "completed", "reason": "checked", "summary": "Done.", "usage": USAGE},
    ),
    ("turn.phase", EVENT_TYPES["turn.phase"], {"from": "start", "to": "prepare", "reason": "started"}),
    ("turn.parked", EVENT_TYPES["turn.parked"], {"open": [OPEN]}),
    (
        "edit.applied",
        EVENT_TYPES["edit.applied"],
        {"changeId": "c", "path": "a.py", "hunks": [HUNK], "where": "buffer"},
    ),
]


@pytest.mark.parametrize(("name", "model", "sample"), GOOD)
def test_what_is_right_is_accepted_by_both(name: str, model: type[Wire], sample: Any) -> None:
    validator(parts()[name]).validate(sample)
    model.from_wire(sample)


BAD: list[tuple[str, type[Wire], Any]] = [
    ("settings", Settings, {"permissionMode": "yolo"}),
    ("settings", Settings, {"permission_mode": "ask"}),
    ("settings", Settings, {"limits": {"steps": 0}}),
    ("settings", Settings, {"limits": {"steps": "5"}}),
    ("settings", Settings, {"limits": {"steps": True}}),
    ("settings", Settings, {"limits": {"steps": 1.5}}),
    ("settings", Settings, {"limits": {"outputBytes": 1023}}),
    ("settings", Settings, {"providers": {"my": {"kind": "openai-chat"}}}),
    ("settings", Settings, {"providers": {"my": {**PROVIDER, "baseUrl": "ftp://models.example"}}}),
    ("settings", Settings, {"providers": {"my": {**PROVIDER, "apiKeyEnv": "not a name"}}}),
    ("settings", Settings, {"providers": {"my": {**PROVIDER, "apiKey": "sk-…"}}}),
    ("settings", Settings, {"providers": {"my": {**PROVIDER, "temperature": 2.5}}}),
    ("settings", Settings, {"events": "yes"}),
    ("settings", Settings, {"trusted": 1}),
    ("settings", Settings, {"nothing": 1}),
    ("settings", Settings, []),
    ("script", Script, {}),
    ("script", Script, {"turns": [{"tool_calls": [{"input": {}}]}]}),
    ("script", Script, {"turns": [{"fault": {"kind": "flood"}}]}),
    ("script", Script, {"turns": [{"fault": {"kind": "http", "status": 200}}]}),
    ("script", Script, {"turns": [{"finish_reason": "bored"}]}),
    ("script", Script, {"turns": [{"toolCalls": []}]}),
    ("outrider.run params", RunParams, {}),
    ("outrider.run params", RunParams, {"prompt": ""}),
    ("outrider.run params", RunParams, {"prompt": "go", "mode": "fast"}),
    ("outrider.run params", RunParams, {"prompt": "go", "session_id": "ses_1"}),
    ("outrider.run params", RunParams, {"prompt": "go", "limits": {"steps": 0}}),
    ("outrider.wait params", COMMANDS["outrider.wait"].params, {"turnId": "t", "timeout": -1}),
    ("outrider.events params", COMMANDS["outrider.events"].params, {"sessionId": "s", "fromSeq": 0}),
    ("outrider.events params", COMMANDS["outrider.events"].params, {"sessionId": "s", "limit": 10_001}),
    ("outrider.sessions params", COMMANDS["outrider.sessions"].params, {"sessionId": "s"}),
    ("outrider.undo params", COMMANDS["outrider.undo"].params, {"scope": "file"}),
    ("outrider/stream", Frame, {"sessionId": "s", "turnId": "t", "kind": "smell", "offset": 0, "text": ""}),
    ("turn.phase", EVENT_TYPES["turn.phase"], {"from_": "start", "to": "prepare", "reason": "started"}),
    (
        "turn.finished",
        EVENT_TYPES["turn.finished"],
        {"outcome": "done", "reason": "", "summary": "", "usage": {}},
    ),
    ("plan.updated", EVENT_TYPES["plan.updated"], {"items": [{"text": ""}]}),
]


@pytest.mark.parametrize(("name", "model", "sample"), BAD)
def test_what_is_wrong_is_refused_by_both(name: str, model: type[Wire], sample: Any) -> None:
    assert list(validator(parts()[name]).iter_errors(sample))
    with pytest.raises(ValidationError):
        model.from_wire(sample)


@pytest.mark.parametrize(
    "given",
    [
        {"sessionId": "s"},
        {"sessionId": "s", "text": "wait", "remove": "pend_1"},
        {"sessionId": "s", "text": ""},
    ],
)
def test_a_steer_has_exactly_one_of_its_two_forms(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        SteerParams.from_wire(given)
