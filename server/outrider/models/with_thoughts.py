"""A model whose server may leave its thoughts in the text, made one that tells them apart."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from outrider.models.text_answers import read_answer
from outrider.models.text_tools.formats import TextToolParser, thoughts_parser
from outrider.models.wrapper import Wrapper
from outrider.ports.ids import Ids
from outrider.ports.model import Model, ModelItem, ModelRequest


class ThinkingModel(Wrapper):
    """A model that may think in its text."""

    def __init__(self, model: Model, *, ids: Ids, opened: bool) -> None:
        """Make it.

        Args:
            model: The model; closed with this one.
            ids: Makes ids.
            opened: Whether its answers begin within a thought.
        """
        self._inner = model
        self._ids = ids
        self._opened = opened

    @property
    def _model(self) -> Model:
        return self._inner

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask.

        Yields:
            Deltas, `ReadAnew` where a thought was shown as text, then one `ModelResponse` or one `ModelFailure`.
        """

        def parser(opened: bool) -> TextToolParser:
            return thoughts_parser(opened=opened)

        async with (
            aclosing(self._inner.stream(request)) as items,
            aclosing(
                read_answer(items, parser, self._ids, model=self.name, opened=self._opened, only_tags=True)
            ) as read,
        ):
            async for item in read:
                yield item
