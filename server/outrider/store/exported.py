"""Exported sessions: which contents their events name, and reading one from a file that anybody may have made.

The file is data of a stranger. Whatever is in it, reading gives an `Export` that holds together, or says what is
wrong and where. Nothing in it is run, opened or looked up.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from outrider.ports.events import LoggedEvent, from_old_log
from outrider.ports.model import FinishReason, Message, Role, content_hash
from outrider.store.blobs import texts_named
from outrider_protocol.events import EVENT_TYPES, SessionStarted
from outrider_protocol.export import EXPORT_FORMAT, Export
from outrider_protocol.notifications import Event

MOST_BYTES = 256 * 1024 * 1024
"""Size of the largest file that is read; no larger answer of the server is believed either."""
MOST_QUOTED = 80
"""Characters of the file that an error quotes."""

Kind = Literal["message", "tools", "text"]


@dataclass(frozen=True, slots=True)
class ExportProblem:
    """Why a file is no exported session. `message` says which file, where in it, and what is wrong."""

    message: str


@dataclass(frozen=True, slots=True)
class Named:
    """A content that an event names."""

    place: str
    """Where in the event's data, such as `messages.3`."""
    hash: str
    kind: Kind


def contents_named(event: LoggedEvent) -> Iterator[Named]:
    """The contents that an event names, in order."""
    match event.type:
        case "model.requested":
            messages = event.data["messages"]
            place, named = ("", messages) if isinstance(messages, list) else (".added", messages["added"])
            yield from _messages_at(f"messages{place}", named)
            yield Named("toolsHash", event.data["toolsHash"], "tools")
        case "context.compacted" | "context.pruned" | "budget.exhausted":
            yield from _messages_at("messages", event.data.get("messages", ()))
        case "conversation.restored":
            yield from _messages_at("messages", event.data["messages"])
        case "context.trimmed":
            yield from _messages_at("given", event.data["given"])
            yield from _messages_at("messages", event.data["messages"])
        case "session.started" | "session.restored" if "toolsHash" in event.data:
            yield Named("toolsHash", event.data["toolsHash"], "tools")
        case _:
            pass
    for text in texts_named(event):
        yield Named(text.place, text.hash, "text")


def _messages_at(place: str, digests: Sequence[str]) -> Iterator[Named]:
    for index, digest in enumerate(digests):
        yield Named(f"{place}.{index}", digest, "message")


def events_of(export: Export) -> list[LoggedEvent]:
    """The events of an export, as readers of a log have them."""
    return [
        from_old_log(one.seq, one.ts, one.session_id, one.turn_id, one.type, one.data)
        for one in export.events
    ]


def encode_content(text: str) -> bytes:
    """A content as it is stored and hashed."""
    return text.encode("utf-8", "surrogatepass")


def hash_of(text: str) -> str:
    """The content hash of a text."""
    return content_hash(encode_content(text))


def decode_content(content: bytes) -> str:
    """A stored content as a text."""
    return content.decode("utf-8", "surrogatepass")


def read_export(path: Path) -> Export | ExportProblem:
    """Read an exported session from a file, and check that it is whole. Blocks.

    Checked are its size, its form, the numbers and times of the events, the data of the events that are known (keys
    that are not are let be, and so are events of other types), and each content against its hash.

    Args:
        path: The file.
    """
    try:
        if path.is_dir():
            return ExportProblem(f"{path}: is a folder")
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        id_or_file = (
            ""
            if path.suffix == ".json" or path.name != str(path)
            else ", and it is not the id of a session either"
        )
        return ExportProblem(f"there is no file {path}{id_or_file}")
    except OSError as error:
        return ExportProblem(f"{path}: cannot be read: {error.strerror or error}")
    if len(raw) > MOST_BYTES:
        return ExportProblem(f"{path}: is larger than {MOST_BYTES // 2**20} MiB")
    read = parse_export(raw)
    return ExportProblem(f"{path}: {read.message}") if isinstance(read, ExportProblem) else read


