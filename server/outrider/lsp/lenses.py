"""Code lenses: at each change of a session that is open here, how it is taken back, or brought back.

Made from what is in memory, as the code actions are.
"""

from typing import Any, Final

from outrider.agent.papers import FOLDER
from outrider.app import App
from outrider.store.problem import StoreReadError
from outrider.workspace.diff import split_lines
from outrider_protocol import ACTION_PREFIX, REDO, UNDO

UNDO_LENS: Final = "undo this change"
REDO_LENS: Final = "redo this change"


async def code_lenses(app: App, uri: str) -> list[dict[str, Any]]:
    """The lenses of a document; none where the settings want none."""
    document = app.services.documents.get(uri)
    path = app.services.folders.display_of(uri)
    if document is None or not app.current.code_lens or f"{FOLDER}/" in path:
        return []
    try:
        found = await app.sessions.hunks_in(path, document.text)
    except StoreReadError:  # who takes a change back is told why it cannot be
        return []
    last = max(len(split_lines(document.text)), 1)
    lenses: list[dict[str, Any]] = []
    for session_id, hunk in found:
        place = {"line": min(hunk.line, last) - 1, "character": 0}
        title = f"{ACTION_PREFIX}{REDO_LENS if hunk.undone else UNDO_LENS}"
        argument = {"sessionId": session_id, "scope": "hunk", "id": hunk.id}
        command = {"title": title, "command": REDO if hunk.undone else UNDO, "arguments": [argument]}
        lenses.append({"range": {"start": place, "end": place}, "command": command})
    return sorted(lenses, key=lambda lens: lens["range"]["start"]["line"])
