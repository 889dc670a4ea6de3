"""Outrider's wire contract, as names.

This module holds plain constants only, so that importing it costs nothing on the way to the answer of
`initialize`. The pydantic models of what travels under these names are in `settings`, `commands`, `events`,
`notifications`, `requests` and `script`; import those where they are needed. `protocol/README.md` says how it works, and
`protocol/reference.md` is generated from the models.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from outrider_protocol.events import Decision

PROTOCOL_VERSION: Final = 1
"""The `v` of every `outrider/event`. It changes only when a field changes its meaning."""

# Commands of `workspace/executeCommand`; each takes one object.
RUN: Final = "outrider.run"
EXPLORE: Final = "outrider.explore"
STEER: Final = "outrider.steer"
CANCEL: Final = "outrider.cancel"
RETRY: Final = "outrider.retry"
ANSWER: Final = "outrider.answer"
STATUS: Final = "outrider.status"
WAIT: Final = "outrider.wait"
EVENTS: Final = "outrider.events"
SESSIONS: Final = "outrider.sessions"
RESUME: Final = "outrider.resume"
LEAVE: Final = "outrider.leave"
CONTINUE: Final = "outrider.continue"
RESEND: Final = "outrider.resend"
RESTORE: Final = "outrider.restore"
QUEUE: Final = "outrider.queue"
FORK: Final = "outrider.fork"
RENAME: Final = "outrider.rename"
DELETE: Final = "outrider.delete"
IMPORT: Final = "outrider.import"
SETUP: Final = "outrider.setup"
UNDO: Final = "outrider.undo"
REDO: Final = "outrider.redo"
CHANGES: Final = "outrider.changes"
TOOLS: Final = "outrider.tools"
MODELS: Final = "outrider.models"
DOCTOR: Final = "outrider.doctor"
PROMPT: Final = "outrider.prompt"
MAP: Final = "outrider.map"
OPEN: Final = "outrider.open"
EXPORT: Final = "outrider.export"
PERMISSIONS: Final = "outrider.permissions"
TRUST: Final = "outrider.trust"
JOBS: Final = "outrider.jobs"
CUSTOM_COMMANDS: Final = "outrider.commands"
PLAN: Final = "outrider.plan"
SERVERS: Final = "outrider.servers"

COMMAND_NAMES: Final = (
    RUN, EXPLORE, PLAN, STEER, CANCEL, ANSWER, STATUS, WAIT, EVENTS, SESSIONS, RESUME, UNDO, REDO, CHANGES, TOOLS,
    MODELS, DOCTOR, PROMPT, MAP, OPEN, EXPORT, PERMISSIONS, TRUST, JOBS, CUSTOM_COMMANDS, SERVERS, RETRY,
    CONTINUE, RESEND, RESTORE, QUEUE, FORK, RENAME, DELETE, IMPORT, LEAVE, SETUP,
)  # fmt: skip

# Notifications to the client, sent only where it set `events: true`.
EVENT_NOTIFICATION: Final = "outrider/event"
STREAM_NOTIFICATION: Final = "outrider/stream"
LEFT_NOTIFICATION: Final = "outrider/left"

# The request to a client that registered tools: run one of them.
TOOL_REQUEST: Final = "outrider/tool"

# The request to a client that named `ask` among its extensions: show an open item to the user.
ASK_REQUEST: Final = "outrider/ask"

ASK_EXTENSION: Final = "ask"
"""What a client that takes `outrider/ask` says in `initializationOptions.extensions`."""

# The request to a client that named `save` among its extensions: save some documents.
SAVE_REQUEST: Final = "outrider/save"

SAVE_EXTENSION: Final = "save"
"""What a client that takes `outrider/save` says in `initializationOptions.extensions`."""

# The request to a client that named `language` among its extensions: ask the language servers of the editor.
LANGUAGE_REQUEST: Final = "outrider/language"

LANGUAGE_EXTENSION: Final = "language"
"""What a client that takes `outrider/language` says in `initializationOptions.extensions`."""

EXTENSIONS: Final = (ASK_EXTENSION, LANGUAGE_EXTENSION, SAVE_EXTENSION)
"""What a client may name in `initializationOptions.extensions`, and what the server says that it uses."""

CONFIGURATION_SECTION: Final = "outrider"

# Titles of the buttons the user sees. Answers are matched by these texts, never by position.
ALLOW_ONCE: Final = "Allow once"
"""Approval: do it now."""
ALLOW_SESSION: Final = "Allow for this session"
"""Approval: do it, and the same again without asking: the identical command in the same folder, the identical call of
a client tool, or further edits of that file. Not offered for deleting, renaming and what is outside the workspace."""
ALWAYS_ALLOW: Final = "Always allow…"
"""Approval: show exactly the rules that would be saved, and where, and ask once more. Offered where rules can express
it: program and sub-command of each part of a command, or the file of an edit."""
ALWAYS_HERE: Final = "Always in this workspace"
"""After `Always allow…`: save them, for this workspace."""
ALWAYS_EVERYWHERE: Final = "Always everywhere"
"""After `Always allow…`: save them, for every workspace."""
ALWAYS_BACK: Final = "Back"
"""After `Always allow…`: save nothing, and ask as before."""
ALLOW_ALL: Final = "Allow all …"
"""Approval of several edits of one step, `…` being their number: do them all. Every edit is an item of its own all the
same."""
REVIEW: Final = "Review…"
"""Approval: open an edit, or another long item, as a document, and ask again. An edit is reviewed in it hunk by hunk;
a command can be answered there with a note."""
REJECT: Final = "Reject"
"""Approval: no."""
SAVE_AND_CONTINUE: Final = "Save and continue"
"""Before a command: you saved what Outrider changed, and the command may run. It asks again while something is
unsaved."""
RUN_WITHOUT_SAVING: Final = "Run without saving"
"""Before a command: run it on disk as it is. The model is told which buffers it did not see."""
SAVE_CANCEL: Final = "Cancel"
"""Before a command: do not run it."""
RUN_OUTSIDE: Final = "Run outside once"
"""Run a command without a sandbox: after one that failed in it, or before the first one of a session in mode `full`
without a sandbox."""
PUT_BACK: Final = "Put back"
"""After a command that changed protected files: restore them. Only `put_back` and `keep` answer this question, no
rule and no `allow_once`."""
KEEP: Final = "Keep"
"""After a command that changed protected files: leave them as they are now."""
ANSWER_IN_DOCUMENT: Final = "Answer in a document…"
"""Question or client tool: open a document to write the answer in. The turn parks meanwhile."""
OPEN_PAGE: Final = "Open the page"
"""Question of an MCP server: open the page that it names in the browser, and tell it so."""
ACCEPT: Final = "Accept"
"""Question of an MCP server that wants no value: yes."""
DECLINE: Final = "Decline"
"""Question of an MCP server: give it nothing. The call goes on as the server likes."""
TRUST_WORKSPACE: Final = "Trust this workspace"
"""Question of trust: the folder's instructions and your permission mode count from now on."""
STAY_READ_ONLY: Final = "Stay read-only"
"""Question of trust: Outrider edits nothing and runs nothing there, until you undo this."""
ALLOW_COMMANDS: Final = "Allow these commands"
"""Question about the commands in a trusted workspace's settings: each may run from now on, until it is changed there; an MCP
server, until Outrider changes files there."""
IGNORE_COMMANDS: Final = "Ignore them"
"""Question about the commands in a trusted workspace's settings: they do not run, until they are changed there."""
TRUST_ITEM: Final = "trust_"
"""What the id of a question about trust begins with; it is in no event."""
KEEP_MINE: Final = "Keep mine"
"""Conflict of an undo or redo: leave the place as it is."""
TAKE_THE_UNDO: Final = "Take the undo"
"""Conflict of an undo: put the earlier text there."""
TAKE_THE_REDO: Final = "Take the redo"
"""Conflict of a redo: put the text of the change there again."""
OPEN_BOTH: Final = "Open both"
"""Conflict of an undo or redo: leave it, and show both texts as documents in `.outrider/`."""
TITLES: Final = (
    "ALLOW_ONCE", "ALLOW_SESSION", "ALWAYS_ALLOW", "ALWAYS_HERE", "ALWAYS_EVERYWHERE", "ALWAYS_BACK", "ALLOW_ALL", "REVIEW", "REJECT",
    "SAVE_AND_CONTINUE", "RUN_WITHOUT_SAVING", "SAVE_CANCEL", "PUT_BACK", "KEEP", "RUN_OUTSIDE", "ANSWER_IN_DOCUMENT", "OPEN_PAGE", "ACCEPT", "DECLINE",
    "TRUST_WORKSPACE", "STAY_READ_ONLY", "ALLOW_COMMANDS", "IGNORE_COMMANDS", "KEEP_MINE", "TAKE_THE_UNDO", "TAKE_THE_REDO", "OPEN_BOTH",
)  # fmt: skip
"""The names of these constants."""
APPROVING: Final = frozenset(
    {
        ALLOW_ONCE,
        ALLOW_SESSION,
        ALWAYS_ALLOW,
        ALWAYS_HERE,
        ALWAYS_EVERYWHERE,
        RUN_OUTSIDE,
        PUT_BACK,
        KEEP,
        RUN_WITHOUT_SAVING,
        TRUST_WORKSPACE,
        ALLOW_COMMANDS,
    }
)
"""Titles with which something may happen that would not happen otherwise."""

