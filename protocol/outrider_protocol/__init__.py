"""Outrider's wire contract, as names.

This module holds plain constants only, so that importing it costs nothing on the way to the answer of
`initialize`. The pydantic models of what travels under these names are in `settings`, `commands`, `events`,
`notifications`, `requests` and `script`; import those where they are needed. `protocol/README.md` documents all of it.
"""

from typing import Final

PROTOCOL_VERSION: Final = 1
"""The `v` of every `outrider/event`. It changes only when a field changes its meaning."""

# Commands of `workspace/executeCommand`; each takes one object.
RUN: Final = "outrider.run"
EXPLORE: Final = "outrider.explore"
STEER: Final = "outrider.steer"
CANCEL: Final = "outrider.cancel"
ANSWER: Final = "outrider.answer"
STATUS: Final = "outrider.status"
WAIT: Final = "outrider.wait"
EVENTS: Final = "outrider.events"
SESSIONS: Final = "outrider.sessions"
RESUME: Final = "outrider.resume"
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

COMMAND_NAMES: Final = (
    RUN, EXPLORE, STEER, CANCEL, ANSWER, STATUS, WAIT, EVENTS, SESSIONS, RESUME, UNDO, REDO, CHANGES, TOOLS,
    MODELS, DOCTOR, PROMPT, MAP, OPEN, EXPORT, PERMISSIONS, TRUST, JOBS,
)  # fmt: skip

# Notifications to the client, sent only where it set `events: true`.
EVENT_NOTIFICATION: Final = "outrider/event"
STREAM_NOTIFICATION: Final = "outrider/stream"

# The request to a client that registered tools: run one of them.
TOOL_REQUEST: Final = "outrider/tool"

# The request to a client that named `ask` among its extensions: put an open item before the person.
ASK_REQUEST: Final = "outrider/ask"

ASK_EXTENSION: Final = "ask"
"""What a client that takes `outrider/ask` says in `initializationOptions.extensions`."""

# The request to a client that named `save` among its extensions: save some documents.
SAVE_REQUEST: Final = "outrider/save"

SAVE_EXTENSION: Final = "save"
"""What a client that takes `outrider/save` says in `initializationOptions.extensions`."""

# The request to a client that named `diagnostics` among its extensions: what all its language servers report.
DIAGNOSTICS_REQUEST: Final = "outrider/diagnostics"

DIAGNOSTICS_EXTENSION: Final = "diagnostics"
"""What a client that takes `outrider/diagnostics` says in `initializationOptions.extensions`."""

EXTENSIONS: Final = (ASK_EXTENSION, DIAGNOSTICS_EXTENSION, SAVE_EXTENSION)
"""What a client may name in `initializationOptions.extensions`, and what the server says that it uses."""

CONFIGURATION_SECTION: Final = "outrider"

# Titles of the buttons the person sees. Answers are matched by these texts, never by position.
ALLOW_ONCE: Final = "Allow once"
ALLOW_SESSION: Final = "Allow for this session"
ALWAYS_ALLOW: Final = "Always allow…"
ALWAYS_HERE: Final = "Always in this workspace"
ALWAYS_EVERYWHERE: Final = "Always everywhere"
ALWAYS_BACK: Final = "Back"
REVIEW: Final = "Review…"
CHOOSE: Final = "Choose…"
REJECT: Final = "Reject"
SAVE_AND_CONTINUE: Final = "Save and continue"
RUN_WITHOUT_SAVING: Final = "Run without saving"
SAVE_CANCEL: Final = "Cancel"
RUN_OUTSIDE: Final = "Run outside once"
ANSWER_IN_DOCUMENT: Final = "Answer in a document…"
TRUST_WORKSPACE: Final = "Trust this workspace"
STAY_READ_ONLY: Final = "Stay read-only"
TRUST_ITEM: Final = "trust_"
"""What the id of a question about trust begins with; it is in no event."""
KEEP_MINE: Final = "Keep mine"
TAKE_THE_UNDO: Final = "Take the undo"
TAKE_THE_REDO: Final = "Take the redo"
OPEN_BOTH: Final = "Open both"

EDIT_TOOLS: Final = frozenset(
    {"edit_file", "apply_patch", "insert_lines", "write_file", "delete_file", "rename_file"}
)
"""The tools whose effect is `edit`."""

ACTION_PREFIX: Final = "Outrider: "
"""What the title of every code action begins with."""
ACTION_KIND: Final = "source.outrider"
"""The code action kind of what belongs to no place in the text: open items, undo, cancel."""

# JSON-RPC error codes (JSON-RPC 2.0 and LSP 3.17, "ErrorCodes" and "LSPErrorCodes").
INVALID_PARAMS: Final = -32602
REQUEST_FAILED: Final = -32803
REQUEST_CANCELLED: Final = -32800
