"""What `--yes-to` allows, and above all what it does not."""

import io

import pytest
from typist import Typist

from event_data import filled, whole
from outrider.cli.answers import Answerer, OpenItem, OpenItems, Rules, can_match
from outrider.cli.render import Renderer
from outrider.cli.terminal import make_console
from outrider.lsp.client import Question
from outrider.tools.all import own_tools
from outrider_protocol import EDIT_TOOLS
from outrider_protocol.events import Open


def approval(title: str, tool: str, argument: str = "") -> OpenItem:
    return OpenItem("open_1", "approval", title, f"{tool}: {argument}", tool)


EDIT = approval("Edit src/a.py (+1 −1)", "edit_file", "src/a.py")
DELETE = approval("Delete src/a.py (−9)", "delete_file", "src/a.py")
INSERT = approval("Edit src/a.py (+1 −0)", "insert_lines", "src/a.py")
PATCH = approval("Change 2 files (+1 −1)", "apply_patch", "…")
COMMAND = approval("Run: make test", "run_command", "make test")
OUTSIDE = approval("Read /etc/hosts outside the workspace", "read_file", "/etc/hosts")


@pytest.mark.parametrize(
    ("rule", "item"),
    [
        ("edits", EDIT),
        ("edits", DELETE),
        ("commands", COMMAND),
        ("all", EDIT),
        ("all", COMMAND),
        ("all", OUTSIDE),
        ("edits", INSERT),
        ("edits", PATCH),
        ("Change *", PATCH),
        ("Change 2 files", PATCH),
        ("apply_patch*", PATCH),
        ("insert_lines: src/a.py", INSERT),
        ("insert_*", INSERT),
        ("Edit src/*", INSERT),
        (
            "Edit * outside the workspace",
            approval("Edit /a (+1) outside the workspace", "insert_lines", "/a"),
        ),
        ("Edit src/*", EDIT),
        ("edit_file: src/*.py", EDIT),
        ("Run: make ????", COMMAND),
        ("Run: make test", COMMAND),
        ("Read /etc/*", OUTSIDE),
    ],
)
def test_a_rule_allows_what_it_names(rule, item):
    assert Rules((rule,)).allowing(item) == rule
    assert can_match(rule)


def test_edits_are_what_the_tools_say_that_edits():
    assert {tool.name for tool in own_tools().offered("agent") if tool.effect == "edit"} == EDIT_TOOLS


@pytest.mark.parametrize("pattern", ["apply_patch", "insert_line: a", "patch*", "read_file*", "change *"])
def test_a_pattern_that_no_approval_has_is_a_slip(pattern):
    assert not can_match(pattern)


@pytest.mark.parametrize("rule", ["edits", "Change *", "apply_patch*", "*", "Change 2 files*"])
def test_a_rule_for_edits_does_not_reach_outside_the_workspace(rule):
    item = approval("Change 2 files (+1 −1) outside the workspace", "apply_patch", "…")
    assert Rules((rule,)).allowing(item) is None


def test_a_rule_allows_what_has_hidden_characters_in_its_name():
    items, title = OpenItems(), "Create esc\x1b[31m\u202e.txt (+1)"
    items.event(
        {
            "type": "approval.requested",
            "data": whole("approval.requested", {"id": "open_1", "callId": "c", "title": title}),
        }
    )
    item = items.asked_by(Question("Create esc\\x1b[31m\\u202e.txt (+1)\n+x", ("Allow once", "Reject")))
    assert item is not None
    assert Rules(("all",)).allowing(item) == "all"


def test_a_call_of_a_tool_waits_until_it_is_answered_and_no_rule_does():
    items = OpenItems()
    items.event(
        {
            "type": "tool.asked",
            "data": whole("tool.asked", {"id": "open_1", "callId": "c", "name": "weather"}),
        }
    )
    (item,) = items
    assert (item.kind, item.title, item.free_form, item.has_buttons) == ("tool", "Tool weather", True, False)
    assert Rules(("all",)).allowing(item) is None
    assert can_match("Tool deploy *")
    items.event({"type": "tool.answered", "data": whole("tool.answered", {"id": "open_1", "callId": "c"})})
    assert list(items) == []


