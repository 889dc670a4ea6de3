import pytest
from fakes import Client


@pytest.fixture(autouse=True)
async def closed_clients():
    yield
    for client in tuple(Client.living):
        await client.close()
