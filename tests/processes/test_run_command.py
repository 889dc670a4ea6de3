"""Commands run to their end or to the end of their time, and what is kept of what they print."""

import asyncio
import os
import time
import tracemalloc
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.ports.clock import SystemClock
from outrider.processes import (
    Collected,
    CommandResult,
    Exit,
    SpawnProblem,
    Supervisor,
    collect,
    command_environment,
    run_command,
    shell_argv,
)
from outrider.processes.commands import Capture
from outrider.processes.environment import holds_key

ENV = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


@pytest.fixture
async def supervisor() -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(SystemClock())
    yield supervisor
    await supervisor.close()


async def run(supervisor: Supervisor, command: str, cwd: Path, **options: Any) -> CommandResult:
    settings: dict[str, Any] = {
        "total_seconds": 30,
        "idle_seconds": 30,
        "output_limit": 10_000,
        "on_output": None,
    }
    result = await run_command(
        supervisor, shell_argv(command), cwd=cwd, env=ENV, clock=SystemClock(), **(settings | options)
    )
    assert isinstance(result, CommandResult)
    return result


def is_running(marker: str) -> bool:
    return any(marker in word for p in psutil.process_iter(["cmdline"]) for word in p.info["cmdline"] or ())


async def test_a_command_gives_its_output_and_its_exit(supervisor: Supervisor, tmp_path: Path) -> None:
    seen: list[str] = []
    result = await run(supervisor, "pwd; echo fehlt >&2; exit 4", tmp_path, on_output=seen.append)
    assert result.output == f"{tmp_path}\nfehlt\n" == "".join(seen)
    assert (result.status, result.exit, result.truncated) == ("exited", Exit(4, None), False)


async def test_text_is_decoded_across_pieces(supervisor: Supervisor, tmp_path: Path) -> None:
    seen: list[str] = []
    command = r"printf 'gr\xc3'; sleep 0.05; printf '\xbcn \xff \xe2\x82'"
    result = await run(supervisor, command, tmp_path, on_output=seen.append)
    assert result.output == "grün � �" == "".join(seen)
    assert len(seen) > 1


