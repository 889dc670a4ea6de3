"""What others put on the disk while a command runs, as far as it is known here: saved buffers, and other sessions.

That is not the command's doing, and an undo of the command must not take it back.
"""

from pathlib import Path

from outrider.tools.context import ToolContext
from outrider.workspace.documents import uri_key
from outrider.workspace.editing import Change
from outrider.workspace.overlay import same_text


class Meanwhile:
    """Listens from the moment it is made until it is asked to stop."""

    def __init__(self, context: ToolContext) -> None:
        """Begin to listen."""
        self._documents = context.documents
        self._saves = {uri_key(one.uri): one.saves for one in self._documents.all()}
        self._texts: dict[str, list[str | None]] = {}
        """What was put there, by the key of the URI; None where the file was taken away."""
        self._stops = (
            self._documents.subscribe(self._happened),
            context.editing.subscribe(self._written),
        )

    def stop(self) -> None:
        """Listen no longer."""
        for stop in self._stops:
            stop()

    def wrote(self, path: Path | None) -> bool:
        """Whether somebody else wrote the file of that path."""
        return path is not None and uri_key(path.as_uri()) in self._texts

    def is_theirs(self, path: Path | None, text: str | None) -> bool:
        """Whether what is there now is what somebody else put there, or nothing where they took it away."""
        for theirs in self._texts.get(uri_key(path.as_uri()), ()) if path is not None else ():
            if theirs is None or text is None:
                if theirs is text:
                    return True
            # Some editors end the last line on the disk alone.
            elif same_text(theirs, text) or same_text(f"{theirs}\n", text):
                return True
        return False

    def _happened(self, uri: str) -> None:
        key, document = uri_key(uri), self._documents.get(uri)
        if document is None:
            self._saves.pop(key, None)
            return
        if document.saves > self._saves.get(key, 0):
            self._texts.setdefault(key, []).append(document.text)
        self._saves[key] = document.saves

    def _written(self, change: Change) -> None:
        if change.located.path is not None:
            left = None if change.operation in {"delete", "rename"} else change.after
            self._texts.setdefault(uri_key(change.located.uri), []).append(left)
        if change.to is not None:
            self._texts.setdefault(uri_key(change.to.uri), []).append(change.after)
