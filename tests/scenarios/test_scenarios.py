"""Every scenario file, played: in this process, over stdio, and in the hands of several editors."""

import pytest
from suite import FILES, read, without_golden

from everyday import some
from outrider.replay.play import Replayed
from outrider.replay.play import play as replay
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider.testing.scenario_files.play import play
from replayed import exports_of, keep_sessions

GOLDEN = [name for name in FILES if read(name).expect.golden is not None]

OVER_STDIO = [
    *GOLDEN,
    "cancelled_by_progress",
    "command_waits_for_unsaved_changes",
    "f3_custom_tool_of_the_client",
    "f5_resume_after_kill",
    "f6_replay_from_any_seq",
    "killed_in_a_command",
    "parked_approval_survives_restart",
    "undo_keeps_what_was_typed",
]

EDITORS = ["neovim-0.11", "vscode", "eglot", "helix-25.07", "kate"]

IN_EVERY_EDITOR = [
    "bash_confirmation_prompt_denied",
    "explore_mode_denies_write",
    "f1_hello",
    "f5_closed_files",
    "f7_interrupt_and_go_on",
    "multi_tool_turn_roundtrip",
    "question_with_options",
    "steering_reaches_next_request",
    "write_file_denied",
]


async def failures(name, folder, scenario=None, **how):
    """What does not hold in a scenario, as text."""
    found = await play_and_judge(scenario or read(name), folder, beside=FILES[name].parent, **how)
    return "\n".join(map(str, found))


@pytest.mark.parametrize("name", FILES)
async def test_it_holds(name, tmp_path):
    assert await failures(name, tmp_path) == ""
    await keep_sessions(tmp_path / "workspace.state")


@pytest.mark.parametrize("name", some(OVER_STDIO, 7))
async def test_it_holds_over_stdio(name, tmp_path):
    assert await failures(name, tmp_path, connection="stdio") == ""


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("name", IN_EVERY_EDITOR)
async def test_it_holds_in_every_editor(name, editor, tmp_path):
    assert await failures(name, tmp_path, without_golden(read(name)), profile=editor) == ""


async def test_a_log_is_replayed_from_any_event(tmp_path):
    await play(read("f6_replay_from_any_seq"), tmp_path)
    (export,) = await exports_of(tmp_path / "workspace.state")
    for seq in range(1, len(export.events) + 1):
        seen = []
        replayed = await replay(
            export, from_seq=seq, on_event=lambda event, seen=seen: seen.append(event.seq)
        )
        assert isinstance(replayed, Replayed), replayed
        assert replayed.difference is None, f"from event {seq}"
        assert seen == list(range(seq, len(export.events) + 1)), f"from event {seq}"


async def test_the_log_is_the_same_with_and_without_notifications(tmp_path):
    logs = []
    for wanted in (True, False):
        folder = tmp_path / "played"  # the same for both, as what the model is told names it
        folder.mkdir()
        played = await play(read("streaming_text", events=wanted), folder)
        assert played.failures == []
        (export,) = await exports_of(folder / "workspace.state")
        logs.append([(event.seq, event.type, event.data) for event in export.events])
        folder.rename(tmp_path / str(wanted))
    assert logs[0] == logs[1]
