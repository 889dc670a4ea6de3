"""Calls at random over all tools, from their schemas: those of tools that come later too, and some that are well aimed."""

import json

from hypothesis import strategies as st

from outrider.testing.scenario import client_tool
from outrider.tools.all import own_tools

CLIENT_TOOLS = [
    client_tool("client_edit", "edit", path={"type": "string"}),
    client_tool("client_run", "execute", command={"type": "string"}),
]


def schemas_of(registry):
    """Every tool of a registry, with its schema."""
    return [(tool.name, json.loads(json.dumps(tool.spec().schema))) for tool in registry.offered("agent")]


TOOLS = [
    *schemas_of(own_tools()),
    *((tool["name"], tool["inputSchema"]) for tool in CLIENT_TOOLS),
]  # fmt: skip
"""Every tool with its schema."""
READERS = frozenset(
    [
        "arch",
        "basename",
        "cal",
        "cat",
        "cmp",
        "column",
        "comm",
        "cut",
        "date",
        "df",
        "diff",
        "dirname",
        "du",
        "echo",
        "expand",
        "expr",
        "false",
        "file",
        "find",
        "fmt",
        "fold",
        "git",
        "grep",
        "groups",
        "head",
        "hexdump",
        "id",
        "jq",
        "join",
        "ls",
        "md5sum",
        "nl",
        "nproc",
        "od",
        "paste",
        "printf",
        "pwd",
        "readlink",
        "realpath",
        "rev",
        "rg",
        "sed",
        "seq",
        "sha1sum",
        "sha256sum",
        "sleep",
        "sort",
        "stat",
        "strings",
        "tac",
        "tail",
        "test",
        "tr",
        "tree",
        "true",
        "tty",
        "uname",
        "uniq",
        "uptime",
        "wc",
        "which",
        "whoami",
        "xxd",
        "[",
    ]
)
"""What may run: written down here once more, apart from the tables that decide it."""
STARTERS = frozenset(["env", "nice", "nohup", "sh", "setsid", "stdbuf", "time", "timeout", "xargs"])
"""What starts others, and is looked through: it may run, with one of those behind it."""

_PATHS = [
    "tariff.py", "./tariff.py", "made.txt", "sub/made.txt", "README.md", "tests", ".", "..", "../outside.txt", "{outside}", ".git/config",
    ".outrider/x", "link.py", "src", "untitled:new", "/tmp/read-only-made", "",
]  # fmt: skip
_COMMANDS = [
    "ls", "cat tariff.py", "git status", "git diff", "grep -n hours tariff.py | head -1", "find . -name '*.py'", "wc -l *.py",
    "touch made.txt", "echo x > made.txt", "echo x >> tariff.py", "echo x | tee made.txt", "rm -rf .", "mv tariff.py x.py",
    "cat tariff.py > made.txt", ": > tariff.py", "sed -i s/3/2/ tariff.py", "sed -n 'w made.txt' tariff.py", "sort -o made.txt tariff.py",
    "find . -delete", "find . -exec touch made.txt \\;", "find . -fprint made.txt", "git checkout .", "git -c core.pager='touch made.txt' log",
    "git branch -D main", "git diff --output=made.txt", "git grep -O'touch made.txt' hours", "bash -c 'touch made.txt'", "sh -c 'echo x >made.txt'",
    "ls; touch made.txt", "ls && touch made.txt", "ls || touch made.txt", "ls | xargs touch", "ls & touch made.txt", "$(touch made.txt)",
    "ls `touch made.txt`", "ls <(touch made.txt)", "cat <<EOF\n$(touch made.txt)\nEOF", "x=$(touch made.txt) ls", "env touch made.txt",
    "nohup sleep 300 &", "setsid sleep 300", "sleep 300 & disown", "(sleep 300 &)", "python3 -c 'open(\"made.txt\",\"w\")'", "make", "eval touch made.txt",
    "command touch made.txt", "exec touch made.txt", "cd .. && echo x > outside.txt", "cp tariff.py {outside}", "printf x > {outside}",
    "echo x > link.py", "[ -n \"$(touch made.txt)\" ]", "ls >made.txt", "ls 2>made.txt", "ls &>made.txt", "git log >| made.txt", "mkdir -p sub", "ls\ntouch made.txt",
    "timeout 9 ls", "nohup setsid sleep 300 >/dev/null 2>&1 &", "(setsid nohup sleep 300 &) &", "env sleep 300 & ls", "sh -c 'sleep 300 & sleep 300 & ls'",
    "/bin/sleep 300 &", "/usr/bin/env touch made.txt", "exec -a ls sleep 300", "sleep 300 | sleep 300 &", "coproc sleep 300", "n=1; timeout $n touch made.txt",
    "n='1 touch'; timeout 5$n made.txt", "n='1 -o made.txt'; sort -k $n tariff.py", "sed 's/h/x/;e touch made.txt /p' tariff.py", "xxd -ps tariff.py made.txt",
    "git log -M --output=made.txt", "git show -U --output=made.txt", "git shortlog --since -- --output=made.txt HEAD", "xxd -cols=1 -s tariff.py made.txt",
    "uniq *.py", "date -I --set=12:00", "n=-v; [ 1 -a \"$n\" 'a[$(touch made.txt)]' ]", "printf 'a%n' PATH; ls", "ls | xargs -0I ls ls touch",
    "git config user.name x", "git stash", "git fetch", "uniq tariff.py made.txt", "date -s 2020-01-01", "less tariff.py", "xxd tariff.py made.txt", "tree -o made.txt",
]  # fmt: skip
_PATCHES = [
    "*** Begin Patch\n*** Add File: made.txt\n+x\n*** End Patch\n",
    "*** Begin Patch\n*** Delete File: tariff.py\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: tariff.py\n@@\n-    return hours * 3\n+    return hours * 2\n*** End Patch\n",
]
_AIMED = {
    **dict.fromkeys(("path", "from", "to", "cwd"), _PATHS),
    "command": _COMMANDS,
    "patch": _PATCHES,
    "old": ["hours * 3", "", "    return hours * 3\n"],
    "pattern": ["hours", "**/*.py", "(", "--pre=touch"],
    "glob": ["*.py", "--pre=touch"],
    "job": ["job_1"],
}


