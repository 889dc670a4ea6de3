"""`outrider permissions`: what would be said to a command, and the rules, without a server."""

import json

import pytest

from outrider.cli.main import main
from outrider.workspace.watch import copies
from sandboxes import needs_bubblewrap

RULES = """\
[[rule]]
decision = "allow"
tool = "run_command"
command = "git diff"

[[rule]]
decision = "deny"
tool = "run_command"
command = "git push"
"""


@pytest.fixture
def outrider(tmp_path, monkeypatch, capsys):
    """Runs the command line in a folder of its own: gives the exit code, and what it printed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "r.toml").write_text(RULES)
    monkeypatch.chdir(tmp_path / "work")

    def run(*arguments):
        code = main(["permissions", *arguments])
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("command", "mode", "decision", "parts"),
    [
        ("git diff HEAD", "ask", "allow", [(["git", "diff", "HEAD"], "allow")]),
        ("git diff && rm x", "ask", "ask", [(["git", "diff"], "allow"), (["rm", "x"], "ask")]),
        ("env git push", "full", "deny", [(["git", "push"], "deny")]),
        ("echo $(git push)", "ask", "deny", [(["echo", "$(git push)"], "ask"), (["git", "push"], "deny")]),
        ("ls", "auto-edit", "allow", [(["ls"], "allow")]),
        ("ls", "ask", "allow", [(["ls"], "allow")]),
        ("ls", "read-only", "allow", [(["ls"], "allow")]),
        ("make", "read-only", "deny", [(["make"], "deny")]),
        pytest.param("make", "full", "allow", [(["make"], "allow")], marks=needs_bubblewrap),
        ("$x", "ask", "ask", [(["$x"], "ask")]),
        ("ls (", "ask", "ask", None),
    ],
)
def test_check_says_what_would_be_decided_part_by_part(outrider, command, mode, decision, parts):
    code, out, _ = outrider("check", command, "--json", "--mode", mode, "--rules", "r.toml")
    told = json.loads(out)
    assert code == {"allow": 0, "ask": 3, "deny": 1}[decision]
    assert told["decision"] == decision
    assert told["reason"]
    assert ("rule" in told) == ("rule: " in told["reason"] or told["reason"].startswith("it is not certain"))
    if parts is not None:
        assert [(part["argv"], part["decision"]) for part in told["parts"]] == parts


@pytest.mark.parametrize(
    ("command", "mode", "decision", "part", "reason"),
    [
        ("git diff .env", "ask", "ask", "ask", ".env is a secret file: files with that name hold secrets"),
        ("make .env", "full", "ask", "ask", ".env is a secret file: files with that name hold secrets"),
        (
            "git diff .env",
            "read-only",
            "deny",
            "deny",
            "the session is read-only: .env is a secret file: files with that name hold secrets",
        ),
        (
            "git diff $x",
            "read-only",
            "deny",
            "deny",
            "the session is read-only: $x is known only at run time, and may make git show the text of any file",
        ),
        ("$x", "full", "ask", "ask", "it is not certain that no rule covers it"),
    ],
)
def test_no_part_reads_as_if_it_went_where_the_whole_does_not(
    outrider, tmp_path, command, mode, decision, part, reason
):
    (tmp_path / "work" / ".env").write_text("KEY=1\n")
    _, out, _ = outrider("check", command, "--json", "--mode", mode, "--rules", "r.toml")
    told = json.loads(out)
    assert told["decision"] == decision
    assert [(one["decision"], one["reason"]) for one in told["parts"]] == [(part, reason)]


def test_check_for_a_person(outrider):
    code, out, _ = outrider("check", "git diff | sudo tee x", "--rules", "r.toml")
    assert code == 3
    assert out.splitlines()[0].startswith("ask  sudo runs it as another user")
    assert "through sudo" in out


@needs_bubblewrap
def test_check_goes_by_what_was_said_of_the_folder(outrider, tmp_path, capsys):
    """As a session would there: a mode for every workspace does not hold where nobody vouches, and a no always does."""

    def decision(*arguments):
        return json.loads(outrider("check", "make", "--json", *arguments)[1])["decision"]

    config = tmp_path / "config" / "outrider"
    config.mkdir(parents=True)
    (config / "settings.toml").write_text('permissionMode = "full"\n')
    assert (decision(), decision("--mode", "full")) == ("ask", "allow")
    assert main(["trust", "add"]) == 0
    capsys.readouterr()
    assert decision() == "allow"
    assert main(["trust", "refuse"]) == 0
    capsys.readouterr()
    made = json.loads(outrider("check", "make", "--json", "--mode", "full")[1])
    assert (made["decision"], "read-only" in made["reason"]) == ("deny", True)


def test_check_says_what_shuts_a_file_and_where_it_lies(outrider, tmp_path):
    work = tmp_path / "work"
    (work / "sub").mkdir()
    (work / "sub" / "mine.txt").write_text("x")
    (work / ".outriderignore").write_text("mine.txt\n")
    config = tmp_path / "config" / "outrider"
    config.mkdir(parents=True)
    (config / "settings.toml").write_text('[sandbox]\nmode = "off"\n')
    reason = json.loads(outrider("check", "rg x", "--json", "--mode", "auto-edit")[1])["reason"]
    assert reason.endswith("it reaches sub/mine.txt, which is a secret file: .outriderignore lists it")
    reason = json.loads(outrider("check", "cat sub/mine.txt", "--json", "--mode", "auto-edit")[1])["reason"]
    assert reason.endswith("sub/mine.txt is a secret file: .outriderignore lists it")


def test_check_runs_nothing(outrider, tmp_path):
    outrider("check", "touch made; $(touch made)", "--mode", "full")
    assert not (tmp_path / "work" / "made").exists()


def test_rules_are_added_listed_and_removed(outrider, tmp_path):
    work = tmp_path / "work"
    assert "no rules" in outrider("list")[1]
    _, out, _ = outrider("add", "allow", "make test", "--expires", "2100-01-01")
    rule_id = out.split()[0]
    outrider("add", "deny", "src/**", "--tool", "edit", "--everywhere")
    listed = json.loads(outrider("list", "--json")[1])
    assert listed["path"] == str(tmp_path / "config" / "outrider" / "rules.toml")
    assert [rule["text"] for rule in listed["rules"]] == [
        f"allow run_command “make test …” in {work}", "deny edit src/** everywhere",
    ]  # fmt: skip
    assert json.loads(outrider("check", "make test", "--json")[1])["decision"] == "allow"
    assert outrider("remove", rule_id)[0] == 0
    assert json.loads(outrider("check", "make test", "--json")[1])["decision"] == "ask"
    assert outrider("remove", rule_id)[0] == 2


def test_a_rule_whose_time_is_over_is_listed_as_ended(outrider, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(
        "".join(
            f'[[rule]]\ndecision = "allow"\ntool = "run_command"\ncommand = "make x{year}"\nexpires = {year}-01-01T00:00:00Z\n'
            for year in (2001, 2100)
        )
    )
    _, listed, _ = outrider("list", "--rules", str(rules))
    assert listed.count("ended") == listed.count("until") == 1
    assert listed.index("ended") < listed.index("until")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (("deny", "git fetch; rm"), "several programs"),
        (("allow", "make test && make check"), "several programs"),
        (("deny", "*"), "must name a program, and * is not one"),
        (("deny", "rm", "--expires", "2001-01-01"), "it has already expired"),
        (("deny", "x", "--tool", "bash"), "there is no tool 'bash', only run_command"),
        (("deny", "../x/**", "--tool", "edit"), "no file can match ../x/**"),
        (("deny", "./secrets/**", "--tool", "edit"), "a path is relative to the workspace folder"),
        (("deny", "secrets/", "--tool", "read"), "no file can match secrets/"),
        (("deny", "~/.ssh/**", "--tool", "read"), "no file can match ~/.ssh/**"),
    ],
)
def test_a_rule_that_would_never_hold_is_not_saved(outrider, tmp_path, rule, why):
    """Whoever forbids something and gets no refusal takes it for forbidden."""
    code, _, problem = outrider("add", *rule)
    assert (code, why in " ".join(problem.split())) == (2, True), problem
    assert not (tmp_path / "config").exists()


def test_a_rule_for_a_script_is_about_the_script_as_it_is(outrider, tmp_path):
    script = tmp_path / "work" / "x.sh"
    script.write_text("echo one\n")
    assert "with the script as it is" in " ".join(outrider("add", "allow", "bash x.sh")[1].split())
    assert json.loads(outrider("check", "bash x.sh a", "--json")[1])["decision"] == "allow"
    script.write_text("echo two\n")
    told = json.loads(outrider("check", "bash x.sh a", "--json")[1])
    assert told["decision"] == "ask"
    assert told["reason"].startswith("the script changed since its rule was made (rule: allow")
    outrider("add", "allow", "bash x.sh", "--script", "any")
    assert json.loads(outrider("check", "bash x.sh a", "--json")[1])["decision"] == "allow"


def test_a_rule_that_names_no_script_says_so(outrider, tmp_path):
    outrider("add", "allow", "bash x.sh")
    (tmp_path / "work" / "x.sh").write_text("echo one\n")
    told = json.loads(outrider("check", "bash x.sh", "--json")[1])
    assert told["decision"] == "ask"
    assert told["reason"].startswith("its rule does not say for which script")


def test_slips(outrider, tmp_path):
    code, _, problem = outrider("add", "allow", "bash")
    assert (code, "bash alone would allow any program" in " ".join(problem.split())) == (2, True)
    assert not (tmp_path / "config").exists()
    for wrong in (
        ("add", "maybe", "x"),
        ("add", "deny", "x", "--expires", "soon"),
        ("check", "x", "--rules", "none"),
    ):
        assert outrider(*wrong)[0] == 2
    (tmp_path / "work" / "r.toml").write_text("[[rule]]\nx = 1\n")
    code, out, errors = outrider("check", "ls", "--json", "--rules", "r.toml")
    assert "line 2" in errors
    told = json.loads(out)
    assert [told["decision"], *(part["decision"] for part in told["parts"])] == ["deny", "deny"]
    assert "line 2" in told["parts"][0]["reason"]
    assert outrider("list", "--rules", "r.toml")[0] == 1


@pytest.fixture
def settings_of_the_user(tmp_path, outrider):
    """Writes the settings file of the user."""

    def write(text):
        config = tmp_path / "config" / "outrider"
        config.mkdir(parents=True, exist_ok=True)
        (config / "settings.toml").write_text(text)

    return write


@needs_bubblewrap
@pytest.mark.parametrize("command", ["pytest -q", "make && touch x", "cd . && npm test 2>&1 | tail -40"])
def test_check_knows_what_mode_auto_lets_run_in_the_sandbox(outrider, command):
    told = json.loads(outrider("check", command, "--json", "--mode", "auto")[1])
    assert told["decision"] == "allow"
    assert "can be undone" in told["reason"]
    assert "asks if it has to leave that" in told["reason"]
    assert {part["decision"] for part in told["parts"]} == {"allow"}
    assert json.loads(outrider("check", command, "--json", "--mode", "auto-edit")[1])["decision"] == "ask"


@pytest.mark.parametrize("wanted", ['mode = "off"', "network = true"])
def test_without_a_sandbox_that_keeps_the_network_away_mode_auto_asks_as_check_says(
    outrider, settings_of_the_user, wanted
):
    settings_of_the_user(f"[sandbox]\n{wanted}\n")
    told = json.loads(outrider("check", "pytest -q", "--json", "--mode", "auto")[1])
    assert (told["decision"], [part["decision"] for part in told["parts"]]) == ("ask", ["ask"])


@needs_bubblewrap
def test_check_says_that_a_workspace_is_too_big_to_copy(outrider, monkeypatch):
    monkeypatch.setattr(copies, "MOST_BYTES", 10)
    told = json.loads(outrider("check", "pytest -q", "--json", "--mode", "auto")[1])
    assert told["decision"] == "ask"
    assert "the files of the workspace have more than" in told["reason"]


def test_where_no_sandbox_works_check_says_what_mode_full_asks_and_what_is_refused(
    outrider, settings_of_the_user, monkeypatch
):
    monkeypatch.setattr("outrider.processes.sandbox.sandbox.BACKENDS", {})
    told = json.loads(outrider("check", "make", "--json", "--mode", "full")[1])
    assert (told["decision"], told["reason"]) == (
        "ask",
        "the permission mode is full, and there is no sandbox here",
    )
    assert json.loads(outrider("check", "make", "--json", "--mode", "auto")[1])["decision"] == "ask"
    settings_of_the_user('[sandbox]\nmode = "required"\n')
    assert json.loads(outrider("check", "make", "--json", "--mode", "full")[1])["decision"] == "deny"
