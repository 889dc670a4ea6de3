"""The golden transcript of a scenario: what was logged and said, one JSON object a line, the same in every run.

What depends on the machine is replaced: places, the program's version, the system's name, and the hashes of texts
that hold them. What may pass each other on the wire is brought into an order of its own: first the events, session
by session; then what the server sent, method by method; then what the editor sent. Within a method the order is
that of the wire, because there is one question and one edit at a time. Reports of progress and frames are not in
it, nor what the runner asks to look on.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import outrider_protocol as names
from outrider.ports.model import content_hash
from outrider.testing.editor.wire_client import Traffic
from outrider.testing.scenario_folder import Places

Object = dict[str, Any]

HASH: Final = re.compile(r"[0-9a-f]{32,64}")

_SYSTEM: Final = re.compile(r"(?<=System: )\w+")
_LOOKS: Final = frozenset({names.WAIT, names.EVENTS, names.STATUS})
"""Commands that only look, and that the runner gives as often as it likes."""
_LEFT_OUT: Final = frozenset(
    {names.EVENT_NOTIFICATION, names.STREAM_NOTIFICATION, "$/cancelRequest", "window/logMessage"}
)
"""What stands there already, comes at no certain moment, or says nothing without its number."""


def hashes_in(value: Any) -> Iterator[str]:
    """Every text in JSON data that looks like a hash."""
    match value:
        case str():
            if HASH.fullmatch(value):
                yield value
        case dict():
            for item in cast("Object", value).values():
                yield from hashes_in(item)
        case list():
            for item in cast("list[Any]", value):
                yield from hashes_in(item)
        case _:
            pass


class Hashes:
    """Gives hashes that say the same on every machine."""

    def __init__(self, contents: Mapping[str, bytes], places: Places) -> None:
        """Know the contents behind hashes; those of others are numbered as they come."""
        self._known = {digest: _rehashed(content, places) for digest, content in contents.items()}
        self._numbered: dict[str, str] = {}

    def stable(self, value: Any) -> Any:
        """JSON data with stable hashes."""
        match value:
            case str():
                if not HASH.fullmatch(value):
                    return value
                return self._known.get(value) or self._numbered.setdefault(
                    value, f"hash-{len(self._numbered) + 1}"
                )
            case dict():
                return {name: self.stable(item) for name, item in cast("Object", value).items()}
            case list():
                return [self.stable(item) for item in cast("list[Any]", value)]
            case _:
                return value


def transcript(
    logs: Mapping[str, Sequence[Object]], messages: Sequence[Traffic], hashes: Hashes, profile: str
) -> str:
    """The lines of a transcript, each with its line end.

    Args:
        logs: The events of each session, without the places of the machine.
        messages: What went over the wire, in its order, without the places of the machine.
        hashes: Makes hashes stable.
        profile: Which editor it is; its capabilities are not repeated.
    """
    lines: list[Object] = [{"event": _event(event)} for log in logs.values() for event in log]
    said = list(_said(messages, profile))
    for to in ("editor", "server"):
        mine = [each for each in said if each["to"] == to]
        for method in dict.fromkeys(sorted(each["method"] for each in mine)):
            lines += [each for each in mine if each["method"] == method]
    return "".join(json.dumps(hashes.stable(line), ensure_ascii=False) + "\n" for line in lines)


def _rehashed(content: bytes, places: Places) -> str:
    text = places.neutral(content.decode("utf-8", "surrogateescape"))
    return content_hash(_SYSTEM.sub("SYSTEM", text).encode("utf-8", "surrogateescape"))


def _event(event: Object) -> Object:
    if event["type"] == "session.started":
        return {**event, "data": {**event["data"], "version": "VERSION"}}
    return event


def _said(messages: Sequence[Traffic], profile: str) -> Iterator[Object]:
    """Each request with its answer, and each notification, in the order in which they were sent."""
    said: list[Object] = []
    open_requests: dict[tuple[str, Any], Object] = {}
    for traffic in messages:
        message = traffic.message
        to = traffic.direction.removeprefix("to ")
        if "method" not in message:
            # An answer goes the other way than its request.
            asked = "server" if to == "editor" else "editor"
            if (request := open_requests.pop((asked, message.get("id")), None)) is not None:
                request.update({key: message[key] for key in ("result", "error") if key in message})
            continue
        method = message["method"]
        if method == "initialize":
            open_requests.clear()  # another server, which counts anew
        line: Object = {"to": to, "method": method, "params": message.get("params")}
        if "id" in message:
            open_requests[(to, message["id"])] = line
        said.append(line)
    for line in said:
        if _is_kept(line):
            yield _plain(line, profile)


def _is_kept(line: Object) -> bool:
    method: str = line["method"]
    params = cast("Object", line["params"] or {})
    if method in _LEFT_OUT:
        return False
    if method == "workspace/executeCommand":
        return params["command"] not in _LOOKS
    return method != "$/progress" or params["value"]["kind"] != "report"


def _plain(line: Object, profile: str) -> Object:
    if line["method"] != "initialize":
        return line
    params = {key: value for key, value in line["params"].items() if key != "processId"}
    params["capabilities"] = f"those of {profile}"
    result = cast("Object", line.get("result") or {})
    server = {**result.get("serverInfo", {}), "version": "VERSION"}
    return {**line, "params": params, "result": {**result, "serverInfo": server}}