def values(schema, defs, key=""):
    """What a schema takes, of the key `key`; where something is known of that key, that mostly."""
    if "$ref" in schema:
        return values(defs[schema["$ref"].rpartition("/")[2]], defs, key)
    if "anyOf" in schema:
        return st.one_of([values(one, defs, key) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            return objects(schema, defs)
        case "array":
            most = min(schema.get("maxItems", 3), 3)
            return st.lists(values(schema["items"], defs), max_size=most)
        case "boolean":
            return st.booleans()
        case "integer" | "number":
            return st.integers(schema.get("minimum", 0), min(schema.get("maximum", 5), 5))
        case "null":
            return st.none()
        case _:
            text = st.text(min_size=schema.get("minLength", 0), max_size=8)
            return st.sampled_from(_AIMED[key]) | text if key in _AIMED else text


def objects(schema, defs):
    """Objects of a schema, with all that must be and some of what may be."""
    properties = schema.get("properties", {})
    needed = {key: values(properties[key], defs, key) for key in schema.get("required", [])}
    others = {key: values(one, defs, key) for key, one in properties.items() if key not in needed}
    return st.fixed_dictionaries(needed, optional=others)


CALLS = st.one_of(
    [
        st.builds(lambda given, name=name: {"name": name, "input": given}, values(schema, schema.get("$defs", {})))
        for name, schema in TOOLS
    ]
)  # fmt: skip
AIMED = st.one_of(
    st.builds(lambda c, b: {"name": "run_command", "input": {"command": c, "background": b}}, st.sampled_from(_COMMANDS), st.booleans()),
    st.builds(lambda p: {"name": "apply_patch", "input": {"patch": p}}, st.sampled_from(_PATCHES)),
    st.builds(lambda p: {"name": "write_file", "input": {"path": p, "content": "x\n", "overwrite": True}}, st.sampled_from(_PATHS)),
    st.builds(lambda p: {"name": "delete_file", "input": {"path": p}}, st.sampled_from(_PATHS)),
    st.builds(lambda p, q: {"name": "rename_file", "input": {"from": p, "to": q}}, st.sampled_from(_PATHS), st.sampled_from(_PATHS)),
    st.just({"name": "edit_file", "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"}}),
)  # fmt: skip
STEPS = st.lists(st.lists(CALLS | AIMED, min_size=4, max_size=10), min_size=2, max_size=4)
