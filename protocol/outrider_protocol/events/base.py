"""What every event is."""

from collections.abc import Mapping
from typing import Any, ClassVar

from outrider_protocol.wire import Wire


class Secret(Wire):
    """A secret that is replaced by a placeholder."""

    name: str
    """What is in its placeholder: `1` in `[secret 1]`; for a line of a longer one `1.2`."""
    kind: str
    """What it was recognised by: `token`, `password`, …"""
    mark: str
    """A keyed hash; the key stays on the machine."""


class EventData(Wire):
    """The `data` of an event; `TYPE` is what stands in the event's `type`."""

    TYPE: ClassVar[str]
    secrets: list[Secret] | None = None
    """Secrets that got their number since the event before. They occur in it, in a frame, or in what the model was
    sent."""

    @classmethod
    def shared(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """What the data of another event says of the fields that this class has, too; the secrets are that event's own."""
        fields = {field.serialization_alias or name for name, field in cls.model_fields.items()} - {"secrets"}
        return {key: value for key, value in data.items() if key in fields}