async def test_a_huge_output_is_capped_in_bounded_memory(supervisor: Supervisor, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        result = await run(supervisor, "echo first; yes | head -c 100000000; echo last", tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000
    assert result.truncated
    assert result.output.startswith("first\ny\n")
    assert result.output.endswith("y\nlast\n")
    assert f"[… {100_000_011 - 10_000} bytes are missing here …]" in result.output


async def test_a_flood_does_not_stop_the_loop(supervisor: Supervisor, tmp_path: Path) -> None:
    running = asyncio.create_task(run(supervisor, "yes", tmp_path, total_seconds=0.5))
    worst, last = 0.0, time.monotonic()
    while not running.done():
        await asyncio.sleep(0.001)
        worst, last = max(worst, time.monotonic() - last), time.monotonic()
    assert (await running).status == "killed_timeout"
    assert worst < 0.1


async def test_silence_is_counted_from_the_last_output(supervisor: Supervisor, tmp_path: Path) -> None:
    command = "for i in 1 2 3 4 5; do echo $i; sleep 0.2; done; sleep 60"
    result = await run(supervisor, command, tmp_path, idle_seconds=0.6)
    assert (result.status, result.exit) == ("killed_idle", Exit(None, 15))
    assert result.output == "1\n2\n3\n4\n5\n"
    assert 1.4 < result.seconds < 4


async def test_silence_counts_after_the_output_is_closed_too(supervisor: Supervisor, tmp_path: Path) -> None:
    result = await run(supervisor, "echo a; exec >&- 2>&-; sleep 60", tmp_path, idle_seconds=0.2)
    assert (result.status, result.output) == ("killed_idle", "a\n")


async def test_the_whole_time_is_limited_whatever_is_printed(supervisor: Supervisor, tmp_path: Path) -> None:
    command = "trap 'echo bye; exit' TERM; while :; do echo x; sleep 0.02; done"
    result = await run(supervisor, command, tmp_path, total_seconds=0.4, idle_seconds=0.3)
    assert (result.status, result.exit) == ("killed_timeout", Exit(0, None))
    assert result.output.endswith("bye\n")
    assert 0.35 < result.seconds < 2


async def test_cancel_ends_the_tree_first(supervisor: Supervisor, tmp_path: Path) -> None:
    marker = uuid.uuid4().hex
    ready = asyncio.Event()
    running = asyncio.create_task(
        run(
            supervisor,
            f"echo ready; (setsid sh -c 'sleep 60; : {marker}' &) ; sleep 60",
            tmp_path,
            on_output=lambda _: ready.set(),
        )
    )
    await ready.wait()
    began = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert time.monotonic() - began < 1
    assert not is_running(marker)
    assert supervisor.running == ()


async def test_a_listener_that_fails_leaves_no_process(supervisor: Supervisor, tmp_path: Path) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("listener")

    with pytest.raises(RuntimeError, match="listener"):
        await run(supervisor, "echo x; sleep 60", tmp_path, on_output=fail)
    assert supervisor.running == ()


async def test_a_command_whose_supervisor_dies_is_lost(supervisor: Supervisor, tmp_path: Path) -> None:
    def kill_supervisor(_: str) -> None:
        for child in psutil.Process().children():
            if any("supervisor_main.py" in word for word in child.cmdline()):
                child.kill()

    result = await run(supervisor, "echo begun; sleep 60", tmp_path, on_output=kill_supervisor)
    assert (result.status, result.exit, result.output) == ("lost", None, "begun\n")


async def test_a_command_that_cannot_start_is_a_problem(supervisor: Supervisor, tmp_path: Path) -> None:
    result = await run_command(
        supervisor,
        ["true"],
        cwd=tmp_path / "gone",
        env=ENV,
        clock=SystemClock(),
        total_seconds=None,
        idle_seconds=None,
        output_limit=10,
    )
    assert isinstance(result, SpawnProblem)


async def collected(supervisor: Supervisor, command: str, cwd: Path, **options: Any) -> Collected:
    settings: dict[str, Any] = {"seconds": 30, "limit": 100}
    result = await collect(
        supervisor, shell_argv(command), cwd=cwd, env=ENV, clock=SystemClock(), **(settings | options)
    )
    assert isinstance(result, Collected)
    return result


async def test_collect_keeps_both_outputs_apart(supervisor: Supervisor, tmp_path: Path) -> None:
    result = await collected(supervisor, "cat; echo oh >&2; exit 2", tmp_path, stdin=b"in")
    assert result == Collected(2, b"in", b"oh\n", truncated=False)


async def test_collect_stops_when_it_has_enough(supervisor: Supervisor, tmp_path: Path) -> None:
    result = await collected(supervisor, "yes", tmp_path)
    assert (result.code, result.stdout, result.truncated) == (None, b"y\n" * 50, True)
    result = await collected(supervisor, "yes | head -c 100", tmp_path)
    assert (result.code, len(result.stdout), result.truncated) == (0, 100, False)


async def test_collect_is_not_held_by_noise_on_standard_error(supervisor: Supervisor, tmp_path: Path) -> None:
    result = await collected(supervisor, "yes | head -c 1000000 >&2; echo end", tmp_path)
    assert (result.code, result.stdout, len(result.stderr)) == (0, b"end\n", 65536)


async def test_collect_ends_what_takes_too_long(supervisor: Supervisor, tmp_path: Path) -> None:
    result = await collected(supervisor, "echo a; sleep 60", tmp_path, seconds=0.2)
    assert (result.code, result.stdout, result.timed_out) == (None, b"a\n", True)
    assert supervisor.running == ()


@given(st.lists(st.binary(max_size=60)), st.integers(0, 120))
def test_a_capture_keeps_head_and_tail(chunks: list[bytes], limit: int) -> None:
    capture = Capture(limit)
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks)
    text = capture.text()
    assert capture.truncated == (len(whole) > limit)
    if not capture.truncated:
        assert text == whole.decode("utf-8", "replace")
    else:
        head, _, rest = text.partition("\n[… ")
        assert whole.decode("utf-8", "replace").startswith(head.rstrip("�"))
        missing = int(rest.split(" ", 1)[0])
        assert len(whole) - limit <= missing <= len(whole) - limit + 6


@given(st.text(min_size=1), st.integers(0, 40))
def test_a_cut_never_damages_a_character(text: str, limit: int) -> None:
    capture = Capture(limit)
    capture.feed(text.encode("utf-8", "replace"))
    assert capture.text().count("�") == text.count("�")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("PATH", True),
        ("HOME", True),
        ("LANG", True),
        ("LC_ALL", True),
        ("VIRTUAL_ENV", True),
        ("CI", True),
        ("PWD", False),  # it could name another way to the folder, by which `cd ..` leads elsewhere
        ("OLDPWD", False),
        ("GIT_AUTHOR_NAME", True),
        ("UV_CACHE_DIR", True),
        ("SSH_AUTH_SOCK", False),
        ("MONKEY", False),
        ("EDITOR_OF_MINE", False),
        ("UV_INDEX_PASSWORD", False),
        ("CARGO_REGISTRY_TOKEN", False),
        ("POETRY_PYPI_TOKEN_PYPI", False),
        ("SECRET_KEY_BASE", False),
        ("DB_PASS", False),
        ("MYSQL_PWD", False),
        ("OPENAI_API_KEY_2", False),
        ("OPENAI_API_KEY2", False),
        ("STRIPE_KEY_LIVE", False),
        ("NPM_AUTH", False),
        ("NPM_CONFIG__AUTH", False),
        ("JWT", False),
        ("JWT_SIGNING", False),
        ("APP_SECRETS", False),
        ("BASH_ENV", False),
        ("ENV", False),
        ("SHELLOPTS", False),
        ("BASHOPTS", False),
        ("BASH_FUNC_ls%%", False),
        ("BASH_FUNC_ls()", False),
        ("OPENAI_API_KEY", False),
        ("openai_api_key", False),
        ("APIKEY", False),
        ("AWS_SECRET_ACCESS_KEY", False),
        ("AWS_SESSION_TOKEN", False),
        ("GITHUB_TOKEN", False),
        ("TOKEN", False),
        ("CLIENT_SECRET", False),
        ("PGPASSWORD", False),
        ("DB_PASSWORD_FILE", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", False),
        ("GIT_ASKPASS", False),
        ("FORCE_COLOR", False),
    ],
)
def test_the_environment_of_a_command(name: str, kept: bool) -> None:
    assert (name in command_environment({name: "value"})) is kept


