"""The shortest life of a server, over its real pipes and inside this process."""

from fakes import Client


async def test_a_session_from_initialize_to_exit():
    client = Client()
    answer = await client.initialize()
    assert answer["result"]["serverInfo"]["name"] == "outrider"
    assert (await client.execute("outrider.status", {"a": 1}))["result"] == {"echo": {"a": 1}}
    assert (await client.call("shutdown"))["result"] is None
    assert client.bridge.closed == ["shutdown"]
