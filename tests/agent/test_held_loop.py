"""What is long is looked through and worked out off the event loop, so that everybody else gets an answer meanwhile."""

import asyncio
import threading

import pytest
from scripting import DONE, call, results, step

from outrider.permissions.secrets import masking
from outrider.workspace.text import diff

BEGUN = "-----BEGIN PRIVATE KEY-----\n" * 8_000
LONG = 10_000
"""Characters, or lines, that are not looked at on the loop at once."""


def on_the_loop(monkeypatch, module, name):
    """The sizes of what a function was given on the thread of the loop, and of all that it was given."""
    real, here, everywhere = getattr(module, name), [], []

    def noted(text, *rest):
        everywhere.append(len(text))
        if threading.current_thread() is threading.main_thread():
            here.append(len(text))
        return real(text, *rest)

    monkeypatch.setattr(module, name, noted)
    return here, everywhere


@pytest.mark.parametrize("answer", ["some words ", "token=a1B2c3D4e5F6g7H8& "])
async def test_secrets_in_a_long_task_and_in_a_long_answer_are_looked_for_in_a_thread(
    begin, monkeypatch, answer
):
    here, everywhere = on_the_loop(monkeypatch, masking, "findings")
    editor = await begin("stock", [{"text": answer * 4_000}])
    assert (await editor.run(BEGUN))["outcome"] == "completed"
    assert max(everywhere) >= LONG
    assert max(here) < LONG


async def test_secrets_in_a_long_result_are_looked_for_in_a_thread(begin, workspace, monkeypatch):
    (workspace / "long.txt").write_text(BEGUN)
    here, everywhere = on_the_loop(monkeypatch, masking, "findings")
    editor = await begin("stock", [step(call("read_file", path="long.txt", called="read")), DONE])
    await editor.run("Go.")
    assert results(editor)["read"][0] == "ok"
    assert max(everywhere) >= LONG
    assert max(here) < LONG


async def test_tasks_come_in_their_order_though_the_first_is_long(begin):
    editor = await begin("stock", [DONE, DONE, DONE])
    await editor.run("Hello.")
    given = [
        editor.command("outrider.run", {"prompt": prompt, "sessionId": editor.session_id})
        for prompt in (BEGUN, "Short.")
    ]
    _, last = await asyncio.gather(*given)
    await editor.command("outrider.wait", {"turnId": last["turnId"]})
    prompts = [event["data"]["prompt"][:5] for event in editor.events_of("turn.started")]
    assert prompts == ["Hello", "-----", "Short"]


async def test_what_a_large_patch_changes_is_compared_in_a_thread(begin, workspace, monkeypatch):
    lines = [f"line {number}\n" for number in range(2 * LONG)]
    (workspace / "large.txt").write_text("".join(lines))
    hunks = "".join(f"@@\n-line {n}\n+line {n} changed\n" for n in range(0, 2 * LONG, 20))
    patch = f"*** Begin Patch\n*** Update File: large.txt\n{hunks}*** End Patch\n"
    here, everywhere = on_the_loop(monkeypatch, diff, "changed_ranges")
    editor = await begin(
        "stock", [step(call("apply_patch", patch=patch, called="patch")), DONE], {"permissionMode": "full"}
    )
    await editor.run("Go.")
    assert results(editor)["patch"][0] == "ok"
    assert "line 40 changed\n" in (workspace / "large.txt").read_text()
    assert max(everywhere) >= LONG
    assert max(here, default=0) < LONG


async def test_a_call_with_very_long_arguments_is_not_taken_in_and_the_turn_goes_on(begin, workspace):
    long = step(
        call("write_file", path="a.txt", content="line\n" * 250_000, called="long"),
        call("write_file", path="b.txt", content="short\n", called="short"),
    )
    editor = await begin("stock", [long, DONE], {"permissionMode": "full"})
    assert (await editor.run("Go."))["outcome"] == "completed"
    status, said = results(editor)["long"]
    assert status == "error"
    assert said.startswith("The arguments of this call have 1,500,")
    assert said.endswith("at most 1,000,000 are taken in one answer. Write the file in parts.")
    assert results(editor)["short"][0] == "ok"
    assert not (workspace / "a.txt").exists()
    assert max(len(str(event)) for event in editor.events) < LONG


async def test_of_very_many_calls_one_result_tells_that_the_last_were_not_taken_in(begin):
    calls = [call("list_files", path=".", called=f"c{number}") for number in range(500)]
    editor = await begin("stock", [step(*calls), DONE])
    assert (await editor.run("Go."))["outcome"] == "completed"
    found = results(editor)
    assert len(found) == 201
    assert found["c199"][0] == "ok"
    assert found["c200"][0] == "error"
    assert "500 calls; at most 200 are taken in one answer" in found["c200"][1]


async def test_a_long_summary_is_masked_in_a_thread_while_jobs_run(begin, monkeypatch):
    here, everywhere = on_the_loop(monkeypatch, masking, "findings")
    job = step(call("run_command", command="sleep 100", background=True))
    editor = await begin(
        "stock", [job, {"text": "token=a1B2c3D4e5F6g7H8& " * 4_000}], {"permissionMode": "full"}
    )
    assert "Still running" in (await editor.run("Go."))["summary"]
    assert max(everywhere) >= LONG
    assert max(here) < LONG


async def test_what_becomes_of_a_text_with_thousands_of_secrets_is_worked_out_in_a_thread(
    begin, workspace, monkeypatch
):
    keys = "".join(f"API_KEY={number:05}aB3dE6gH9kL2{number:05}\n" for number in range(5_000))
    (workspace / "keys.txt").write_text(keys)
    here, everywhere = [], []
    real = masking.Masking._with_markers

    def noted(self, text, places):
        places = list(places)
        everywhere.append(len(places))
        if threading.current_thread() is threading.main_thread():
            here.append(len(places))
        return real(self, text, places)

    monkeypatch.setattr(masking.Masking, "_with_markers", noted)
    editor = await begin("stock", [step(call("read_file", path="keys.txt", called="read")), DONE])
    await editor.run("Go.")
    assert "[secret 1]" in results(editor)["read"][1]
    assert max(everywhere) > 500
    assert max(here, default=0) < 100
