"""The hosts that commands may reach, as the setting `sandbox.network` names them, and how a program names one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from outrider.ports.addresses import host_name, is_number
from outrider.ports.patterns import linear

USUAL_PORTS: Final = frozenset({80, 443})
"""Those of a host that is named without one."""
_PORT: Final = linear("sandbox.port", r"[0-9]{1,5}")
_BELOW: Final = "*."


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """One entry of the setting."""

    name: str
    """A name or an address, as `host_name` gives it."""
    below: bool
    """Whether it stands for all names below it, and not for itself."""
    port: int | None
    """None: those in `USUAL_PORTS`."""

    def covers(self, name: str, port: int) -> bool:
        """Whether it is about a host, named as by `host_name`, and a port of it."""
        named = name.endswith(f".{self.name}") if self.below else name == self.name
        return named and (port in USUAL_PORTS if self.port is None else port == self.port)


def host_and_port(text: str, default: int | None = None) -> tuple[str, int | None] | None:
    """A host and its port, from `host:port`, `[address]:port` or a host alone; None if it is neither.

    Args:
        text: What is written. Where there must be a port, who asks looks for one in what comes.
        default: The port of one that names none.
    """
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or ":" not in host or rest[:1] not in {"", ":"}:
            return None
        colon, port = rest[:1], rest[1:]
    elif text.count(":") > 1:
        host, colon, port = text, "", ""  # an address of version 6 alone
    else:
        host, colon, port = text.partition(":")
    name = host_name(host)
    if name is None:
        return None
    if not colon:
        return name, default
    if _PORT.fullmatch(port) is None or not 0 < int(port) < 65536:
        return None
    return name, int(port)


def allowed_host(text: str) -> AllowedHost | None:
    """An entry of the setting; None where it names no host."""
    below = text.startswith(_BELOW)
    found = host_and_port(text.removeprefix(_BELOW))
    if found is None or (below and _is_address(found[0])):
        return None
    return AllowedHost(found[0], below, found[1])


def allowed_hosts(texts: Iterable[str]) -> tuple[AllowedHost, ...]:
    """The entries of the setting that name hosts."""
    return tuple(host for text in texts if (host := allowed_host(text)) is not None)


def covered(hosts: Sequence[AllowedHost], name: str, port: int) -> bool:
    """Whether a host and port is one of the allowed ones."""
    return any(host.covers(name, port) for host in hosts)


def _is_address(name: str) -> bool:
    return ":" in name or is_number(name)