def parse_export(raw: bytes) -> Export | ExportProblem:
    """Read an exported session from the bytes of a file; see `read_export`."""
    try:
        data = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return ExportProblem(f"is not UTF-8 text: byte {error.start + 1} is wrong")
    except RecursionError:
        return ExportProblem("is nested too deeply")
    except ValueError as error:
        return ExportProblem(f"is not JSON: {error}")
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("format") != EXPORT_FORMAT:
        return ExportProblem(
            f"is not an exported session: it does not begin with “format”: “{EXPORT_FORMAT}”"
        )
    version = cast("dict[str, Any]", data).get("version")
    if version != 1:
        return ExportProblem(
            f"version: {_quoted(version)} is unknown (only 1 is known); is Outrider too old?"
        )
    try:
        to_jsonable_python(data)
    except (ValueError, RecursionError):
        return ExportProblem("is nested too deeply, or has a key with invalid Unicode")
    try:
        export = Export.from_wire(data)
    except ValidationError as error:
        return ExportProblem(_first(error) or "does not have the form of an export")
    return check_export(export) or export


def check_export(export: Export) -> ExportProblem | None:
    """Why an exported session of the right form is not whole, or not one that a program could have written; None: it is."""
    return _problem_of_events(export) or _problem_of_contents(export)


def _problem_of_events(export: Export) -> ExportProblem | None:
    if not export.events:
        return ExportProblem("events: there are none")
    for index, event in enumerate(events_of(export)):
        if event.seq != index + 1:
            return ExportProblem(f"events.{index}.seq: is {event.seq}, expected {index + 1}")
        if event.session_id != export.session_id:
            return ExportProblem(
                f"events.{index}.sessionId: is {_quoted(event.session_id)}, but the file is of "
                f"{_quoted(export.session_id)}"
            )
        if (event.type == _FIRST) is not (index == 0):
            where = "must be the first event" if index else f"is not a first event; expected {_FIRST}"
            return ExportProblem(f"events.{index}.type: {_quoted(event.type)} {where}")
        if problem := problem_of_data(event):
            return ExportProblem(f"events.{index}.data.{problem}")
    return _problem_of_times(export.events) or _problem_of_paths(export) or _problem_of_messages(export)


def _problem_of_messages(export: Export) -> ExportProblem | None:
    """Whether each request goes on from the event that named the conversation last."""
    latest = 0
    for index, event in enumerate(events_of(export)):
        match event.type:
            case "model.requested":
                messages, is_main = event.data["messages"], event.data["purpose"] == "main"
            case "context.compacted" | "context.pruned" | "context.trimmed" if "messages" in event.data:
                messages, is_main = event.data["messages"], True
            case "conversation.restored":
                messages, is_main = event.data["messages"], True
            case _:
                continue
        if not isinstance(messages, list) and messages["after"] != latest:
            named = f"event {latest} named messages last" if latest else "no event named messages before"
            return ExportProblem(f"events.{index}.data.messages.after: is {messages['after']}, but {named}")
        if is_main:
            latest = event.seq
    return None


def _problem_of_times(events: Sequence[Event]) -> ExportProblem | None:
    for index, event in enumerate(events):
        try:
            moment = datetime.fromisoformat(event.ts)
        except (ValueError, OverflowError):
            return ExportProblem(f"events.{index}.ts: {_quoted(event.ts)} is not a time")
        if moment.tzinfo is None:
            return ExportProblem(f"events.{index}.ts: {_quoted(event.ts)} has no time zone")
    return None


def _problem_of_paths(export: Export) -> ExportProblem | None:
    proposed: dict[str, list[str]] = {}
    """The paths of what was proposed, by call."""
    for index, event in enumerate(events_of(export)):
        match event.type:
            case "edit.proposed" if "callId" in event.data:
                paths = [event.data["path"], *([event.data["to"]] if "to" in event.data else [])]
                proposed.setdefault(event.data["callId"], []).extend(paths)
            case "edit.applying" if known := proposed.get(event.data.get("callId", "")):
                if event.data["path"] not in known:
                    return ExportProblem(
                        f"events.{index}.data.path: is {_quoted(event.data['path'])}, but "
                        f"{', '.join(map(_quoted, dict.fromkeys(known)))} was proposed"
                    )
            case _:
                pass
    return None


