"""The recorded model: the answers of an exported session, in their order, as a script.

What the tools give is new each time; only the model says again what it said.
"""

from pathlib import Path
from typing import Any, Literal, cast

from outrider.models.scripted import ScriptProblem
from outrider.store.exported import ExportProblem, read_export
from outrider_protocol.events import Usage, WireProviderData
from outrider_protocol.export import Export
from outrider_protocol.script import (
    CutFault,
    HangFault,
    HttpFault,
    Script,
    ScriptToolCall,
    ScriptTurn,
    StallFault,
)

_STATUS_OF: dict[str, int] = {
    "auth": 401,
    "unknown_model": 404,
    "rate_limit": 429,
    "quota": 402,
    "overloaded": 503,
    "bad_request": 400,
}
"""HTTP status of the failures that came as one."""


def load_recorded(path: Path) -> Script | ScriptProblem:
    """Read a file that `outrider export` wrote, and give its model's answers. Blocks."""
    export = read_export(path)
    return ScriptProblem(export.message) if isinstance(export, ExportProblem) else script_of(export)


def script_of(export: Export) -> Script:
    """The answers of a session's model, call by call, failures and an answer that was cut off by a cancel included."""
    turns: list[ScriptTurn] = []
    purposes: dict[str, list[ScriptTurn]] = {}
    withdrawn = {
        event.data["messageId"]: str(event.data["text"])
        for event in export.events
        if event.type == "model.reset"
    }
    window = 128_000
    for event in export.events:
        data = event.data
        purpose = data.get("purpose", "main")
        of_purpose = turns if purpose == "main" else purposes.setdefault(purpose, [])
        if event.type == "model.requested":
            window = data.get("contextWindow", window)
        elif event.type == "model.responded":
            of_purpose.append(_answer(data))
        elif event.type == "model.failed" and not data["kind"].startswith("script_"):
            of_purpose.append(_failure(data, withdrawn.get(data["messageId"], "")))
    return Script(
        turns=turns,
        purposes={name: given for name, given in purposes.items() if given},
        context_window=window,
    )


def _answer(data: dict[str, Any]) -> ScriptTurn:
    reason: str = data["finishReason"]
    kept = data.get("providerData")
    cut_off = reason == "cancelled"
    finish = cast("Literal['stop', 'tool_calls', 'length', 'refused']", reason)
    return ScriptTurn(
        text=data["text"],
        reasoning=data.get("reasoning"),
        tool_calls=[
            ScriptToolCall(name=call["name"], arguments=call["arguments"], id=call["id"])
            for call in data["toolCalls"]
        ],
        finish_reason=None if cut_off else finish,
        usage=Usage.from_wire(data["usage"]) if "usage" in data else None,
        provider_data=kept and WireProviderData.from_wire(kept),
        fault=HangFault(kind="hang", after=len(data["text"])) if cut_off else None,
    )


def _failure(data: dict[str, Any], shown: str) -> ScriptTurn:
    kind: str = data["kind"]
    if kind in _STATUS_OF:
        return ScriptTurn(fault=HttpFault(kind="http", status=_STATUS_OF[kind], body=data["message"]))
    if kind == "stalled":
        return ScriptTurn(text=shown, fault=StallFault(kind="stall", after=len(shown)))
    return ScriptTurn(text=shown, fault=CutFault(kind="cut", after=len(shown)))
