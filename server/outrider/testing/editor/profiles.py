"""Profiles of editors: what they say they can do, and what they do.

The behaviour is that of the real editors as observed; the hostile profiles are a bare client with one fault
each. Values only: `fake_editor` acts them out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from outrider.testing.editor.answers import Answer, Dismiss, Fail, Late, Never, Reply
from outrider.testing.editor.buffers import LineEnds, PositionEncoding

Stale = Literal["apply", "skip_and_claim", "refuse", "error"]
"""What becomes of an edit for an older version of a document.

`apply`: it is applied. `skip_and_claim`: it is left out and the answer is `applied: true` (Neovim). `refuse`:
`applied: false`. `error`: a JSON-RPC error (eglot).
"""

EditFault = Literal["claims", "partly", "partly_once", "refuses", "fails", "never_answers"]
"""How a hostile client treats an edit.

`claims`: says `applied: true` and does nothing. `partly`: applies only the first edit and says `applied: true`.
`partly_once`: does so the first time, and then as `claims`.
`refuses`: `applied: false`. `fails`: a JSON-RPC error. `never_answers`: applies it and says nothing.
"""

ToolFault = Literal["twice", "garbage", "error"]
"""How a hostile client treats `outrider/tool`, whatever it was told.

`twice`: answers, and answers something else after that. `garbage`: a result of another shape. `error`: a JSON-RPC
error.
"""

SaveFault = Literal["claims", "never_answers", "garbage", "error", "refuses"]
"""How a hostile client treats `outrider/save`.

`claims`: says that it saved and does nothing. `never_answers`: does nothing and says nothing. `garbage`: saves nothing and
answers in another shape. `error`: a JSON-RPC error. `refuses`: says that it could not.
"""

LanguageFault = Literal["never_answers", "garbage", "error", "unknown", "old_versions"]
"""How a hostile client treats `outrider/language`.

`never_answers`: says nothing. `garbage`: answers in another shape. `error`: a JSON-RPC error. `unknown`: MethodNotFound.
`old_versions`: says that its answer is about texts from before.
"""

_NULL: Final = Reply(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """An editor."""

    name: str
    capabilities: Mapping[str, Any]
    """The `capabilities` of `initialize`."""
    client_info: Mapping[str, str] | None = None
    first_version: int = 0
    """Version of a document when it is opened."""

    stale: Stale = "refuse"
    checks_version_zero: bool = True
    """Whether an edit for version 0 is checked at all; Neovim does not, and puts it in by line."""
    change_before_answer: bool = True
    """Whether `didChange` goes out before the answer to `workspace/applyEdit`."""
    debounce_seconds: float = 0.0
    """How long changes are collected before they are sent, on the editor's clock."""
    resource_operations: Literal["apply", "error", "ignore"] = "apply"
    """What becomes of create, rename and delete in a workspace edit."""
    create_truncates: bool = False
    """Whether creating a file that exists empties it, unless the options say otherwise (Neovim)."""
    edits_unadvertised_document_changes: bool = False
    """Whether `documentChanges` work although the capability is missing (Neovim)."""
    undo_spans_files: bool = False
    """Whether one undo takes back a workspace edit in all its files, and files it created (VS Code)."""
    late_changes_after_close: bool = False
    """Whether such an undo closes documents and then still sends their changes (VS Code)."""

    tells_renames: bool = False
    """Whether it tells what its user renames, to a server that wants to know (VS Code, Helix); else the document closes
    and another one opens."""
    tells_with_answers: bool = False
    """Whether it tells of an edit only at the next key, or before it answers a message without a choice (vim-lsp)."""

    can_ask: bool = True
    """False: `window/showMessageRequest` gets MethodNotFound."""
    dismissal: Answer = _NULL
    """What goes over the wire when a question is closed without an answer."""
    forced_answer: Answer | None = None
    """What every question gets, whatever the user says: the fault of a hostile client."""
    preselects_first_action: bool = False
    """Whether a bare Return takes the first action, so that it must be the harmless one."""
    newest_question_only: bool = False
    """Whether a question replaces the open one, which is then never answered (Helix)."""
    unknown_request: Literal["error", "null"] = "error"
    """The answer to a request it does not know; eglot says null."""

    line_ends: LineEnds = "keep"
    final_newline: Literal["as_is", "buffer", "disk"] = "as_is"
    """Where saving adds a missing line end at the end of a file: nowhere, in the buffer, or on disk alone."""
    keeps_final_newline: bool = False
    adds_line_at_end: bool = False

    takes_save: bool = False
    """Whether it names the extension `save` and answers `outrider/save`, as our plugins do."""
    takes_ask: bool = False
    """Whether it names the extension `ask` and puts open items before its user itself."""
    lends: bool = False
    """Whether it names the extension `language` and answers `outrider/language`, as our plugins do."""
    lends_in: PositionEncoding | None = None
    """What its language servers count columns in; absent: what the connection does."""
    saves_refactorings: bool = False
    """Whether it saves what an edit marked as a refactoring changed in several files, but for the active one (VS Code)."""
    formats_on_save: str | None = None
    """What a formatter puts at the start of a document when it is saved, once."""

    pulls_configuration: bool = True
    """Whether `didChangeConfiguration` carries null, and the values have to be asked for."""
    answers_show_document: bool = True
    answers_create_progress: bool = True
    stops_reading: bool = False
    """Whether it stops reading what the server sends once it is initialized, until it is told to read on."""
    edit_fault: EditFault | None = None
    tool_fault: ToolFault | None = None
    save_fault: SaveFault | None = None
    language_fault: LanguageFault | None = None
    types_before_edit: str | None = None
    """What the user types at the start of a document just before an edit of it is applied."""
    typing_times: int = 1
    """How often it does that."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of the `initialize` params, such as `locale`."""

    def fault_of_edit(self, applied: int) -> EditFault | None:
        """How it treats an edit, after it has applied that many."""
        if self.edit_fault != "partly_once":
            return self.edit_fault
        return "claims" if applied else "partly"

    def __str__(self) -> str:
        return self.name


