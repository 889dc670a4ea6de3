"""Who may come in over TCP, where every program of the machine, and every page of a browser, can knock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WITHOUT_TOKEN = ("read-only", "ask")
"""Permission modes that a client may have without a token."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules for a client that came over TCP."""

    token: str | None
    """What it must give as `initializationOptions.tcpToken`; None lets anybody in, with `ask` at most."""

    def refusal(self, options: Mapping[str, Any]) -> str | None:
        """Why the client is not let in, None if it is."""
        if self.token is None:
            return None
        import hmac

        given = options.get("tcpToken")
        if isinstance(given, str) and hmac.compare_digest(given.encode(), self.token.encode()):
            return None
        return "initializationOptions.tcpToken is not the token that the server was started with"

    def capped(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings without a permission mode that is wider than this client may have."""
        if self.token is not None or values.get("permissionMode") in (None, *WITHOUT_TOKEN):
            return dict(values)
        return {**values, "permissionMode": "ask"}

    @property
    def widest(self) -> str | None:
        """The widest permission mode this client may have, whoever set it; None for any."""
        return None if self.token is not None else "ask"
