"""Keys, asked for at the moment of a request and never kept."""

from typing import Protocol


class Secrets(Protocol):
    """Where keys come from."""

    def get(self, name: str) -> str | None:
        """The value of the secret of that name (an environment variable), None if there is none."""
        ...

    def values(self) -> frozenset[str]:
        """Every secret value handed out so far, so that it can be kept out of logs."""
        ...
