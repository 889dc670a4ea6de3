"""Calls as other harnesses train them: right arguments, or a way out in one line."""

import json
from dataclasses import replace

import pytest

from outrider.tools.all import own_tools

TOOLS = {tool.name: tool for tool in own_tools().offered("agent")}
PATCH = "*** Begin Patch\n*** Delete File: a\n*** End Patch"

ARGUMENTS = [
    ("read_file", {"file_path": "a"}, {"path": "a"}),
    ("read_file", {"filePath": "a", "offset": 10, "limit": 5}, {"path": "a", "start_line": 10, "end_line": 14}),
    ("read_file", {"absolute_path": "a", "offset": 0, "limit": 20}, {"path": "a", "start_line": 1, "end_line": 20}),
    ("read_file", {"path": "a", "limit": 20}, {"path": "a", "end_line": 20}),
    ("read_file", {"path": "a", "view_range": [3, -1]}, {"path": "a", "start_line": 3}),
    ("read_file", {"target_file": "a", "should_read_entire_file": True}, {"path": "a"}),
    ("list_files", {"dir_path": "src"}, {"path": "src"}),
    ("find_files", {"glob_pattern": "*.py"}, {"pattern": "*.py"}),
    ("search", {"query": "x", "include": "*.py"}, {"pattern": "x", "glob": "*.py"}),
    ("search", {"pattern": "x", "dir_path": "src", "-i": True, "-n": True}, {"pattern": "(?i)x", "path": "src"}),
    ("search", {"pattern": "x", "-A": 5, "-B": 2, "output_mode": "content"}, {"pattern": "x", "context": 5, "show": "lines"}),
    ("search", {"pattern": "x", "-A": 30}, {"pattern": "x", "context": 20}),
    ("search", {"query": "x|y", "isRegexp": True, "-C": 1}, {"pattern": "x|y", "context": 1}),
    ("search", {"query": "x", "case_sensitive": True}, {"pattern": "x"}),
    ("edit_file", {"file_path": "a", "old_string": "x", "new_string": "y"}, {"path": "a", "old": "x", "new": "y"}),
    ("edit_file", {"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": True},
     {"path": "a", "old": "x", "new": "y", "replace_all": True}),
    ("edit_file", {"file_path": "a", "old_string": "x", "new_string": "y", "expected_replacements": 2, "instruction": "why"},
     {"path": "a", "old": "x", "new": "y", "replace_all": True}),
    ("edit_file", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]},
     {"path": "a", "edits": [{"old": "x", "new": "y"}]}),
    ("apply_patch", {"input": PATCH}, {"patch": PATCH}),
    ("apply_patch", {"patchText": PATCH}, {"patch": PATCH}),
    ("apply_patch", {"command": ["apply_patch", PATCH]}, {"patch": PATCH}),
    ("insert_lines", {"path": "a", "insert_line": 3, "new_str": "x"}, {"path": "a", "after_line": 3, "text": "x"}),
    ("write_file", {"file_path": "a", "content": "x"}, {"path": "a", "content": "x"}),
    ("write_file", {"path": "a", "file_text": "x"}, {"path": "a", "content": "x"}),
    ("delete_file", {"target_file": "a", "explanation": "old"}, {"path": "a"}),
    ("rename_file", {"source": "a", "destination": "b"}, {"from": "a", "to": "b"}),
    ("run_command", {"command": "ls", "description": "List files"}, {"command": "ls"}),
    ("run_command", {"cmd": "ls", "workdir": "src", "yield_time_ms": 1000}, {"command": "ls", "cwd": "src", "timeout": 1.0}),
    ("run_command", {"command": ["bash", "-lc", "ls | wc"], "timeout_ms": 5000}, {"command": "ls | wc", "timeout": 5.0}),
    ("run_command", {"command": ["git", "log", "a b"]}, {"command": "git log 'a b'"}),
    ("run_command", {"command": "ls", "cwd": None, "background": None}, {"command": "ls"}),
    ("run_command", {"command": "ls", "run_in_background": True}, {"command": "ls", "background": True}),
    ("run_command", {"command": "ls", "is_background": False}, {"command": "ls"}),
    ("read_job", {"bash_id": "job_1"}, {"job": "job_1"}),
    ("kill_job", {"shell_id": "job_1"}, {"job": "job_1"}),
    ("ask_user", {"questions": [{"question": "Which?", "header": "x", "options": [{"label": "A"}, {"label": "B"}]}]},
     {"question": "Which?", "options": ["A", "B"]}),
    ("ask_user", {"prompt": "Which?", "choices": ["A"]}, {"question": "Which?", "options": ["A"]}),
    ("update_plan", {"explanation": "why", "plan": [{"step": "look", "status": "completed"}]},
     {"items": [{"text": "look", "status": "done"}]}),
    ("update_plan", {"todos": [{"content": "look", "status": "in_progress", "activeForm": "looking", "id": "1"}]},
     {"items": [{"text": "look", "status": "in_progress"}]}),
    ("update_plan", {"todos": '[{"content": "look"}]'}, {"items": [{"text": "look", "status": "pending"}]}),
    ("update_plan", {"items": ["look", "do"]},
     {"items": [{"text": "look", "status": "pending"}, {"text": "do", "status": "pending"}]}),
]  # fmt: skip

