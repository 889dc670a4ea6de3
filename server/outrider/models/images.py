"""Images in requests: which of them a model is shown, and how their contents are written. Pure."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from outrider.ports.model import Image, Message, ModelRequest

NOT_TAKEN: Final = "[{name}: this model does not support images]"
NOT_THERE: Final = "[{name}: the image no longer exists]"
FOLLOWS: Final = "[Shown here: {names}]"
"""What stands before images that belong to results which can hold none."""


def has_images(request: ModelRequest) -> bool:
    """Whether any of its messages has some."""
    return any(message.images for message in request.messages)


def as_shown(request: ModelRequest, *, vision: bool) -> ModelRequest:
    """The request with the images that can be shown; in the place of each other one its message says why not.

    Args:
        request: The request.
        vision: Whether the model takes images.
    """
    if not has_images(request):
        return request
    contents: Mapping[str, bytes] = request.images if vision else {}
    said = NOT_THERE if vision else NOT_TAKEN
    return replace(request, messages=[_shown(message, contents, said) for message in request.messages])


def _shown(message: Message, contents: Mapping[str, bytes], said: str) -> Message:
    missing = [image for image in message.images if image.hash not in contents]
    if not missing:
        return message
    left = tuple(image for image in message.images if image.hash in contents)
    text = "\n".join((message.text, *(said.format(name=image.name) for image in missing)))
    # The parts are of no use to a provider, and would not make up this text.
    return replace(message, text=text, images=left, parts=())


def unseen(model: str, images: Sequence[str], *, was_refused: bool, said_so: bool) -> str:
    """What the user is told of images that a model is not shown, with what can be done about it.

    Args:
        model: The model, as the settings name it.
        images: Their names.
        was_refused: Whether its provider refused them.
        said_so: Whether the user's settings say that it takes none.
    """
    what = f"{', '.join(images)} {'is' if len(images) == 1 else 'are'} not sent to the model {model}"
    if was_refused:
        return f"{what}: its provider refused {'it' if len(images) == 1 else 'them'}."
    if said_so:
        return f"{what}: your settings say that it does not support images."
    return f'{what}: it is not known to support images. If it does, set `[models."{model}"] vision = true`.'


def behind_results(messages: Sequence[Message]) -> list[Message]:
    """The messages, with the images of results in a message of the user behind the last result of their step."""
    moved: list[Message] = []
    waiting: list[Image] = []

    def show() -> None:
        if waiting:
            names = ", ".join(image.name for image in waiting)
            moved.append(Message("user", FOLLOWS.format(names=names), images=tuple(waiting)))
            waiting.clear()

    for message in messages:
        if message.role != "tool":
            show()
            moved.append(message)
        else:
            waiting += message.images
            moved.append(replace(message, images=()) if message.images else message)
    show()
    return moved


def base64_of(image: Image, contents: Mapping[str, bytes]) -> str:
    """The content of an image as text."""
    return b64encode(contents[image.hash]).decode("ascii")


def data_url(image: Image, contents: Mapping[str, bytes]) -> str:
    """The content of an image as a URL that holds it."""
    return f"data:{image.media_type};base64,{base64_of(image, contents)}"
