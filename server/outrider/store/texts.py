"""Which texts of files an event names: a file's texts are versions of one another, and are stored so."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TextNamed:
    """A text of a file that an event names."""

    place: str
    """Where in the event's data, such as `read.3.hash`."""
    hash: str
    path: str


def texts_named(event_type: str, data: Mapping[str, Any]) -> Iterator[TextNamed]:
    """The texts of files that an event names, in order; the text before a change comes before the one after it.

    Args:
        event_type: Its type.
        data: Its data, of the shape that its type has.
    """
    if event_type.startswith("edit.") or event_type == "workspace.changed":
        for key in ("before", "after"):
            if key in data:
                yield TextNamed(key, data[key], data["path"])
    elif event_type == "tool.finished":
        for index, read in enumerate(data.get("read", ())):
            yield TextNamed(f"read.{index}.hash", read["hash"], read["path"])
