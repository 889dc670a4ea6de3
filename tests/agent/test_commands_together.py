"""Commands of one session as a model uses them: a server and what asks it, pipes, silence, waiting, and a way out that is asked for."""

import asyncio
import shutil
from pathlib import Path

import pytest
from scripting import DONE, call, result, results, step, types

from outrider.agent.loop.live import Live
from outrider.testing.editor.answers import Never
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider.testing.scenario_files.from_export import scenario_of, written
from outrider_protocol.export import Export
from outrider_protocol.scenario import Scenario
from sandboxes import in_both_worlds, needs_bubblewrap

REAL = {"testing": {"clock": None, "ids": "sequential"}, "permissionMode": "full"}
SERVER = """import http.server
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"well\\n")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8123), Health)
print("listening on 8123", flush=True)
server.serve_forever()
"""
ASK = "curl -sS http://127.0.0.1:8123/health"
START = call("run_command", command="/usr/bin/python3 server.py", background=True, called="start")


def sandboxed(world, **more):
    return {**REAL, "sandbox": "auto", "testing": {**REAL["testing"], "sandboxes": [world]}, **more}


def run(command, *, called="run", **more):
    return call("run_command", command=command, called=called, **more)


@in_both_worlds
async def test_a_development_server_is_started_asked_and_ended(world, begin, workspace):
    (workspace / "server.py").write_text(SERVER)
    turns = [
        step(START),
        step(call("wait", job="job_1", text="listening on", seconds=30, called="wait")),
        step(run(ASK, called="ask"), run("echo kept > $TMPDIR/note", called="note")),
        step(run("cat $TMPDIR/note", called="cat")),
        step(call("kill_job", job="job_1", called="kill")),
        step(run(ASK, called="after")),
        DONE,
    ]
    editor = await begin("stock", turns, sandboxed(world))
    assert (await editor.run("Go."))["outcome"] == "completed"
    came = results(editor)
    assert came["wait"][1].startswith("listening on 8123\n[job_1: the text came; still running after ")
    assert came["ask"] == ("ok", "well\n[exit code 0]")
    assert came["cat"] == ("ok", "kept\n[exit code 0]")
    assert came["kill"] == ("ok", "[job_1: ended, with everything it started]")
    assert came["after"][0] == "error"
    assert "Couldn't connect" in came["after"][1]
    assert "approval.requested" not in types(editor)
    await editor.stop()
    left = Path(editor.options["stateDir"]) / "sandbox" / "tmp"
    assert list(left.iterdir()) == []


@needs_bubblewrap
async def test_a_server_that_dies_is_told_by_the_wait(begin):
    turns = [
        step(run("echo starting; exit 3", background=True, called="start")),
        step(call("wait", job="job_1", text="listening", seconds=30, called="wait")),
        step(call("wait", job="job_1", called="again")),
        DONE,
    ]
    editor = await begin("stock", turns, sandboxed("bubblewrap"))
    await editor.run("Go.")
    assert results(editor)["wait"] == ("ok", "starting\n[job_1: it ended before the text came; exit code 3]")
    assert results(editor)["again"] == ("ok", "[job_1: exit code 3]")


async def test_wait_takes_a_text_a_pattern_or_a_time(begin):
    loud = "printf 'port'; sleep 0.2; echo ' 8123'; yes | head -c 3000000; echo; echo ready; sleep 1000"
    turns = [
        step(run(loud, background=True, called="start")),
        step(call("wait", job="job_1", text=r"port \d+", regex=True, seconds=30, called="pattern")),
        step(call("wait", job="job_1", text="ready", seconds=30, called="text")),
        step(call("wait", job="job_1", text="never", seconds=0.1, called="never")),
        step(call("wait", seconds=0.1, called="time")),
        step(
            call("wait", job="job_1", text="(?=x)", regex=True, called="bad"),
            call("wait", text="x", seconds=0.1, called="lone"),
        ),
        step(call("wait", job="job_7", called="none")),
        DONE,
    ]
    editor = await begin("stock", turns, {**REAL, "limits": {"outputBytes": 2000}})
    await editor.run("Go.")
    came = results(editor)
    assert came["pattern"][1].startswith("port 8123\n")
    assert "[job_1: the text came; still running" in came["text"][1]
    assert len(came["text"][1]) < 2500
    assert "[job_1: the text did not come in 0.1 s; still running" in came["never"][1]
    assert came["time"] == ("ok", "[0.1 s have passed]")
    assert came["bad"][0] == came["none"][0] == "error"
    assert came["lone"][1].startswith("[job_1: the text did not come in 0.1 s")
    assert "RE2" in came["bad"][1]


