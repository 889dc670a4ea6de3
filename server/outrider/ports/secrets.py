"""Keys, asked for at the moment of a request and never kept."""

from collections.abc import Mapping
from typing import Protocol


class Secrets(Protocol):
    """Where keys come from."""

    def get(self, name: str) -> str | None:
        """The value of the secret of that name (an environment variable), None if there is none."""
        ...

    def values(self) -> frozenset[str]:
        """Every secret value handed out so far, so that it can be kept out of logs."""
        ...


class EnvironmentSecrets:
    """Secrets out of an environment. An empty variable counts as none."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._given: frozenset[str] = frozenset()

    def get(self, name: str) -> str | None:
        """The value of the variable of that name without white space around it, None if there is none."""
        value = self._env.get(name, "").strip()
        if not value:
            return None
        self._given |= {value}
        return value

    def values(self) -> frozenset[str]:
        """Every value handed out so far."""
        return self._given
