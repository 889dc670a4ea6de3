"""Nothing that tests of other agents call dangerous runs without a question in `ask`, with a sandbox or without.

The commands stand in `called_dangerous.json`, with where and when they were found. What is left out of them has a reason there.
"""

import json
from pathlib import Path

import pytest

from permissions.looking import looked, verdicts

FOUND = json.loads(Path(__file__).with_name("called_dangerous.json").read_text("utf-8"))
COMMANDS = [command for source in FOUND["sources"] for command in source["commands"]]
SECRETS = """
cat .env
cat .env.local
cat id_rsa
cat server.pem
head -3 ~/.ssh/id_rsa
cat $HOME/.ssh/id_ed25519
cat "$HOME/.netrc"
cat ~/.aws/credentials
ls ~/.ssh
cat /home/user/.ssh/id_rsa
tail /var/log/auth.log
cat ../elsewhere/notes.txt
base64 ~/.ssh/id_rsa
less .env
"""
"""What must ask although nothing of it is there: that says nothing about when the command runs."""


def test_there_are_enough_of_them():
    assert len(set(COMMANDS)) == len(COMMANDS) >= 400
    assert len({source["repository"] for source in FOUND["sources"]}) >= 10
    assert not set(COMMANDS) & set(FOUND["left_out"])


@pytest.mark.parametrize("sandbox", [True, False])
def test_none_runs_without_a_question(tmp_path, sandbox):
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("file.txt", "file.json", "README.md", "file.sh", "script.py"):
        (folder / name).write_text("x\n")
    found = verdicts(folder, *COMMANDS, mode="ask", sandbox=sandbox)
    assert [one for one, verdict in zip(COMMANDS, found, strict=True) if verdict == "allow"] == []


@pytest.mark.parametrize("sandbox", [True, False])
def test_what_would_be_secret_or_elsewhere_asks_though_it_is_not_there(tmp_path, sandbox, monkeypatch):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    lines = SECRETS.strip().splitlines()
    found = verdicts(folder, *lines, mode="ask", sandbox=sandbox)
    assert [one for one, verdict in zip(lines, found, strict=True) if verdict == "allow"] == []


@pytest.mark.parametrize(
    "command",
    [
        "find . -type f | cut -d/ -f2 | sort | uniq -c",
        "awk -F/ '{print $2}' a.txt",
        "sort -t/ -k2 a.txt",
        "tr / _ < a.txt",
        "grep -rn '/' .",
        "grep -n -C 2 '/usr/bin/env' a.txt",
        "rg -t py '/usr' .",
        "grep -rn '.env' src",
    ],
)
def test_a_sign_that_separates_and_a_pattern_are_no_files(tmp_path, command):
    for name in (".env", "a.txt"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "src").mkdir()
    (found,) = looked(tmp_path, command)
    assert found.reads_in_sandbox, found.reads_confined


@pytest.mark.parametrize(
    "command",
    ["grep -e x /etc/passwd", "grep -f /etc/passwd a.txt", "rg --files /etc", "grep x /etc/passwd", "cut -d / /etc/passwd",
     "sort /", "grep --regexp=x /etc/passwd", "grep -rf .env a.txt", "awk -F / 1 /etc/passwd", "grep -A /etc/passwd x"],
)  # fmt: skip
def test_what_may_be_a_file_is_taken_for_one(tmp_path, command):
    for name in (".env", "a.txt"):
        (tmp_path / name).write_text("x\n")
    (found,) = looked(tmp_path, command)
    assert not found.reads_in_sandbox
