"""What other harnesses train models to call: their names of tools and of arguments, as data.

The names are those of Claude Code, codex, gemini-cli, opencode and the editors' agents, by their tool definitions. An argument of another name
is taken for ours; a tool of another name is answered with ours.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

Value = Callable[[Any], Mapping[str, Any]]
"""What a value means, by our names of arguments; nothing where it means nothing."""
Meaning = str | Value
"""Of an argument of another name: ours, or what its value means."""

_Names = Mapping[str, Meaning]


def _nothing(_: Any) -> Mapping[str, Any]:
    """Of what needs no answer, such as a sentence on why a call is made."""
    return {}


def _line(value: Any) -> Mapping[str, Any]:
    """The line that a reading begins with; some count from 0."""
    return {"start_line": value or 1}


def _range(value: Any) -> Mapping[str, Any]:
    """The first line and the last one; -1 is the end."""
    if not isinstance(value, list) or len(cast("list[Any]", value)) != 2:
        return {}
    first, last = cast("list[Any]", value)
    return {"start_line": first} if last == -1 else {"start_line": first, "end_line": last}


def _words(value: Any) -> Mapping[str, Any]:
    """A command as a list of words, such as that of a shell with its text."""
    if not isinstance(value, list):
        return {"command": value}
    words = [str(word) for word in cast("list[Any]", value)]
    if len(words) == 3 and words[0].rpartition("/")[2] in {"bash", "sh", "zsh"} and words[1] in {"-lc", "-c"}:
        return {"command": words[2]}
    return {"command": shlex.join(words)}


def _milliseconds(own: str) -> Value:
    return lambda value: {own: value / 1000} if isinstance(value, int | float) else {}


def _if_several(value: Any) -> Mapping[str, Any]:
    return {"replace_all": True} if isinstance(value, int) and value > 1 else {}


def _patch(value: Any) -> Mapping[str, Any]:
    """A patch in a list, behind the name of the program."""
    return {"patch": cast("list[Any]", value)[-1] if isinstance(value, list) and value else value}


_SHOWN: Final = {"content": "lines", "files_with_matches": "files", "count": "counts"}


def _show(value: Any) -> Mapping[str, Any]:
    return {"show": _SHOWN.get(value, value) if isinstance(value, str) else value}


def _around(value: Any) -> Mapping[str, Any]:
    """Lines around a match; of those wanted above and below the most."""
    return {"around": value}


def _questions(value: Any) -> Mapping[str, Any]:
    """Several questions with their answers; the answers of one only can be chosen from."""
    asked = _listed(value)
    texts = [str(one.get("question") or "") for one in asked]
    options = {"options": asked[0]["options"]} if len(asked) == 1 and "options" in asked[0] else {}
    return {"question": "\n".join(texts), **options}


def _listed(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


_PATH: Final[_Names] = dict.fromkeys(
    (
        "file_path", "filePath", "filepath", "file", "filename", "file_name", "absolute_path", "AbsolutePath", "target_file", "TargetFile",
        "relative_path", "target", "uri",
    ),
    "path",
)  # fmt: skip
_FOLDER: Final[_Names] = dict.fromkeys(
    ("dir_path", "directory", "dir", "dirPath", "folder", "target_directory", "relative_workspace_path"),
    "path",
)
_OLD_NEW: Final[_Names] = {
    **dict.fromkeys(("old_string", "oldString", "old_str", "old_text", "oldText", "search"), "old"),
    **dict.fromkeys(("new_string", "newString", "new_str", "new_text", "newText", "replace"), "new"),
    **dict.fromkeys(("replaceAll", "allow_multiple"), "replace_all"),
    "expected_replacements": _if_several,
}
_JOB: Final[_Names] = dict.fromkeys(
    ("job_id", "bash_id", "shell_id", "shellId", "task_id", "session_id", "terminal_id", "id", "pid"), "job"
)
_WHY: Final[_Names] = dict.fromkeys(
    ("description", "explanation", "instruction", "toolSummary", "thought"), _nothing
)

ARGUMENTS: Final[Mapping[str, _Names]] = {
    "read_file": {
        **_PATH, **_WHY, "offset": _line, "view_range": _range, "line_range": _range,
        **dict.fromkeys(("startLine", "start", "line_start", "StartLine", "start_line_one_indexed"), "start_line"),
        **dict.fromkeys(("endLine", "end", "line_end", "EndLine", "end_line_one_indexed_inclusive"), "end_line"),
        "limit": lambda value: {"limit": value}, "should_read_entire_file": _nothing,
    },
    "list_files": {**_PATH, **_FOLDER, **_WHY},
    "find_files": {**_WHY, **dict.fromkeys(("glob", "glob_pattern", "query", "file_pattern"), "pattern")},
    "search": {
        **_PATH, **_FOLDER, **_WHY,
        **dict.fromkeys(("query", "regex", "Query", "search_term"), "pattern"),
        **dict.fromkeys(("include", "include_pattern", "includePattern", "file_pattern"), "glob"),
        **dict.fromkeys(("-A", "-B", "-C", "context_lines", "contextLines"), _around), "output_mode": _show,
        **dict.fromkeys(("-n", "isRegexp", "is_regex"), _nothing),
        "-i": lambda value: {"ignore_case": value},
        "case_sensitive": lambda value: {"ignore_case": value is False},
    },
    "diagnostics": {**_PATH, **_WHY},
    "edit_file": {**_PATH, **_WHY, **_OLD_NEW},
    "edit_file.edits": _OLD_NEW,
    "apply_patch": {**_WHY, **dict.fromkeys(("input", "patch_text", "patchText", "diff"), "patch"), "command": _patch},
    "insert_lines": {
        **_PATH, **_WHY, **dict.fromkeys(("insert_line", "line", "after"), "after_line"),
        **dict.fromkeys(("new_str", "insert_text", "content", "lines"), "text"),
    },
    "write_file": {**_PATH, **_WHY, **dict.fromkeys(("file_text", "contents", "text", "code", "CodeContent"), "content")},
    "delete_file": {**_PATH, **_FOLDER, **_WHY},
    "rename_file": {
        **_WHY, **dict.fromkeys(("source", "old_path", "oldPath", "src", "source_path", "path", "file_path"), "from"),
        **dict.fromkeys(("destination", "new_path", "newPath", "dst", "dest", "destination_path"), "to"),
    },
    "run_command": {
        **_WHY, **dict.fromkeys(("cmd", "script", "CommandLine", "bash_command"), _words), "command": _words,
        **dict.fromkeys(("workdir", "working_directory", "workingDirectory", "dir_path", "directory", "Cwd", "dir"), "cwd"),
        **dict.fromkeys(("timeout_ms", "timeoutMs", "yield_time_ms"), _milliseconds("timeout")),
        **dict.fromkeys(("run_in_background", "is_background", "isBackground"), "background"),
        "justification": "reason", "login": _nothing,
    },
    "read_job": {**_JOB, **_WHY, **dict.fromkeys(("timeout", "wait_seconds", "seconds"), "wait"), "block": _nothing},
    "wait": {**_JOB, **_WHY, **dict.fromkeys(("timeout", "duration", "wait"), "seconds"), "pattern": "text"},
    "kill_job": {**_JOB, **_WHY},
    "ask_user": {
        **dict.fromkeys(("prompt", "message", "text", "query"), "question"),
        **dict.fromkeys(("choices", "suggestions", "follow_up", "answers"), "options"), "questions": _questions,
    },
    "update_plan": {**_WHY, **dict.fromkeys(("plan", "todos", "steps", "tasks", "todo_list"), "items")},
    "update_plan.items": {
        **dict.fromkeys(("step", "content", "title", "task", "description", "name"), "text"),
        **dict.fromkeys(("activeForm", "id", "priority"), _nothing), "state": "status",
    },
}  # fmt: skip
"""By tool, or by a list in its arguments, what arguments of other names mean. What means one of `_WORKED_OUT` is worked out last."""

_STATUS: Final = {
    **dict.fromkeys(("completed", "complete", "finished", "cancelled", "canceled", "skipped"), "done"),
    **dict.fromkeys(("in-progress", "inProgress", "doing", "active", "started"), "in_progress"),
    **dict.fromkeys(("todo", "open", "not_started", "not-started"), "pending"),
}

TOOLS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("read", "view", "viewfile", "cat", "open", "openfile", "readmanyfiles", "viewimage", "readfiles", "notebookread"), "read_file"),
    **dict.fromkeys(("ls", "list", "listdir", "listdirectory", "tree", "readfolder", "readdirectory"), "list_files"),
    **dict.fromkeys(("glob", "find", "globfilesearch", "filesearch", "findfile", "searchfiles", "globsearch"), "find_files"),
    **dict.fromkeys(
        ("grep", "rg", "ripgrep", "grepsearch", "searchfilecontent", "searchtext", "codebasesearch", "codesearch", "grepfiles", "searchcode"),
        "search",
    ),
    **dict.fromkeys(("getdiagnostics", "lsp", "lspdiagnostics", "geterrors", "problems", "readlints", "getproblems"), "diagnostics"),
    **dict.fromkeys(
        ("edit", "multiedit", "strreplace", "strreplaceeditor", "strreplacebasededittool", "replace", "searchreplace", "replaceinfile", "editnotebook",
         "notebookedit", "replacefilecontent", "multireplacefilecontent"),
        "edit_file",
    ),
    **dict.fromkeys(("patch", "applydiff", "codeedit"), "apply_patch"),
    **dict.fromkeys(("insert", "insertline", "insertcontent", "insertcode"), "insert_lines"),
    **dict.fromkeys(("write", "create", "createfile", "writetofile", "save", "savefile", "newfile"), "write_file"),
    **dict.fromkeys(("delete", "remove", "rm", "removefile", "unlink"), "delete_file"),
    **dict.fromkeys(("move", "mv", "rename", "movefile"), "rename_file"),
    **dict.fromkeys(
        ("bash", "shell", "sh", "exec", "execute", "execcommand", "shellcommand", "localshell", "runshellcommand", "terminal", "runterminalcmd",
         "runinterminal", "executecommand", "executebash", "containerexec", "python", "runtests", "test"),
        "run_command",
    ),
    **dict.fromkeys(("bashoutput", "taskoutput", "getterminaloutput", "readoutput", "shelloutput", "commandstatus", "writestdin"), "read_job"),
    **dict.fromkeys(("killshell", "killbash", "taskstop", "kill", "stopjob", "killprocess", "killterminal"), "kill_job"),
    **dict.fromkeys(("sleep", "delay", "waitforjob"), "wait"),
    **dict.fromkeys(
        ("ask", "askuserquestion", "askfollowupquestion", "question", "requestuserinput", "askquestion", "clarify", "messageuser"), "ask_user"
    ),
    **dict.fromkeys(("webfetch", "fetch", "browser", "readurl"), "fetch_url"),
    **dict.fromkeys(("savememory", "memory", "addmemory"), "remember"),
    **dict.fromkeys(
        ("todowrite", "todoread", "todo", "writetodos", "managetodolist", "plan", "todolist", "createplan", "updatetodos", "taskcreate", "taskupdate",
         "tasklist"),
        "update_plan",
    ),
}  # fmt: skip
"""Which tool of ours does what one of another name does, by its plain name."""

_ANSWER: Final = "Answer without a call to end the turn."
ABSENT: Final[Mapping[str, str]] = {
    **dict.fromkeys(("webfetch", "fetch", "browser", "fetchurl"), "Nothing here reads pages of the web."),
    **dict.fromkeys(("websearch", "googlewebsearch"), "Nothing here searches the web."),
    **dict.fromkeys(("task", "agent", "spawnagent", "delegate", "subagent"), "There are no sub-agents; do it yourself."),
    **dict.fromkeys(("exitplanmode", "enterplanmode", "attemptcompletion", "finish", "completetask", "done", "submit"), _ANSWER),
    **dict.fromkeys(("think", "sequentialthinking"), "Just think; it needs no tool."),
    **dict.fromkeys(("savememory", "memory", "remember"), "Nothing is kept beyond the session, except what you write to a file."),
}  # fmt: skip
"""What to use instead of a tool of another harness that does not exist here, or not in this turn."""

_RISKY: Final = (
    "sandbox", "background", "permission", "escalat", "privilege", "detach", "network", "danger", "unsafe", "approval", "sudo", "blocking",
)  # fmt: skip
"""In a name: about the sandbox, or about running on; to leave such an argument out would do something else."""
_WORKED_OUT: Final = frozenset({"limit", "ignore_case", "around"})
"""What becomes an argument of ours together with others."""
MOST_AROUND: Final = 20
"""Lines above and below a match that `search` takes."""
MOST_ITEMS: Final = 1000
"""Of a list that are looked through."""


def plain(name: str) -> str:
    """A name without what is written differently elsewhere: `functions.Read_File` is `readfile`."""
    last = name.replace("/", ".").replace(":", ".").replace("__", ".").rpartition(".")[2]
    return "".join(char for char in last.casefold() if char.isalnum())


def translated(
    tool: str, given: Mapping[str, Any], own: Sequence[str], *, within: str = ""
) -> tuple[dict[str, Any], list[str]] | str:
    """Arguments under our names.

    Args:
        tool: Whose they are, or `tool.argument` for those in one of its lists.
        given: As the model wrote them.
        own: The names that there are.
        within: What is written before a name that is told, such as `items[].`.

    Returns:
        The arguments, and the names of those that mean nothing here; a text says which must not be left out.
    """
    names = ARGUMENTS.get(tool, {})
    found = {key: value for key, value in given.items() if key in own and not callable(names.get(key))}
    extra: dict[str, list[Any]] = {}
    unknown: list[str] = []
    for key, value in given.items():
        if key in found:
            continue
        meaning = names.get(key)
        meant = (
            {meaning: value} if isinstance(meaning, str) else meaning(value) if meaning is not None else None
        )
        if meant is None and any(word in key.casefold() for word in _RISKY):
            return f"there is no argument {_short(within + key)}, and it cannot be left out"
        if meant is None or any(one in found or one not in (*own, *_WORKED_OUT) for one in meant):
            unknown.append(_short(within + key))
            continue
        for one in _WORKED_OUT & meant.keys():
            extra.setdefault(one, []).append(meant[one])
        found |= {one: what for one, what in meant.items() if one in own}
    _work_out(found, extra)
    return found, unknown


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:60]}…"


def _work_out(found: dict[str, Any], extra: Mapping[str, Sequence[Any]]) -> None:
    """Put in what depends on another argument."""
    (count, ignores_case), pattern = (
        (extra.get(one, [None])[-1] for one in ("limit", "ignore_case")),
        found.get("pattern"),
    )
    if isinstance(count, int) and count > 0 and "end_line" not in found:
        first = found.get("start_line")
        found["end_line"] = (first if isinstance(first, int) else 1) + count - 1
    if ignores_case is True and isinstance(pattern, str):
        found["pattern"] = f"(?i){pattern}"
    if (
        around := [one for one in extra.get("around", ()) if isinstance(one, int)]
    ) and "context" not in found:
        found["context"] = min(max(around), MOST_AROUND)


def items_of(tool: str, key: str, value: Any) -> Any:
    """A list in the arguments, its items in our form where it has one: a list written as text, a text for an item."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if not isinstance(value, list):
        return value
    items = cast("list[Any]", value)
    if (tool, key) == ("ask_user", "options"):
        return [_label(one) for one in items]
    if (tool, key) != ("update_plan", "items"):
        return items
    return [_point({"text": one} if isinstance(one, str) else one) for one in items]


def _label(option: Any) -> Any:
    if not isinstance(option, dict):
        return option
    known = cast("dict[str, Any]", option)
    label = known.get("label") or known.get("text") or known.get("value")
    if not label:
        return known
    return {"label": label, "description": known["description"]} if known.get("description") else label


def _point(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    known = cast("dict[str, Any]", item)
    return {
        key: _STATUS.get(value, value) if key in {"status", "state"} and isinstance(value, str) else value
        for key, value in known.items()
    }


def elsewhere(tool: str, given: Mapping[str, Any]) -> str | None:
    """Which tool does what is asked of a program; None where it is a program's work."""
    command = given.get("command")
    if tool != "run_command" or not isinstance(command, str):
        return None
    before, begin, _ = command.partition("*** Begin Patch")
    if begin and ("apply_patch" in before or "applypatch" in before):
        return 'apply_patch is a tool here, not a program: call it with {"patch": "*** Begin Patch …"}'
    return None
