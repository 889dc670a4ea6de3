"""A model that stands before another one, and says of itself what that one says."""

from abc import ABC, abstractmethod

from outrider.ports.model import Model, ModelRequest, Tokens
from outrider_protocol.choices import EditFormat


class Wrapper(ABC):
    """What is the same for every model with another one behind it."""

    @property
    @abstractmethod
    def _model(self) -> Model:
        """The one behind."""

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def context_window(self) -> int:
        """Tokens it can take, its answer included."""
        return self._model.context_window

    @property
    def temperature(self) -> float | None:
        """Sampling temperature of its requests, None for the provider's own."""
        return self._model.temperature

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of one answer, None for the provider's own."""
        return self._model.max_tokens

    @property
    def tool_format(self) -> str | None:
        """How tools and calls are written into its text, None where they go beside it."""
        return self._model.tool_format

    @property
    def takes_reminders(self) -> bool:
        """That of the model inside."""
        return self._model.takes_reminders

    @property
    def edit_format(self) -> EditFormat | None:
        """The kind of tools for edits that suits it, None for all."""
        return self._model.edit_format

    @property
    def vision(self) -> bool:
        """Whether it takes images, as far as that is known."""
        return self._model.vision

    def broken_off(self, request: ModelRequest, characters: int) -> Tokens | None:
        """About what a request used that was cancelled after so many characters of its answer."""
        return self._model.broken_off(request, characters)

    @property
    def retry_in(self) -> float | None:
        """Seconds until a request that failed is made again; None where none waits for that."""
        return self._model.retry_in

    def retry_now(self) -> bool:
        """Make a request that failed again at once; False where none waits for that."""
        return self._model.retry_now()

    def left_over(self) -> int:
        """Scripted answers that were not asked for; 0 for every model that is not scripted."""
        return self._model.left_over()

    async def close(self) -> None:
        """Let go of its connections."""
        await self._model.close()
