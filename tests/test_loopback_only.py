"""The guard that keeps tests away from other machines."""

import asyncio
import socket

import pytest

OUTSIDE = ["192.0.2.1", "2001:db8::1", "models.example", "0.0.0.0"]


@pytest.mark.parametrize("host", OUTSIDE)
def test_no_socket_reaches_another_machine(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for way in ("connect", "connect_ex"):
        with socket.socket(family) as tried, pytest.raises(RuntimeError, match="may not reach"):
            getattr(tried, way)((host, 80))
    with (
        socket.socket(family, socket.SOCK_DGRAM) as tried,
        pytest.raises(RuntimeError, match="may not reach"),
    ):
        tried.sendto(b"", (host, 53))


@pytest.mark.parametrize("host", OUTSIDE)
async def test_no_client_reaches_another_machine(host):
    with pytest.raises(RuntimeError, match="may not reach"):
        await asyncio.open_connection(host, 80)


def test_this_machine_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        assert client.connect_ex(server.getsockname()) == 0
