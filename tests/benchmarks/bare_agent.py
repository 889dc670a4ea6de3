"""The floor: the least that is an agent behind LSP. pygls as it comes, httpx, a loop, no log, no checks."""

import asyncio
import json
import os
import sys
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("bare", "1")
tasks: dict[str, asyncio.Task[None]] = {}
TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}


@server.command("bare.run")
async def run(params: dict) -> dict:
    tasks["turn"] = asyncio.ensure_future(turn(params["prompt"], params["url"]))
    return {"turnId": "turn"}


@server.command("bare.cancel")
async def cancel(_params: dict) -> dict:
    tasks["turn"].cancel()
    await asyncio.wait([tasks["turn"]])
    return {}


async def turn(prompt: str, url: str) -> None:
    import httpx

    root = Path(server.workspace.root_path)
    messages: list[dict] = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": prompt},
    ]
    try:
        async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
            while True:
                text, calls = "", {}
                body = {"model": "m", "messages": messages, "tools": [TOOL], "stream": True}
                async with client.stream("POST", f"{url}/chat/completions", json=body) as response:
                    async for line in response.aiter_lines():
                        if not line.startswith("data: ") or line == "data: [DONE]":
                            continue
                        chunk = json.loads(line[6:])
                        for choice in chunk["choices"]:
                            if content := choice["delta"].get("content"):
                                text += content
                                server.protocol.notify("bare/stream", {"turnId": "turn", "text": content})
                            for part in choice["delta"].get("tool_calls", ()):
                                call = calls.setdefault(
                                    part["index"], {"id": part["id"], "name": "", "arguments": ""}
                                )
                                call["name"] += part["function"].get("name", "")
                                call["arguments"] += part["function"].get("arguments", "")
                if not calls:
                    break
                messages.append(
                    {
                        "role": "assistant",
                        "content": text or None,
                        "tool_calls": [
                            {
                                "id": c["id"],
                                "type": "function",
                                "function": {"name": c["name"], "arguments": c["arguments"]},
                            }
                            for c in calls.values()
                        ],
                    }
                )
                for call in calls.values():
                    path = root / json.loads(call["arguments"])["path"]
                    content = await asyncio.to_thread(path.read_text)
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        server.protocol.notify("bare/finished", {"outcome": "completed", "text": text})
    except asyncio.CancelledError:
        server.protocol.notify("bare/finished", {"outcome": "cancelled"})
        raise


@server.feature(types.INITIALIZED)
def initialized(_params: types.InitializedParams) -> None:
    pass


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(server.start_io())