def _capabilities(
    *,
    encodings: tuple[str, ...] | None,
    workspace_edit: Mapping[str, Any] | None = None,
    apply_edit: bool = True,
    ask: bool | None = True,
    show_document: bool = True,
    progress: bool = True,
    configuration: bool = True,
    dynamic: bool = False,
    disabled_actions: bool = False,
    lenses: Literal["no", "yes", "refreshed"] = "no",
    renames: bool = False,
) -> dict[str, Any]:
    # `ask`: what `additionalPropertiesSupport` says; None: questions are not mentioned.
    window: dict[str, Any] = {"workDoneProgress": progress}
    if ask is not None:
        window["showMessage"] = {"messageActionItem": {"additionalPropertiesSupport": ask}}
    if show_document:
        window["showDocument"] = {"support": True}
    workspace: dict[str, Any] = {
        "workspaceFolders": True,
        "configuration": configuration,
        "didChangeConfiguration": {"dynamicRegistration": dynamic},
        "executeCommand": {"dynamicRegistration": dynamic},
    }
    if apply_edit:
        workspace["applyEdit"] = True
    if workspace_edit is not None:
        workspace["workspaceEdit"] = dict(workspace_edit)
    kinds = ["", "quickfix", "refactor", "refactor.rewrite", "source", "source.organizeImports"]
    capabilities: dict[str, Any] = {
        "window": window,
        "workspace": workspace,
        "textDocument": {
            "synchronization": {"dynamicRegistration": dynamic, "didSave": True},
            "codeAction": {
                "dynamicRegistration": dynamic,
                "isPreferredSupport": True,
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": kinds}},
                **({"disabledSupport": True} if disabled_actions else {}),
            },
        },
    }
    if lenses != "no":
        capabilities["textDocument"]["codeLens"] = {"dynamicRegistration": dynamic}
    if lenses == "refreshed":
        workspace["codeLens"] = {"refreshSupport": True}
    if renames:
        workspace["fileOperations"] = {"dynamicRegistration": dynamic, "didRename": True}
    if encodings is not None:
        capabilities["general"] = {"positionEncodings": list(encodings)}
    return capabilities


_ALL_OPERATIONS: Final = ["create", "rename", "delete"]

NEOVIM: Final = Profile(
    name="neovim-0.11",
    client_info={"name": "Neovim", "version": "0.11.4"},
    capabilities=_capabilities(
        encodings=("utf-8", "utf-16", "utf-32"),
        workspace_edit={"resourceOperations": ["rename", "create", "delete"]},
        lenses="yes",
    ),
    stale="skip_and_claim",
    checks_version_zero=False,
    change_before_answer=False,
    debounce_seconds=0.15,
    create_truncates=True,
    edits_unadvertised_document_changes=True,
    line_ends="format",
    final_newline="disk",
    keeps_final_newline=True,
    adds_line_at_end=True,
    pulls_configuration=False,
)

NEOVIM_0_10: Final = replace(
    NEOVIM,
    name="neovim-0.10",
    client_info={"name": "Neovim", "version": "0.10.4"},
    capabilities=_capabilities(
        encodings=("utf-16",),
        ask=False,
        workspace_edit={"resourceOperations": ["rename", "create", "delete"]},
    ),
)

