"""The secrets of a session: which values of the environment are keys here, and what the log knows of the others."""

from collections.abc import Callable, Iterable, Iterator

from outrider.agent.services import Services
from outrider.agent.state import SessionState
from outrider.permissions.masking import Masking, may_be_key
from outrider.permissions.secret_forms import SHORTEST_KEY
from outrider.processes.environment import holds_key


def keys_of(services: Services) -> Callable[[], Iterable[str]]:
    """Gives the values of the environment that are keys, by the settings of the moment."""
    looks_like_one = {
        value for name, text in services.env.items() if holds_key(name) and may_be_key(value := text.strip())
    }

    def keys() -> Iterator[str]:
        yield from looks_like_one
        for provider in services.settings().providers.values():
            value = services.env.get(provider.api_key_env or "", "").strip()
            if len(value) >= SHORTEST_KEY:
                yield value

    return keys


def masking_for(services: Services, state: SessionState) -> Masking:
    """What keeps the secrets of a session out of its log.

    Args:
        services: The house; its settings say which variables hold the keys of providers.
        state: The session, as its log tells.
    """
    return Masking(services.machine_key, state.secrets, keys_of(services))