def problem_of_data(event: LoggedEvent) -> str | None:
    """What of an event's data is not as its type says, with its place; None for nothing, and for an unknown type."""
    known = EVENT_TYPES.get(event.type)
    if known is None:
        return None
    try:
        known.from_wire(event.data)
    except ValidationError as error:
        # A newer program may have more to say.
        if first := _first(error, but="extra_forbidden"):
            return f"{first} (in {event.type})"
    if event.type == "model.responded" and (finished := event.data["finishReason"]) not in _FINISH_REASONS:
        return f"finishReason: is {_quoted(finished)}; there are {', '.join(_FINISH_REASONS)}"
    if event.type == "turn.parked" and not event.data["open"]:
        return "open: is empty, but a parked turn needs an open item"
    return None


def _problem_of_contents(export: Export) -> ExportProblem | None:
    for digest, text in export.contents.items():
        if hash_of(text) != digest:
            return ExportProblem(f"contents.{_plain(digest)}: is not the content with that hash")
    readable: set[tuple[str, Kind]] = set()
    for index, event in enumerate(events_of(export)):
        for named in contents_named(event):
            if (named.hash, named.kind) in readable:
                continue
            text = export.contents.get(named.hash)
            if text is None:
                return ExportProblem(
                    f"events.{index}.data.{named.place}: the content {_quoted(named.hash)} is not in the file"
                )
            if not _is_of_kind(text, named.kind):
                return ExportProblem(f"contents.{named.hash}: is not readable as {_KINDS[named.kind]}")
            readable.add((named.hash, named.kind))
    return None


_FIRST = SessionStarted.TYPE
_ROLES = get_args(Role)
_FINISH_REASONS = (*get_args(FinishReason), "cancelled")
_KINDS: dict[Kind, str] = {"message": "a message", "tools": "definitions of tools", "text": "a text"}


def _is_of_kind(text: str, kind: Kind) -> bool:
    try:
        match kind:
            case "message":
                return _is_message(Message.decode(encode_content(text)))
            case "tools":
                tools: Any = json.loads(text)
                to_jsonable_python(tools)
                return isinstance(tools, list) and all(map(_is_tool, cast("list[Any]", tools)))
            case "text":
                return True
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False


def _is_message(message: Message) -> bool:
    texts: list[Any] = [message.text]
    for call in message.tool_calls:
        texts += [call.id, call.name, call.arguments]
    texts += [text for text in (message.tool_call_id, message.reasoning) if text is not None]
    if message.provider_data is not None:
        texts += [message.provider_data.model, message.provider_data.blocks]
    texts += [text for part in message.parts for text in (part.kind, part.name) if text is not None]
    texts += [text for image in message.images for text in (image.name, image.hash, image.media_type)]
    numbers: list[Any] = [n for image in message.images for n in (image.width, image.height, image.size)]
    if not all(isinstance(number, int) for number in numbers):
        return False
    return message.role in _ROLES and all(isinstance(text, str) for text in texts)


def _is_tool(tool: Any) -> bool:
    if not isinstance(tool, dict):
        return False
    fields = cast("dict[str, Any]", tool)
    texts = (fields.get("name"), fields.get("description"))
    return all(isinstance(text, str) for text in texts) and isinstance(fields.get("schema"), dict)


def _first(error: ValidationError, but: str = "") -> str | None:
    """The first place that is wrong, and how; wrongs of the type `but` do not count."""
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        if one["type"] != but:
            place = ".".join(_plain(str(part)) for part in one["loc"])
            said = "there is no such key" if one["type"] == "extra_forbidden" else one["msg"]
            return f"{place}: {said.removeprefix('Value error, ')}"
    return None


def _quoted(value: Any) -> str:
    return f"“{_plain(value if isinstance(value, str) else json.dumps(value))}”"


def _plain(text: str) -> str:
    """A text of the file, short and printable."""
    shown = ascii(text[:MOST_QUOTED])[1:-1]
    return f"{shown}…" if len(text) > MOST_QUOTED else shown


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
