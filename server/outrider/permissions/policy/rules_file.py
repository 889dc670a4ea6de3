"""A file of rules, as a user reads and edits it: TOML, one `[[rule]]` after the other."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from outrider.permissions.policy.own_file import MOST_BYTES
from outrider.permissions.policy.rules import Rule, problem_of
from outrider.ports.toml import read_toml

HEADING: Final = (
    "# What Outrider may do without asking, and what it may not. Delete a rule here to remove it.\n"
    "# Deny beats ask, ask beats allow."
)
_KEYS: Final[Mapping[str, type]] = {
    "decision": str, "tool": str, "command": str, "exact": bool, "script": str, "path": str, "host": str, "workspace": str, "origin": str,
    "added": datetime, "expires": datetime, "hits": int,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RulesFile:
    """What a file of rules says."""

    path: Path
    rules: tuple[Rule, ...] = ()
    problem: str | None = None
    """Why it cannot be read: then nobody knows what is forbidden."""
    messages: tuple[str, ...] = ()
    """What has to be said about single rules, which do not count."""


def read_rules(path: Path, *, may_allow: bool, workspace: str | None = None) -> RulesFile:
    """Read a file of rules; one that is not there has none. Blocks.

    Args:
        path: The file.
        may_allow: Whether its rules may widen: those of a workspace may not.
        workspace: The folder whose own rules they are.
    """
    try:
        if path.exists() and (not path.is_file() or path.stat().st_size > MOST_BYTES):
            return RulesFile(path, problem=f"{path} is not a rules file")
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return RulesFile(path)
    except (OSError, UnicodeDecodeError) as error:
        return RulesFile(path, problem=f"{path} cannot be read: {error}")
    return parse_rules(path, text, may_allow=may_allow, workspace=workspace)


def parse_rules(path: Path, text: str, *, may_allow: bool, workspace: str | None = None) -> RulesFile:
    """The rules that stand in a text."""
    try:
        values = read_toml(text)
    except (ValueError, RecursionError) as error:  # it descends into lists and tables
        place = re.search(r"at line (\d+)", str(error))
        line = int(place[1]) if place else text.count("\n") + 1
        return RulesFile(path, problem=f"{path}, line {line}: {error}")
    lines = [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if re.match(r"\s*\[\[\s*rule\s*\]\]", line)
    ]
    given = values.pop("rule", [])
    if values or not isinstance(given, list):
        key = next(iter(values), "rule")
        return RulesFile(path, problem=f"{path}, line {_line_of(text, key)}: expected [[rule]], got {key!r}")
    rules: list[Rule] = []
    messages: list[str] = []
    for number, value in enumerate(cast("list[Any]", given)):
        place = f"{path}, line {lines[number] if number < len(lines) else 1}"
        rule = _rule(value, workspace)
        if isinstance(rule, str):
            start = lines[number] if number < len(lines) else 1
            return RulesFile(path, problem=f"{path}, line {_line_within(text, start, rule)}: {rule}")
        if rule.decision == "allow" and not may_allow:
            messages.append(f"{place}: a workspace cannot allow anything; “{rule.text}” is ignored")
        elif problem := problem_of(rule):
            if rule.decision != "allow":
                return RulesFile(path, problem=f"{place}: {problem}")
            messages.append(f"{place}: “{rule.text}” is ignored: {problem}")
        else:
            rules.append(rule)
    return RulesFile(path, tuple(rules), messages=tuple(messages))


def _line_of(text: str, key: str) -> int:
    for number, line in enumerate(text.splitlines(), start=1):
        rest = line.lstrip(" \t['\"")
        if rest.startswith(key) and not rest.removeprefix(key)[:1].isalnum():
            return number
    return 1


def _names(problem: str, key: str) -> bool:
    return (
        problem.startswith((f"{key}'", f"{key} must ")) or f"'{key}'" in problem or f"'{key} must " in problem
    )


def _line_within(text: str, start: int, problem: str) -> int:
    """The line of a rule in which the key stands that its problem names; its first one where none does."""
    for number, line in enumerate(text.splitlines()[start:], start=start + 1):
        if re.match(r"\s*\[", line):
            break
        key = re.match(r"\s*['\"]?([\w-]+)['\"]?\s*=", line)
        if key and _names(problem, key[1]):
            return number
    return start


def _rule(value: Any, workspace: str | None) -> Rule | str:
    if not isinstance(value, Mapping):
        return "a rule must be a table"
    given = cast("Mapping[str, Any]", value)
    for key, one in given.items():
        wanted = _KEYS.get(key)
        if wanted is None:
            return f"there is no key {key!r} in a rule"
        if not isinstance(one, wanted) or (wanted is int and isinstance(one, bool)):
            return f"{key} must be {_WORDS[wanted]}"
    decision, tool = given.get("decision"), given.get("tool")
    if decision not in {"allow", "ask", "deny"}:
        return "decision must be allow, ask or deny"
    if not tool:
        return "tool is missing"
    if workspace is None and (named := given.get("workspace")) is not None and not named.startswith("/"):
        return "workspace must be an absolute path"
    return Rule(
        decision=decision,
        tool=tool,
        command=given.get("command"),
        is_exact=given.get("exact", False),
        script=given.get("script"),
        path=given.get("path"),
        host=given.get("host"),
        workspace=workspace or given.get("workspace"),
        origin="workspace" if workspace else given.get("origin", "person"),
        added=_time(given.get("added")),
        expires=_time(given.get("expires")),
        hits=given.get("hits", 0),
    )


_WORDS: Final = {str: "a text", bool: "true or false", datetime: "a date with a time", int: "a number"}


def _time(value: datetime | None) -> datetime | None:
    # A time without a zone is the machine's own.
    return value.astimezone(UTC) if value is not None else None


def with_rules(text: str, rules: Sequence[Rule]) -> str:
    """The text of a file with further rules at its end; what stands there stays."""
    import tomlkit

    blocks = [text.rstrip() or HEADING]
    for rule in rules:
        table = tomlkit.table()
        for key, value in _values(rule).items():
            table.add(key, value)
        blocks.append(f"[[rule]]\n{table.as_string().strip()}")
    return "\n\n".join(blocks) + "\n"


def _values(rule: Rule) -> dict[str, Any]:
    values: dict[str, Any] = {
        "decision": rule.decision,
        "tool": rule.tool,
        "command": rule.command,
        "exact": True if rule.is_exact else None,
        "script": rule.script,
        "path": rule.path,
        "host": rule.host,
        "workspace": rule.workspace,
        "origin": rule.origin,
        "added": rule.added.replace(microsecond=0) if rule.added else None,
        "expires": rule.expires,
        "hits": rule.hits,
    }
    return {key: value for key, value in values.items() if value is not None}


def without_rule(text: str, rule_id: str) -> str | None:
    """The text of a file without a rule; None where it is not in it."""
    return _changed(text, {rule_id}, None)


def with_hits(text: str, hits: Mapping[str, int]) -> str:
    """The text of a file in which rules have decided that many times more."""

    def count(table: Any, rule: Rule) -> None:
        table["hits"] = rule.hits + hits[rule.id]

    return _changed(text, set(hits), count) or text


def with_ends(text: str, ends: Mapping[str, datetime | None]) -> str:
    """The text of a file in which rules hold until then, or for good."""

    def end(table: Any, rule: Rule) -> None:
        if (until := ends[rule.id]) is not None:
            table["expires"] = until
        else:
            table.pop("expires", None)

    return _changed(text, set(ends), end) or text


def _changed(text: str, ids: set[str], change: Callable[[Any, Rule], None] | None) -> str | None:
    """The text with those rules changed, or taken out; None where none of them is in it."""
    import tomlkit

    document: Any = tomlkit.parse(text)
    tables: Any = document.get("rule", [])
    found = False
    for number in reversed(range(len(tables))):
        rule = _rule(tables[number].unwrap(), None)
        if isinstance(rule, str) or rule.id not in ids:
            continue
        found = True
        if change is None:
            del tables[number]
        else:
            change(tables[number], rule)
    if found and not tables:  # an empty list in one line could not be added to
        del document["rule"]
    return tomlkit.dumps(document) if found else None