NEOVIM_PLUGIN: Final = replace(
    NEOVIM, name="neovim-0.11-no-debounce", change_before_answer=True, debounce_seconds=0.0
)
"""Neovim with `debounce_text_changes = 0`, as our plugin sets it."""

VSCODE: Final = Profile(
    name="vscode",
    client_info={"name": "Visual Studio Code", "version": "1.139.1"},
    capabilities=_capabilities(
        disabled_actions=True,
        encodings=("utf-16",),
        workspace_edit={
            "documentChanges": True,
            "resourceOperations": _ALL_OPERATIONS,
            "failureHandling": "textOnlyTransactional",
            "normalizesLineEndings": True,
            "changeAnnotationSupport": {"groupsOnLabel": True},
            "metadataSupport": True,
        },
        dynamic=True,
        lenses="refreshed",
        renames=True,
    ),
    first_version=1,
    stale="refuse",
    change_before_answer=False,
    undo_spans_files=True,
    late_changes_after_close=True,
    tells_renames=True,
    saves_refactorings=True,
    line_ends="majority",
    extra={"locale": "en"},
)

EGLOT: Final = Profile(
    name="eglot",
    client_info={"name": "Eglot", "version": "1.17.30"},
    capabilities=_capabilities(
        encodings=("utf-32", "utf-8", "utf-16"), workspace_edit={"documentChanges": True}, ask=None
    ),
    stale="error",
    change_before_answer=False,
    debounce_seconds=0.5,
    resource_operations="error",
    dismissal=Never(),
    preselects_first_action=True,
    unknown_request="null",
    line_ends="hidden",
    final_newline="buffer",
    pulls_configuration=False,
)

HELIX: Final = Profile(
    name="helix-25.07",
    client_info={"name": "helix", "version": "25.07.1"},
    capabilities=_capabilities(
        encodings=("utf-8", "utf-32", "utf-16"),
        workspace_edit={
            "documentChanges": True,
            "resourceOperations": _ALL_OPERATIONS,
            "failureHandling": "abort",
            "normalizesLineEndings": False,
        },
        renames=True,
    ),
    stale="refuse",
    preselects_first_action=True,
    newest_question_only=True,
    tells_renames=True,
    final_newline="buffer",
    pulls_configuration=False,
)

HELIX_25_01: Final = replace(
    HELIX,
    name="helix-25.01",
    client_info={"name": "helix", "version": "25.01.1"},
    capabilities=_capabilities(
        encodings=("utf-8", "utf-32", "utf-16"),
        ask=None,
        workspace_edit={
            "documentChanges": True,
            "resourceOperations": _ALL_OPERATIONS,
            "failureHandling": "abort",
            "normalizesLineEndings": False,
        },
    ),
    can_ask=False,
)

KATE: Final = Profile(
    name="kate",
    client_info={"name": "Kate", "version": "24.12.0"},
    capabilities=_capabilities(encodings=None, apply_edit=False, show_document=True),
    stale="apply",
    change_before_answer=False,
    resource_operations="ignore",
    dismissal=Reply({}),
    line_ends="hidden",
    final_newline="buffer",
    pulls_configuration=False,
    answers_show_document=False,
)

KATE_22_12: Final = replace(
    KATE,
    name="kate-22.12",
    client_info=None,
    capabilities=_capabilities(encodings=None, ask=None, show_document=False, configuration=False),
    can_ask=False,
)

VIM_LSP: Final = Profile(
    name="vim-lsp",
    client_info={"name": "vim-lsp"},
    tells_with_answers=True,
    capabilities=_capabilities(encodings=None, ask=None, show_document=False),
    first_version=1,
    stale="apply",
    change_before_answer=False,
    debounce_seconds=0.5,
    resource_operations="ignore",
    line_ends="format",
    final_newline="disk",
    keeps_final_newline=True,
    pulls_configuration=False,
)

STOCK: Final = Profile(
    name="stock",
    capabilities=_capabilities(encodings=None, workspace_edit={"documentChanges": True}, renames=True),
    tells_renames=True,
)
"""A client that does what the specification says and has no name."""

SAVES: Final = replace(STOCK, name="saves", takes_save=True)
"""A client with the extension `save` and nothing else of its own."""

ASKS: Final = replace(STOCK, name="asks", takes_ask=True)
"""A client with the extension `ask` and nothing else of its own."""

LENDS: Final = replace(STOCK, name="lends", lends=True)
"""A client with the extension `language` and nothing else of its own."""

