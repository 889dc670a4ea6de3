"""The types that readers of events have: made from the models, nothing at run time, and the one place of defaults."""

import subprocess
import sys
from pathlib import Path

from outrider_protocol import stub
from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.log import from_old_log, from_wire, to_wire

STUB = Path(stub.__file__).with_name("logged.pyi")


def test_the_file_is_what_the_models_give():
    assert STUB.read_text(encoding="utf-8") == stub.render(), (
        "run: cd protocol && python -m outrider_protocol.stub > outrider_protocol/logged.pyi"
    )


def test_a_reader_loads_no_model():
    program = "import sys; from outrider_protocol.logged import ToolFinished; import outrider_protocol.log; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert "outrider_protocol.logged" in run.stdout.split()
    assert not {"pydantic", "outrider_protocol.events", "typing_extensions"} & set(run.stdout.split())


def read(kind, data):
    return from_old_log(1, "", "ses_1", None, kind, data).data


def test_what_an_earlier_version_left_out_is_there():
    assert read("model.responded", {"messageId": "m", "text": "", "toolCalls": []})["purpose"] == "main"
    assert read("edit.applied", {"changeId": "c", "path": "a", "hunks": []})["operation"] == "edit"
    assert read("undo.requested", {"scope": "turn"})["redo"] is False
    assert read("question.asked", {"id": "q", "question": "?"}) == {
        "id": "q", "question": "?", "options": [], "allowFreeForm": True
    }  # fmt: skip


def test_so_it_is_in_the_objects_of_an_event():
    item = {"id": "q", "kind": "question", "turnId": "t", "title": "?"}
    (filled,) = read("turn.parked", {"open": [item]})["open"]
    assert filled == {**item, "detail": "", "options": [], "allowFreeForm": False}
    started = {
        "prompt": "p",
        "mode": "agent",
        "model": "m",
        "settings": {"permissionMode": "ask", "limits": {"steps": 3}},
    }
    limits = read("turn.started", started)["settings"]["limits"]
    assert limits["steps"] == 3
    assert limits["outputBytes"] > 0


def test_nothing_else_is_changed():
    data = {"purpose": "side", "messages": ["a"], "steering": ["p"], "unknown": {"x": None}}
    assert read("model.requested", data) == data
    assert read("something.new", {"a": 1}) == {"a": 1}
    assert read("turn.started", "damaged") == "damaged"
    assert read("edit.applied", {"operation": "create"}) == {"operation": "create"}


def test_what_is_filled_in_is_what_the_model_has():
    for kind, model in EVENT_TYPES.items():
        told = read(kind, {})
        for name, field in model.model_fields.items():
            key = field.serialization_alias or name
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            assert (key in told) is (default is not None), f"{kind}: {key}"


def test_an_event_comes_back_from_the_wire_as_it_went():
    event = from_old_log(
        3, "2026-01-01T00:00:00.000Z", "ses_1", "turn_1", "error", {"code": "x", "message": "y"}
    )
    assert from_wire(to_wire(event)) == event
    aside = from_old_log(4, "", "ses_1", None, "error", {"code": "x", "message": "y"})
    assert "turnId" not in to_wire(aside)
    assert from_wire(to_wire(aside)) == aside
