"""What some fake editors do besides: save for the server, by a request or after a refactoring, and show code lenses."""

from pathlib import Path
from typing import Any

from outrider.testing.checks import Watch, capability
from outrider.testing.desk import targets
from outrider.testing.document_client import DocumentClient
from outrider.testing.profiles import Profile

Object = dict[str, Any]

INTERNAL_ERROR = -32603


class SavingClient(DocumentClient):
    """A client that can be asked to save, if its profile can."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.save_requests: list[list[str]] = []
        """The URIs of each `outrider/save`."""
        self.lens_refreshes = 0
        """How often the server said that code lenses are old."""

    async def code_lenses(self, path: str | Path) -> list[Object]:
        """Ask for the code lenses of a document; none where the server did not offer them."""
        if capability(self.server, "capabilities.codeLensProvider") is None:
            return []
        params = {"textDocument": {"uri": self.desk.uri(path)}}
        return await self.request("textDocument/codeLens", params) or []

    def _save_for_server(self, number: int | str, params: Object) -> None:
        uris: list[str] = params["uris"]
        self.save_requests.append(uris)
        match self.profile.save_fault:
            case "never_answers":
                pass
            case "garbage":
                self._respond(number, [True])
            case "error":
                self._respond_error(number, INTERNAL_ERROR, "the editor cannot save now")
            case "claims":
                self._respond(number, {"saved": uris})
            case "refuses":
                failed = [{"uri": uri, "reason": "it is write-protected"} for uri in uris]
                self._respond(number, {"saved": [], "failed": failed})
            case None:
                there = [uri for uri in uris if uri in self.desk.buffers]
                for uri in there:
                    self.save(uri)
                failed = [{"uri": uri, "reason": "it is not open"} for uri in uris if uri not in there]
                self._respond(number, {"saved": there, **({"failed": failed} if failed else {})})

    def _save_refactoring(self, params: Object) -> None:
        """Save what an edit changed, as VS Code does: only where it is several files, and never the active one."""
        changed = targets(params["edit"])
        is_refactoring = capability(params, "metadata.isRefactoring") is True
        if not (self.profile.saves_refactorings and is_refactoring and len(changed) > 1):
            return
        for uri in changed:
            if uri != self.active and self.desk.buffers[uri].dirty:
                self.save(uri)
