"""How a front end learns that something it asked for was not done."""

from collections.abc import Mapping
from typing import Any


class CommandError(Exception):
    """A command that was refused. It becomes the error of the response, as it is (JSON-RPC 2.0, section 5.1)."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        """An error with the code and the data of the wire contract."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
