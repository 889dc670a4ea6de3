"""Folders with the scripted language server, and nothing else of Outrider."""

from contextlib import asynccontextmanager

import pytest
from house import house, toy


@pytest.fixture
def toys(tmp_path):
    """Begins a house with the scripted server over some files."""

    @asynccontextmanager
    async def begin(files, *, others=None, **script):
        root = tmp_path / "work"
        root.mkdir(exist_ok=True)
        for name, text in files.items():
            (root / name).write_text(text)
        async with house(root, {"toy": toy(**script), **(others or {})}) as languages:
            yield languages

    return begin
