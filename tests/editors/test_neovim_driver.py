"""The driver itself: a Neovim that is gone ends a test, and does not hang it."""

import socket
import threading

import pytest
from neovim_driver import Rpc


def test_a_request_to_a_neovim_that_has_ended_fails(tmp_path):
    address = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()

        def end_at_once():
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)

        neovim = threading.Thread(target=end_at_once)
        neovim.start()
        rpc = Rpc(address)
        with pytest.raises(ConnectionError, match="closed the socket"):
            rpc.request("nvim_get_mode")
        rpc.close()
        neovim.join()
