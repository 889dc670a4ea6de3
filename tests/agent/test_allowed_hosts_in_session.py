"""`sandbox.network` with hosts, as a session has it: what is asked, what the model and the log are told, and what rules close."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from scripting import DONE, call, results, step

from sandboxes import needs_bubblewrap

pytestmark = needs_bubblewrap
TESTING = {"clock": None, "ids": "sequential", "sandboxes": ["bubblewrap"]}


class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format, *args):  # noqa: A002 - its name there
        pass


@pytest.fixture
def port():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def settings(port, **more):
    return {
        "permissionMode": "auto",
        "sandbox": {"network": [f"127.0.0.1:{port}"]},
        "testing": TESTING,
        **more,
    }


def run(text, called="run", **more):
    return call("run_command", command=text, called=called, **more)


def connections(editor, call_id="run"):
    (finished,) = [
        one["data"] for one in editor.events_of("tool.finished") if one["data"]["callId"] == call_id
    ]
    return finished["ran"].get("connections")


async def test_auto_runs_it_without_a_question_and_the_log_names_the_host(begin, port):
    editor = await begin("stock", [step(run(f"curl -s http://127.0.0.1:{port}/")), DONE], settings(port))
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert not editor.questions
    assert results(editor)["run"][1].startswith("hello\n[exit code 0")
    (one,) = connections(editor)
    assert (one["host"], one["port"], one["times"]) == ("127.0.0.1", port, 1)
    assert one["received"] > 5
    assert "problem" not in one


async def test_what_is_refused_is_in_the_result_and_the_log(begin, port):
    command = "curl -s http://evil.example/ https://other.example/; true"
    editor = await begin("stock", [step(run(command)), DONE], settings(port))
    await editor.run("Go.")
    content = results(editor)["run"][1]
    assert (
        "connections refused to evil.example:80 (it is not in `sandbox.network`), other.example:443"
        in content
    )
    assert [(one["host"], one["problem"]) for one in connections(editor)] == [
        ("evil.example", "it is not in `sandbox.network`"),
        ("other.example", "it is not in `sandbox.network`"),
    ]


async def test_an_approval_names_the_hosts_and_another_list_is_another_question(begin, port):
    editor = await begin(
        "stock", [step(run("make it")), DONE], settings(port, permissionMode="ask"), answers=["Reject"]
    )
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert f"and runs without network but 127.0.0.1:{port}." in asked["data"]["detail"]


async def test_a_rule_that_denies_the_host_wins(begin, port, rules):
    rules('[[rule]]\ndecision = "deny"\ntool = "run_command"\nhost = "127.0.0.1"\n')
    command = f"x=127.0.0.; curl -s http://${{x}}1:{port}/; true"
    editor = await begin("stock", [step(run(command)), DONE], settings(port), answers=["Allow once"])
    await editor.run("Go.")
    content = results(editor)["run"][1]
    assert "hello" not in content
    assert f"connections refused to 127.0.0.1:{port} (rule: deny run_command 127.0.0.1 everywhere)" in content


async def test_the_whole_network_is_still_asked_for(begin, port):
    wants = run("curl -s https://other.example/", sandbox="network", reason="It must.")
    editor = await begin("stock", [step(wants), DONE], settings(port), answers=["Reject"])
    await editor.run("Go.")
    assert len(editor.questions) == 1


async def test_a_job_has_its_way_until_it_ends(begin, port):
    job = run(f"curl -s http://127.0.0.1:{port}/ http://evil.example/", background=True)
    editor = await begin("stock", [step(job), DONE], settings(port), answers=["Allow once"])
    await editor.run("Go.")
    finished = (await editor.event("job.finished"))["data"]
    assert finished["output"].startswith("hello")
    assert [one["host"] for one in finished["connections"]] == ["127.0.0.1", "evil.example"]
