"""One change of a file after the other: who comes second waits until the first is over, and then finds its text."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from outrider.workspace.documents import uri_key
from outrider.workspace.paths import Located


class OneByOne:
    """The files that are being changed. A lock lasts while somebody has it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def alone(self, *files: Located) -> AsyncGenerator[None]:
        """Be the only one that changes these files; whoever is in must not ask for another."""
        async with AsyncExitStack() as stack:
            # In one order, so that two never wait for each other.
            for key in sorted({_key(file) for file in files}):
                await stack.enter_async_context(self._locks.setdefault(key, asyncio.Lock()))
            yield


def _key(file: Located) -> str:
    """What all names of a file have in common."""
    return str(file.resolved) if file.resolved is not None else uri_key(file.uri)
