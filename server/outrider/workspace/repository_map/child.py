"""The program that reads the workspace for the map, apart from the server: what it costs and what goes wrong in it stay here.

Run as `python -I -m outrider.workspace.repository_map.child` with one end of a socket as standard input. A line is a request, an
object in JSON; each has an `id` and is answered by one line with it, in the order in which they came. It ends when the other
end does. It writes nothing but its cache, needs nothing of its environment, and starts no program.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from outrider.ports.maps import Focus
from outrider.workspace.repository_map.cache import Cache, trim
from outrider.workspace.repository_map.index import Index
from outrider.workspace.repository_map.tags import fingerprint

NICENESS: Final = 10
"""The user's own work comes first."""


def main() -> int:
    """Answer requests until the other end is closed."""
    os.nice(NICENESS)
    index = Index()
    with socket.socket(fileno=0) as channel, channel.makefile("rb") as requests:
        for line in requests:
            answer = answered(index, json.loads(line))
            channel.sendall(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
    return 0


def answered(index: Index, request: Mapping[str, Any]) -> dict[str, Any]:
    """Do what a request says.

    Args:
        index: What is known.
        request: `open` with the file of the cache, `refresh` with all files, `update` with some of them, `texts` with texts of
            documents, `map` with what is at hand and a size.
    """
    answer: dict[str, Any] = {"id": request["id"]}
    match request["do"]:
        case "open":
            file = Path(request["cache"])
            index.cache = Cache(file, fingerprint())
            trim(file, time.time())
        case "refresh":
            answer["read"] = index.refresh(request["files"])
        case "update":
            answer["read"] = index.update(request["files"])
        case "texts":
            index.set_texts(request["texts"])
        case "map":
            answer["blocks"] = index.map(Focus(**request["focus"]), request["size"])
            answer["files"] = len(index.graph.entries)
        case other:
            raise ValueError(other)
    return answer


if __name__ == "__main__":
    sys.exit(main())
