"""A session in one file: its events and every content they name, without what must not leave the machine.

Contents are hashed again after something was taken out of them, and the events name them by their new hashes. So
a message put together from what the export says has the hash that the export names.
"""

import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final, cast

from outrider.agent.masking import keys_in_headers, masking_for
from outrider.agent.services import Services
from outrider.agent.session.session import Refused
from outrider.agent.state.state import SessionState
from outrider.permissions.secrets.redaction import Private, Redaction, json_strings
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.permissions.secrets.secret_forms import SHORTEST_KEY
from outrider.ports.events import LoggedEvent
from outrider.ports.model import Message, Part, ProviderData, ToolCall
from outrider.processes.environment import holds_key
from outrider.store.blobs import texts_named
from outrider.store.exported import Kind, contents_named, decode_content, encode_content, hash_of
from outrider.store.problem import StoreReadError
from outrider.workspace.paths import folders_of
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event

MOST_BYTES = 128 * 1024 * 1024
"""Of all contents together: more would not fit into one answer, escaped."""

_JSON_TEXTS = frozenset({"arguments", "blocks"})
"""Keys whose value is JSON as a text."""

Contents = Mapping[tuple[str, Kind], str]
"""Texts by their hash and by what they are where they are named: the same text may be two things."""


async def export_session(services: Services, session_id: str) -> Export | Refused:
    """Put a session of the log into one file, whoever runs it. It only reads.

    Args:
        services: The house.
        session_id: The session.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    events = await services.runtime.store.events(session_id)
    if not events:
        return Refused("unknown_id", f"there is no session {session_id!r}")
    wanted: dict[tuple[str, Kind], None] = {
        (one.hash, one.kind): None for event in events for one in contents_named(event)
    }
    blobs = await services.runtime.store.blobs(digest for digest, _ in wanted)
    for digest, kind in wanted:
        if digest not in blobs:
            problem = f"session {session_id} cannot be exported: a {kind}, {digest}, is missing from the log"
            if kind == "text":
                problem += "; texts of old sessions are deleted after a time"
            return Refused("store_failed", problem)
    if sum(map(len, blobs.values())) > MOST_BYTES:
        most = f"{MOST_BYTES // 2**20} MiB"
        return Refused("too_large", f"session {session_id} cannot be exported: its texts exceed {most}")
    contents = {key: decode_content(blobs[key[0]]) for key in wanted}

    def make() -> Export:
        private = private_here(
            services.runtime.env, _key_names(services), services.runtime.host, _folders(services, events)
        )
        private = replace(private, keys=private.keys | keys_in_headers(services))
        return redacted(events, contents, private, services.runtime.version, _known(services, events))

    return await asyncio.to_thread(make)


def _known(services: Services, events: Sequence[LoggedEvent]) -> Callable[[str], str | None]:
    """Gives the numbers that secrets have in the session, so that they have those in exact texts as well."""
    state = SessionState(events[0].session_id)
    for event in events:
        state.secrets.update((one["mark"], one["name"]) for one in event.data.get("secrets", ()))
    return masking_for(services, state).known_name


def private_here(
    env: Mapping[str, str], key_names: Iterable[str], host: str, folder_uris: Iterable[str]
) -> Private:
    """What is private on this machine. Follows the links of folders, so it looks at the disk.

    Args:
        env: The environment.
        key_names: Names of its variables that hold keys, besides those that look so.
        host: The machine's name.
        folder_uris: The workspace folders.
    """
    keys = {env.get(name, "").strip() for name in {*key_names, *filter(holds_key, env)}}
    home = env.get("HOME")
    folders = folders_of((Path(uri).name, uri) for uri in dict.fromkeys(folder_uris))
    named = [*_paths(home or "/"), *(path for folder in folders.folders for path in _paths(str(folder.path)))]
    return Private(
        keys=frozenset(key for key in keys if len(key) >= SHORTEST_KEY),
        homes=_paths(home) if home else (),
        folders=tuple(
            (folder.name, (*_paths(str(folder.path)), folder.uri.removeprefix("file://")))
            for folder in folders.folders
        ),
        machine=tuple(_folders_of_the_machine(env, named)),
        user=env.get("USER") or env.get("LOGNAME") or "",
        host=host,
    )


def redacted(
    events: Sequence[LoggedEvent],
    contents: Contents,
    private: Private,
    version: str,
    known: Callable[[str], str | None] = lambda _: None,
) -> Export:
    """Put events and contents into an export, without what is private.

    Args:
        events: The whole log of a session, at least one event.
        contents: Every content they name.
        private: What must not be in it.
        version: Version of this program.
        known: The name that a secret has in the log already, None where it has none.
    """
    offered = (event.data["tools"] for event in events if event.type == "model.requested")
    redaction = Redaction(private, {name for names in offered for name in names}, known)
    redaction.look_at_settings(_of_secret_files(events, contents))
    redaction.look(_all_strings(events, contents))
    new: dict[str, str] = {}
    renamed: dict[tuple[str, Kind], str] = {}
    for (digest, kind), content in contents.items():
        text = _redacted_content(redaction, content, kind)
        renamed[digest, kind] = hash_of(text)
        new[renamed[digest, kind]] = text
    redacted_events = [_redacted_event(redaction, event, renamed) for event in events]
    removed = {str(kind): count for kind, count in sorted(redaction.removed.items())}
    if images := _images_named(events, contents):
        removed["image"] = len(images)
    return Export(
        program=version,
        session_id=events[0].session_id,
        events=redacted_events,
        contents=new,
        removed=removed,
    )


def _images_named(events: Sequence[LoggedEvent], contents: Contents) -> set[str]:
    """The hashes of the images of a session. What they show cannot be looked through for secrets, so none is exported."""
    results = (event.data for event in events if event.type == "tool.finished")
    named = {one["hash"] for data in results for one in data.get("images", ())}
    for (_, kind), content in contents.items():
        if kind == "message":
            named.update(one["hash"] for one in json.loads(content).get("images", ()))
    return named


def _redacted_event(
    redaction: Redaction, event: LoggedEvent, renamed: Mapping[tuple[str, Kind], str]
) -> Event:
    data = _redacted_data(redaction, event.data)
    for named in contents_named(event):
        *way, last = (int(part) if part.isdigit() else part for part in named.place.split("."))
        holder: Any = data
        for part in way:
            holder = holder[part]
        holder[last] = renamed[named.hash, named.kind]
    return Event(
        seq=event.seq,
        ts=event.ts,
        session_id=event.session_id,
        turn_id=event.turn_id,
        type=event.type,
        data=data,
    )


def _redacted_data(redaction: Redaction, data: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in data.items():
        if key == "toolCalls":
            calls = cast("list[dict[str, Any]]", value)
            result[key] = [
                {
                    "id": redaction.text(call["id"]),
                    "name": redaction.text(call["name"]),
                    "arguments": redaction.json_text(call["arguments"]),
                }
                | ({"refused": call["refused"]} if "refused" in call else {})
                for call in calls
            ]
        elif key == "providerData":
            result[key] = {
                "model": redaction.text(value["model"]),
                "blocks": redaction.json_text(value["blocks"]),
            }
        else:
            # Keys in a call's arguments are the model's, and those in diagnostics are somebody's; not of the wire.
            result[key] = redaction.value(value, keys=key in {"input", "context"})
    return result


def _redacted_content(redaction: Redaction, content: str, kind: Kind) -> str:
    match kind:
        case "message":
            message = Message.decode(encode_content(content))
            return decode_content(_redacted_message(redaction, message).encoded)
        case "tools":
            return redaction.json_text(content)
        case "text":
            return redaction.text(content)


def _redacted_message(redaction: Redaction, message: Message) -> Message:
    def maybe(text: str | None) -> str | None:
        return None if text is None else redaction.text(text)

    calls = (
        ToolCall(redaction.text(call.id), redaction.text(call.name), redaction.json_text(call.arguments))
        for call in message.tool_calls
    )
    kept = message.provider_data
    parts = tuple(Part(part.kind, redaction.text(part.text), maybe(part.name)) for part in message.parts)
    return Message(
        message.role,
        "".join(part.text for part in parts) if parts else redaction.text(message.text),
        tuple(calls),
        maybe(message.tool_call_id),
        maybe(message.reasoning),
        kept and ProviderData(redaction.text(kept.model), redaction.json_text(kept.blocks)),
        parts,
        tuple(replace(image, name=redaction.text(image.name)) for image in message.images),
    )


def _of_secret_files(events: Sequence[LoggedEvent], contents: Contents) -> Iterator[str]:
    """The texts of files that are called like those of secrets."""
    for event in events:
        for named in texts_named(event):
            if is_secret_file(named.path):
                yield contents[named.hash, "text"]


def _all_strings(events: Sequence[LoggedEvent], contents: Contents) -> Iterator[str]:
    for event in events:
        yield from _strings(event.data)
    for (_, kind), content in contents.items():
        yield from _content_strings(content, kind)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield key
            yield from json_strings(item) if key in _JSON_TEXTS and isinstance(item, str) else _strings(item)


def _content_strings(content: str, kind: Kind) -> Iterator[str]:
    if kind == "message":
        yield from _strings(json.loads(content))
    elif kind == "tools":
        yield from json_strings(content)
    else:
        yield content


def _key_names(services: Services) -> list[str]:
    providers = services.runtime.settings().providers.values()
    return [provider.api_key_env for provider in providers if provider.api_key_env]


def _folders(services: Services, events: Sequence[LoggedEvent]) -> list[str]:
    """URIs of every workspace folder that the session ever had."""
    of_session = [
        uri
        for event in events
        if event.type == "session.started" or event.type == "session.restored"
        for uri in event.data["folders"]
    ]
    return of_session or [folder.uri for folder in services.workspace.folders.folders]


def _folders_of_the_machine(env: Mapping[str, str], named: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The environment of Python and the folder of temporary files, unless they lie in a folder that is named."""
    roots = {path for path in named if path != "/"}
    places = [("/venv", env.get("VIRTUAL_ENV", "")), ("/tmp", env.get("TMPDIR", "")), ("/tmp", gettempdir())]  # noqa: S108 - a name that stands for it
    if sys.prefix != sys.base_prefix:
        places.insert(0, ("/venv", sys.prefix))
    for stand_in, place in places:
        for path in _paths(place) if Path(place).is_absolute() else ():
            if path not in {"/", stand_in} and not any(Path(path).is_relative_to(root) for root in roots):
                yield stand_in, path


