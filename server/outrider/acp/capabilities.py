"""What the agent says of itself in its answer to `initialize`, and what it reads there of the client.

Imports nothing but names: `early.py` answers with it before the SDK is imported. The SDK drops what is wrong in a
capability without a word, so the client's are read here, as far as they have the shape.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, cast

from outrider.transport.early import at

PROTOCOL_VERSION: Final = 1
"""The one version that is spoken; a client of a later one is told so."""
SESSION_METHODS: Final = ("list", "resume", "close", "delete", "fork", "additionalDirectories")
"""What can be done with sessions besides the beginning; `fork` is not stable yet, and used by clients that know it."""
SETUP_METHOD: Final = "outrider-setup"
"""The way in for a user without a model, as `authenticate` names it."""

_ANSWERS_BY: Final[Mapping[str, Literal["kind", "yes"]]] = {"CodeCompanion.nvim": "kind", "": "yes"}
"""By name, as the protocol has no word for it. Avante says no name, and of others without one as little is known."""


class ClientCapabilities(NamedTuple):
    """What a client can do."""

    name: str = ""
    version: str = ""
    reads_files: bool = False
    """Whether it gives the text of a file as it has it, with what is not saved."""
    writes_files: bool = False
    """Whether it writes files itself."""
    takes_forms: bool = False
    """Whether it can have the user fill in a form (elicitation)."""
    shows_terminals: bool = False
    """Whether it shows the output of our commands as that of a terminal; Zed began with that, outside of the protocol."""
    answers_by: Literal["option", "kind", "yes"] = "option"
    """What its user chooses with a question: an option; one of a few keys, each for all options of a kind, without their
    names and without the text of the question; or yes and no, where a yes for ever is one to all that is asked later."""


def flaw_of(params: Any) -> tuple[str, str] | None:
    """What makes the params of `initialize` unusable: where, and what must be there instead; None where they can be used."""
    if not isinstance(params, dict):
        return "params", "must be an object"
    version = at(params, "protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool) or not 0 <= version <= 0xFFFF:
        return "protocolVersion", "must be a whole number from 0 to 65535"
    return None


def capabilities_of(params: Any) -> ClientCapabilities:
    """What a client says of itself, from the params of its `initialize`. What is not as it should be counts as absent."""
    name, version = at(params, "clientInfo", "name"), at(params, "clientInfo", "version")
    says = at(params, "clientCapabilities")
    return ClientCapabilities(
        name=name if isinstance(name, str) else "",
        version=version if isinstance(version, str) else "",
        reads_files=at(says, "fs", "readTextFile") is True,
        writes_files=at(says, "fs", "writeTextFile") is True,
        takes_forms=isinstance(at(says, "elicitation", "form"), dict),
        shows_terminals=at(says, "_meta", "terminal_output") is True,
        answers_by=_ANSWERS_BY.get(name if isinstance(name, str) else "", "option"),
    )


def initialize_result(version: str) -> dict[str, Any]:
    """The answer to `initialize` (ACP, "Initialization").

    Args:
        version: The program's version.
    """
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "outrider", "title": "Outrider", "version": version},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {method: dict[str, Any]() for method in SESSION_METHODS},
        },
        "authMethods": [
            {
                "id": SETUP_METHOD,
                "name": "Set up a model",
                "description": "Run `outrider setup` in a terminal: it leads to a model that answers.",
            }
        ],
    }


def as_object(value: Any) -> dict[str, Any]:
    """JSON as an object; an empty one where it is none."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """JSON as a list; an empty one where it is none."""
    return cast("list[Any]", value) if isinstance(value, list) else []
