"""The way to the allowed hosts: commands that use it, and attacks on it, in both worlds, with servers of this machine in the place of hosts."""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import os
import shlex
import shutil
import socket
import sys
import tarfile
import threading
import zipfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.addresses import host_name
from outrider.ports.clock import SystemClock
from outrider.processes import CommandResult, SpawnProblem, Supervisor, run_command, shell_argv
from outrider.processes.launcher import GATE_PORT
from outrider.processes.sandbox import (
    Confined,
    Reach,
    Reached,
    Sandbox,
    SandboxWish,
    Shared,
    Way,
    gateway,
    section,
)
from outrider.processes.sandbox.backend import Confining
from outrider.processes.sandbox.hosts import allowed_host, allowed_hosts, covered, host_and_port
from sandboxes import in_both_worlds, needs_bubblewrap

PYTHON = "/usr/bin/python3"
PATH = os.environ["PATH"]


class Host(ThreadingHTTPServer):
    """A server that says what it was asked, and keeps it."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.asked: list[str] = []
        self.files: dict[str, tuple[str, bytes]] = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Asked(BaseHTTPRequestHandler):
    """Answers with the path, the host and the body that it got."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body, server = self._body(), self.server
        assert isinstance(server, Host)
        said = f"{self.command} {self.path} for {self.headers['Host']} {body!r}"
        server.asked.append(said)
        kind, content = server.files.get(self.path, ("text/plain", said.encode()))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def _body(self) -> str:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body.decode()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


class House:
    """A workspace, its sandbox, names that a resolver of the test knows, and what commands wanted."""

    def __init__(self, folder: Path, supervisor: Supervisor) -> None:
        self.workspace, self.home, self.state = (folder / name for name in ("workspace", "home", "state"))
        for place in (self.workspace, self.home, self.state):
            place.mkdir(parents=True)
        self.names: dict[str, list[str]] = {}
        self.looked: list[str] = []
        self.closed: dict[str, str] = {}
        self.supervisor = supervisor
        self.sandbox = Sandbox(supervisor, SystemClock(), [self.state])
        reach = Reach(self.resolve, self.closed.get, SystemClock())
        self.shared = Shared(supervisor, self.state / "tmp" / "one", reach)
        self.reached: list[Reached] = []

    async def resolve(self, name: str, _port: int) -> Sequence[str]:
        self.looked.append(name)
        if name in self.names:
            return self.names[name]
        if name.replace(".", "").isdigit() or ":" in name:
            return [name]
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def confine(self, command: str, world: str, hosts: Sequence[str], **wish: object) -> Confined:
        return await self.sandbox.confine(
            shell_argv(command),
            cwd=self.workspace.resolve(),
            env={
                "PATH": PATH,
                "HOME": str(self.home),
                "LC_ALL": "C.UTF-8",
                "NO_PROXY": "*",
                "all_proxy": "http://192.0.2.1",
            },
            folders=[self.workspace],
            wish=SandboxWish(backends=(world,), hosts=tuple(hosts), **wish),  # type: ignore[arg-type]
            shared=self.shared,
        )

    async def start(self, confined: Confined) -> CommandResult:
        confining = await confined.start()
        assert isinstance(confining, Confining), confining
        try:
            ran = await run_command(
                self.supervisor,
                confining.argv,
                cwd=self.workspace,
                env=confining.environment(confined.env),
                clock=SystemClock(),
                total_seconds=60,
                idle_seconds=60,
                output_limit=20_000,
                launch=confining.launch,
                is_full=confining.is_full,
            )
        finally:
            await confining.close()
        assert isinstance(ran, CommandResult), ran
        self.reached = [] if confining.way is None else confining.way.reached
        return ran

    async def run(self, command: str, world: str, hosts: Sequence[str]) -> str:
        return (await self.start(await self.confine(command, world, hosts))).output

    async def python(self, program: str, world: str, hosts: Sequence[str]) -> str:
        (self.workspace / "program.py").write_text(program)
        return await self.run(f"{PYTHON} -I program.py", world, hosts)

    async def close(self) -> None:
        await self.shared.close()
        await self.sandbox.close()
        await self.supervisor.close()


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = House(tmp_path, Supervisor(SystemClock()))
    yield made
    await made.close()


@pytest.fixture
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.shutdown()
    made.server_close()


