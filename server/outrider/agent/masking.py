"""The secrets of a session: which keys of the environment and of the settings are known here, and what the log knows of the others."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from outrider.agent.services import Services
from outrider.agent.state.state import SessionState
from outrider.permissions.secrets.masking import Masking, may_be_key
from outrider.permissions.secrets.secret_forms import SHORTEST_KEY
from outrider.processes.environment import holds_key

_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie"})
"""Headers with credentials that are not called like a key."""


def keys_of(services: Services) -> Callable[[], Iterable[str]]:
    """Gives the keys that are known by more than their shape: of the environment, and of the settings of the moment."""
    looks_like_one = {
        value
        for name, text in services.runtime.env.items()
        if holds_key(name) and may_be_key(value := text.strip())
    }

    def keys() -> Iterator[str]:
        yield from looks_like_one
        for provider in services.runtime.settings().providers.values():
            value = services.runtime.env.get(provider.api_key_env or "", "").strip()
            if len(value) >= SHORTEST_KEY:
                yield value
        yield from (value for value in services.catalog.keys_given if len(value) >= SHORTEST_KEY)
        yield from keys_in_headers(services)

    return keys


def keys_in_headers(services: Services) -> frozenset[str]:
    """The credentials in the headers of providers that are called so."""
    return frozenset(
        words[-1]
        for provider in services.runtime.settings().providers.values()
        for name, text in provider.headers.items()
        if (name.lower() in _HEADERS or holds_key(name.replace("-", "_")))
        and (words := text.split())  # a scheme may stand before them (RFC 9110, section 11.6.2)
        and may_be_key(words[-1])
    )


def masking_for(services: Services, state: SessionState) -> Masking:
    """What keeps the secrets of a session out of its log.

    Args:
        services: The services of the server; its settings say which variables hold the keys of providers.
        state: The session, as its log tells.
    """
    return Masking(services.runtime.machine_key, state.secrets, keys_of(services))
