"""Which tools of MCP servers a model has looked up: read from the results of `find_tools`, so that a session knows it from its log."""

import json
from typing import Final

LOOK_UP: Final = "find_tools"
"""The tool that looks others up."""


def looked_up(content: str) -> list[str]:
    """The tools that a result of `find_tools` tells of."""
    try:
        return [str(one["name"]) for one in json.loads(content)]
    except (ValueError, TypeError, KeyError, RecursionError):
        return []