LENDS_UTF_8: Final = replace(LENDS, name="lends-utf-8", lends_in="utf-8")
"""One whose language servers count columns in another way than the client."""

BARE: Final = Profile(name="bare", capabilities={}, can_ask=False)
"""A client with no capabilities at all."""

EDITORS: Final = (
    NEOVIM, NEOVIM_0_10, NEOVIM_PLUGIN, VSCODE, EGLOT, HELIX, HELIX_25_01, KATE, KATE_22_12, VIM_LSP, STOCK, SAVES,
    ASKS, LENDS, LENDS_UTF_8, BARE,
)  # fmt: skip
"""Profiles of clients that mean well."""

NEVER_YES: Final = (
    replace(STOCK, name="answers-null", forced_answer=Dismiss()),
    replace(STOCK, name="answers-empty-object", forced_answer=Reply({})),
    replace(STOCK, name="answers-error", forced_answer=Fail()),
    replace(STOCK, name="answers-unknown-title", forced_answer=Reply({"title": "Sure"})),
    replace(STOCK, name="answers-almost", forced_answer=Reply({"title": " allow once"})),
    replace(STOCK, name="answers-index", forced_answer=Reply(0)),
    replace(STOCK, name="answers-true", forced_answer=Reply(True)),
    replace(STOCK, name="answers-list", forced_answer=Reply([{"title": "Allow once"}])),
    replace(STOCK, name="answers-late", forced_answer=Late("Allow once")),
    replace(STOCK, name="answers-never", forced_answer=Never()),
)
"""Clients whose answer to a question is never a yes in time, whatever the user says."""

BAD_EDITS: Final = (
    replace(STOCK, name="claims-edits", edit_fault="claims"),
    replace(STOCK, name="applies-part", edit_fault="partly"),
    replace(STOCK, name="refuses-edits", edit_fault="refuses"),
    replace(STOCK, name="fails-edits", edit_fault="fails"),
    replace(STOCK, name="never-answers-edits", edit_fault="never_answers"),
)
"""Clients that do something else with an edit than they say."""

MOVING: Final = (
    replace(STOCK, name="types-before-edit", types_before_edit="# typed\n", stale="refuse"),
    replace(STOCK, name="types-before-edit-applies", types_before_edit="# typed\n", stale="apply"),
    replace(STOCK, name="types-before-every-edit", types_before_edit="# typed\n", typing_times=1000),
    replace(NEOVIM, name="types-before-edit-neovim", types_before_edit="# typed\n"),
    replace(STOCK, name="debounces", debounce_seconds=0.15, change_before_answer=False),
)
"""Clients whose user types while an edit is on its way, or whose changes come late."""

SILENT: Final = (
    replace(STOCK, name="never-shows-document", answers_show_document=False),
    replace(STOCK, name="never-creates-progress", answers_create_progress=False),
    replace(STOCK, name="stops-reading", stops_reading=True),
)
"""Clients that leave something unanswered or unread."""

BAD_TOOLS: Final = (
    replace(STOCK, name="answers-tools-twice", tool_fault="twice"),
    replace(STOCK, name="answers-tools-garbage", tool_fault="garbage"),
    replace(STOCK, name="answers-tools-error", tool_fault="error"),
)
"""Clients that do something else with a call of their tool than they should."""

BAD_SAVES: Final = (
    replace(SAVES, name="claims-saves", save_fault="claims"),
    replace(SAVES, name="never-answers-saves", save_fault="never_answers"),
    replace(SAVES, name="answers-saves-garbage", save_fault="garbage"),
    replace(SAVES, name="answers-saves-error", save_fault="error"),
    replace(SAVES, name="refuses-saves", save_fault="refuses"),
    replace(SAVES, name="formats-on-save", formats_on_save="# formatted\n"),
)
"""Clients that do something else than save what they are asked to."""

BAD_LENDING: Final = (
    replace(LENDS, name="never-answers-language", language_fault="never_answers"),
    replace(LENDS, name="answers-language-garbage", language_fault="garbage"),
    replace(LENDS, name="answers-language-error", language_fault="error"),
    replace(LENDS, name="has-no-language", language_fault="unknown"),
    replace(LENDS, name="lends-old-answers", language_fault="old_versions"),
)
"""Clients that do not lend what they said they would."""

HOSTILE: Final = NEVER_YES + BAD_EDITS + MOVING + SILENT + BAD_TOOLS + BAD_SAVES + BAD_LENDING

PROFILES: Final[Mapping[str, Profile]] = {profile.name: profile for profile in EDITORS + HOSTILE}
"""Every profile by its name."""
