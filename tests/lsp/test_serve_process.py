"""The server as a process, over real pipes, spoken to in raw bytes."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path

import pytest
from fakes import eventually

ENTRY = Path(__file__).with_name("serve_fake.py")
SECONDS = 20


class Process:
    def __init__(self, child):
        self.child = child
        self._ids = 0

    @classmethod
    async def start(cls, *argv, command=(), cwd=None):
        child = await asyncio.create_subprocess_exec(
            *(command or (sys.executable, "-B", ENTRY, *argv)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 22,
            cwd=cwd,
        )
        return cls(child)

    def write(self, data):
        self.child.stdin.write(data)

    def send(self, method, params=None, **more):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def read(self):
        header = await asyncio.wait_for(self.child.stdout.readuntil(b"\r\n\r\n"), SECONDS)
        length = int(header.split(b":")[1])
        return json.loads(await asyncio.wait_for(self.child.stdout.readexactly(length), SECONDS))

    async def until(self, wanted):
        while not wanted(message := await self.read()):
            pass
        return message

    def request(self, method, params=None):
        self._ids += 1
        self.send(method, params, id=self._ids)
        return self._ids

    async def call(self, method, params=None):
        msg_id = self.request(method, params)
        return await self.until(lambda message: message.get("id") == msg_id and "method" not in message)

    async def execute(self, command, argument=None):
        return await self.call("workspace/executeCommand", {"command": command, "arguments": [argument]})

    async def initialize(self, **params):
        answer = await self.call("initialize", {"processId": None, "capabilities": {}, **params})
        self.send("initialized", {})
        return answer

    async def ended(self):
        """The exit code. `Process.wait` would also wait for pipes that nobody reads."""
        await eventually(lambda: self.child.returncode is not None, SECONDS)
        return self.child.returncode

    async def errors(self, wanted):
        async with asyncio.timeout(SECONDS):
            lines = []
            while line := await self.child.stderr.readline():
                lines.append(line.decode())
                if wanted in lines[-1]:
                    return "".join(lines)
        raise AssertionError(f"{wanted!r} is not in {lines}")

    async def close(self):
        if self.child.returncode is None:
            self.child.kill()
        # A transport that was never read to its end is not closed by itself.
        self.child._transport.close()
        await self.child.wait()


@pytest.fixture
async def start():
    processes = []

    async def begin(*argv, **more):
        processes.append(await Process.start(*argv, **more))
        return processes[-1]

    yield begin
    for process in processes:
        await process.close()


@pytest.mark.parametrize("command", ["outrider.undo", "outrider.redo"])
async def test_no_secret_and_no_control_gets_into_the_log(command, start, monkeypatch):
    key, token = "planted-key-of-ada-1815", "ghp_" + "aB3dE6gH9" * 4
    monkeypatch.setenv("SOME_API_KEY", key)
    process = await start()
    await process.initialize()
    words = {"words": f"{key} {token} \x1b[31m"}
    process.request("workspace/executeCommand", {"command": command, "arguments": [words]})
    said = await process.errors("RuntimeError: ")
    assert "RuntimeError: [secret 2] [secret 1] \\x1b[31m" in said
    assert key not in said
    assert token not in said


async def test_a_whole_session_ends_with_zero(start):
    process = await start()
    await process.initialize()
    assert (await process.execute("outrider.status", {"a": "ü𝄞"}))["result"] == {"echo": {"a": "ü𝄞"}}
    assert (await process.call("shutdown"))["result"] is None
    process.send("exit")
    assert await process.ended() == 0


async def test_shutdown_and_exit_at_once_still_close_the_house(start):
    process = await start()
    await process.initialize()
    await process.execute("outrider.status")
    process.request("shutdown")
    process.send("exit")
    assert await process.ended() == 0
    assert "closed: shutdown" in (await process.child.stderr.read()).decode()


async def test_exit_without_shutdown_ends_with_one(start):
    process = await start()
    await process.initialize()
    process.send("exit")
    assert await process.ended() == 1


@pytest.mark.parametrize(("shut_down", "code"), [(False, 1), (True, 0)])
async def test_the_end_of_input_ends_the_server(start, shut_down, code):
    process = await start()
    await process.initialize()
    await process.execute("outrider.status")
    process.request("workspace/executeCommand", {"command": "outrider.wait"})
    if shut_down:
        await process.call("shutdown")
    process.child.stdin.close()
    assert await process.ended() == code
    assert "closed: " in (await process.child.stderr.read()).decode()


async def test_the_end_of_input_before_anything(start):
    process = await start()
    process.child.stdin.close()
    assert await process.ended() == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_a_signal_ends_the_server_in_order(start, number, code):
    process = await start()
    await process.initialize()
    await process.execute("outrider.status")
    waiting = process.request("workspace/executeCommand", {"command": "outrider.wait"})
    await process.execute("outrider.status")
    process.child.send_signal(number)
    answer = await process.until(lambda message: message.get("id") == waiting)
    assert answer["error"]["code"] == -32800
    assert await process.ended() == code
    assert f"closed: {number.name}" in (await process.child.stderr.read()).decode()


async def test_a_thread_that_never_ends_does_not_keep_the_process(start):
    process = await start()
    await process.initialize()
    await process.execute("outrider.sessions")
    await process.call("shutdown")
    process.send("exit")
    began = asyncio.get_running_loop().time()
    assert await process.ended() == 0
    assert asyncio.get_running_loop().time() - began < 4


async def test_what_prints_goes_to_standard_error(start):
    process = await start()
    await process.initialize()
    assert (await process.execute("outrider.tools"))["result"] == 0
    assert (await process.execute("outrider.status"))["result"] == {"echo": {}}
    errors = await process.errors("stray child 0")
    assert "stray print" in errors
    assert "stray write" in errors


async def test_frames_that_are_split_merged_and_oddly_headed(start):
    process = await start()
    await process.initialize()
    bodies = [
        json.dumps(
            {"jsonrpc": "2.0", "id": f"r{number}", "method": "workspace/executeCommand",
             "params": {"command": "outrider.status", "arguments": [{"text": "é𝄞" * size}]}},
            ensure_ascii=False,
        ).encode()
        for number, size in enumerate((1, 100_000, 3))
    ]  # fmt: skip
    stream = b"".join(
        b"content-length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\nX-A: b\r\n\r\n%b"
        % (len(body), body)
        for body in bodies
    )
    for piece in (stream[:1], stream[1:20], stream[20:300_000], stream[300_000:]):
        process.write(piece)
        await process.child.stdin.drain()
        await asyncio.sleep(0)
    for number, size in enumerate((1, 100_000, 3)):
        answer = await process.until(lambda message, n=number: message.get("id") == f"r{n}")
        assert answer["result"]["echo"]["text"] == "é𝄞" * size


async def test_noise_on_the_wire_is_logged_and_survived(start):
    process = await start()
    await process.initialize()
    process.write(b"Welcome to this machine!\n")
    assert (await process.read())["error"]["code"] == -32700
    assert (await process.execute("outrider.status"))["result"] == {"echo": {}}
    assert "Welcome to this machine!" in await process.errors("Welcome")


async def test_the_loop_runs_while_the_client_does_not_read(start):
    process = await start()
    await process.initialize()
    await process.execute("outrider.status")
    process.child.stdout._transport.pause_reading()
    flood = process.request(
        "workspace/executeCommand", {"command": "outrider.run", "arguments": [{"frames": 2000}]}
    )
    process.request("workspace/executeCommand", {"command": "outrider.resume"})
    assert int((await process.errors("ticks:")).rsplit("ticks:", 1)[1]) > 5
    process.child.stdout._transport.resume_reading()
    frames = []
    await process.until(lambda message: frames.append(message) or message.get("id") == flood)
    streamed = [m["params"] for m in frames if m.get("method") == "outrider/stream"]
    rest = process.request("workspace/executeCommand", {"command": "outrider.status"})
    await process.until(lambda message: frames.append(message) or message.get("id") == rest)
    streamed = [m["params"] for m in frames if m.get("method") == "outrider/stream"]
    assert len(streamed) < 1000  # merged
    end = 0
    for frame in streamed:
        assert frame["offset"] == end
        end += len(frame["text"])
    assert end == 20_000_000


async def test_a_client_that_never_reads_is_given_up(start):
    process = await start()
    await process.initialize()
    await process.execute("outrider.status")
    process.child.stdout._transport.pause_reading()
    process.request(
        "workspace/executeCommand", {"command": "outrider.events", "arguments": [{"messages": 100}]}
    )
    assert await process.ended() == 1


async def test_a_client_that_never_reads_the_log_is_served(start):
    process = await start("--log-level", "debug")
    process.child.stderr._transport.pause_reading()
    await process.initialize()
    for number in range(5000):
        process.send(f"no/such{number}" + "x" * 60)
    assert (await process.execute("outrider.status"))["result"] == {"echo": {}}


@pytest.mark.parametrize("by_argument", [False, True])
async def test_the_end_of_the_parent_ends_the_server(start, by_argument):
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    process = await start(*([f"--clientProcessId={parent.pid}"] if by_argument else []))
    await process.initialize(processId=None if by_argument else parent.pid)
    assert (await process.execute("outrider.status"))["result"] == {"echo": {}}
    parent.stdin.close()
    await parent.wait()
    assert await process.ended() == 1
    assert "closed: the parent process" in (await process.child.stderr.read()).decode()


async def test_a_parent_that_cannot_be_seen_is_not_waited_for(start):
    process = await start()
    await process.initialize(processId=2**22 + 5)
    await asyncio.sleep(0)
    assert (await process.execute("outrider.status"))["result"] == {"echo": {}}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--no-such"], "--no-such"),
        (["--tcp", "nowhere"], "HOST:PORT"),
        (["--tcp", "127.0.0.1:99999"], "HOST:PORT"),
        (["--tcp", "0.0.0.0:0"], "--tcp-token-file"),
        (["--tcp", ":0", "--permission-mode", "full"], "--tcp-token-file"),
        (["--tcp-token-file", "x"], "goes with --tcp"),
        (["--tcp", ":0", "--tcp-token", "x"], "--tcp-token was removed"),
        (["--tcp", ":0", "--tcp-token-file", "/no/such/file"], "cannot be read"),
        (["--tcp", ":0", "--tcp-token-file", "/dev/null"], "not a regular file"),
        (["--permission-mode", "everything"], "--permission-mode"),
    ],
)
async def test_a_wrong_command_line_ends_with_two_and_says_why(start, argv, said):
    process = await start(*argv)
    assert await process.ended() == 2
    assert said in (await process.child.stderr.read()).decode()


async def connected(process):
    line = (await asyncio.wait_for(process.child.stderr.readline(), SECONDS)).decode()
    return await asyncio.open_connection("127.0.0.1", int(line.rsplit(":", 1)[1]))


class Tcp(Process):
    def __init__(self, process, reader, writer):
        super().__init__(process.child)
        self.reader, self.writer = reader, writer

    def write(self, data):
        self.writer.write(data)

    async def read(self):
        header = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), SECONDS)
        return json.loads(
            await asyncio.wait_for(self.reader.readexactly(int(header.split(b":")[1])), SECONDS)
        )


async def test_tcp_serves_one_client_and_ends_with_it(start):
    process = await start("--tcp", ":0")
    reader, writer = await connected(process)
    client = Tcp(process, reader, writer)
    await client.initialize()
    assert (await client.execute("outrider.status", {"a": 1}))["result"] == {"echo": {"a": 1}}
    port = writer.get_extra_info("peername")[1]
    with socket.socket() as second:
        second.settimeout(SECONDS)
        assert second.connect_ex(("127.0.0.1", port)) != 0
    await client.call("shutdown")
    client.send("exit")
    assert await process.ended() == 0
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def token_file(folder, token="secret", mode=0o600):
    path = folder / "token"
    path.write_text(f"{token}\n")
    path.chmod(mode)
    return str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
async def test_a_token_that_others_can_read_is_none(start, tmp_path, mode):
    process = await start("--tcp", ":0", "--tcp-token-file", token_file(tmp_path, mode=mode))
    assert await process.ended() == 2
    said = (await process.child.stderr.read()).decode()
    assert f"mode {mode:04o}" in said
    assert "chmod 600" in said


@pytest.mark.parametrize("way", ["file", "variable"])
@pytest.mark.parametrize("given", ["secret", "wrong", None])
async def test_a_token_lets_in_who_gives_it(start, tmp_path, monkeypatch, way, given):
    if way == "variable":
        monkeypatch.setenv("OUTRIDER_TCP_TOKEN", "secret")
    process = await start(
        "--tcp", ":0", *(["--tcp-token-file", token_file(tmp_path)] if way == "file" else [])
    )
    if sys.platform == "linux":
        assert b"secret" not in Path(f"/proc/{process.child.pid}/cmdline").read_bytes()
    client = Tcp(process, *(await connected(process)))
    options = {} if given is None else {"tcpToken": given}
    params = {"processId": None, "capabilities": {}, "initializationOptions": options}
    answer = await client.call("initialize", params)
    assert ("result" in answer) is (given == "secret"), answer
    client.writer.close()
    with contextlib.suppress(ConnectionError):
        await client.writer.wait_closed()


@pytest.mark.parametrize("has_token", [False, True])
async def test_without_a_token_tcp_takes_no_answer_to_an_approval(start, tmp_path, has_token):
    """Any program of the machine could be the client: it must not say yes to what it asked for itself."""
    workspace, home = tmp_path / "work", tmp_path / "home"
    for folder in (workspace, home):
        folder.mkdir()
    calls = [{"name": "run_command", "input": {"command": "touch owned"}, "id": "a"}]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"text": "", "tool_calls": calls}, {"text": "done"}]}))
    argv = ["-m", "outrider", "serve", "--tcp", ":0", "--state-dir", str(tmp_path / "state")]
    argv += ["--model", f"scripted:{script}"]
    argv += ["--tcp-token-file", token_file(tmp_path)] if has_token else []
    command = ("env", f"HOME={home}", f"XDG_CONFIG_HOME={home}", sys.executable, *argv)
    process = await start(command=command, cwd=workspace)
    client = Tcp(process, *(await connected(process)))
    options = {"events": True, "trusted": True, "sandbox": "off", "tcpToken": "secret"}
    folders = [{"uri": workspace.as_uri(), "name": "work"}]
    params = {
        "processId": None,
        "capabilities": {},
        "workspaceFolders": folders,
        "initializationOptions": options,
    }
    await client.call("initialize", params)
    client.send("initialized", {})
    ran = await client.execute("outrider.run", {"prompt": "Go."})
    event = await client.until(
        lambda message: (message.get("params") or {}).get("type") == "approval.requested"
    )
    asked = event["params"]["data"]["id"]
    rule = {"action": "add", "rule": {"decision": "allow", "tool": "run_command", "command": "touch owned"}}
    for command, given in (
        ("outrider.answer", {"id": asked, "decision": "allow_once"}),
        ("outrider.trust", {"action": "trust", "folder": str(workspace)}),
        ("outrider.permissions", rule),
    ):
        answer = await client.execute(command, given)
        if has_token:
            assert "error" not in answer
        else:
            assert answer["error"]["code"] == -32803, answer
            assert answer["error"]["data"]["reason"] == "no_token"
    done = await client.execute("outrider.wait", {"turnId": ran["result"]["turnId"], "timeout": SECONDS})
    assert done["result"]["outcome"] == ("completed" if has_token else "needs_input")
    assert (workspace / "owned").exists() is has_token
    client.writer.close()
    with contextlib.suppress(ConnectionError):
        await client.writer.wait_closed()


@pytest.mark.parametrize("has_token", [False, True])
async def test_without_a_token_tcp_changes_no_file_and_no_session_of_before(start, tmp_path, has_token):
    """Undo asks nobody, so that whoever connected first could write files and remove what an undo needs."""
    workspace, home = tmp_path / "work", tmp_path / "home"
    for folder in (workspace, home):
        folder.mkdir()
    calls = [{"name": "write_file", "input": {"path": "a.txt", "content": "kept\n"}, "id": "a"}]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"text": "", "tool_calls": calls}, {"text": "done"}]}))
    argv = [
        "-m",
        "outrider",
        "serve",
        "--state-dir",
        str(tmp_path / "state"),
        "--model",
        f"scripted:{script}",
    ]
    command = ("env", f"HOME={home}", f"XDG_CONFIG_HOME={home}", sys.executable, *argv)
    params = {
        "processId": None,
        "capabilities": {},
        "workspaceFolders": [{"uri": workspace.as_uri(), "name": "work"}],
        "initializationOptions": {"permissionMode": "full", "trusted": True, "tcpToken": "secret"},
    }
    owner = await start(command=command, cwd=workspace)
    await owner.call("initialize", params)
    owner.send("initialized", {})
    ran = (await owner.execute("outrider.run", {"prompt": "Go."}))["result"]
    await owner.execute("outrider.wait", {"turnId": ran["turnId"], "timeout": SECONDS})
    exported = (await owner.execute("outrider.export", {"sessionId": ran["sessionId"]}))["result"]
    await owner.call("shutdown", None)
    owner.send("exit", None)
    await owner.ended()
    with_token = ("--tcp-token-file", token_file(tmp_path)) if has_token else ()
    process = await start(command=(*command, "--tcp", ":0", *with_token), cwd=workspace)
    client = Tcp(process, *(await connected(process)))
    await client.call("initialize", params)
    client.send("initialized", {})
    place = {"sessionId": ran["sessionId"], "turnId": ran["turnId"]}
    for name, given in (
        ("outrider.undo", {"sessionId": ran["sessionId"]}),
        ("outrider.redo", {"sessionId": ran["sessionId"]}),
        ("outrider.fork", {**place, "files": True}),
        ("outrider.run", {"prompt": "Go on.", "fork": {**place, "files": True}}),
        ("outrider.resend", {**place, "prompt": "Again.", "files": True}),
        ("outrider.restore", {**place, "files": True}),
        ("outrider.import", {"export": exported}),
        ("outrider.delete", {"sessionId": ran["sessionId"]}),
    ):
        answer = await client.execute(name, given)
        refused = answer.get("error", {}).get("data", {}).get("reason") == "no_token"
        assert refused is not has_token, (name, answer)
    left = (await client.execute("outrider.sessions", {}))["result"]["sessions"]
    if not has_token:
        assert [one["sessionId"] for one in left] == [ran["sessionId"]]
        assert (workspace / "a.txt").read_text() == "kept\n"
    client.writer.close()
    with contextlib.suppress(ConnectionError):
        await client.writer.wait_closed()


async def test_without_a_token_tcp_only_watches_what_another_server_runs(start, tmp_path):
    """The way into a session of another process takes no yes that the connection itself would not take."""
    workspace, home = tmp_path / "work", tmp_path / "home"
    for folder in (workspace, home):
        folder.mkdir()
    calls = [{"name": "run_command", "input": {"command": "touch owned"}, "id": "a"}]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [{"text": "", "tool_calls": calls}, {"text": "done"}]}))
    argv = [
        "-m",
        "outrider",
        "serve",
        "--state-dir",
        str(tmp_path / "state"),
        "--model",
        f"scripted:{script}",
    ]
    command = ("env", f"HOME={home}", f"XDG_CONFIG_HOME={home}", sys.executable, *argv)
    params = {
        "processId": None,
        "capabilities": {},
        "workspaceFolders": [{"uri": workspace.as_uri(), "name": "work"}],
        "initializationOptions": {"events": True, "trusted": True, "sandbox": "off"},
    }
    owner = await start(command=command, cwd=workspace)
    await owner.call("initialize", params)
    owner.send("initialized", {})
    ran = (await owner.execute("outrider.run", {"prompt": "Go."}))["result"]
    asked = await owner.until(
        lambda message: (message.get("params") or {}).get("type") == "approval.requested"
    )
    process = await start(command=(*command, "--tcp", ":0"), cwd=workspace)
    client = Tcp(process, *(await connected(process)))
    await client.call("initialize", params)
    client.send("initialized", {})
    watched = await client.execute("outrider.resume", {"sessionId": ran["sessionId"]})
    assert watched["result"]["elsewhere"]
    for name, given in (
        ("outrider.answer", {"id": asked["params"]["data"]["id"], "decision": "allow_once"}),
        ("outrider.steer", {"sessionId": ran["sessionId"], "text": "More."}),
        ("outrider.cancel", {"turnId": ran["turnId"]}),
    ):
        answer = await client.execute(name, given)
        assert answer["error"]["data"]["reason"] == "no_token", answer
    seen = await client.execute("outrider.status", {"sessionId": ran["sessionId"]})
    assert seen["result"]["sessions"][0]["turnId"] == ran["turnId"]
    assert not (workspace / "owned").exists()
    client.writer.close()
    with contextlib.suppress(ConnectionError):
        await client.writer.wait_closed()


async def test_tcp_ends_with_the_connection(start):
    process = await start("--tcp", "127.0.0.1:0")
    reader, writer = await connected(process)
    client = Tcp(process, reader, writer)
    await client.initialize()
    writer.close()
    await writer.wait_closed()
    assert await process.ended() == 1


async def test_tcp_closes_at_what_a_web_page_posts(start, tmp_path):
    process = await start("--tcp", ":0", "--tcp-token-file", token_file(tmp_path))
    reader, writer = await connected(process)
    body = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
    writer.write(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    answer = await asyncio.wait_for(reader.read(), SECONDS)
    assert b"capabilities" not in answer
    assert await process.ended() == 1
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_a_port_in_use_is_said(start):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = await start("--tcp", f":{taken.getsockname()[1]}")
        assert await process.ended() == 2
        assert "cannot listen" in (await process.child.stderr.read()).decode()


@pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="this system does not list descriptors in /proc"
)
async def test_descriptors_of_the_wire_are_taken_away(start):
    process = await start()
    await process.initialize()
    first = {number: Path(f"/proc/{process.child.pid}/fd/{number}").readlink() for number in (0, 1, 2)}
    assert first[0] == Path(os.devnull)
    assert first[1] == first[2]


async def test_a_log_that_is_behind_does_not_spoil_the_exit_code(start):
    process = await start()
    await process.initialize()
    await process.execute("outrider.export", {"lines": 100})
    await process.call("shutdown")
    process.send("exit")
    said, _ = await asyncio.gather(process.child.stderr.read(), process.ended())
    assert process.child.returncode == 0, said[-300:]
