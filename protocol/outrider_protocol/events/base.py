"""What every event is."""

from typing import ClassVar

from outrider_protocol.wire import Wire


class Secret(Wire):
    """A secret that is replaced by a placeholder."""

    name: str
    """What stands in its placeholder: `1` in `[secret 1]`; of one of several lines `1.2`."""
    kind: str
    """What it was known by: `token`, `password`, …"""
    mark: str
    """A hash of it, with a key that stays on the machine: the same secret has the same number after a restart."""


class EventData(Wire):
    """The `data` of an event; `TYPE` is what stands in the event's `type`."""

    TYPE: ClassVar[str]
    secrets: list[Secret] | None = None
    """Those that got their number since the event before; absent where none did."""
