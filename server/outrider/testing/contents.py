"""The texts that a log names by their hashes, read through a connection that cannot write."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from outrider.store.reader import Reader
from outrider.store.schema import FILE_NAME, open_reader


async def read_contents(state_dir: Path, digests: Iterable[str]) -> dict[str, bytes]:
    """The contents that are stored in a state folder, by content hash; the others are left out.

    Raises:
        StoreReadError: The log is damaged or cannot be read.
    """
    path = state_dir / FILE_NAME
    if not await asyncio.to_thread(path.exists):
        return {}
    reader = Reader(await asyncio.to_thread(open_reader, path), path)
    try:
        return await reader.blobs(digests)
    finally:
        await reader.close()
