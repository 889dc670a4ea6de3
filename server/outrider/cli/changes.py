"""The command `changes`: what a session changed, as a list or as a patch."""

import json
from pathlib import Path
from typing import Any, cast

import outrider_protocol as names
from outrider.cli.exits import ExitCode
from outrider.cli.export import hand_over
from outrider.cli.look import RefusedError, server_of
from outrider.cli.problems import Problems
from outrider.cli.terminal import one_line, visible

Object = dict[str, Any]


async def changes(
    workspace: Path,
    options: Object,
    session_id: str | None,
    target: Path | None,
    *,
    patch: bool,
    force: bool,
    as_json: bool = False,
) -> ExitCode:
    """Write what a session changed to `target`, or to standard output: as a list, a patch, or the JSON of either."""
    problems = Problems()
    params: Object = {"format": "patch" if patch else "list"}
    if session_id is not None:
        params["sessionId"] = session_id
    try:
        async with server_of(
            workspace, options | {"events": False}, problems, what="looking at the files"
        ) as client:
            given = await client.command(names.CHANGES, params, seconds=None)
            listed = (
                given
                if not patch
                else await client.command(names.CHANGES, {"sessionId": given["sessionId"]}, seconds=None)
            )
    except RefusedError as refused:
        return refused.code
    if as_json:
        content = json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        done = await hand_over(content, target, problems, force=force)
        return ExitCode.COMPLETED if done else ExitCode.FAILED
    text = str(given["patch"]) if patch else listed_changes(given)
    left_out = cast("list[Object]", given.get("leftOut", []))
    for one in left_out:
        problems.note(f"not in the patch: {one_line(one['path'])}: {one['reason']}")
    if not text and not left_out:
        problems.note(_nothing(listed))
    content = text.encode("utf-8", "surrogatepass")
    done = await hand_over(content, target, problems, force=force)
    return ExitCode.COMPLETED if done else ExitCode.FAILED


def _nothing(listed: Object) -> str:
    """Why there is nothing to hand over."""
    if listed["changes"]:
        return f"no change of session {listed['sessionId']} is left in the files"
    return f"session {listed['sessionId']} has no changes"


def listed_changes(given: Object) -> str:
    """The changes under the turns, steps and calls that made them: ids are whole, whatever the width."""
    lines: list[str] = []
    turn = step = call = None
    for change in cast("list[Object]", given["changes"]):
        if change.get("turnId") != turn:
            turn, step = change.get("turnId"), None
            lines.append(f"turn {turn}")
        if change["step"] != step:  # the id of a call takes back its step, so the calls of one stand below it
            step, call = change["step"], None
            lines.append(f"  step {step}")
        if change.get("callId") != call:
            call = change.get("callId")
            lines.append(f"    {call}")
        path = one_line(f"{change['path']} → {change['to']}" if "to" in change else str(change["path"]))
        state = change.get("state", "")
        reason = visible(change.get("reason", ""))
        lines.append(_row(6, change["changeId"], change["operation"], path, state, reason))
        for hunk in cast("list[Object]", change["hunks"]):
            removed, added = (len(str(hunk[key]).splitlines()) for key in ("removed", "added"))
            lines.append(_row(8, hunk["id"], f"+{added} −{removed}", f"line {hunk['line']}", hunk["state"]))
    lasting = cast("list[Object]", given.get("notUndoable", []))
    lines += [_row(0, "not undoable", one_line(one["what"]), visible(one["reason"])) for one in lasting]
    return "".join(f"{line}\n" for line in lines)


def _row(indent: int, *cells: str) -> str:
    return " " * indent + "  ".join(cell for cell in cells if cell)