def _paths(path: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((path, str(Path(path).resolve()))))


FOLDER: Final = "recordings"
"""Where they lie in the state folder."""
MOST_RECORDED_FILES: Final = 50
MOST_RECORDED_BYTES: Final = 256 * 1024 * 1024
"""Of all recordings; above one of them those that were not written for longest go, but never the latest."""
END_SECONDS: Final = 10.0
"""How long the end of the process may wait for the last one."""

_log = logging.getLogger(__name__)


class Recordings:
    """Writes the recordings of this process."""

    def __init__(self, services: Services) -> None:
        """Begin to listen.

        Args:
            services: The house.
        """
        self._services = services
        self._folder = services.runtime.state_dir / FOLDER
        self._wanted: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._end = services.runtime.store.subscribe(self._heard)

    async def close(self) -> None:
        """End, once the recordings of the turns that ended are written."""
        await self._services.runtime.store.flush()
        self._end()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=END_SECONDS)
            self._task.cancel()
            await asyncio.wait([self._task])

    def _heard(self, event: LoggedEvent) -> None:
        if event.type != "turn.finished" or not self._services.runtime.settings().recording:
            return
        self._wanted[event.session_id] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_all(), name="write recordings")

    async def _write_all(self) -> None:
        while self._wanted:
            session_id = next(iter(self._wanted))
            del self._wanted[session_id]
            problem = await self._write(session_id)
            if problem is not None:
                _log.warning("Session %s is not recorded: %s", session_id, problem)
                self._services.runtime.warn(f"Session {session_id} is not recorded: {problem}")

    async def _write(self, session_id: str) -> str | None:
        try:
            exported = await export_session(self._services, session_id)
        except StoreReadError as problem:
            return str(problem)
        if isinstance(exported, Refused):
            return exported.message
        return await asyncio.to_thread(write, self._folder, exported)


def write(folder: Path, exported: Export) -> str | None:
    """Write a recording, and take away what is too much; a text says why that failed. Blocks."""
    # Ids are the program's own, and a file of any other name would be none of these.
    path = folder / f"{exported.session_id}.json"
    content = json.dumps(exported.to_wire(), indent=1).encode() + b"\n"
    temporary = folder / f".{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        temporary.replace(path)
        _trim(folder, path)
    except OSError as problem:
        with suppress(OSError):
            temporary.unlink()
        return f"{path} cannot be written: {problem.strerror or problem}"
    return None


def _trim(folder: Path, latest: Path) -> None:
    files = [(path.stat(), path) for path in folder.glob("ses_*.json") if path != latest]
    files.sort(key=lambda one: one[0].st_mtime_ns, reverse=True)
    size = latest.stat().st_size
    for number, (status, path) in enumerate(files, start=2):
        size += status.st_size
        if number > MOST_RECORDED_FILES or size > MOST_RECORDED_BYTES:
            path.unlink(missing_ok=True)
