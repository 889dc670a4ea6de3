"""The base of everything that stands on the wire."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Wire(BaseModel):
    """A frozen value with camelCase keys; unknown keys are an error, absent ones are left out, never null.

    Values are taken as they are: a number in quotes is no number, and NaN and Infinity are no JSON.
    """

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        strict=True,
        allow_inf_nan=False,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )

    @classmethod
    def from_wire(cls, data: Any) -> Self:
        """Take over JSON data, with its keys as they stand on the wire and no others.

        Raises:
            pydantic.ValidationError: It is something else; the error names each place.
        """
        return cls.model_validate(data, by_alias=True, by_name=False)

    def to_wire(self) -> dict[str, Any]:
        """Give the value as JSON-ready data: camelCase keys, nothing that is `None`."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