DECISIONS: "Mapping[str, Decision]" = MappingProxyType(
    {
        ALLOW_ONCE: "allow_once",
        RUN_OUTSIDE: "allow_once",
        ALLOW_SESSION: "allow_session",
        ALWAYS_ALLOW: "allow_always",
        REJECT: "reject",
        PUT_BACK: "put_back",
        KEEP: "keep",
    }
)
"""What `outrider.answer` says for a title of an approval."""


def allow_all(count: int) -> str:
    """The title that allows so many edits at once."""
    return ALLOW_ALL.replace("…", str(count))


def approves(title: str) -> bool:
    """Whether a title lets something happen that would not happen otherwise."""
    return title in APPROVING or title.startswith(ALLOW_ALL.rstrip("…"))


EDIT_TOOLS: Final = frozenset(
    {
        "edit_file", "apply_patch", "insert_lines", "write_file", "delete_file", "rename_file", "rename_symbol",
        "code_actions", "format",
    }
)  # fmt: skip
"""The tools whose effect is `edit`."""

ACTION_PREFIX: Final = "Outrider: "
"""What the title of every code action begins with."""
ACTION_KIND: Final = "source.outrider"
"""The code action kind of what belongs to no place in the text: open items, undo, cancel."""

# JSON-RPC error codes (JSON-RPC 2.0 and LSP 3.17, "ErrorCodes" and "LSPErrorCodes").
INVALID_PARAMS: Final = -32602
REQUEST_FAILED: Final = -32803
REQUEST_CANCELLED: Final = -32800
