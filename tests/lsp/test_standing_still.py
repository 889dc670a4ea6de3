"""A server that stands still obeys all the same: somebody else watches it, and its log says where it stood."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ENTRY = Path(__file__).with_name("serve_fake.py")
SECONDS = 30

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nobody watches a server on Windows")


class Frozen:
    """A server and its client, with standard input as some clients make it: a pipe, or a socket."""

    def __init__(self, kind):
        if kind == "pipe":
            theirs, self.input = os.pipe()
        else:
            left, right = socket.socketpair()
            theirs, self.input = left.detach(), right.detach()
        self.child = subprocess.Popen(
            [sys.executable, "-B", ENTRY], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        os.close(theirs)
        self.log = b""
        self.is_open = True

    def send(self, method, params=None, **more):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
        os.write(self.input, b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def answer(self):
        length = 0
        while line := self.child.stdout.readline().strip():
            length = int(line.split(b":")[1])
        return json.loads(self.child.stdout.read(length))

    def start(self):
        self.send("initialize", {"processId": None, "capabilities": {}}, id=1)
        while self.answer().get("id") != 1:
            pass
        self.send("initialized", {})
        self.execute("outrider.jobs", 2)
        while self.answer().get("id") != 2:
            pass

    def execute(self, command, number, argument=None):
        self.send("workspace/executeCommand", {"command": command, "arguments": [argument]}, id=number)

    def end_input(self):
        self.is_open = False
        os.close(self.input)

    def until(self, true):
        deadline = time.monotonic() + SECONDS
        while not true():
            assert time.monotonic() < deadline, self.log.decode()
            self.read_log(0.05)

    def read_log(self, seconds):
        if select.select([self.child.stderr], [], [], seconds)[0]:
            self.log += os.read(self.child.stderr.fileno(), 65536)

    def close(self):
        if self.is_open:
            self.end_input()
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()
        self.child.stderr.close()


@pytest.fixture(params=["pipe", "socket"])
def server(request):
    frozen = Frozen(request.param)
    frozen.start()
    yield frozen
    frozen.close()


@pytest.mark.parametrize("asked", ["exit", "the end of input", "SIGTERM"])
def test_a_server_in_an_endless_match_obeys(server, asked):
    helpers = psutil.Process(server.child.pid).children(recursive=True)
    server.execute("outrider.map", 3)
    server.until(lambda: b"it begins" in server.log)
    time.sleep(0.2)  # the thread that reads waits for the interpreter's lock, or for the client
    match asked:
        case "exit" if sys.platform != "linux":
            pytest.skip("what waits in a pipe can be seen on Linux only")
        case "exit":
            server.send("exit")
        case "the end of input":
            server.end_input()
        case _:
            server.child.send_signal(signal.SIGTERM)
    server.until(lambda: server.child.poll() is not None)
    assert server.child.returncode == -signal.SIGKILL
    server.until(lambda: not any(helper.is_running() for helper in helpers))
    server.read_log(0.1)
    assert b"has not responded" in server.log
    # Where it stood: the stack of the thread that matched.
    assert b"_match_for_ever" in server.log


def test_a_loop_that_waits_obeys_though_its_threads_run(server):
    server.execute("outrider.models", 3, {"seconds": 60})
    server.until(lambda: b"it begins" in server.log)
    server.send("exit")
    server.until(lambda: server.child.poll() is not None)
    assert server.child.returncode == -signal.SIGKILL
    assert b"in _sleep" in server.log


def test_a_stall_that_nobody_ends_is_only_logged(server):
    server.execute("outrider.models", 3, {"seconds": 7})
    server.until(lambda: b"responds again" in server.log)
    assert b"has not responded for" in server.log
    assert b"in _sleep" in server.log
    assert b"killed" not in server.log
    server.execute("outrider.status", 4)
    while server.answer().get("id") != 4:
        pass
