"""What a fake editor does with changes that need a confirmation: it shows them, and its person ticks some, or none, or never."""

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from outrider.testing.editor.asked_client import AskedClient
from outrider.testing.editor.checks import Watch, capability
from outrider.testing.editor.desk import targets
from outrider.testing.editor.profiles import Profile
from outrider.testing.editor.wire_client import WAIT_SECONDS

Object = dict[str, Any]


@dataclass(slots=True)
class Preview:
    """A `workspace/applyEdit` that waits for its person."""

    request_id: int | str
    label: str
    edit: Object
    texts: dict[str, str]
    """The text of each document when it was shown, by its URI."""
    is_open: bool = True
    withdrawn: bool = False
    """Whether the server took it back (`$/cancelRequest`), which editors ignore."""
    is_orphaned: bool = False
    """Whether the server that sent it is gone."""

    @property
    def labels(self) -> list[str]:
        """What stands at the boxes, in their order."""
        annotations = cast("Object", self.edit["changeAnnotations"])
        return [annotations[one["annotationId"]]["label"] for one in _text_edits(self.edit)]


class PreviewingClient(AskedClient):
    """A client that shows changes that need a confirmation, as VS Code does, if its profile can."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.previews: list[Preview] = []

    async def preview(self, count: int = 1, *, seconds: float = WAIT_SECONDS) -> Preview:
        """Wait for the `count`-th preview."""
        await self.wait_for(lambda: len(self.previews) >= count, f"preview number {count}", seconds=seconds)
        return self.previews[count - 1]

    def apply_preview(self, preview: Preview, ticked: Collection[int] | None = None) -> bool:
        """Tick boxes and apply; the answer is False where a document has changed since it was shown.

        Args:
            preview: What is shown.
            ticked: The boxes, from 1; absent means all.

        Returns:
            Whether it was applied.

        Raises:
            ValueError: It is closed, or nothing is ticked, where the button is grey.
        """
        if not preview.is_open or (ticked is not None and not ticked):
            raise ValueError("it is closed" if not preview.is_open else "nothing is ticked")
        if any(self.desk.buffers[uri].text != text for uri, text in preview.texts.items()):
            self.discard_preview(preview)  # behind a box that says so
            return False
        preview.is_open = False
        self._apply_ticked(preview, _ticked_only(preview.edit, ticked))
        return True

    def discard_preview(self, preview: Preview) -> None:
        """Close a preview without applying it."""
        preview.is_open = False
        self._refuse_preview(preview)

    def _is_to_be_previewed(self, edit: Object) -> bool:
        annotations = cast("Object", edit.get("changeAnnotations") or {})
        wanted = any(one.get("needsConfirmation") for one in annotations.values())
        can = capability(self.profile.capabilities, "workspace.workspaceEdit.changeAnnotationSupport")
        return wanted and self.profile.previews_edits and can is not None

    def _show_preview(self, number: int | str, label: str, edit: Object) -> None:
        for other in self.previews:
            if other.is_open:
                self.discard_preview(other)  # the person presses Continue
        texts = {uri: self.desk.buffers[uri].text for uri in targets(edit)}
        self.previews.append(Preview(number, label, edit, texts))

    @abstractmethod
    def _apply_ticked(self, preview: Preview, edit: Object) -> None:
        """Apply what was ticked, and answer."""

    @abstractmethod
    def _refuse_preview(self, preview: Preview) -> None:
        """Answer that nothing was applied."""


def _text_edits(edit: Object) -> list[Object]:
    return [one for change in cast("list[Object]", edit["documentChanges"]) for one in change["edits"]]


def _ticked_only(edit: Object, ticked: Collection[int] | None) -> Object:
    """A workspace edit with the text edits of these numbers alone."""
    left: list[Object] = []
    number = 0
    for change in cast("list[Object]", edit["documentChanges"]):
        numbered = list(enumerate(cast("list[Object]", change["edits"]), number + 1))
        number += len(numbered)
        edits = [one for at, one in numbered if ticked is None or at in ticked]
        if edits:
            left.append({**change, "edits": edits})
    return {"documentChanges": left}
