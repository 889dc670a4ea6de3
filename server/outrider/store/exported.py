"""Exported sessions: which contents their events name, and reading one from a file that anybody may have made.

The file is data of a stranger. Whatever is in it, reading gives an `Export` that holds together, or says what is
wrong and where. Nothing in it is run, opened or looked up.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from outrider.ports.model import FinishReason, Message, Role, content_hash
from outrider.store.texts import texts_named
from outrider_protocol.events import EVENT_TYPES, SessionForked, SessionStarted
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


def contents_named(event_type: str, data: Mapping[str, Any]) -> Iterator[Named]:
    """The contents that an event names, in order.

    Args:
        event_type: Its type.
        data: Its data, of the shape that its type has.
    """
    if event_type == "model.requested":
        for index, digest in enumerate(data["messages"]):
            yield Named(f"messages.{index}", digest, "message")
        yield Named("toolsHash", data["toolsHash"], "tools")
    elif event_type.startswith("context.") or event_type == "budget.exhausted":
        for key in ("given", "messages"):
            for index, digest in enumerate(data.get(key, ())):
                yield Named(f"{key}.{index}", digest, "message")
    elif event_type in {"session.started", "session.restored"} and "toolsHash" in data:
        yield Named("toolsHash", data["toolsHash"], "tools")
    for text in texts_named(event_type, data):
        yield Named(text.place, text.hash, "text")


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
            "" if path.suffix == ".json" or path.name != str(path) else ", and it is no session's id either"
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
        return ExportProblem(f"is no UTF-8 text: byte {error.start + 1} is wrong")
    except RecursionError:
        return ExportProblem("is nested too deeply")
    except ValueError as error:
        return ExportProblem(f"is no JSON: {error}")
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("format") != EXPORT_FORMAT:
        return ExportProblem(f"is no exported session: it does not begin with “format”: “{EXPORT_FORMAT}”")
    version = cast("dict[str, Any]", data).get("version")
    if version != 1:
        return ExportProblem(
            f"version: {_quoted(version)} is not known here, only 1 is; is Outrider too old?"
        )
    try:
        to_jsonable_python(data)
    except (ValueError, RecursionError):
        return ExportProblem("is nested too deeply, or has a key that is no Unicode")
    try:
        export = Export.from_wire(data)
    except ValidationError as error:
        return ExportProblem(_first(error) or "is not of the form of an export")
    return _problem_of_events(export) or _problem_of_contents(export) or export


def _problem_of_events(export: Export) -> ExportProblem | None:
    if not export.events:
        return ExportProblem("events: there are none")
    for index, event in enumerate(export.events):
        if event.seq != index + 1:
            return ExportProblem(f"events.{index}.seq: is {event.seq} where {index + 1} is next")
        if event.session_id != export.session_id:
            return ExportProblem(
                f"events.{index}.sessionId: is {_quoted(event.session_id)}, but the file is of "
                f"{_quoted(export.session_id)}"
            )
        if (event.type in _FIRST) is not (index == 0):
            where = (
                "must be the first event" if index else f"is no first event; one of {', '.join(_FIRST)} is"
            )
            return ExportProblem(f"events.{index}.type: {_quoted(event.type)} {where}")
        if problem := _problem_of_data(event):
            return ExportProblem(f"events.{index}.data.{problem}")
    return _problem_of_times(export.events) or _problem_of_paths(export.events)


def _problem_of_times(events: Sequence[Event]) -> ExportProblem | None:
    for index, event in enumerate(events):
        try:
            moment = datetime.fromisoformat(event.ts)
        except (ValueError, OverflowError):
            return ExportProblem(f"events.{index}.ts: {_quoted(event.ts)} is no time")
        if moment.tzinfo is None:
            return ExportProblem(f"events.{index}.ts: {_quoted(event.ts)} has no time zone")
    return None


def _problem_of_paths(events: Sequence[Event]) -> ExportProblem | None:
    proposed: dict[str, list[str]] = {}
    """The paths of what was proposed, by call."""
    for index, event in enumerate(events):
        call: str = event.data.get("callId", "")
        paths = [event.data[key] for key in ("path", "to") if key in event.data]
        if event.type == "edit.proposed" and call:
            proposed.setdefault(call, []).extend(paths)
        elif event.type == "edit.applying" and paths[0] not in proposed.get(call, paths):
            return ExportProblem(
                f"events.{index}.data.path: is {_quoted(paths[0])}, but "
                f"{', '.join(map(_quoted, dict.fromkeys(proposed[call])))} was proposed"
            )
    return None


def _problem_of_data(event: Event) -> str | None:
    known = EVENT_TYPES.get(event.type)
    if known is None:
        return None
    finished = event.data.get("finishReason", "stop") if event.type == "model.responded" else "stop"
    if finished not in _FINISH_REASONS:
        return f"finishReason: is {_quoted(finished)}; there are {', '.join(_FINISH_REASONS)}"
    if event.type == "turn.parked" and event.data.get("open") == []:
        return "open: is empty, but a turn is parked only where something is open"
    try:
        known.from_wire(event.data)
    except ValidationError as error:
        # A newer program may have more to say.
        first = _first(error, but="extra_forbidden")
        return f"{first} (in {event.type})" if first else None
    return None


def _problem_of_contents(export: Export) -> ExportProblem | None:
    for digest, text in export.contents.items():
        if hash_of(text) != digest:
            return ExportProblem(f"contents.{_plain(digest)}: is not the content with that hash")
    readable: set[tuple[str, Kind]] = set()
    for index, event in enumerate(export.events):
        if event.type not in EVENT_TYPES:
            continue
        for named in contents_named(event.type, event.data):
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


_FIRST = (SessionStarted.TYPE, SessionForked.TYPE)
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
    raise ValueError(f"{name} is no number of JSON")