async def test_a_text_without_a_job_is_waited_for_in_the_latest(begin):
    """One that starts in the same answer has no id that the model could know."""
    turns = [
        step(call("wait", text="two", called="none")),
        step(
            run("echo one; sleep 1000", background=True, called="first"),
            run("echo two; sleep 1000", background=True, called="second"),
            call("wait", text="two", seconds=30, called="wait"),
        ),
        DONE,
    ]
    editor = await begin("stock", turns, REAL)
    await editor.run("Go.")
    assert results(editor)["none"] == ("error", "text is what a job prints, and no job is there.")
    assert results(editor)["wait"][1].startswith("two\n[job_2: the text came; still running")


async def test_a_wait_is_cancelled_with_its_turn(begin):
    turns = [
        step(run("sleep 1000", background=True)),
        step(call("wait", job="job_1", text="x", seconds=600)),
        DONE,
    ]
    editor = await begin("stock", turns, REAL)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: types(editor).count("tool.started") == 2, "the wait")
    assert (await editor.command("outrider.cancel", {"turnId": started["turnId"]}))["outcome"] == "cancelled"


# --- pipes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("(echo one; exit 3) | tail -1", ("error", "one\n\n[exit codes in the pipe: 3 | 0]\n[exit code 3]")),
        ("false | tail -1 && echo committed", ("error", "[exit codes in the pipe: 1 | 0]\n[exit code 1]")),
        ("yes | head -1", ("ok", "y\n[exit code 0]")),
        ("yes | head -1 && echo on", ("ok", "y\non\n[exit code 0]")),
        ("yes | (head -1; exit 4)", ("error", "y\n\n[exit codes in the pipe: 141 | 4]\n[exit code 4]")),
        ("false | cat || echo rescued", ("ok", "rescued\n[exit code 0]")),
        ("false | cat; exit 0", ("ok", "[exit code 0]")),
        ("if false | cat; then echo yes; else echo no; fi", ("ok", "no\n[exit code 0]")),
        ("! false | cat", ("ok", "[exit code 0]")),
        ("cat <<E | tail -1\none\nE\n", ("ok", "one\n[exit code 0]")),
        ("sh <<E 2>&1 | tail -1\nexit 7\nE\n", ("error", "[exit codes in the pipe: 7 | 0]\n[exit code 7]")),
        (
            "sh -c 'exit 2' 2>&1 | cat 2>/dev/null",
            ("error", "[exit codes in the pipe: 2 | 0]\n[exit code 2]"),
        ),
        ("false | cat; echo ${PIPESTATUS[0]}", ("ok", "1\n[exit code 0]")),
        ("echo 'a | b'", ("ok", "a | b\n[exit code 0]")),
        ("false | cat & wait", ("ok", "[exit code 0]")),
    ],
)
async def test_a_pipe_fails_with_what_fails_in_it(command, told, begin):
    editor = await begin("stock", [step(run(command)), DONE], REAL)
    await editor.run("Go.")
    assert results(editor)["run"] == told


@needs_bubblewrap
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("sleep 1000 &", "[exit code 0; what it left running ended with it; "),
        (
            "nohup sleep 1000 > log 2>&1 & disown; echo on",
            "on\n[exit code 0; what it left running ended with it; ",
        ),
        ("(sleep 1000 &)", "[exit code 0; what it left running ended with it; "),
        ("sleep 1000 & kill $!", "[exit code 0]"),
        ("true & wait", "[exit code 0]"),
        ("echo 'a & b' 2>&1", "a & b\n[exit code 0]"),
    ],
)
async def test_a_command_that_leaves_something_running_is_told_that_it_ended(command, told, begin):
    editor = await begin("stock", [step(run(command)), DONE], sandboxed("bubblewrap"))
    await editor.run("Go.")
    status, said = results(editor)["run"]
    assert (status, said[: len(told)]) == ("ok", told)
    assert ("what is to keep running is started with background" in said) == ("ended" in told)