NAMES = {
    "Read": "read_file", "view": "read_file", "read_many_files": "read_file", "LS": "list_files", "list_directory": "list_files", "Glob": "find_files",
    "file_search": "find_files", "Grep": "search", "grep_search": "search", "search_file_content": "search", "Edit": "edit_file", "MultiEdit": "edit_file",
    "str_replace_based_edit_tool": "edit_file", "replace": "edit_file", "Write": "write_file", "write_to_file": "write_file", "create_file": "write_file",
    "Bash": "run_command", "shell": "run_command", "run_shell_command": "run_command", "exec_command": "run_command", "container.exec": "run_command",
    "functions.shell": "run_command", "BashOutput": "read_job", "KillShell": "kill_job", "TodoWrite": "update_plan", "todo_write": "update_plan",
    "write_todos": "update_plan", "AskUserQuestion": "ask_user", "request_user_input": "ask_user", "ReadFile": "read_file", "ApplyPatch": "apply_patch",
}  # fmt: skip

WRONG = [
    ("run_command", {"command": "ls", "detached": True}, "there is no argument detached", "background"),
    ("run_command", {"command": "ls", "run_in_background": "soon"}, "background must be true or false", "It takes: command"),
    ("run_command", {"command": "ls", "dangerouslyDisableSandbox": True}, "cannot be left out", "It takes: command; optional"),
    ("run_command", {"command": "ls", "sandbox_permissions": "require_escalated"}, "cannot be left out", "sandbox"),
    ("run_command", {"command": "ls", "with_escalated_permissions": True}, "cannot be left out", "sandbox"),
    ("run_command", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, "apply_patch is a tool here", '{"patch":'),
    ("run_command", {"command": ["apply_patch", PATCH]}, "apply_patch is a tool here", '{"patch":'),
    ("read_file", {}, "path is missing", "It takes: path; optional start_line, end_line."),
    ("read_file", {"path": 3}, "path must be a text", "It takes: path"),
    ("read_file", {"path": "a", "start_line": 0.5}, "start_line must be a whole number", "It takes: path"),
    ("read_file", {"path": "a", "end_line": 0}, "end_line must be at least 1", "It takes: path"),
    ("edit_file", {"path": "a"}, "old and new are missing", "It takes: path; optional old, new"),
    ("update_plan", {"items": [{"text": "x", "status": "later"}]}, "items.0.status must be 'pending'", "It takes: items."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "meant"), ARGUMENTS)
def test_foreign_arguments_are_taken_for_ours(name, given, meant):
    parsed = TOOLS[name].parse(json.dumps(given))
    assert not isinstance(parsed, str), parsed
    assert parsed.params == TOOLS[name].parse(json.dumps(meant)).params
    assert parsed.params.model_dump(by_alias=True, exclude_unset=True, exclude_defaults=True) == TOOLS[
        name
    ].params.model_validate(meant).model_dump(by_alias=True, exclude_unset=True, exclude_defaults=True)
    assert parsed.unknown == ()


@pytest.mark.parametrize(("name", "ours"), NAMES.items())
def test_a_foreign_name_leads_to_the_tool_that_does_it(name, ours):
    said = own_tools().get(name)
    assert isinstance(said, str)
    assert f"Did you mean {ours}? It takes: " in said
    assert "\n" not in said


@pytest.mark.parametrize(("name", "given", "says", "and_"), WRONG)
def test_what_is_wrong_is_said_in_plain_words(name, given, says, and_):
    said = TOOLS[name].parse(json.dumps(given))
    assert isinstance(said, str)
    assert says in said
    assert and_ in said
    assert "\n" not in said
    assert "Extra inputs" not in said


def test_unknown_arguments_are_left_out_and_named():
    parsed = TOOLS["read_file"].parse('{"path": "a", "encoding": "utf-8", "path2": 1}')
    assert parsed.unknown == ("encoding", "path2")
    parsed = TOOLS["update_plan"].parse('{"items": [{"text": "a", "owner": "b"}]}')
    assert parsed.unknown == ("items[].owner",)


def test_ours_counts_where_both_are_given():
    parsed = TOOLS["read_file"].parse('{"path": "a", "file_path": "b"}')
    assert (parsed.params.path, parsed.unknown) == ("a", ("file_path",))


@pytest.mark.parametrize(("name", "ours"), {"WebFetch": "fetch_url", "save_memory": "remember"}.items())
def test_a_tool_that_comes_and_goes_is_named_while_it_is_there(name, ours):
    there = own_tools().with_others([replace(TOOLS["read_file"], name=ours)])
    assert f"Did you mean {ours}? It takes: " in there.get(name)
    assert "Did you mean" not in own_tools().get(name)


@pytest.mark.parametrize("name", ["WebFetch", "Task", "exit_plan_mode", "think"])
def test_what_is_not_there_is_said(name):
    assert "Available" not in own_tools().get(name)
    assert "Did you mean" not in own_tools().get(name)