SAYS = """
import os, socket
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["HTTP_PROXY"])
def said(request, most=10_000):
    with socket.create_connection((proxy.hostname, proxy.port), 20) as one:
        one.sendall(request)
        got = b""
        while chunk := one.recv(65536):
            got += chunk
            if len(got) > most: break
        return got.decode("utf-8", "replace")
"""


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "host", "port", "expected"),
    [
        ("pypi.example", "pypi.example", 443, True),
        ("pypi.example", "pypi.example", 80, True),
        ("pypi.example", "pypi.example", 22, False),
        ("pypi.example", "PyPI.Example.", 443, True),
        ("PyPI.Example", "pypi.example", 443, True),
        ("pypi.example", "pypi.example..", 443, False),
        ("pypi.example", "x.pypi.example", 443, False),
        ("pypi.example", "notpypi.example", 443, False),
        ("*.pypi.example", "x.pypi.example", 443, True),
        ("*.pypi.example", "y.x.pypi.example", 443, True),
        ("*.pypi.example", "pypi.example", 443, False),
        ("*.pypi.example", "notpypi.example", 443, False),
        ("*.pypi.example", ".pypi.example", 443, False),
        ("pypi.example:8080", "pypi.example", 8080, True),
        ("pypi.example:8080", "pypi.example", 443, False),
        ("bücher.example", "xn--bcher-kva.example", 443, True),
        ("bücher.example", "BÜCHER.example", 443, True),
        ("pypi.example", "рypi.example", 443, False),  # a Cyrillic letter
        ("pypi.example", "pypi。example", 443, True),  # an ideographic full stop is a dot of a name (RFC 3490)
        ("pypi.example", "pypi.example\0.evil", 443, False),
        ("pypi.example", "evil@pypi.example", 443, False),
        ("pypi.example", "pypi.example%00", 443, False),
        ("10.1.2.3", "10.1.2.3", 443, True),
        ("10.1.2.3", "10.1.515", 443, False),
        ("10.1.2.3", "0x0a010203", 443, False),
        ("*.2.3", "10.1.2.3", 443, False),
        ("[fd00::1]:8080", "fd00:0::1", 8080, True),
        ("fd00::1", "fd00::1", 443, True),
        ("fd00::1", "fd00::1%lo", 443, False),
        ("*.example", "0x7f.1", 443, False),
    ],
)  # fmt: skip
def test_which_host_an_entry_is_about(entry: str, host: str, port: int, expected: bool) -> None:
    name = host_name(host)
    assert (name is not None and covered(allowed_hosts([entry]), name, port)) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":80",
        "a:b",
        "a:0",
        "a:65536",
        "a:٨",
        "[a]:80",
        "[::1",
        "[::1]x",
        "a b",
        "*.",
        "*.*.a",
        "a/b",
        "127.1",
        "1.2.3.4.5",
        "*.1",
    ],
)
def test_what_names_no_host(text: str) -> None:
    assert allowed_host(text) is None


@given(st.text(max_size=300))
def test_a_name_is_compared_in_one_form_only(text: str) -> None:
    name = host_name(text)
    assert name is None or (host_name(name) == name and name.isascii() and name == name.lower())
    found = host_and_port(text)
    assert found is None or found[1] is None or 0 < found[1] < 65536


@given(st.binary(max_size=400))
def test_a_head_of_a_request_is_read_or_refused(head: bytes) -> None:
    for before in (b"", b"GET http://a.example/ HTTP/1.1\r\n", b"CONNECT ", b"POST http://"):
        with contextlib.suppress(gateway.RequestError):
            request = gateway.parsed(before + head + b"\r\n\r\n")
            sent = request.head or b"\r\n\r\n"
            assert sent.count(b"\r\n\r\n") == 1
            assert host_name(request.host) == request.host


# --- what works ------------------------------------------------------------------------------------------------------