async def test_a_command_is_told_without_the_colours_of_its_words(begin, workspace):
    (workspace / "signs.txt").write_text("\x1b[31mred\x1b[0m\n")
    colours = "printf '\\033[1;32m1 passed\\033[0m\\033[K \\033]0;x\\a\n'; touch x"
    turns = [
        step(run(colours), run("cat signs.txt", called="signs")),
        step(run(colours, background=True, called="job")),
        step(call("read_job", job="job_1", wait=30, called="read")),
        DONE,
    ]
    editor = await begin("stock", turns, REAL)
    await editor.run("Go.")
    came = results(editor)
    assert came["run"][1].startswith("1 passed \\x1b]0;x\\x07\n[exit code 0")
    assert came["signs"][1].startswith("\\x1b[31mred\\x1b[0m\n"), "of a file every sign counts"
    assert came["read"][1].startswith("1 passed \\x1b]0;x\\x07\n[job_1: exit code 0")


@needs_bubblewrap
async def test_a_failure_in_a_pipe_is_offered_to_run_outside(begin, workspace):
    command = "(echo one > ../outside.txt) 2>&1 | tail -3"
    editor = await begin(
        "stock", [step(run(command)), DONE], sandboxed("bubblewrap"), answers=["Run outside once"]
    )
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["title"] == f"Run outside once: {command}"
    assert (workspace.parent / "outside.txt").read_text() == "one\n"


# --- silence -------------------------------------------------------------------------------------------------------

SILENT = {"limits": {"commandIdleSeconds": 0.8, "commandSeconds": 20}}


async def test_silence_is_neither_printing_nor_computing(begin):
    computes = "(timeout 2 sh -c 'while :; do :; done'; echo done) 2>&1 | tail -1"
    turns = [step(run(computes, called="computes")), step(run("sleep 1000 | tail -1", called="waits")), DONE]
    editor = await begin("stock", turns, {**REAL, **SILENT})
    await editor.run("Go.")
    assert results(editor)["computes"] == ("ok", "done\n[exit code 0]")
    status, told = results(editor)["waits"]
    assert status == "error"
    assert "[ended after 0.8 s in which it neither printed nor computed. " in told
    assert "give it a timeout, or start it with background and use wait" in told


async def test_a_timeout_covers_sleeping_and_what_a_pipe_holds_back(begin):
    slow = "(for i in 1 2 3 4; do echo test $i ok; sleep 0.4; done) 2>&1 | tail -3"
    turns = [step(run(slow, timeout=300)), step(run("sleep 1000", timeout=1, called="over")), DONE]
    editor = await begin("stock", turns, {**REAL, **SILENT})
    await editor.run("Go.")
    assert results(editor)["run"] == ("ok", "test 2 ok\ntest 3 ok\ntest 4 ok\n[exit code 0]")
    assert results(editor)["over"][1] == "[ended after 1 s, its time-out]"


async def test_a_timeout_beyond_the_limit_says_what_to_do_instead(begin):
    editor = await begin(
        "stock", [step(run("sleep 1000", timeout=900)), DONE], {**REAL, "limits": {"commandSeconds": 0.3}}
    )
    await editor.run("Go.")
    assert result(editor)[1] == (
        "[ended after 0.3 s, the longest that a command may take; what takes longer is started with background, "
        "and waited for with wait]"
    )


async def test_a_command_that_floods_and_forks_is_bounded_and_ended(begin, workspace):
    flood = "for i in $(seq 20); do (sleep 1000 &) ; done; head -c 10000000 /dev/zero | tr '\\0' x"
    editor = await begin(
        "stock", [step(run(flood, timeout=60)), DONE], {**REAL, "limits": {"outputBytes": 4000}}
    )
    await editor.run("Go.")
    status, told = result(editor)
    assert status == "ok"
    assert len(told) < 4500
    assert "bytes are missing here" in told
    assert "20 processes it left behind were ended" in told


async def test_what_a_command_floods_is_shown_as_far_as_a_client_can_take_it(begin):
    flood = "head -c 12000000 /dev/zero | tr '\\0' '\\n'; echo the end"
    editor = await begin("stock", [step(run(flood)), DONE], REAL)
    await editor.run("Go.")
    shown = "".join(frame["text"] for frame in editor.frames if frame["kind"] == "output")
    assert shown.startswith("\n" * 1000)
    assert "characters came too fast to be shown …]" in shown
    assert len(shown) < 6_000_000
    assert result(editor)[1].endswith("\nthe end\n[exit code 0]")


