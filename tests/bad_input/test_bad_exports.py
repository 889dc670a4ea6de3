"""Files handed in as exported sessions: whatever is in them, a clear error or an export that holds together."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrider.ports.model import Message, content_hash
from outrider.store import exported
from outrider.store.exported import ExportProblem, encode_content, parse_export, read_export
from outrider_protocol.export import Export

TASK = Message("user", "Fix it.").encoded.decode()
TEXT = "print('a')\n"
TS = "2026-01-01T00:00:00.000Z"


def hashed(text):
    return content_hash(encode_content(text))


def exported_session(**changes):
    """A small export as JSON data."""
    data = [
        ("session.started", {"folders": ["file:///workspace"], "permissionMode": "ask", "version": "0.1.0"}),
        ("turn.started", {"prompt": "Fix it.", "mode": "agent", "model": "scripted:s.json"}),
        (
            "model.requested",
            {
                "purpose": "main",
                "messageId": "msg_1",
                "model": "scripted:s.json",
                "messages": [hashed(TASK)],
                "tools": [],
                "toolsHash": hashed("[]"),
            },
        ),
        (
            "tool.finished",
            {
                "callId": "call_1",
                "name": "read_file",
                "status": "ok",
                "content": "1\tprint('a')",
                "read": [{"path": "a.py", "hash": hashed(TEXT)}],
            },
        ),
    ]
    events = [
        {"v": 1, "seq": seq, "ts": TS, "sessionId": "ses_1", "type": type_, "data": value}
        for seq, (type_, value) in enumerate(data, 1)
    ]
    contents = {hashed(text): text for text in (TASK, TEXT, "[]")}
    whole = {"format": "outrider-export", "version": 1, "program": "0.1.0", "sessionId": "ses_1"}
    return {**whole, "events": events, "contents": contents, **changes}


def parsed(data):
    return parse_export(json.dumps(data).encode())


def problem(data):
    result = parsed(data) if isinstance(data, dict) else parse_export(data)
    assert isinstance(result, ExportProblem), result
    return result.message


def test_a_whole_file_is_read(tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps(exported_session(), indent=1), encoding="utf-8-sig")
    export = read_export(path)
    assert isinstance(export, Export)
    assert [event.seq for event in export.events] == [1, 2, 3, 4]
    assert export.to_wire()["contents"] == exported_session()["contents"]


@pytest.mark.parametrize("after", [1, 2, 3, 4, 99])
def test_a_request_goes_on_only_from_the_one_before(after):
    data = exported_session()
    events = [*data["events"], {**data["events"][2], "seq": 5}]
    events[4] = {
        **events[4],
        "data": {**events[4]["data"], "messages": {"after": after, "added": [hashed(TASK)]}},
    }
    result = parsed({**data, "events": events})
    if after == 3:
        assert isinstance(result, Export)
    else:
        assert result == ExportProblem(
            f"events.4.data.messages.after: is {after}, but event 3 named messages last"
        )


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe{}", "is not UTF-8 text: byte 1"),
        (b"not json", "is not JSON: Expecting value: line 1 column 1"),
        (b"[]", "is not an exported session"),
        (b"null", "is not an exported session"),
        (b'{"format": "outrider-scenario"}', "is not an exported session"),
        (b'{"format": "outrider-export", "version": 2}', "version: “2” is unknown"),
        (b'{"format": "outrider-export"}', "version: “null” is unknown"),
        (b'{"format": "outrider-export", "version": NaN}', "NaN is not a JSON number"),
        (b'{"format": "outrider-export", "version": 1}', "program: Field required"),
        (b"[" * 500_000, "nested too deeply"),
        (b'{"a":' * 500_000, "nested too deeply"),
        (b"1" * 10_000, "is not JSON"),
    ],
)
def test_what_is_no_export_is_refused(raw, words):
    assert words in problem(raw)


def test_nesting_that_could_not_be_written_again_is_refused():
    data = exported_session()
    deep = leaf = {}
    for _ in range(400):
        leaf["x"] = leaf = {}
    data["events"].append({**data["events"][0], "seq": 5, "type": "new.event", "data": deep})
    assert "nested too deeply" in problem(data)


def change(data, index, **values):
    data["events"][index]["data"] |= values


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda d: d["events"].clear(), "events: there are none"),
        (lambda d: d["events"].pop(1), "events.1.seq: is 3, expected 2"),
        (lambda d: d["events"].reverse(), "events.0.seq: is 4, expected 1"),
        (lambda d: d["events"][2].update(seq="3"), "events.2.seq: Input should be a valid integer"),
        (lambda d: d["events"][1].update(sessionId="ses_2"), "events.1.sessionId: is “ses_2”, but"),
        (lambda d: d["events"][1].update(data=[]), "events.1.data: Input should be a valid dictionary"),
        (lambda d: d["events"][1].update(extra=1), "events.1.extra: there is no such key"),
        (lambda d: change(d, 1, prompt=3), "events.1.data.prompt: Input should be a valid string (in turn"),
        (lambda d: change(d, 2, messages=["../x"]), "events.2.data.messages.0: the content “../x” is not in"),
        (lambda d: change(d, 2, messages=[hashed(TEXT)]), "is not readable as a message"),
        (lambda d: change(d, 2, toolsHash=hashed(TASK)), "is not readable as definitions of tools"),
        (lambda d: d["contents"].pop(hashed(TEXT)), "events.3.data.read.0.hash: the content"),
        (lambda d: d["contents"].update({hashed(TEXT): "other"}), "is not the content with that hash"),
        (lambda d: d["contents"].update({hashed(TEXT): 7}), f"contents.{hashed(TEXT)}: Input should be"),
        (
            lambda d: d["events"][0].update(type="session.closed", data={"reason": "x"}),
            "events.0.type: “session.closed” is not a first event; expected session.started",
        ),
        (
            lambda d: d["events"].append({**d["events"][0], "seq": 5}),
            "events.4.type: “session.started” must be the first event",
        ),
        (lambda d: d["events"][3].update(ts="soon"), "events.3.ts: “soon” is not a time"),
        (lambda d: d["events"][3].update(ts="2026-01-01T00:00:00"), "has no time zone"),
        (
            lambda d: d["events"][3].update(type="turn.parked", data={"open": []}),
            "events.3.data.open: is empty",
        ),
        (
            lambda d: d["events"][3].update(
                type="model.responded",
                data={"messageId": "m", "text": "", "toolCalls": [], "finishReason": "bored"},
            ),
            "events.3.data.finishReason: is “bored”; there are stop",
        ),
        (lambda d: d.update(events={}), "events: Input should be a valid list"),
        (lambda d: d.update(contents=[]), "contents: Input should be a valid dictionary"),
    ],
)
def test_the_place_of_an_error_is_named(spoil, words):
    data = exported_session()
    spoil(data)
    assert words in problem(data)


@pytest.mark.parametrize(
    "message",
    [
        '{"role":"user"}',
        '{"role":"root","text":""}',
        '{"role":"user","text":3}',
        '{"role":"user","text":"","toolCalls":[3]}',
        '{"role":"assistant","text":"","toolCalls":[{"id":"a","name":"b","arguments":{}}]}',
        "[]",
        "[" * 200_000,
    ],
)
def test_a_message_must_be_one(message):
    data = exported_session()
    data["contents"][hashed(message)] = message
    change(data, 2, messages=[hashed(message)])
    assert "is not readable as a message" in problem(data)


def test_what_a_newer_program_adds_is_let_be():
    data = exported_session()
    change(data, 1, newKey=[1])
    data["events"].append({**data["events"][0], "seq": 5, "type": "new.event", "data": {"messages": 1}})
    export = parsed(data)
    assert isinstance(export, Export)
    assert export.events[1].data["newKey"] == [1]
    assert export.events[4].type == "new.event"


def test_a_clock_that_was_put_back_is_let_be():
    data = exported_session()
    data["events"][3]["ts"] = "2025-01-01T00:00:00.000Z"
    assert isinstance(parsed(data), Export)


def test_odd_characters_are_kept_as_data():
    odd = "\x00\x1b[2J\u202e\ud800 \U0001f600"
    data = exported_session()
    data["contents"][hashed(odd)] = odd
    change(data, 1, prompt=odd)
    export = parsed(data)
    assert isinstance(export, Export)
    assert export.contents[hashed(odd)] == export.events[1].data["prompt"] == odd


def test_a_file_that_is_too_large_or_not_there_is_refused(tmp_path, monkeypatch):
    missing = tmp_path / "missing.json"
    assert read_export(missing) == ExportProblem(f"there is no file {missing}")
    assert "is a folder" in read_export(tmp_path).message
    monkeypatch.setattr(exported, "MOST_BYTES", 2**20)
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (2**20 + 1))
    assert read_export(large) == ExportProblem(f"{large}: is larger than 1 MiB")


def test_a_quote_of_the_file_is_short_and_plain():
    data = exported_session(sessionId="ses_1")
    data["events"][1]["sessionId"] = "\x1b]0;x\x07\u202e" + "a" * 10_000
    said = problem(data)
    assert said.isprintable()
    assert len(said) < 300
    data = exported_session()
    data["contents"]["\x1b]0;x\x07" + "a" * 10_000] = ""
    assert problem(data).isprintable()
    data["contents"]["\x1b]0;x\x07" + "a" * 10_000] = 3
    assert problem(data).isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_value_anywhere_is_an_error_or_an_export(data):
    export = exported_session()
    holder = export
    for _ in range(data.draw(st.integers(0, 4))):
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        nested = [key for key in keys if isinstance(holder[key], dict | list) and holder[key]]
        if not nested:
            break
        holder = holder[data.draw(st.sampled_from(nested))]
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    holder[data.draw(st.sampled_from(keys))] = data.draw(JSON)
    assert isinstance(parsed(export), Export | ExportProblem)