@in_both_worlds
async def test_a_host_is_reached_by_its_name_and_no_other_is(house: House, host: Host, world: str) -> None:
    house.names |= {"pypi.example": ["127.0.0.1"], "evil.example": ["127.0.0.1"]}
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    url = f"http://pypi.example:{host.port}/simple"
    assert await house.run(f"curl -s {url}", world, allowed) == f"GET /simple for pypi.example:{host.port} ''"
    (reached,) = house.reached
    assert (reached.host, reached.port, reached.times, reached.problem) == ("pypi.example", host.port, 1, "")
    assert reached.sent > 50
    assert reached.received > 50
    tunnelled = await house.run(f"curl -s -p -d body {url}", world, allowed)
    assert tunnelled == f"POST /simple for pypi.example:{host.port} 'body'"
    for other in (
        f"http://evil.example:{host.port}/",
        "https://evil.example/",
        f"http://pypi.example:{host.port + 1}/",
    ):
        refused = await house.run(f"curl -sv {other}", world, allowed)
        assert " 403" in refused, refused
        assert [one.refused for one in house.reached] == [True]
        assert "is not in `sandbox.network`" in house.reached[0].problem
    assert len(host.asked) == 2
    assert "evil.example" not in house.looked


@in_both_worlds
async def test_what_its_command_and_the_model_are_told(house: House, world: str) -> None:
    confined = await house.confine("true", world, ["pypi.example", "*.npmjs.example"])
    assert "and runs without network but pypi.example, *.npmjs.example." in confined.told
    told = section(confined.facts)
    assert "Of other hosts they reach pypi.example, *.npmjs.example alone, through the proxy" in told
    assert "a program that ignores these has no network" in told
    other = await house.confine("true", world, ["pypi.example"])
    assert confined.covered() != other.covered()  # an approval of one is none of the other
    again = await house.confine("true", world, ["pypi.example"])
    assert (other.covered(), other.env) == (again.covered(), again.env)


