"""Models that speak the chat completions dialect of OpenAI, which most providers and local servers offer."""

from typing import Any

from outrider.models.chat_servers import chat_server
from outrider.models.dialects.chat_decoder import ChatDecoder
from outrider.models.dialects.chat_request import ChatRequestEncoder
from outrider.models.dialects.decoder import Decoder
from outrider.models.dialects.http_model import Call, HttpModel
from outrider.ports.model import ModelRequest


class OpenAiChatModel(HttpModel):
    """One model of a provider, for one conversation at a time."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Make a model; see `HttpModel`."""
        super().__init__(*args, **named)
        given = self._provider.settings
        self._server = chat_server(given.base_url)
        self._encoder = ChatRequestEncoder(
            self._model, given.extra_body, server=self._server, full_name=self.name
        )

    @property
    def thinks_in_text(self) -> bool:
        """Whether thoughts may stand in the text of answers."""
        return self._server.thoughts_in_text

    def _call(self, request: ModelRequest) -> Call:
        return Call("/chat/completions", self._encoder.encode(request))

    def _decoder(self) -> Decoder:
        return ChatDecoder(self._ids, source=self.source, model=self.name)
