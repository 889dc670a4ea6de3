"""Promise 10: a key in the environment reaches neither the model, nor the events, nor the log."""

import sqlite3
import zlib
from contextlib import closing

import pytest
from scripting import DONE, call, step

from outrider.testing.editor.connections import Stdio

KEY = "sk-planted-3141592653"
PROVIDER = {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "MODEL_AUTH"}


@pytest.mark.parametrize("name", ["SOME_API_KEY", "MODEL_AUTH"])
async def test_promise_10_a_key_of_the_environment_stays_there(begin, workspace, name):
    home = workspace.parent / "home"
    env = {"HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_CONFIG_HOME": str(home), name: KEY}
    show = call("run_command", command="env; cat /proc/self/environ | tr '\\0' '\\n'; echo shown")
    editor = await begin(
        "stock",
        [step(show), DONE],
        {"permissionMode": "full", "providers": {"my": PROVIDER}},
        connection=Stdio(env=env, cwd=workspace.parent),
    )
    assert (await editor.run("Show the environment."))["outcome"] == "completed"
    (finished,) = editor.events_of("tool.finished")
    assert "shown" in finished["data"]["content"]
    assert KEY not in str(editor.messages)
    await editor.stop()
    with closing(sqlite3.connect(workspace.parent / "workspace.state" / "outrider-2.sqlite3")) as log:
        events = [data for (data,) in log.execute("SELECT data FROM events")]
        blobs = [zlib.decompress(body).decode() for (body,) in log.execute("SELECT content FROM blobs")]
    assert any("shown" in text for text in events)
    assert any("shown" in text for text in blobs)
    assert not any(KEY in text for text in (*events, *blobs))
