"""What MCP servers want of the user in the middle of a call: one open item each, answered in any front end, after a restart too.

A server of the newer revision gets the answers together with the state that it gave; the call of an older one is made again, which the
user allows by answering, and what it asks in the same words is answered already.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import urlsplit

from outrider.agent.context.budget import Budget
from outrider.agent.interaction.inbox import Inbox, Question
from outrider.agent.services import Runtime
from outrider.agent.state.record import Record
from outrider.mcp.results import Answer, Field, Wanted
from outrider.ports.model import ToolCall
from outrider.ports.text import spelled_out
from outrider.tools.context import Log, ToolResult
from outrider_protocol import ACCEPT, DECLINE, OPEN_PAGE
from outrider_protocol.events import InputField, InputWanted

TIMES_ASKED: Final = 3
"""How often a value that does not fit is asked for again."""
_YES: Final = {
    "true": True,
    "yes": True,
    "ja": True,
    "1": True,
    "false": False,
    "no": False,
    "nein": False,
    "0": False,
}
_AGAIN: Final = "Outrider was restarted. An answer makes the call again from its beginning, where the server cannot go on with it."


@dataclass(frozen=True, slots=True)
class Before:
    """What came of a call's questions before a restart."""

    state: str | None
    answers: Mapping[str, Answer] = field(default_factory=dict[str, Answer])


class ServerQuestions:
    """The questions of servers in one turn."""

    def __init__(self, runtime: Runtime, record: Record, log: Log, inbox: Inbox, budget: Budget) -> None:
        self._runtime = runtime
        self._record = record
        self._log = log
        self._inbox = inbox
        self._budget = budget
        self._asked: dict[str, dict[str, tuple[Wanted, Answer]]] = {}

    def before(self, call: ToolCall) -> Before | None:
        """What the server gets back that asked before a restart; None where it did not."""
        known = self._asked.get(call.id)
        wanted = self._wanted(call)
        if known is None or wanted is None or "state" not in wanted:
            return None
        return Before(wanted["state"], {key: answer for key, (_, answer) in known.items()})

    async def ask_again(self, call: ToolCall) -> ToolResult | None:
        """Ask what was open when the process ended; a result means that the call is not made again."""
        wanted = self._wanted(call)
        turn = self._record.state.turn
        known = turn.calls.get(call.id) if turn else None
        if wanted is None or known is None or not known.started or call.id in self._asked:
            return None
        found = self._asked.setdefault(call.id, {})
        for key, title in zip(wanted["keys"], wanted["questions"], strict=True):
            item = next(
                (
                    one
                    for one in self._record.state.open.values()
                    if one.call_id == call.id and one.title == title
                ),
                None,
            )
            if item is not None:
                fields = [_field_of(one) for one in item.fields or ()]
                asking = Wanted(key, title, tuple(fields), item.url or "")
                found[key] = asking, await self._answer(call, asking, title, _AGAIN)
            elif (said := known.inputs.get(title)) is not None:
                found[key] = Wanted(key, title), _read_answer(said)
        if any(answer.action != "accept" for _, answer in found.values()) and "state" not in wanted:
            return ToolResult(
                "interrupted",
                "The server stopped while the tool asked the user, who declined. What the tool had done is unknown.",
            )
        return None

    async def ask(
        self, call: ToolCall, server: str, wanted: Sequence[Wanted], state: str | None
    ) -> Sequence[Answer]:
        """Ask the user for what a server wants, one after the other."""
        titles = [self._inbox.as_shown(f"The MCP server {server} asks: {one.message}") for one in wanted]
        self._log.record(
            InputWanted(
                call_id=call.id,
                server=server,
                questions=titles,
                keys=[one.key for one in wanted],
                state=state,
            )
        )
        earlier = {
            title: answer for one, answer in self._asked.get(call.id, {}).values() if (title := one.message)
        }
        return [
            earlier.pop(title, None) or await self._answer(call, one, title, "")
            for one, title in zip(wanted, titles, strict=True)
        ]

    async def _answer(self, call: ToolCall, wanted: Wanted, title: str, note: str) -> Answer:
        """One answer; values that do not fit are asked for again."""
        question = title
        for _ in range(TIMES_ASKED):
            said = await self._said(call, wanted, question, note)
            if said == DECLINE:
                return Answer("decline")
            if wanted.url:
                return (
                    Answer("accept")
                    if said == OPEN_PAGE and await self._open(wanted.url)
                    else Answer("cancel")
                )
            values = read_values(wanted.fields, said)
            if not isinstance(values, str):
                return Answer("accept", values)
            question = f"{title} ({values})"
        return Answer("cancel")

    async def _said(self, call: ToolCall, wanted: Wanted, question: str, note: str) -> str:
        with self._budget.held():
            asking = Question(
                question,
                _options(wanted),
                bool(wanted.fields),
                "\n".join(part for part in (_detail(wanted), note) if part),
                [_on_wire(one) for one in wanted.fields],
                wanted.url or None,
            )
            item, seconds = self._log.new_id("open"), self._budget.limits.ask_seconds
            return await self._inbox.ask(item, self._log.turn_id, call.id, asking, seconds)

    async def _open(self, url: str) -> bool:
        """Open a page that the user said yes to; where the editor cannot, they are told its address."""
        if urlsplit(url).scheme not in {"https", "http"}:
            return False
        if not await self._runtime.editor.show(url, take_focus=True, external=True):
            self._runtime.editor.say("info", f"Outrider: open this page in your browser: {url}")
        return True

    def _wanted(self, call: ToolCall) -> Any:
        turn = self._record.state.turn
        known = turn.calls.get(call.id) if turn else None
        return known.wanted if known is not None else None


