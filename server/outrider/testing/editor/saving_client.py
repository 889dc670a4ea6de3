"""What some fake editors do besides: save for the server, show code lenses, tell what other language servers report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outrider.testing.editor.checks import Watch, capability
from outrider.testing.editor.desk import targets
from outrider.testing.editor.document_client import DocumentClient
from outrider.testing.editor.profiles import Profile

Object = dict[str, Any]

INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601


@dataclass(slots=True)
class DiagnosticsRequest:
    """An `outrider/diagnostics`."""

    request_id: int | str
    uris: list[str] | None
    withdrawn: bool = False
    """Whether the server said that nobody waits any more."""


class SavingClient(DocumentClient):
    """A client that can be asked to save, if its profile can."""

    def __init__(self, profile: Profile, root: Path, watch: Watch) -> None:
        """A client that is not connected; see `DocumentClient`."""
        super().__init__(profile, root, watch)
        self.save_requests: list[list[str]] = []
        """The URIs of each `outrider/save`."""
        self.problems: dict[str, list[Object]] = {}
        """By path what other language servers report, as LSP `Diagnostic`s."""
        self.diagnostics_requests: list[DiagnosticsRequest] = []
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

    def tell_diagnostics(self, asked: DiagnosticsRequest) -> None:
        """Answer an `outrider/diagnostics` by what is in `problems`."""
        by_uri = {self.desk.uri(path): items for path, items in self.problems.items()}
        wanted = by_uri if asked.uris is None else {uri: by_uri.get(uri, []) for uri in asked.uris}
        told = [{"uri": uri, "items": items} for uri, items in wanted.items()]
        self._respond(asked.request_id, {"diagnostics": told})

    def _tell_diagnostics(self, number: int | str, params: Object) -> None:
        asked = DiagnosticsRequest(number, params.get("uris"))
        self.diagnostics_requests.append(asked)
        match self.profile.diagnostics_fault:
            case "never_answers":
                pass
            case "garbage":
                self._respond(number, {"diagnostics": "none"})
            case "error":
                self._respond_error(number, INTERNAL_ERROR, "the editor cannot tell now")
            case "unknown":
                self._respond_error(number, METHOD_NOT_FOUND, "Method not found: outrider/diagnostics")
            case None:
                self.tell_diagnostics(asked)

    def _save_refactoring(self, params: Object) -> None:
        """Save what an edit changed, as VS Code does: only where it is several files, and never the active one."""
        changed = targets(params["edit"])
        is_refactoring = capability(params, "metadata.isRefactoring") is True
        if not (self.profile.saves_refactorings and is_refactoring and len(changed) > 1):
            return
        for uri in changed:
            if uri != self.active and self.desk.buffers[uri].dirty:
                self.save(uri)
