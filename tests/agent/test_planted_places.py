"""A key that was planted where nobody looks for one: names, messages, questions, errors, titles, a map of names."""

import json
import subprocess

import pytest
from scripting import results
from test_secrets import log_of

from outrider.testing.editor.answers import Never, Wrong
from outrider.testing.scenario import client_tool, embedded, start_session
from provider_server import ProviderServer, Said
from replayed import keep_sessions

OF_THE_ENVIRONMENT = "plantedkeyofadalovelace42x"
TOKEN = "ghp_" + "aB3dE6gH9" * 4
CALLS = (
    [("find", "find_files", {"pattern": "**/*"})],
    [("list", "list_files", {})],
    [("look", "diagnostics", {})],
    [("tool", "peek", {"x": "1"})],
    [("ask", "ask_user", {"question": "Which?", "allow_free_form": True})],
    [("log", "run_command", {"command": "git log --oneline; git nothing-of-that-name; exit 4"})],
    [("move", "run_command", {"command": "mv dir-*/b.py c.py; echo 'a = 2' > 'plain.py'"})],
    [("job", "run_command", {"command": "git log; sleep 1000", "background": True})],
    [("read", "read_file", {"path": "price.py"})],
)
FOUND_IN = {"find", "list", "look", "tool", "ask", "log", "move", "read"}


def plant(workspace, secret):
    (workspace / "price.py").write_text(f"def {secret}():\n    return 1\n\n\nclass Ticket:\n    pass\n")
    (workspace / "use.py").write_text(f"from price import {secret}, Ticket\n\n{secret}(Ticket)\n")
    (workspace / f"{secret}.py").write_text("a = 1\n")
    (workspace / f"dir-{secret}").mkdir()
    (workspace / f"dir-{secret}" / "b.py").write_text("b = 1\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", "-C", str(workspace)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", f"leak {secret}"]):
        subprocess.run([*git, *arguments], check=True)


def problem(secret):
    place = {"line": 0, "character": 0}
    return {
        "range": {"start": place, "end": place},
        "severity": 1,
        "source": secret,
        "message": f"bad {secret}",
    }


@pytest.mark.parametrize("secret", [OF_THE_ENVIRONMENT, TOKEN], ids=["key", "shape"])
async def test_a_key_that_was_planted_in_an_odd_place_gets_nowhere(workspace, capfd, ready, secret):
    plant(workspace, secret)
    async with ProviderServer() as server:
        server.plays("openai-chat", *(Said(f"Now {one[0][0]}.", one) for one in CALLS), Said("Done."))
        options = {
            "providers": {"local": {"kind": "openai-chat", "baseUrl": server.url, "apiKeyEnv": "MODEL_AUTH"}},
            "testing": None,
            "permissionMode": "full",
            "recording": True,
            "reminders": False,
            "repositoryMap": {"enabled": True},
            "limits": {"askSeconds": 0.1},
        }
        async with start_session(
            "lends",
            workspace,
            "local/some-model",
            options,
            connection=embedded(workspace, env={"PATH": "/usr/bin:/bin", "MODEL_AUTH": OF_THE_ENVIRONMENT}),
            tools=[client_tool("peek", x={"type": "string"})],
            tool_answers=lambda _: Wrong(f"it is {secret}"),
            answers=lambda _: Never(),
        ) as editor:
            editor.problems = {"price.py": [problem(secret)], f"{secret}.py": [problem(secret)]}
            editor.open("price.py")
            diagnostics = [{"uri": editor.desk.uri("price.py"), "items": [problem(secret)]}]
            done = await editor.run(f"Fix {secret} in `price.py`", context={"diagnostics": diagnostics})
            while done["outcome"] == "needs_input":
                item = done["open"][0]["id"]
                await ready()
                await editor.code_actions("price.py")
                await editor.command("outrider.answer", {"id": item, "answer": f"take {secret}"})
                done = await editor.wait_turn()
            assert done["outcome"] == "completed"
            session = {"sessionId": editor.session_id}
            for name in ("export", "prompt", "events", "sessions", "status", "jobs", "doctor"):
                given = None if name in {"status", "doctor"} else session
                await editor.command(f"outrider.{name}", {} if name in {"sessions", "jobs"} else given)
            given = results(editor)
        requests = [received.body.decode() for received in server.received]
    state_dir = workspace.parent / editor.options["stateDir"]
    events, messages = log_of(state_dir)
    assert {called for called, (_, content) in given.items() if "[secret " in content} == FOUND_IN
    assert any("class Ticket 5" in one for one in requests), "the map of names is among them"
    from_the_server = [one.message for one in editor.messages if one.direction == "to editor"]
    places = {
        "events": events,
        "messages": messages,
        "requests": requests,
        "wire": [json.dumps(one) for one in from_the_server],
        "recording": [path.read_text() for path in (state_dir / "recordings").iterdir()],
        "log": list(capfd.readouterr()),
    }
    assert all(places.values())
    for place, texts in places.items():
        for text in texts:
            assert secret not in text, (place, text[max(0, text.find(secret) - 200) :][:400])
    await keep_sessions(state_dir)
