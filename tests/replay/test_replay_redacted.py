"""An export without its secrets is still a log that a replay gives again."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrider.agent.service.export import redacted
from outrider.cli.replay import verdict
from outrider.permissions.secrets.redaction import Private, Redaction
from outrider.ports.events import LoggedEvent
from outrider.replay.play import Replayed, play
from outrider.store.exported import contents_named, parse_export
from outrider.testing.scenario import scripted, start_session
from outrider.workspace.text.diff import line_hunks
from outrider_protocol.export import Export
from replayed import exports_of

LINES = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC",
    "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4M2bS1GB4t7NXp98C3SC",
]
KEY = "first line of the key\nsecond line of the key"


def pem(*lines):
    return "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", ""])


async def replay_of(workspace, before, after, env_keys=(), user=""):
    """What a replay makes of the redacted export of a session that reads a file and writes it anew."""
    (workspace / "key.txt").write_text(before)
    given = {"path": "key.txt", "content": after, "overwrite": True}
    turns = [
        {"tool_calls": [{"name": "read_file", "input": {"path": "key.txt"}, "id": "c_1"}]},
        {"tool_calls": [{"name": "write_file", "input": given, "id": "c_2"}]},
        {"text": "Done."},
    ]
    options = {"permissionMode": "full"}
    async with start_session("stock", workspace, scripted(workspace, turns), options) as editor:
        await editor.run("Change it")
    (export,) = await exports_of(workspace.parent / f"{workspace.name}.state")
    events = [LoggedEvent(e.seq, e.ts, e.session_id, e.turn_id, e.type, e.data) for e in export.events]
    contents = {
        (one.hash, one.kind): export.contents[one.hash]
        for event in export.events
        for one in contents_named(event)
    }
    private = Private(frozenset(env_keys), folders=(("shop", (str(workspace),)),), user=user)
    clean = redacted(events, contents, private, "0")
    assert [event.type for event in clean.events].count("edit.applied") == 1
    return clean, await play(clean)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pem(*LINES), pem(LINES[0], LINES[2])),
        (pem(*LINES), pem(LINES[0], LINES[2], LINES[1])),
        (pem(LINES[0]), pem(LINES[1])),
        (f"a\n{KEY}\nb\n", f"a\n{KEY.splitlines()[1]}\nb\n"),
        ("[secret 1]\nx\n", f"{KEY.splitlines()[0]}\nx\n"),
        ("[secret 1.1]\nx\n", f"{KEY.splitlines()[0]}\nx\n"),
        ("/workspace\nx\n", "{here}\nx\n"),
    ],
)
async def test_an_edit_of_secrets_is_the_same_edit_without_them(workspace, before, after):
    clean, replayed = await replay_of(workspace, before, after.format(here=workspace), [KEY])
    assert replayed == Replayed(len(clean.events), 0, None)


@pytest.mark.parametrize(
    "word", ["tools", "assistant", "edit", "full", "plan", "write_file", "Outrider", "steps", "string"]
)
async def test_who_is_called_like_a_word_of_the_wire_changes_no_log(workspace, word):
    clean, replayed = await replay_of(workspace, "a\n", f"{word}\n", ["complete", "cancelle"], word)
    assert replayed == Replayed(len(clean.events), 0, None)
    assert isinstance(parse_export(json.dumps(clean.to_wire()).encode()), Export)
    assert f"{word}\n" in clean.contents.values()


SOME_LINES = st.lists(
    st.sampled_from(
        [*LINES, *KEY.splitlines(), "a", "b [secret 2]", "[secret 1.1]", "/workspace", "/srv/shop"]
    ),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(SOME_LINES, SOME_LINES)
def test_hunks_between_redacted_texts_are_the_redacted_hunks(before, after):
    texts = ["".join(f"{line}\n" for line in lines) for lines in (before, after)]
    redaction = Redaction(Private(frozenset({KEY}), folders=(("shop", ("/srv/shop",)),)))
    redaction.look([pem(*LINES), *texts])
    expected = [
        (hunk.line, redaction.text(hunk.removed), redaction.text(hunk.added)) for hunk in line_hunks(*texts)
    ]
    left = line_hunks(*map(redaction.text, texts))
    assert [(hunk.line, hunk.removed, hunk.added) for hunk in left] == expected


async def test_a_compacted_session_without_its_secrets_is_replayed_up_to_where_lengths_decide(workspace):
    for name in "abcd":
        text = "".join(f"{name}{number} in {workspace} as before\n" for number in range(30))
        (workspace / f"{name}.txt").write_text(text)
    (workspace / "AGENTS.md").write_text(f"Work in {workspace}.\n")
    turns = [
        {"tool_calls": [{"name": "read_file", "input": {"path": f"{name}.txt"}, "id": f"r_{name}"}]}
        for name in "abcd"
    ]
    model = scripted(workspace, [*turns, {"text": "Done."}], context_window=3_600)
    async with start_session("stock", workspace, model) as editor:
        await editor.run("Look")
    (export,) = await exports_of(workspace.parent / f"{workspace.name}.state")
    events = [LoggedEvent(e.seq, e.ts, e.session_id, e.turn_id, e.type, e.data) for e in export.events]
    contents = {
        (one.hash, one.kind): export.contents[one.hash]
        for event in export.events
        for one in contents_named(event)
    }
    clean = redacted(
        events, contents, Private(frozenset(), folders=(("shop", (str(workspace),)),), user=""), "0"
    )
    assert "context.compacted" in [event.type for event in clean.events]
    assert str(workspace) not in json.dumps(clean.to_wire())
    (compacted,) = [event.seq for event in clean.events if event.type == "context.compacted"][:1]
    replayed = await play(clean)
    assert isinstance(replayed, Replayed)
    assert replayed.difference is None
    assert replayed.unknown_from is not None, "the lengths are others, so that this test shows something"
    assert replayed.unknown_from <= compacted, "up to there it is the same"
    assert replayed.events == replayed.unknown_from - 1
    told = " ".join(verdict(replayed, clean))
    assert f"The same up to event {replayed.events} of {len(clean.events)}" in told
    assert "this export has texts removed" in told
