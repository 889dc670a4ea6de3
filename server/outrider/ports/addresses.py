"""Addresses of hosts: what a name stands for, and whether an address is of the internet."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from outrider.ports.patterns import linear

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses that a name stands for, the best first; raises OSError where it stands for none."""

_LONGEST_NAME, _LONGEST_LABEL = 253, 63
_LOCALHOST: Final = "localhost"
"""This machine, as are all names that end in it (RFC 6761)."""
_NAME: Final = linear(
    "addresses.name", r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*"
)
_NUMBER: Final = linear("addresses.number", r"[0-9]+|0x[0-9a-f]*")
"""The last part of what some programs take for an address, in one of many forms (inet_aton(3))."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


async def resolve(name: str, port: int) -> Sequence[str]:
    """The addresses that a name stands for, as the system says it. Raises OSError or UnicodeError.

    Args:
        name: The name, or an address.
        port: The port that is wanted there.
    """
    found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))


def known(name: str) -> Sequence[str]:
    """The addresses that a name stands for by itself, found without asking anybody: a lookup tells others the name.

    Args:
        name: The name, or an address in any form that the system takes.

    Returns:
        The addresses; none where only a lookup could say.
    """
    if name == _LOCALHOST or name.endswith(f".{_LOCALHOST}"):
        return ["127.0.0.1"]
    with suppress(ValueError):
        return [str(ipaddress.ip_address(name.partition("%")[0]))]
    with suppress(OSError, UnicodeError):
        return [socket.inet_ntoa(socket.inet_aton(name))]  # `127.1`, `0x7f000001`
    return []


def why_not_public(text: str) -> str | None:
    """Why an address is not of the internet, in words; None if it is."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif address.sixtofour is not None:
            address = address.sixtofour
        elif address in _NAT64:
            address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.is_loopback:
        return "which is this machine"
    if not address.is_global or address.is_multicast or address.is_reserved:
        return "which is of a private network"
    return None


def host_name(text: str) -> str | None:
    """The name of a host as names are compared: ASCII, in lower case, without the dot at its end.

    An address is in the one form that it has; one in another form that programs know (`127.1`, `0x7f000001`) is no name.

    Returns:
        The name; None if the text is none.
    """
    name = text.removesuffix(".")
    if len(name) > _LONGEST_NAME:
        return None
    try:
        return None if "%" in name else str(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        name = (name if name.isascii() else name.encode("idna").decode("ascii")).lower()
    except UnicodeError:
        return None
    is_short = len(name) <= _LONGEST_NAME and all(len(label) <= _LONGEST_LABEL for label in name.split("."))
    return name if is_short and _NAME.fullmatch(name) is not None and not is_number(name) else None


def is_number(name: str) -> bool:
    """Whether programs may take a name for an address, in one of the many forms that these have (inet_aton(3))."""
    return _NUMBER.fullmatch(name.rpartition(".")[2]) is not None