@pytest.mark.parametrize(
    ("value", "kept"),
    [("http://proxy.test:3128", True), ("http://ada:lovelace@proxy.test:3128", False)],
)
def test_an_address_with_a_password_stays_here(value: str, kept: bool) -> None:
    assert ("HTTPS_PROXY" in command_environment({"HTTPS_PROXY": value})) is kept


@pytest.mark.parametrize(
    "name",
    ["MONKEY", "KEYBOARD", "TOKENIZERS_PARALLELISM", "INIT_CWD", "COMPASS", "BYPASS", "KEYTIMEOUT", "MAX_TOKENS",
     "KEY_REPEAT_RATE", "AUTHOR", "SECRETARY", "HOME_PATH", "XDG_SEAT_PATH"],
)  # fmt: skip
def test_a_name_that_only_sounds_like_a_key_is_none(name: str) -> None:
    assert not holds_key(name)


def test_what_the_person_names_is_there() -> None:
    env = {"DEPLOY_TOKEN": "t", "OTHER": "o", "BASH_ENV": "/x", "ls": "() { rm x; }"}
    given = command_environment(env, ["DEPLOY_TOKEN", "BASH_ENV", "ls"])
    assert given["DEPLOY_TOKEN"] == "t"
    assert not {"OTHER", "BASH_ENV", "ls"} & set(given)


def test_pagers_prompts_and_colours_are_off_whatever_was_set() -> None:
    env = command_environment(
        {"PAGER": "less", "EDITOR": "vi", "VISUAL": "vi", "TERM": "xterm", "HOME": "/h"}
    )
    assert env["HOME"] == "/h"
    assert (env["PAGER"], env["GIT_PAGER"], env["EDITOR"], env["VISUAL"]) == ("cat", "cat", "true", "true")
    assert (env["TERM"], env["NO_COLOR"], env["GIT_TERMINAL_PROMPT"]) == ("dumb", "1", "0")
    assert "CI" not in env


async def test_the_shell_runs_nobodys_start_files(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("echo start file")
    (tmp_path / ".bash_profile").write_text("echo start file")
    hostile = ENV | {
        "HOME": str(tmp_path),
        "BASH_ENV": str(tmp_path / ".bashrc"),
        "BASH_FUNC_ls%%": "() { echo no; }",
    }
    result = await collect(
        supervisor,
        shell_argv("ls"),
        cwd=tmp_path,
        env=command_environment(hostile),
        clock=SystemClock(),
        seconds=30,
        limit=1000,
    )
    assert isinstance(result, Collected)
    assert result.stdout == b""
