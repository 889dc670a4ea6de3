"""Which proxy leads to an address, by the variables of the environment that all programs read for that.

It looks at nothing but what it is given. This machine itself is never reached through a proxy.
"""

import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """The proxy for an address: that of its scheme, else the one for all; in small letters before capitals.

    Args:
        url: The address.
        env: The environment.

    Returns:
        The proxy's URL; None where the address is of this machine, `NO_PROXY` names it, or there is no proxy.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if _is_here(host) or any(_names(entry, host, port) for entry in _said(env, "no_proxy").split(",")):
        return None
    proxy = _said(env, f"{parts.scheme}_proxy") or _said(env, "all_proxy")
    return with_scheme(proxy) if proxy else None


def no_proxy(_url: str) -> None:
    """The answer of a place without any."""


def with_scheme(proxy: str) -> str:
    """`proxy` as a URL: it is often written as host and port alone."""
    return proxy if "://" in proxy else f"http://{proxy}"


def _said(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.upper()) or "").strip()


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _names(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of `NO_PROXY` is about a host: it names it, a domain above it, or a network with it."""
    entry = entry.strip().lower()
    if not entry or entry == "*":
        return bool(entry)
    with suppress(ValueError):
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
        with suppress(ValueError):
            return ipaddress.ip_address(host) in network
        return False
    name, _, wanted = entry.partition(":")
    if wanted and wanted != str(port):
        return False
    name = name.removeprefix("*").lstrip(".")
    return host == name or host.endswith(f".{name}")