def _options(wanted: Wanted) -> list[str]:
    if wanted.url:
        return [OPEN_PAGE, DECLINE]
    if not wanted.fields:
        return [ACCEPT, DECLINE]
    (first, *others) = wanted.fields
    if not others and first.kind == "boolean":
        return ["Yes", "No", DECLINE]
    if not others and first.kind == "choice":
        return [*(title for _, title in first.options[:10]), DECLINE]
    return [*([] if any(one.required for one in wanted.fields) else [ACCEPT]), DECLINE]


def _detail(wanted: Wanted) -> str:
    if wanted.url:
        try:
            host = urlsplit(wanted.url).hostname or ""
        except ValueError:
            host = ""
        return (
            f"{spelled_out(wanted.url)}\nThe page is of {spelled_out(host)}. Check that before you open it."
        )
    lines = [_described(one) for one in wanted.fields]
    if len(wanted.fields) > 1:
        lines.append("Write one `name: value` a line. Do not enter passwords or keys.")
    return "\n".join(lines)


def _described(one: Field) -> str:
    kind = {"choice": "one of", "choices": "some of"}.get(one.kind, one.kind)
    values = f" {', '.join(value for value, _ in one.options)}" if one.options else ""
    title = f", {one.title}" if one.title != one.name else ""
    about = f": {one.description}" if one.description else ""
    return f"{one.name}{title} ({'needed' if one.required else 'optional'}, {kind}{values}){about}"


def read_values(fields: Sequence[Field], said: str) -> dict[str, Any] | str:
    """The values in an answer; a text says what does not fit. Pure."""
    if said in {ACCEPT, ""} or not fields:
        given: dict[str, Any] = {}
    elif (found := _object(said)) is not None:
        given = found
    elif len(fields) == 1:
        given = {fields[0].name: said}
    else:
        pairs = (line.partition(":") for line in said.splitlines())
        given = {key.strip(): value.strip() for key, colon, value in pairs if colon}
    values: dict[str, Any] = {}
    for one in fields:
        if one.name not in given or given[one.name] == "":
            if one.required:
                return f"{one.name} is needed"
            continue
        value = _value(one, given[one.name])
        if value is None:
            return (
                f"{one.name} does not fit: it must be {_described(one).partition('(')[2].partition(')')[0]}"
            )
        values[one.name] = value
    return values


def _object(said: str) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        found: Any = json.loads(said)
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    return None


def _value(one: Field, given: Any) -> Any:
    """A value of the kind that is wanted; None where it is none."""
    match one.kind:
        case "boolean":
            return given if isinstance(given, bool) else _YES.get(str(given).strip().casefold())
        case "integer" | "number":
            try:
                number = float(given)
            except (TypeError, ValueError):
                return None
            low, high = one.schema.get("minimum", number), one.schema.get("maximum", number)
            if not low <= number <= high or (one.kind == "integer" and number != int(number)):
                return None
            return int(number) if one.kind == "integer" else number
        case "choice":
            return _chosen(one, str(given))
        case "choices":
            parts = cast("list[Any]", given) if isinstance(given, list) else str(given).split(",")
            chosen = [_chosen(one, str(part).strip()) for part in parts]
            return None if None in chosen else chosen
        case "text":
            text = str(given)
            shortest, longest = one.schema.get("minLength", 0), one.schema.get("maxLength", len(text))
            return text if shortest <= len(text) <= longest else None


def _chosen(one: Field, said: str) -> str | None:
    return next((value for value, title in one.options if said in {value, title}), None)


def _on_wire(one: Field) -> InputField:
    titles = [title for _, title in one.options]
    values = [value for value, _ in one.options]
    return InputField(
        name=one.name,
        title=one.title,
        description=one.description or None,
        kind=one.kind,
        required=one.required,
        options=values or None,
        titles=titles if titles != values else None,
    )


def _field_of(one: InputField) -> Field:
    options = tuple(zip(one.options or (), one.titles or one.options or (), strict=False))
    return Field(one.name, one.title, one.description or "", one.kind, one.required, options)


def _read_answer(said: str) -> Answer:
    """What an answer that was given before a restart says, as far as it tells by itself."""
    if said == DECLINE:
        return Answer("decline")
    return Answer("accept", _object(said) or {})
