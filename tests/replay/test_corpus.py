"""Sessions that were recorded once and for all: what the loop makes of them must not change unnoticed.

Other replays record and play with the same code, so they show that no input is missing in the log. These show that
the loop still does what it did. `UPDATE_GOLDEN=1` records them again; look at the difference before.
"""

import json
import os
from pathlib import Path

import pytest
from suite import read, without_golden

from outrider import __version__
from outrider.agent.service.export import redacted
from outrider.permissions.secrets.redaction import Private
from outrider.replay.play import Replayed, play
from outrider.store.exported import contents_named, decode_content, read_export
from outrider.store.log import Store
from outrider.testing.scenario_files.play import play as play_scenario
from outrider_protocol.export import Export

CORPUS = Path(__file__).parent / "corpus"
RECORDED = [
    "multi_tool_turn_roundtrip", "typing_before_the_answer_moves_the_edit", "rejection_with_a_note",
    "steering_reaches_next_request", "tasks_of_a_busy_session_wait", "f3_custom_tool_of_the_client",
    "f5_resume_after_kill", "cancelled_in_stream", "tokens_spent", "cut_stream_is_withdrawn",
    "empty_answers_are_asked_again", "same_call_again_is_not_run", "mode_narrowed_in_the_middle",
    "workspace_write_denies_write_outside_root", "plan_mode_changes_nothing", "undo_keeps_what_was_typed",
    "session_grant_covers_one_file", "killed_in_a_command", "cancelled_while_asked", "patch_of_several_files",
]  # fmt: skip


async def record(name, folder):
    """Play a scenario, and give its first session as `outrider export` would."""
    scenario = without_golden(read(name))
    await play_scenario(scenario, folder)
    store = await Store.open(folder / "workspace.state")
    try:
        row = (await store.sessions())[-1]
        events = await store.events(row.session_id)
        wanted = {(one.hash, one.kind) for event in events for one in contents_named(event)}
        blobs = await store.blobs(digest for digest, _ in wanted)
    finally:
        await store.close()
    contents = {key: decode_content(blobs[key[0]]) for key in sorted(wanted)}
    place = str(folder / "workspace")
    private = Private(
        homes=(str(folder / "workspace.home"),),
        folders=(("workspace", (place,)),),
        machine=(("/scenario", str(folder)),),
    )
    return redacted(events, contents, private, __version__)


@pytest.mark.parametrize("name", RECORDED)
async def test_the_loop_does_what_it_did(name, tmp_path):
    file = CORPUS / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        export = await record(name, tmp_path)
        file.write_text(json.dumps(export.to_wire(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    export = read_export(file)
    assert isinstance(export, Export), export.message
    replayed = await play(export)
    assert isinstance(replayed, Replayed)
    assert replayed.difference is None, replayed.difference
    assert replayed.events == len(export.events)


def test_the_corpus_is_what_is_listed():
    assert {path.stem for path in CORPUS.glob("*.json")} == set(RECORDED)
