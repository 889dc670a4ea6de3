"""The secrets of a session: which keys of the environment and of the settings are known here, and what the log knows of the others."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from outrider.agent.services import Services
from outrider.agent.state import SessionState
from outrider.permissions.masking import Masking, may_be_key
from outrider.permissions.secret_forms import SHORTEST_KEY
from outrider.processes.environment import holds_key

_HEADER: Final = re.compile("(?:proxy-)?authorization|cookie", re.IGNORECASE)
"""Headers with credentials that are not called like a key."""


def keys_of(services: Services) -> Callable[[], Iterable[str]]:
    """Gives the keys that are known by more than their shape: of the environment, and of the settings of the moment."""
    looks_like_one = {
        value for name, text in services.env.items() if holds_key(name) and may_be_key(value := text.strip())
    }

    def keys() -> Iterator[str]:
        yield from looks_like_one
        for provider in services.settings().providers.values():
            value = services.env.get(provider.api_key_env or "", "").strip()
            if len(value) >= SHORTEST_KEY:
                yield value
        yield from keys_in_headers(services)

    return keys


def keys_in_headers(services: Services) -> frozenset[str]:
    """The credentials in the headers of providers that are called so."""
    return frozenset(
        words[-1]
        for provider in services.settings().providers.values()
        for name, text in provider.headers.items()
        if (_HEADER.fullmatch(name) or holds_key(name.replace("-", "_")))
        and (words := text.split())  # a scheme may stand before them (RFC 9110, section 11.6.2)
        and may_be_key(words[-1])
    )


def masking_for(services: Services, state: SessionState) -> Masking:
    """What keeps the secrets of a session out of its log.

    Args:
        services: The house; its settings say which variables hold the keys of providers.
        state: The session, as its log tells.
    """
    return Masking(services.machine_key, state.secrets, keys_of(services))
