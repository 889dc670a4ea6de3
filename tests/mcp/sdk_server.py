"""A server of the official SDK, which speaks the revision of 2026-07-28 too: over pipes, or over HTTP.

`--http PORT` listens on loopback; `--login` besides makes it want a token of its own authorization server, which says yes at once.
"""

import sys
import time
from typing import Annotated

from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from mcp.shared.auth import OAuthToken
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

PORT = int(sys.argv[sys.argv.index("--http") + 1]) if "--http" in sys.argv else 0
HERE = f"http://127.0.0.1:{PORT}"


class Access:
    """An authorization server that lets everybody in, and remembers what it gave."""

    def __init__(self):
        self.clients, self.codes, self.tokens = {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client):
        self.clients[client.client_id] = client

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=f"code_{len(self.codes)}", scopes=params.scopes or [], expires_at=time.time() + 60,
            client_id=client.client_id, code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly, resource=params.resource,
        )  # fmt: skip
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, code):
        return self.codes.get(code)

    async def exchange_authorization_code(self, client, code):
        del self.codes[code.code]
        token = f"token_{len(self.tokens)}"
        self.tokens[token] = AccessToken(
            token=token, client_id=client.client_id, scopes=code.scopes, resource=code.resource
        )
        return OAuthToken(
            access_token=token, token_type="Bearer", expires_in=3600, refresh_token=f"r_{token}"
        )

    async def load_access_token(self, token):
        return self.tokens.get(token)

    async def load_refresh_token(self, client, token):
        return RefreshToken(token=token, client_id=client.client_id, scopes=[])

    async def exchange_refresh_token(self, client, token, scopes):
        return await self.exchange_authorization_code(
            client, AuthorizationCode.model_construct(code="", scopes=[])
        )

    async def revoke_token(self, token):
        self.tokens.pop(token.token, None)


access = Access() if "--login" in sys.argv else None
auth = access and AuthSettings(
    issuer_url=HERE,
    resource_server_url=f"{HERE}/mcp",
    client_registration_options=ClientRegistrationOptions(enabled=True),
)
server = MCPServer("sdk", version="3.0", auth_server_provider=access, auth=auth or None)


class Person(BaseModel):
    """Who somebody is."""

    name: str
    age: int


async def who() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def greet(person: Annotated[Person, Resolve(who)]) -> str:
    """Greet somebody."""
    return f"Hello {person.name}, {person.age}."


@server.tool()
def sample() -> InputRequiredResult:
    """Use the model of the client."""
    words = SamplingMessage(role="user", content=TextContent(type="text", text="Say all that you know."))
    params = CreateMessageRequestParams(messages=[words], max_tokens=100)
    asked = CreateMessageRequest(method="sampling/createMessage", params=params)
    return InputRequiredResult(input_requests={"one": asked})


@server.tool()
def grow() -> str:
    """Add a tool."""
    server.add_tool(lambda: "new", name="fresh", description="A new tool.")
    return "done"


@server.resource("notes://{name}")
def note(name: str) -> str:
    """A note."""
    return f"Note {name}."


@server.resource("notes://all")
def notes() -> str:
    """All notes."""
    return "Everything."


if PORT:
    server.run(transport="streamable-http", host="127.0.0.1", port=PORT)
else:
    server.run()
