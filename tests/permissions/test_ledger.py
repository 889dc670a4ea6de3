"""The ledger: a file that a user reads and edits, that two servers share, and that closes when it is damaged."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from outrider.permissions.policy.decide import Access, decide
from outrider.permissions.policy.ledger import WORKSPACE_RULES, Ledger, LedgerProblem
from outrider.permissions.policy.rules import Rule, problem_of
from outrider.permissions.policy.rules_file import parse_rules, read_rules
from outrider.ports.clock import SystemClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self):
        self.time = NOW

    def now(self):
        return self.time


@pytest.fixture
def said():
    return []


@pytest.fixture
def ledger(tmp_path, said):
    (tmp_path / "work").mkdir()
    found = Ledger(tmp_path / "config" / "rules.toml", [tmp_path / "work"], Clock(), said.append)
    found.refresh_now()
    return found


def edit(path, root="/work", **more):
    return Access("edit", paths=[(path, f"{root}/{path}")], **more)


async def test_a_rule_survives_and_is_readable(ledger, tmp_path, said):
    rule = Rule("allow", "run_command", "git diff", workspace=str(tmp_path / "work"))
    await ledger.add([rule])
    again = Ledger(ledger.path, [tmp_path / "work"], Clock(), said.append)
    await again.refresh()
    assert [found.text for found in again.rules] == [f"allow run_command “git diff …” in {tmp_path / 'work'}"]
    assert again.rules[0].id == rule.id
    assert again.rules[0].added == NOW
    elsewhere = Ledger(ledger.path, [tmp_path], Clock(), said.append)
    await elsewhere.refresh()
    assert elsewhere.rules == [], "it holds in its workspace alone"
    assert not said


async def test_what_a_person_wrote_stays(ledger):
    ledger.path.parent.mkdir()
    ledger.path.write_text(
        '# mine\n[[rule]] # first\ntool = "edit"\ndecision = "deny"\npath = "a/**"  # why not\n'
    )
    await ledger.add([Rule("ask", "run_command", "make")])
    await ledger.add([Rule("ask", "run_command", "make")])
    ledger.count([ledger.rules[0].id])
    await ledger.write_hits()
    text = ledger.path.read_text()
    assert "# mine" in text
    assert "# first" in text
    assert "# why not" in text
    assert text.count("[[rule]]") == 2, "the same rule is not written twice"
    assert [rule.hits for rule in ledger.rules] == [1, 0]
    removed = await ledger.remove(ledger.rules[1].id)
    assert isinstance(removed, Rule)
    assert [rule.path for rule in ledger.rules] == ["a/**"]
    assert isinstance(await ledger.remove("rule_x"), LedgerProblem)


@pytest.mark.parametrize("ends", [None, NOW + timedelta(days=2)])
async def test_a_rule_that_is_added_again_holds_until_what_is_said_now(ledger, ends):
    # It would be taken for ended, or for narrower than it is.
    rule = Rule("allow", "run_command", "make test", expires=NOW + timedelta(days=1))
    await ledger.add([rule])
    ledger.path.write_text(ledger.path.read_text() + "# mine\n")
    ledger.count([rule.id])
    await ledger.write_hits()
    await ledger.add([replace(rule, expires=ends)])
    await ledger.refresh()
    assert [(found.id, found.expires, found.hits) for found in ledger.rules] == [(rule.id, ends, 1)]
    assert "# mine" in ledger.path.read_text()


async def test_two_servers_write_at_once(ledger, tmp_path):
    others = [Ledger(ledger.path, [tmp_path / "work"], Clock(), print) for _ in range(4)]
    threads = [
        threading.Thread(
            target=lambda one=one, n=n: [
                one._add([Rule("ask", "run_command", f"x{n} {k}")]) for k in range(5)
            ]
        )
        for n, one in enumerate(others)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    await ledger.refresh()
    assert len(ledger.rules) == 20


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[rule]]\ntool = ", 2),
        ('[[rule]]\ntool = "x"\n\n[[rule]]\ntool = "y"\ndecision = "deny"\n', 1),
        ('[[rule]]\ntool = "x"\ndecision = "deny"\n\n[[rule]]\ntool = "y"\ndecision = "no"\n', 7),
        ('[[rule]]\ntool = "x"\ndecision = "deny"\ncomand = "rm"\n', 4),
        ('[[rule]]\ntool = "run_command"\ndecision = "deny"\ncommand = "\'"\n', 1),
        ('[[rule]]\ntool = "x"\ndecision = "deny"\nhits = true\n', 4),
        ('[[rule]]\ntool = "edit"\ndecision = "deny"\npath = "./a/**"\n', 1),
        ('# x\nallow = "all"\n', 2),
    ],
)
async def test_a_damaged_ledger_closes_and_names_the_line(ledger, said, text, line):
    ledger.path.parent.mkdir()
    ledger.path.write_text(text)
    await ledger.refresh()
    assert f"{ledger.path}, line {line}:" in said[0]
    for mode in ("ask", "auto-edit", "full"):
        for access in (edit("a.py"), Access("execute")):
            assert decide(access, mode, frozenset(), ledger.ruling("x", access, mode)).verdict == "deny"
    read = Access("read")
    assert decide(read, "ask", frozenset(), ledger.ruling("read_file", read, "ask")).verdict == "allow"
    assert isinstance(await ledger.add([Rule("deny", "x")]), LedgerProblem)
    assert ledger.path.read_text() == text, "it is not written"
    ledger.path.write_text("")
    await ledger.refresh()
    assert ledger.ruling("x", edit("a.py"), "ask") is None
    assert len(said) == 1


async def test_a_workspace_can_only_tighten(ledger, tmp_path, said):
    own = tmp_path / "work" / WORKSPACE_RULES
    own.parent.mkdir()
    own.write_text(
        '[[rule]]\ndecision = "allow"\ntool = "run_command"\ncommand = "curl x"\n'
        '[[rule]]\ndecision = "deny"\ntool = "edit"\npath = "gen/**"\n'
    )
    await ledger.refresh()
    assert "a workspace cannot allow anything" in said[0]
    assert [rule.decision for rule in ledger.rules] == ["deny"]
    assert ledger.ruling("edit_file", edit("gen/a.py"), "full").verdict == "deny"
    await ledger.add([Rule("allow", "edit", path="gen/**")])
    assert ledger.ruling("edit_file", edit("gen/a.py"), "full").verdict == "deny", (
        "deny beats allow, wherever it stands"
    )
    own.write_text("[[rule]]\nx")
    await ledger.refresh()
    assert ledger.ruling("edit_file", edit("b.py"), "full").verdict == "ask", "nobody knows what it says"
    own.unlink()
    await ledger.refresh()
    assert ledger.ruling("edit_file", edit("b.py"), "full") is None


async def test_a_rule_ends(ledger):
    await ledger.add([Rule("deny", "edit", expires=NOW + timedelta(hours=1))])
    assert ledger.ruling("edit_file", edit("a"), "ask").verdict == "deny"
    ledger._clock.time = NOW + timedelta(hours=1)
    assert ledger.ruling("edit_file", edit("a"), "ask") is None


@pytest.mark.parametrize(
    ("rules", "tool", "access", "expected"),
    [
        ([Rule("allow", "edit", path="docs/**")], "edit_file", edit("docs/a/b.md"), "allow"),
        ([Rule("allow", "edit", path="docs/*")], "edit_file", edit("docs/a/b.md"), None),
        (
            [Rule("allow", "edit", path="docs/**")],
            "edit_file",
            Access("edit", paths=[("docs/l", "/etc/x")]),
            None,
        ),
        (
            [Rule("allow", "edit", path="**/*.md")],
            "rename_file",
            Access("edit", paths=[("a.md", "/w/a.md"), ("b", "/w/b")]),
            None,
        ),
        ([Rule("deny", "edit", path="DOCS/**")], "edit_file", edit("docs/a"), "deny"),
        (
            [Rule("deny", "edit", path="/etc/**")],
            "edit_file",
            Access("edit", paths=[("l", "/etc/x")]),
            "deny",
        ),
        (
            [Rule("deny", "read", path="**/.env")],
            "read_file",
            Access("read", paths=[(".env", "/w/.env")]),
            "deny",
        ),
        ([Rule("ask", "delete_file")], "delete_file", edit("a"), "ask"),
        ([Rule("ask", "delete_file")], "edit_file", edit("a"), None),
        ([Rule("allow", "edit", path="a"), Rule("ask", "edit", path="a")], "edit_file", edit("a"), "ask"),
        ([Rule("ask", "edit"), Rule("deny", "*")], "edit_file", edit("a"), "deny"),
        ([Rule("allow", "mcp__x__y")], "mcp__x__y", Access("execute"), "allow"),
        ([Rule("allow", "mcp__x__y")], "mcp__x__z", Access("execute"), None),
        (
            [Rule("allow", "fetch", host="*.example.org")],
            "fetch",
            Access("execute", hosts=["a.example.org"]),
            "allow",
        ),
        (
            [Rule("allow", "fetch", host="*.example.org")],
            "fetch",
            Access("execute", hosts=["a.example.org", "b"]),
            None,
        ),
        ([Rule("deny", "fetch", host="b")], "fetch", Access("execute", hosts=["a", "B"]), "deny"),
    ],
)
async def test_patterns(ledger, rules, tool, access, expected):
    await ledger.add(rules)
    ruling = ledger.ruling(tool, access, "full")
    assert (ruling and ruling.verdict) == expected


@pytest.mark.parametrize(
    "rule",
    [
        Rule("allow", "run_command"), Rule("allow", "*"), Rule("allow", "execute"), Rule("allow", "edit"), Rule("allow", "write_file"),
        *(Rule("allow", "run_command", command) for command in ("git", "bash", "sh -c", "env", "sudo ls", "xargs", "python3", "python -c", "npm run", "", "'", "git -c", "git -c a=b", "git -C sub --no-pager", "make -n", "docker run", "go run", "poetry run python", "uv run bash", "uv run --with x", "bun x npx")),
    ],
    ids=lambda rule: rule.text,
)  # fmt: skip
def test_a_rule_that_would_allow_nearly_anything_is_none(rule, tmp_path):
    assert problem_of(rule)
    text = f'[[rule]]\ndecision = "allow"\ntool = "{rule.tool}"\n'
    text += f"command = {rule.command!r}\n" if rule.command and rule.command != "'" else ""
    file = parse_rules(tmp_path / "x", text, may_allow=True)
    assert not file.rules
    assert file.messages


def test_what_is_no_file_is_damaged(tmp_path):
    assert read_rules(tmp_path, may_allow=True).problem
    (tmp_path / "x").write_bytes(b"\xff")
    assert read_rules(tmp_path / "x", may_allow=True).problem
    assert read_rules(tmp_path / "none", may_allow=True).problem is None


async def test_what_is_no_file_is_not_changed_and_not_read(ledger, monkeypatch):
    ledger.path.parent.mkdir(parents=True)
    ledger.path.symlink_to("/dev/null")  # a pipe would never end
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    problem = await ledger.add([Rule("allow", "run_command", "make test")])
    assert problem == LedgerProblem(f"the rules are not changed: {ledger.path} is not a rules file")
    assert ledger.path.is_symlink()


async def test_a_rule_can_be_added_after_the_last_one_was_removed(tmp_path):
    ledger = Ledger(tmp_path / "rules.toml", [], SystemClock(), lambda _: None)
    rule = Rule("deny", "run_command", "rm")
    for _ in range(2):
        assert isinstance(await ledger.add([rule]), list)
        assert isinstance(await ledger.remove(rule.id), Rule)
    assert ledger.problem is None


@pytest.fixture
def knowing(tmp_path, said):
    (tmp_path / "work" / ".outrider").mkdir(parents=True)
    return Ledger(
        tmp_path / "rules.toml",
        [tmp_path / "work"],
        Clock(),
        said.append,
        {"run_command", "edit_file", "read_file"},
    )


async def test_a_rule_about_no_tool_there_is_is_said_and_not_added(knowing, said):
    knowing.path.write_text(
        '[[rule]]\ndecision = "deny"\ntool = "run_comand"\ncommand = "rm"\n'.replace('command = "rm"\n', "")
    )
    own = knowing.path.parent / "work" / ".outrider" / "rules.toml"
    own.write_text(
        '[[rule]]\ndecision = "ask"\ntool = "shell"\n\n[[rule]]\ndecision = "ask"\ntool = "read"\n'
    )
    await knowing.refresh()
    assert [text.partition(" does nothing: ")[2] for text in said] == [
        "there is no tool 'run_comand', only run_command",
        "there is no tool 'shell', only run_command",
    ]
    assert said == knowing.all_about_nothing
    for tool in ("Bash", "run_comand", "frobnicate"):
        done = await knowing.add([Rule("deny", tool)])
        assert isinstance(done, LedgerProblem)
        assert done.reason == "invalid"
    for tool in ("*", "execute", "edit", "read", "read_file"):
        assert not isinstance(await knowing.add([Rule("deny", tool)]), LedgerProblem)


async def test_what_can_be_the_name_of_no_tool_closes(knowing):
    knowing.path.write_text('[[rule]]\ndecision = "deny"\ntool = "Bash(git push:*)"\n')
    await knowing.refresh()
    assert knowing.problem is not None
    assert "cannot be the name of a tool" in knowing.problem
    ruling = knowing.ruling("edit_file", edit("a.py"), "full")
    assert ruling is not None and ruling.verdict == "deny"


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{b=" * 50_000])
def test_a_file_that_is_nested_too_deeply_has_a_problem(tmp_path, text):
    """A repository brings it along: it must not make every call fail."""
    path = tmp_path / "rules.toml"
    path.write_text(text)
    found = read_rules(path, may_allow=False)
    assert found.problem is not None
    assert found.problem.startswith(f"{path}, line 1: ")