def test_what_comes_slowly_is_shown_whole_and_a_gap_says_how_much_is_missing():
    live = Live(0.0)
    assert all(live.take("x" * 100_000, float(second)) for second in range(100))
    full = Live(0.0, room=10)
    assert full.take("x" * 10, 0.0) == "x" * 10
    assert full.take("y" * 7, 0.0) == ""
    assert full.take("y" * 7, 0.1) == "", "a short gap is not worth it"
    assert full.take("z", 1.0) == "\n[… 14 characters came too fast to be shown …]\nz"
    assert full.offset == len("x" * 10 + "\n[… 14 characters came too fast to be shown …]\nz")
    assert full.end() == ""


@needs_bubblewrap
async def test_a_command_that_lists_processes_does_not_see_how_it_is_confined(begin):
    editor = await begin("stock", [step(run("ps -ww -e -o args=")), DONE], sandboxed("bubblewrap"))
    await editor.run("Go.")
    status, told = result(editor)
    assert (status, "bwrap --args 3 -- bash" in told) == ("ok", True)
    assert "--ro-bind" not in told


# --- asking to leave ------------------------------------------------------------------------------------------------


@needs_bubblewrap
async def test_the_model_asks_to_run_outside_with_its_reason(begin, workspace):
    command = "echo one > ../outside.txt"
    wants = run(command, sandbox="none", reason="The file lies beside\nthe workspace.\nSandboxed: harmless.")
    editor = await begin("stock", [step(wants), DONE], sandboxed("bubblewrap"), answers=["Run outside once"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    data = asked["data"]
    assert data["title"] == f"Run outside once: {command}"
    assert data["options"] == ["Run outside once", "Reject"]
    assert data["summary"] == f"Run `{command}` in the workspace, without a sandbox."
    assert data["detail"].startswith(
        "The model's reason, in its words:\n│ The file lies beside\n│ the workspace.\n│ Sandboxed: harmless.\n"
    )
    assert results(editor)["run"][0] == "ok"
    assert (workspace.parent / "outside.txt").read_text() == "one\n"


@needs_bubblewrap
async def test_the_reason_is_part_of_what_is_approved(begin):
    digests = []
    for reason in ("because", "for another reason"):
        wants = run("true", sandbox="none", reason=reason)
        editor = await begin("stock", [step(wants), DONE], sandboxed("bubblewrap"), answers=["Reject"])
        await editor.run("Go.")
        assert result(editor)[0] == "denied"
        digests.append(editor.events_of("approval.requested")[0]["data"]["digest"])
        await editor.stop()
    assert len(set(digests)) == 2


@in_both_worlds
async def test_the_model_asks_for_the_network_and_stays_in_the_sandbox(world, begin, workspace):
    reader, address = await _server()
    command = f"curl -sS http://127.0.0.1:{address}/; echo one > ../outside.txt; true"
    turns = [
        step(run(command, sandbox="network", reason="A package has to be loaded.")),
        step(run(f"curl -sS http://127.0.0.1:{address}/; true", called="after")),
        DONE,
    ]
    async with reader:
        editor = await begin("stock", turns, sandboxed(world), answers=["Run outside once"])
        await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["summary"].endswith("sandboxed, with the network.")
    assert "hello" in results(editor)["run"][1]
    assert "hello" not in results(editor)["after"][1]
    assert not (workspace.parent / "outside.txt").exists()


async def _server():
    async def answer(_, writer):
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nhello\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


@needs_bubblewrap
@pytest.mark.parametrize(
    ("more", "settings", "rule", "said"),
    [
        ({"sandbox": "none"}, {}, None, "sandbox needs a reason"),
        ({"sandbox": "none", "reason": " "}, {}, None, "sandbox needs a reason"),
        ({"sandbox": "none", "reason": "x"}, {"sandbox": "required"}, None, "requires one"),
        ({"sandbox": "none", "reason": "x"}, {"permissionMode": "read-only"}, None, "read-only"),
        (
            {"sandbox": "none", "reason": "x"},
            {},
            'decision = "deny"\ntool = "run_command"\ncommand = "cat"',
            "not allowed",
        ),
    ],
)
async def test_nothing_leaves_without_a_reason_or_against_the_rules(
    more, settings, rule, said, begin, workspace, rules
):
    if rule:
        rules(f"[[rule]]\n{rule}\n")
    editor = await begin(
        "stock", [step(run("cat tariff.py", **more)), DONE], sandboxed("bubblewrap", **settings)
    )
    await editor.run("Go.")
    assert "approval.requested" not in types(editor)
    status, told = result(editor)
    assert status in {"error", "denied"}
    assert said in told


@needs_bubblewrap
async def test_a_rule_that_allows_a_command_does_not_let_it_leave(begin, rules):
    rules('[[rule]]\ndecision = "allow"\ntool = "run_command"\ncommand = "make"\n')
    wants = run("make x", sandbox="none", reason="x")
    editor = await begin("stock", [step(wants), DONE], sandboxed("bubblewrap"), answers=["Reject"])
    await editor.run("Go.")
    assert len(editor.questions) == 1


@needs_bubblewrap
async def test_a_session_in_which_the_model_asked_to_leave_is_a_scenario_that_plays(begin, tmp_path):
    turns = [step(run("echo one", sandbox="none", reason="x")), DONE]
    editor = await begin(
        "stock", turns, sandboxed("bubblewrap", permissionMode="ask"), answers=["Run outside once"]
    )
    await editor.run("Go.")
    exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
    made = scenario_of(Export.from_wire(exported), "again")
    assert isinstance(made, Scenario), made.message
    again = tmp_path / "again"
    again.mkdir()
    failures = await play_and_judge(Scenario.model_validate(written(made)), again, beside=tmp_path)
    assert not failures, "\n".join(map(str, failures))


# --- a sandbox that stops working ------------------------------------------------------------------------------------


@needs_bubblewrap
@pytest.mark.parametrize("breaks", ["gone", "refuses"])
@pytest.mark.parametrize("background", [False, True])
async def test_a_sandbox_that_stops_working_is_said_and_nothing_runs_outside_unasked(
    breaks, background, begin, workspace, monkeypatch, rules
):
    rules('[[rule]]\ndecision = "allow"\ntool = "run_command"\ncommand = "touch"\n')
    programs = workspace.parent / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "touch", "cat"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/false")
    (programs / "bwrap").symlink_to(shutil.which("bwrap") or "/bin/false")
    monkeypatch.setenv("PATH", str(programs))

    def answers(question):
        if "echo break" in question.message:
            (programs / "bwrap").unlink()
            if breaks == "refuses":
                (programs / "bwrap").write_text(
                    "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
                )
                (programs / "bwrap").chmod(0o755)
            return "Allow once"
        return "Reject"

    turns = [
        step(run("touch one.txt", called="one")),
        step(run("echo break > two.txt", called="two", background=background)),
        *([step(call("wait", job="job_1", called="wait"))] if background and breaks == "refuses" else []),
        step(run("touch three.txt", called="three")),
        step(run("cat tariff.py", called="four")),
        DONE,
    ]
    editor = await begin("stock", turns, sandboxed("bubblewrap", permissionMode="ask"), answers=answers)
    await editor.run("Go.")
    came = results(editor)
    assert came["one"][0] == "ok"
    if not (background and breaks == "refuses"):
        assert came["two"][0] == "error"
        assert "its sandbox does not work any more" in came["two"][1]
        assert (came["three"][0], came["four"][0]) == ("denied", "denied")
        assert "the sandbox does not work any more" in editor.questions[-1].message
    assert not [name for name in ("two.txt", "three.txt") if (workspace / name).exists()]


@needs_bubblewrap
async def test_a_cancel_while_it_asks_to_leave_runs_nothing(begin, workspace):
    wants = run("echo one > ../outside.txt", sandbox="none", reason="x")
    editor = await begin("stock", [step(wants), DONE], sandboxed("bubblewrap"), answers=lambda _: Never())
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.event("approval.requested")
    assert (await editor.command("outrider.cancel", {"turnId": started["turnId"]}))["outcome"] == "cancelled"
    assert not (workspace.parent / "outside.txt").exists()
