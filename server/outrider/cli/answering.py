"""What is told of who answers: which model was chosen and why, further attempts, another model, calls as text.

Plain texts of one event each; whoever shows them makes visible what hides in them.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

_WHY: Final = {
    "first_step": "the first step",
    "after_reasoning": "the step before was only thought",
    "step": "a step",
    "side_task": "no step",
}


def again(data: Mapping[str, Any]) -> str:
    """Of a `model.retried`: who is asked once more, and after what wait."""
    wait = f" in {data['wait']:g} s" if data.get("wait") else ""
    return f"asking {data.get('model')} again{wait} ({data.get('reason')})"


def instead(data: Mapping[str, Any]) -> str:
    """Of a `model.fellBack`: who is asked now."""
    return f"going on with {data.get('to')} ({data.get('reason')})"


def switched(data: Mapping[str, Any]) -> str:
    """Of a `model.switched`: why calls are text, and how they are written."""
    why = "writes calls that were not read" if data.get("reason") == "unread_calls" else "takes no tools"
    return f"{data.get('model')} {why}: its calls are text from here on ({data.get('toolFormat')})"


def chosen(data: Mapping[str, Any]) -> str:
    """Of a `model.routed`: who answers."""
    return f"{data.get('model')} ({_tier(data)})"


def choice(data: Mapping[str, Any]) -> str:
    """Of a `model.routed`: all that decided, a line for each model that there was."""
    why, wanted = _WHY.get(str(data.get("reason")), data.get("reason")), data.get("wanted")
    room = f"about {data.get('tokens')} of {data.get('contextWindow')} tokens"
    lines = [f"wanted: {wanted} ({why}); {room}; decided by {data.get('by')}", f"asked: {chosen(data)}"]
    if others := data.get("others"):
        lines.append(f"after it: {', '.join(map(str, others))}")
    return "\n".join(
        [*lines, *map(_candidate, cast("list[Mapping[str, Any]]", data.get("candidates") or []))]
    )


def _candidate(one: Mapping[str, Any]) -> str:
    told = [
        _tier(one),
        f"left out: {one['leftOut']}" if one.get("leftOut") else "",
        "price unknown" if one.get("price") is None else f"about {one['price']:.4f}",
        "" if one.get("score") is None else f"score {one['score']:g}",
    ]
    return f"- {one.get('model')}: {', '.join(part for part in told if part)}"


def _tier(data: Mapping[str, Any]) -> str:
    return f"tier {data['tier']}" if data.get("tier") else "`model` of the settings"