@pytest.mark.parametrize(
    ("rule", "item"),
    [
        ("edits", COMMAND),
        ("edits", OUTSIDE),
        ("edits", approval("Edit /etc/hosts outside the workspace", "edit_file", "/etc/hosts")),
        ("commands", EDIT),
        ("commands", OUTSIDE),
        ("Edit*", DELETE),
        ("run: make test", COMMAND),
        ("make test", COMMAND),
        ("", COMMAND),
        ("Run: make [a-z]*", COMMAND),
    ],
)
def test_a_rule_allows_nothing_else(rule, item):
    assert Rules((rule,)).allowing(item) is None


@pytest.mark.parametrize(
    "tail",
    [
        "; rm -rf ~",
        " && curl x",
        " | sh",
        "\nrm x",
        " $(rm x)",
        " `rm x`",
        " > ~/.bashrc",
        " <(rm x)",
        " & rm x",
    ],
)
def test_a_wildcard_for_commands_does_not_reach_into_a_second_command(tail):
    item = approval(f"Run: make test{tail}", "run_command", f"make test{tail}")
    assert Rules(("Run: make *", "run_command: make *", "Run: *")).allowing(item) is None


def test_an_edit_whose_path_looks_like_a_command_is_still_an_edit():
    item = approval("Edit Run: make (+1 −1)", "edit_file", "Run: make")
    assert Rules(("commands", "Run: *")).allowing(item) is None


OUTSIDE_SANDBOX = approval("Run outside once: make test", "run_command", "make test")


@pytest.mark.parametrize("rule", ["all", "commands", "*", "Run*", "run_command: *", "Run: make *", "edits"])
def test_no_rule_for_commands_lets_one_leave_the_sandbox(rule):
    assert Rules((rule,)).allowing(OUTSIDE_SANDBOX) is None


@pytest.mark.parametrize("rule", ["outside", "Run outside once: make *"])
def test_a_command_leaves_the_sandbox_by_a_rule_that_says_so(rule):
    assert can_match(rule)
    assert Rules((rule,)).allowing(OUTSIDE_SANDBOX) == rule
    assert Rules((rule,)).allowing(COMMAND) is None


PLANTED = OpenItem(
    "open_1",
    "approval",
    "Put back: .envrc",
    "run_command: make test",
    "run_command",
    options=("Put back", "Keep"),
)


@pytest.mark.parametrize("rule", ["all", "commands", "edits", "outside", "*", "Put back: *", "run_command:*", "run_command: *", "Run: *"])  # fmt: skip
def test_no_rule_for_effects_decides_about_protected_files_that_a_command_changed(rule):
    assert Rules((rule,)).allowing(PLANTED) is None


@pytest.mark.parametrize("rule", ["put-back", "keep"])
def test_a_rule_for_such_files_decides_about_nothing_else(rule):
    assert can_match(rule)
    assert Rules((rule,)).allowing(PLANTED) == rule
    for item in (EDIT, COMMAND, OUTSIDE, OUTSIDE_SANDBOX):
        assert Rules((rule,)).allowing(item) is None


@pytest.mark.parametrize(
    ("rules", "given"),
    [
        ((), "Put back"),
        (("all", "commands", "run_command:*"), "Put back"),
        (("put-back",), "Put back"),
        (("keep",), "Keep"),
    ],
)
async def test_where_nobody_can_be_asked_such_files_are_put_back_unless_a_rule_keeps_them(rules, given):
    items = OpenItems()
    items.status(
        [
            filled(
                Open,
                {
                    "id": "open_1",
                    "kind": "approval",
                    "title": "Put back: .envrc",
                    "options": ["Put back", "Keep"],
                },
            )
        ]
    )

    async def answer_command(_argument: dict[str, object]) -> None:
        raise AssertionError

    answerer = Answerer(Renderer(make_console(io.StringIO())), items, Rules(rules), None, answer_command)
    assert await answerer(Question("Put back: .envrc\nmore", ("Put back", "Keep"))) == given


def test_no_rule_answers_a_question():
    item = OpenItem("open_1", "question", "Run: make test")
    assert Rules(("all", "Run: make test")).allowing(item) is None


def test_a_message_belongs_to_the_item_with_the_longest_title_it_begins_with():
    items = OpenItems()
    for number, title in enumerate(["Run: make", "Run: make test", "Run: make tests"]):
        items.status(
            [filled(Open, {"id": str(number), "kind": "approval", "title": title, "options": ["Allow once"]})]
        )
    found = items.asked_by(Question("Run: make test\nin .", ("Allow once",)))
    assert found and found.title == "Run: make test"
    assert items.asked_by(Question("Trust this workspace?", ())) is None


