"""A client of ACP in a small project, with an agent in this process."""

from contextlib import asynccontextmanager
from functools import partial

import pytest

from outrider.testing.acp.fake_client import start_client
from outrider.testing.scenario import options, scripted


@asynccontextmanager
async def _started(workspace, profile, turns, answers=(), name="script", **settings):
    model = scripted(workspace, turns, name=name)
    given = {"events": None, **settings}
    async with start_client(profile, workspace, options(workspace, model, given), answers=answers) as client:
        yield client


@pytest.fixture
def acp(workspace):
    """`async with acp(profile, turns, answers) as client:`."""
    return partial(_started, workspace)


@pytest.fixture
def tariff(workspace):
    """The file that is edited."""
    return workspace / "tariff.py"
