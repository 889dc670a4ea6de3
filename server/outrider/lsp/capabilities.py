"""What the server says of itself in its answer to `initialize`.

Imports nothing but names: `early.py` answers with it before anything else is imported.
"""

from typing import Any, cast

from outrider.transport.early import at
from outrider_protocol import (
    ACTION_KIND,
    COMMAND_NAMES,
    EXTENSIONS,
    PROTOCOL_VERSION,
)

CODE_ACTION_KINDS = ("quickfix", "refactor.rewrite", "source", ACTION_KIND)

_ENCODINGS = ("utf-8", "utf-16", "utf-32")
_INCREMENTAL = 2
"""LSP 3.17, "TextDocumentSyncKind"."""


def flaw_of(params: Any) -> tuple[str, str] | None:
    """What makes the params of `initialize` unusable, if anything does.

    Args:
        params: Any JSON.

    Returns:
        Where the fault is and what must be there instead; None where the params can be used.
    """
    if not isinstance(params, dict):
        return "params", "must be an object"
    if not isinstance(at(params, "capabilities"), dict):
        return "params.capabilities", "must be an object"
    options = at(params, "initializationOptions")
    if options is not None and not isinstance(options, dict):
        return "params.initializationOptions", "must be an object"
    return None


def encoding_of(capabilities: Any) -> str:
    """The position encoding that a client prefers among those that the server knows.

    Args:
        capabilities: Those of the client, any JSON.
    """
    # LSP 3.17, "PositionEncodingKind": the client lists them in order of preference; absent means UTF-16.
    offered = at(capabilities, "general", "positionEncodings")
    names = cast("list[Any]", offered) if isinstance(offered, list) else []
    return next((name for name in names if name in _ENCODINGS), "utf-16")


def shows_lenses(capabilities: Any) -> bool:
    """Whether a client shows code lenses."""
    return isinstance(at(capabilities, "textDocument", "codeLens"), dict)


def initialize_result(params: Any, version: str) -> dict[str, Any]:
    """The answer to `initialize` (LSP 3.17, "Initialize Request").

    Args:
        params: The client's params, without a flaw.
        version: The server's version.
    """
    theirs = params["capabilities"]
    lenses = {"codeLensProvider": {"resolveProvider": False}} if shows_lenses(theirs) else {}
    ours = {
        **lenses,
        "positionEncoding": encoding_of(theirs),
        "textDocumentSync": {"openClose": True, "change": _INCREMENTAL, "save": {"includeText": False}},
        "codeActionProvider": {"codeActionKinds": list(CODE_ACTION_KINDS)},
        "executeCommandProvider": {"commands": list(COMMAND_NAMES), "workDoneProgress": True},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {"didRename": {"filters": [{"scheme": "file", "pattern": {"glob": "**"}}]}},
        },
        "experimental": {"outrider": {"protocolVersion": PROTOCOL_VERSION, "extensions": list(EXTENSIONS)}},
    }
    return {"capabilities": ours, "serverInfo": {"name": "outrider", "version": version}}