async def test_without_a_network_of_the_session_it_has_none(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none() -> SpawnProblem:
        return SpawnProblem("user namespaces are forbidden")

    monkeypatch.setattr(house.supervisor, "network", none)
    for backend in ("bubblewrap", "landlock"):
        confined = await house.confine("env; curl -sv http://pypi.example", backend, ["pypi.example"])
        if confined.confinement is None:
            continue
        assert confined.confinement.network == "none"
        assert "The hosts of `sandbox.network` cannot be reached" in confined.told
        assert "cannot be reached" in section(confined.facts)
        assert "GATE" not in (await house.start(confined)).output
        assert house.looked == []


@in_both_worlds
async def test_proxy_variables_are_those_of_the_gateway_alone(house: House, world: str) -> None:
    said = await house.run("env | grep -i proxy | sort", world, ["pypi.example", "127.0.0.1"])
    lines = dict(line.split("=", 1) for line in said.splitlines())
    urls = {
        value
        for name, value in lines.items()
        if name.upper().endswith(("HTTP_PROXY", "HTTPS_PROXY", "PIP_PROXY"))
    }
    assert len(urls) == 1
    assert urls.pop().endswith(f":{GATE_PORT}")
    assert lines["NO_PROXY"] == lines["no_proxy"] == "localhost,::1"
    assert lines["all_proxy"] == lines["ALL_PROXY"] == ""
    assert {"npm_config_proxy", "npm_config_https_proxy", "CARGO_HTTP_PROXY", "PIP_PROXY"} <= set(lines)
    plain = await house.start(await house.confine("env", world, []))
    assert str(GATE_PORT) not in plain.output


@in_both_worlds
async def test_a_server_of_the_session_is_reached_without_the_proxy(house: House, world: str) -> None:
    serve = f"{PYTHON} -m http.server --bind 127.0.0.1 8127"
    command = f"{serve} >/dev/null 2>&1 & for i in $(seq 100); do curl -sf http://localhost:8127/ >/dev/null && echo up && break; sleep 0.1; done; kill %1"
    assert "up" in await house.run(command, world, ["pypi.example"])
    assert house.reached == []


@in_both_worlds
async def test_two_hundred_connections_at_once(house: House, host: Host, world: str) -> None:
    house.names["pypi.example"] = ["127.0.0.1"]
    program = f"""{SAYS}
from concurrent.futures import ThreadPoolExecutor
ask = b"GET http://pypi.example:{host.port}/x HTTP/1.1\\r\\n\\r\\n"
with ThreadPoolExecutor(200) as pool:
    print(sum("GET /x for" in one for one in pool.map(said, [ask] * 200)))
"""
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    assert await house.python(program, world, allowed) == "200\n"
    assert [(one.times, one.problem) for one in house.reached] == [(200, "")]


def wheel(name: str) -> bytes:
    """A package of Python with one module."""
    made = io.BytesIO()
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{name}.py", "GREETING = 'hello from the index'\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return made.getvalue()


def tarball(name: str) -> bytes:
    """A package of npm."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for path, text in {
            "package.json": json.dumps({"name": name, "version": "1.0.0"}),
            "index.js": "module.exports = 'from the registry'",
        }.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


@in_both_worlds
async def test_pip_installs_from_an_allowed_index_and_from_no_other(
    house: House, host: Host, world: str
) -> None:
    pytest.importorskip("pip")
    house.names |= {"pypi.example": ["127.0.0.1"], "files.example": ["127.0.0.1"]}
    file = f"http://files.example:{host.port}/greeting-1.0-py3-none-any.whl"
    host.files["/simple/greeting/"] = (
        "text/html",
        f"<a href='{file}'>greeting-1.0-py3-none-any.whl</a>".encode(),
    )
    host.files["/greeting-1.0-py3-none-any.whl"] = ("application/zip", wheel("greeting"))
    install = (
        f"{shlex.quote(sys.executable)} -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --target here "
        f"--index-url http://pypi.example:{host.port}/simple --trusted-host pypi.example --trusted-host files.example greeting"
    )
    allowed = [f"127.0.0.1:{host.port}", f"pypi.example:{host.port}"]
    python = (sys.base_prefix, sys.prefix)
    ran = await house.start(await house.confine(install, world, allowed, readable=python))
    assert ran.exit is not None
    assert ran.exit.code != 0
    wanted = [(one.host, one.refused) for one in house.reached]
    assert wanted == [("pypi.example", False), ("files.example", True)], ran.output
    greets = f"PYTHONPATH=here {PYTHON} -c 'import greeting; print(greeting.GREETING)'"
    allowed.append(f"*.example:{host.port}")
    confined = await house.confine(f"{install} && {greets}", world, allowed, readable=python)
    assert (await house.start(confined)).output == "hello from the index\n"
    assert {one.problem for one in house.reached} == {""}


@needs_bubblewrap
async def test_npm_installs_from_an_allowed_registry_and_from_no_other(house: House, host: Host) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    house.names["registry.npmjs.example"] = ["127.0.0.1"]
    packed, at = (
        tarball("greeting"),
        f"http://registry.npmjs.example:{host.port}/greeting/-/greeting-1.0.0.tgz",
    )
    host.files["/greeting/-/greeting-1.0.0.tgz"] = ("application/octet-stream", packed)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    package = {"name": "user", "version": "1.0.0", "dependencies": {"greeting": "1.0.0"}}
    locked = {"version": "1.0.0", "resolved": at, "integrity": integrity}
    lock = {
        "name": "user",
        "version": "1.0.0",
        "lockfileVersion": 3,
        "packages": {"": package, "node_modules/greeting": locked},
    }
    (house.workspace / "package.json").write_text(json.dumps(package))
    (house.workspace / "package-lock.json").write_text(json.dumps(lock))
    install = (
        f"npm ci --no-audit --no-fund --fetch-retries=0 --cache ./cache --registry http://registry.npmjs.example:{host.port} 2>&1 "
        "&& node -p 'require(\"greeting\")'"
    )
    refused = await house.run(install, "bubblewrap", ["registry.npmjs.example"])
    assert "403" in refused, refused
    assert [one.refused for one in house.reached] == [True]
    said = await house.run(install, "bubblewrap", [f"*.npmjs.example:{host.port}", f"127.0.0.1:{host.port}"])
    assert said.endswith("from the registry\n"), said


# --- attacks ---------------------------------------------------------------------------------------------------------


@in_both_worlds
async def test_what_ignores_the_proxy_has_no_network(house: House, host: Host, world: str) -> None:
    house.names["pypi.example"] = ["127.0.0.1"]
    program = f"""
import os, socket, struct
def tried(label, do):
    try:
        do()
        print(label, "worked")
    except OSError as error:
        print(label, "failed")
query = b"\\x12\\x34\\x01\\x00\\x00\\x01" + bytes(6) + b"\\x04pypi\\x07example\\x00\\x00\\x01\\x00\\x01"
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(2)
tried("host", lambda: socket.create_connection(("127.0.0.1", {host.port}), 2))
tried("far", lambda: socket.create_connection(("192.0.2.1", 443), 2))
tried("name", lambda: socket.getaddrinfo("pypi.example", 80))
tried("dns", lambda: udp.sendto(query, ("192.0.2.53", 53)))
tried("resolved", lambda: (udp.sendto(query, ("127.0.0.53", 53)), udp.recv(512)))
tried("metadata", lambda: socket.create_connection(("169.254.169.254", 80), 2))
"""
    said = await house.python(program, world, [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"])
    assert "worked" not in said, said
    assert said.count("failed") == 6
    without = f"NO_PROXY='*' no_proxy='*' curl -s --noproxy '*' http://pypi.example:{host.port}/ || echo none"
    assert await house.run(without, world, [f"pypi.example:{host.port}"]) == "none\n"
    assert (house.looked, host.asked) == ([], [])


@in_both_worlds
@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "169.254.169.254",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "0.0.0.0",
        "fe80::1",
    ],
)
async def test_no_name_leads_to_a_private_address_that_is_not_listed(
    house: House, host: Host, world: str, address: str
) -> None:
    # The second address counts, too: nobody knows which one would be used.
    house.names["pypi.example"] = ["93.184.215.14", address]
    said = await house.run(f"curl -s http://pypi.example:{host.port}/", world, [f"pypi.example:{host.port}"])
    assert "cannot be reached: it is " in said
    assert [one.refused for one in house.reached] == [True]
    shown = f"[{address}]" if ":" in address else address
    direct = await house.run(
        f"curl -s --noproxy '' 'http://{shown}:{host.port}/'", world, [f"pypi.example:{host.port}"]
    )
    assert "is not in `sandbox.network`" in direct
    assert host.asked == []


@in_both_worlds
async def test_an_address_that_changes_is_looked_at_each_time(house: House, host: Host, world: str) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.2"]])
    connected: list[str] = []

    async def rebinding(name: str, _port: int) -> Sequence[str]:
        connected.append(name)
        return next(answers)

    house.shared = Shared(
        house.supervisor, house.state / "tmp" / "two", Reach(rebinding, house.closed.get, SystemClock())
    )
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    try:
        url = f"http://pypi.example:{host.port}/"
        said = await house.run(f"curl -s {url}; echo; curl -s {url}", world, allowed)
    finally:
        await house.shared.close()
    first, second = said.strip().splitlines()
    assert first.startswith("GET / for pypi.example")
    assert "it is 127.0.0.2, which is this machine" in second
    assert connected == ["pypi.example"] * 2  # once for each connection: what was looked at is what is used


@in_both_worlds
async def test_a_rule_that_denies_a_host_beats_the_list(house: House, host: Host, world: str) -> None:
    house.names["pypi.example"] = ["127.0.0.1"]
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    for closed in ("pypi.example", "127.0.0.1"):
        house.closed.clear()
        house.closed[closed] = f"rule: deny {closed}"
        said = await house.run(f"curl -s http://PyPI.example.:{host.port}/", world, allowed)
        assert f"rule: deny {closed}" in said
        assert house.reached[0].refused
    assert host.asked == []


def wrong(port: int) -> list[bytes]:
    """Requests that two readers could understand differently, or that are none."""
    to = b"http://pypi.example:%d/" % port
    post = b"POST %b HTTP/1.1\r\n" % to
    return [
        post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        post + b"Content-Length: +5\r\n\r\nhello",
        post + b"Content-Length: 5, 5\r\n\r\nhello",
        post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        post + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        post + b"X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        post + b"X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST %b HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % to,
        b"GET %b HTTP/2.0\r\n\r\n" % to,
        b"GET  %b HTTP/1.1\r\n\r\n" % to,
        b"GET / HTTP/1.1\r\nHost: pypi.example:%d\r\n\r\n" % port,
        b"GET https://pypi.example:%d/ HTTP/1.1\r\n\r\n" % port,
        b"GET http://evil.example@pypi.example:%d/ HTTP/1.1\r\n\r\n" % port,
        b"GET http://pypi.example:%d\\@evil.example/ HTTP/1.1\r\n\r\n" % port,
        b"GET http://pypi.example:%d/#x HTTP/1.1\r\n\r\n" % port,
        b"CONNECT pypi.example HTTP/1.1\r\n\r\n",
        b"CONNECT http://pypi.example:%d/ HTTP/1.1\r\n\r\n" % port,
        b"CONNECT pypi.example:%d/ HTTP/1.1\r\n\r\n" % port,
        b"CONNECT pypi.example:%d:80 HTTP/1.1\r\n\r\n" % port,
        b"CONNECT pypi.example:99999 HTTP/1.1\r\n\r\n",
        b"\x05\x01\x00\r\n\r\n",
        b"\xff\xfe \xff HTTP/1.1\r\n\r\n",
    ]


@needs_bubblewrap
async def test_no_request_is_passed_on_that_two_could_read_differently(house: House, host: Host) -> None:
    house.names["pypi.example"] = ["127.0.0.1"]
    program = f"{SAYS}\nfor one in {wrong(host.port)!r}:\n    print(said(one).partition(chr(13))[0], one)\n"
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    said = await house.python(program, "bubblewrap", allowed)
    answers = said.splitlines()
    assert len(answers) == len(wrong(host.port))
    assert {one.partition(" b'")[0] for one in answers} <= {"HTTP/1.1 400 Bad Request"}, said
    assert (house.looked, host.asked) == ([], [])


@needs_bubblewrap
async def test_what_follows_a_request_is_no_request(house: House, host: Host) -> None:
    """A second request on the connection, in the body or behind it, is not passed on: it could be to another host."""
    house.names["pypi.example"] = ["127.0.0.1"]
    second = b"GET http://pypi.example:%d/second HTTP/1.1\r\nHost: evil\r\n\r\n" % host.port
    to = (
        b"POST http://pypi.example:%d/first HTTP/1.1\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nHost: evil\r\n"
        % host.port
    )
    requests = [
        to + b"Content-Length: 2\r\n\r\nab" + second,
        to + b"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nTrailer: 1\r\n\r\n" + second,
        to + b"\r\n" + second,
    ]
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    program = f"{SAYS}\nfor one in {requests!r}:\n    print(said(one).splitlines()[-1])\n"
    said = await house.python(program, "bubblewrap", allowed)
    first = f"POST /first for pypi.example:{host.port}"
    assert said.splitlines() == [f"{first} 'ab'", f"{first} 'ab'", f"{first} ''"]
    assert len(host.asked) == 3


@in_both_worlds
async def test_a_way_ends_with_its_command(house: House, host: Host, world: str) -> None:
    house.names["pypi.example"] = ["127.0.0.1"]
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    confining = await (await house.confine("true", world, allowed)).start()
    assert isinstance(confining, Confining)
    way = confining.way
    assert isinstance(way, Way)
    asks = f"curl -s -x http://{way.address}:{GATE_PORT} http://pypi.example:{host.port}/ || echo none"
    assert "GET / for" in await house.run(asks, world, allowed)  # its session is one
    await confining.close()
    assert await house.run(asks, world, allowed) == "none\n"
    # Nor is a tunnel of it left, or what listens once the session has ended.
    holding = f"""{SAYS}
import time
one = socket.create_connection((proxy.hostname, proxy.port))
one.sendall(b"CONNECT pypi.example:{host.port} HTTP/1.1\\r\\n\\r\\n")
print(one.recv(100).decode().split(" ")[1])
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
"""
    assert await house.python(holding, world, allowed) == "200\n"
    assert [one.times for one in house.reached] == [1]
    await house.shared.close()
    assert await house.shared.way(allowed) == SpawnProblem("the session is closed")


@in_both_worlds
async def test_a_command_can_neither_end_nor_take_the_gateway(house: House, host: Host, world: str) -> None:
    house.names["pypi.example"] = ["127.0.0.1"]
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    program = f"""
import os, signal, socket
for address in ("0.0.0.0", "127.0.0.1", os.environ["HTTP_PROXY"].split("/")[2].split(":")[0]):
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                one.bind((address, {GATE_PORT}))
                one.listen()
                print("taken", address)
            except OSError:
                pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(0, signal.SIGTERM)
"""
    assert await house.python(program, world, allowed) == ""
    # All processes that it can see, those of the proxy included if there were any.
    killing = "kill -9 -1" if world == "bubblewrap" else "true"
    await house.run(killing, world, allowed)
    url = f"http://pypi.example:{host.port}/"
    assert "GET / for" in await house.run(f"curl -s {url}", world, allowed)


@needs_bubblewrap
async def test_a_slow_client_holds_nothing_up(
    house: House, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(gateway, "IDLE_SECONDS", 0.5)
    monkeypatch.setattr(gateway, "MOST_CONNECTIONS", 8)
    house.names["pypi.example"] = ["127.0.0.1"]
    allowed = [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"]
    program = f"""{SAYS}
ask = b"GET http://pypi.example:{host.port}/x HTTP/1.1\\r\\n\\r\\n"
slow = [socket.create_connection((proxy.hostname, proxy.port)) for _ in range(6)]
for one in slow[:3]:
    one.sendall(b"GET http://pypi.ex")
for one in slow[3:]:
    one.sendall(b"CONNECT pypi.example:{host.port} HTTP/1.1\\r\\n\\r\\n")
print("GET /x for" in said(ask))
for one in slow:
    one.settimeout(20)
    got = b""
    while chunk := one.recv(1000): got += chunk
    print(got.decode().split(" ")[1])
print(said(b"GET http://pypi.example/" + b"a" * 20_000).split(" ")[1])
"""
    said = await house.python(program, "bubblewrap", allowed)
    assert said.split() == ["True", *["408"] * 3, *["200"] * 3, "431"]


@needs_bubblewrap
async def test_an_address_that_is_silent_does_not_hide_the_next(
    house: House, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that of a network that the machine is not in: all that a name stands for have the time together."""
    monkeypatch.setattr(gateway, "CONNECT_SECONDS", 4)
    house.names["pypi.example"] = ["127.0.0.2", "127.0.0.1"]
    allowed = [f"{name}:{host.port}" for name in ("pypi.example", "127.0.0.1", "127.0.0.2")]
    with ExitStack() as sockets:
        # Where nobody accepts, a connection beyond the waiting ones gets no answer.
        full = sockets.enter_context(socket.socket())
        full.bind(("127.0.0.2", host.port))
        full.listen(0)
        for _ in range(3):
            one = sockets.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        said = await house.run(f"curl -s http://pypi.example:{host.port}/x", "bubblewrap", allowed)
    assert said.startswith("GET /x for pypi.example")


@needs_bubblewrap
async def test_more_connections_than_there_may_be_are_refused(
    house: House, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "MOST_CONNECTIONS", 4)
    house.names["pypi.example"] = ["127.0.0.1"]
    program = f"""{SAYS}
held = []
for _ in range(4):
    one = socket.create_connection((proxy.hostname, proxy.port))
    one.sendall(b"CONNECT pypi.example:{host.port} HTTP/1.1\\r\\n\\r\\n")
    print(one.recv(100).decode().split(" ")[1])
    held.append(one)
with socket.create_connection((proxy.hostname, proxy.port)) as one:
    try:
        print("closed" if one.recv(100) == b"" else "open")
    except ConnectionResetError:
        print("closed")
held.pop().close()
while True:
    try:
        if "GET /x for" in said(b"GET http://pypi.example:{host.port}/x HTTP/1.1\\r\\n\\r\\n"): break
    except OSError: pass
print("again")
"""
    said = await house.python(program, "bubblewrap", [f"pypi.example:{host.port}", f"127.0.0.1:{host.port}"])
    assert said.split() == [*["200"] * 4, "closed", "again"]
    assert any("more than 4 connections" in one.problem for one in house.reached)


@needs_bubblewrap
async def test_many_hosts_are_counted_and_not_kept(house: House) -> None:
    asks = 'for i in $(seq 130); do echo "url = http://h$i.example/"; done | curl -s -o /dev/null -K -'
    await house.run(asks, "bubblewrap", ["pypi.example"])
    assert len(house.reached) == gateway.MOST_NOTED + 1
    assert (house.reached[-1].host, house.reached[-1].times) == ("…", 30)


@needs_bubblewrap
async def test_names_that_take_long_take_few_threads(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "CONNECT_SECONDS", 0.2)
    waiting, most = 0, 0
    forever = asyncio.Event()

    async def tarpit(_name: str, _port: int) -> Sequence[str]:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        await forever.wait()
        return []

    house.shared = Shared(
        house.supervisor, house.state / "tmp" / "two", Reach(tarpit, house.closed.get, SystemClock())
    )
    asks = " & ".join(f"curl -s http://h{number}.pypi.example/" for number in range(12))
    try:
        said = await house.run(f"{asks} & wait", "bubblewrap", ["*.pypi.example"])
    finally:
        await house.shared.close()
    assert said.count("did not answer within 0.2 s") == 12
    assert most == gateway.MOST_LOOKUPS
