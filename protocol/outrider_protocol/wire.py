"""The base of everything that stands on the wire."""

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """A frozen value with camelCase keys; unknown keys are an error, absent ones are left out, never null."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    def to_wire(self) -> dict[str, Any]:
        """Give the value as JSON-ready data: camelCase keys, nothing that is `None`."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
