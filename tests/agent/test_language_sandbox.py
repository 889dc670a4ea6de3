"""What a language server may do: it reads the code and the caches of toolchains, and nothing else; it runs code of the project."""

import asyncio
import json
import sys

import pytest
from scripting import DONE, call, result, step

from outrider.testing import start_session
from outrider.testing.scenario import embedded, scripted
from sandboxes import needs_bubblewrap, needs_landlock

SECRET = "q7Zk2Vx9"
PROBE = """
import json, os, socket, sys
from pathlib import Path

def tried(act):
    try:
        return act() or "done"
    except OSError as error:
        return type(error).__name__

def look():
    work, home = Path.cwd(), Path(os.environ["HOME"])
    return {
        "reads": {
            "code": tried(lambda: (work / "a.py").read_text()),
            "secret file": tried(lambda: (work / ".env").read_text() or "nothing"),
            "home": tried((home / "notes.txt").read_text),
            "settings": tried((home / "config/outrider/settings.toml").read_text),
            "beside": tried((work.parent / "beside.txt").read_text),
            "cache": tried((home / ".cargo/registry/crate.txt").read_text),
        },
        "writes": {
            str(place): tried(lambda: place.write_text("x") and "written")
            for place in map(Path, sys.argv[2:])
        },
        "reaches": tried(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2).close()),
        "names": sorted(os.environ),
        "knows": [name for name, value in os.environ.items() if "SECRET" in value],
    }

def answer(asked):
    if asked["method"] == "initialize":
        return {"capabilities": {"hoverProvider": True}}
    return {"contents": json.dumps(look())} if asked["method"] == "textDocument/hover" else None

while line := sys.stdin.buffer.readline():
    length = int(line.split(b":")[1])
    while sys.stdin.buffer.readline().strip():
        pass
    asked = json.loads(sys.stdin.buffer.read(length))
    if "id" in asked:
        body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer(asked)}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
        sys.stdout.buffer.flush()
""".replace("SECRET", SECRET)
HOVER = call("hover", path="a.py", text="def fee")
SANDBOXES = [
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("landlock", marks=needs_landlock),
]


@pytest.fixture
def code(workspace):
    """A project with a secret file, a home beside it with a cache, and what lies around."""
    home = workspace.parent / f"{workspace.name}.home"
    for path, text in {
        workspace / "a.py": "def fee(): ...\n",
        workspace / ".env": f"TOKEN={SECRET}\n",
        workspace.parent / "beside.txt": SECRET,
        home / "notes.txt": SECRET,
        home / ".cargo" / "registry" / "crate.txt": "crate",
        home / "config" / "outrider" / "settings.toml": "",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return workspace


def settings(command, **more):
    own = {"command": command, "languages": ["python"]}
    return {"sandbox": "auto", "languageServers": {"probe": own}, "testing": None, "reminders": False, **more}


def _text(path):
    return path.read_text() if path.is_file() else None


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_a_language_server_can_read_the_code_and_do_nothing_else(code, sandbox):
    home = code.parent / f"{code.name}.home"
    (code / "probe.py").write_text(PROBE)
    writes = [
        code / "a.py", code / "new.py", code / ".git" / "config", home / "new.txt", home / ".cargo" / "registry" / "crate.txt",
        home / ".cache" / "new.txt", code.parent / "beside.txt",
    ]  # fmt: skip
    before, heard = {place: _text(place) for place in writes}, []
    listener = await asyncio.start_server(lambda _, writer: (heard.append(1), writer.close()), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    command = [sys.executable, "-I", str(code / "probe.py"), str(port), *map(str, writes)]
    provider = {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1", "apiKeyEnv": "MODEL_AUTH"}
    given = settings(command, providers={"other": provider}, testing={"sandboxes": [sandbox]})
    env = {"MODEL_AUTH": SECRET, "OPENAI_API_KEY": SECRET, "DEPLOY_TOKEN": SECRET}
    async with (
        listener,
        start_session(
            "neovim-0.11",
            code,
            scripted(code, [step(HOVER), DONE]),
            given,
            connection=embedded(code, env=env),
        ) as editor,
    ):
        await editor.run("Look.")
        status, said = result(editor)
    assert status == "ok", said
    found = json.loads(said.partition("\n")[2])
    assert found["reads"]["code"] == "def fee(): ...\n"
    assert found["reads"]["cache"] == "crate"
    for name in ("secret file", "home", "settings", "beside"):
        assert found["reads"][name] in {"nothing", "FileNotFoundError", "PermissionError"}, name
    refused = {"OSError", "FileNotFoundError", "PermissionError"}
    lasting = {place for place in writes if place.is_relative_to(code) or ".cargo" in place.parts}
    assert {found["writes"][str(place)] for place in lasting} <= refused, found["writes"]
    assert found["reaches"] != "done"
    assert heard == []
    assert (found["knows"], {*env} & {*found["names"]}) == ([], set())
    # What could be written lay in a folder of its own, which is gone.
    assert {place: _text(place) for place in writes} == before


@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize("place", ["tools", "home"])
async def test_a_script_that_the_user_names_is_seen_wherever_it_lies_and_nothing_of_a_home_around_it(
    code, sandbox, place
):
    home = code.parent / f"{code.name}.home"
    script = (home / "tools" if place == "tools" else home) / "probe.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(PROBE)
    given = settings([sys.executable, "-I", str(script), "9"], testing={"sandboxes": [sandbox]})
    async with start_session(
        "neovim-0.11", code, scripted(code, [step(HOVER), DONE]), given, connection=embedded(code)
    ) as editor:
        await editor.run("Look.")
        status, said = result(editor)
    assert status == "ok", said
    found = json.loads(said.partition("\n")[2])
    assert found["reads"]["code"] == "def fee(): ...\n"
    assert found["reads"]["home"] in {"FileNotFoundError", "PermissionError"}


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_a_program_in_the_home_itself_does_not_show_the_home(code, sandbox):
    program = code.parent / f"{code.name}.home" / "probe"
    program.write_text(f"#!/usr/bin/python3 -I\n{PROBE}")
    program.chmod(0o755)
    given = settings([str(program), "9"], testing={"sandboxes": [sandbox]})
    async with start_session(
        "neovim-0.11", code, scripted(code, [step(HOVER), DONE]), given, connection=embedded(code)
    ) as editor:
        await editor.run("Look.")
        status, said = result(editor)
    assert status == "ok", said
    assert json.loads(said.partition("\n")[2])["reads"]["home"] in {"FileNotFoundError", "PermissionError"}