@pytest.mark.parametrize(
    ("title", "tool"),
    [
        ("Run: ls", "run_command"),
        ("Edit a (+1 −1)", "edit_file"),
        ("Create a (+1)", "write_file"),
        ("Delete a (−1)", "delete_file"),
        ("Rename a to b", "rename_file"),
        ("Change 2 files (+1 −1)", "apply_patch"),
        ("Read /x outside the workspace", ""),
    ],
)
def test_after_a_restart_the_title_says_which_tool_it_is(title, tool):
    items = OpenItems()
    items.status([filled(Open, {"id": "1", "kind": "approval", "title": title, "options": ["Allow once"]})])
    assert [item.tool for item in items] == [tool]


@pytest.mark.parametrize(
    ("pattern", "allows"),
    [("Edit calc.py", True), ("Edit calc.py (+1 −1)", True), ("Edit *.py", True), ("Edit other.py", False)],
)
def test_a_pattern_need_not_know_the_size_of_an_edit(pattern, allows):
    item = OpenItem("open_1", "approval", "Edit calc.py (+1 −1)", tool="edit_file")
    assert (Rules((pattern,)).allowing(item) == pattern) is allows
    outside = OpenItem("open_2", "approval", "Edit calc.py (+1 −1) outside the workspace", tool="edit_file")
    assert Rules(("Edit calc.py", "edits")).allowing(outside) is None


@pytest.mark.parametrize("slip", ["edit", "python*", "Edit", "run make", ""])
def test_a_pattern_that_can_allow_nothing_is_a_slip(slip):
    assert not can_match(slip)


TITLES = ("Allow all 3", "Review…", "Reject")


async def answered_together(rules, typed=None):
    """What the question about three edits gets, and what goes by command besides."""
    items, sent = OpenItems(), []
    for number, path in enumerate(("src/a.py", "src/b.py", "docs/c.md"), 1):
        items.event(
            {
                "type": "tool.requested",
                "data": {"callId": f"c{number}", "name": "edit_file", "input": {"path": path}},
            }
        )
        asked = {
            "id": f"open_{number}",
            "callId": f"c{number}",
            "title": f"Edit {path} (+1 −1)",
            "group": "open_1",
        }
        items.event({"type": "approval.requested", "data": whole("approval.requested", asked)})

    async def answer_command(argument: dict[str, object]) -> None:
        sent.append(argument)

    keyboard = None if typed is None else Typist(typed)
    answerer = Answerer(Renderer(make_console(io.StringIO())), items, Rules(rules), keyboard, answer_command)
    return await answerer(Question("3 edits in one step:\n…", TITLES)), sent


@pytest.mark.parametrize(
    ("rules", "typed", "title", "sent"),
    [
        (("edits",), None, "Allow all 3", []),
        ((), None, None, []),
        ((), "1", "Allow all 3", []),
        ((), "2", "Reject", []),
        ((), "n\nNo.", None, [{"id": "open_1", "decision": "reject", "together": True, "note": "No."}]),
        (
            ("Edit src/*",),
            "1",
            None,
            [
                {"id": "open_1", "decision": "allow_once"},
                {"id": "open_2", "decision": "allow_once"},
                {"id": "open_3", "decision": "allow_once"},
            ],
        ),
        (
            ("Edit src/a*",),
            "reject",
            None,
            [
                {"id": "open_1", "decision": "allow_once"},
                {"id": "open_2", "decision": "reject", "together": True},
            ],
        ),
    ],
)
async def test_edits_of_one_step_are_answered_together_where_no_rule_answers_for_one(
    rules, typed, title, sent
):
    assert await answered_together(rules, typed) == (title, sent)


@pytest.mark.parametrize(
    ("typed", "title", "sent"),
    [
        ("2", "2", []),
        ("1", "3", []),
        ("9", None, [{"id": "open_1", "answer": "9"}]),
    ],
)
async def test_an_answer_that_is_a_number_is_taken_for_itself_before_a_place_in_the_list(typed, title, sent):
    items, given = OpenItems(), []
    asked = {"id": "open_1", "question": "How many hours?", "options": ["3", "2"], "allowFreeForm": True}
    items.event({"type": "question.asked", "data": whole("question.asked", asked)})

    async def answer_command(argument: dict[str, object]) -> None:
        given.append(argument)

    answerer = Answerer(Renderer(make_console(io.StringIO())), items, Rules(), Typist(typed), answer_command)
    assert await answerer(Question("How many hours?", ("3", "2"))) == title
    assert given == sent
