"""What the client can do, and what it does without saying so. The only place that knows which editor it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from outrider.lsp.capabilities import encoding_of, shows_lenses
from outrider.ports.editor import EditorTraits, FileOperationKind, SaveWay
from outrider.transport.early import at
from outrider.workspace.text.lines import Encoding
from outrider_protocol import ASK_EXTENSION, LANGUAGE_EXTENSION, SAVE_EXTENSION

_ENCODINGS: Final[Mapping[str, Encoding]] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}


@dataclass(frozen=True, slots=True)
class _Quirk:
    """How a client differs from what it says."""

    debounce_seconds: float = 0.0
    tells_at_next_key: bool = False
    reject_first: bool = False
    questions_cover: bool = False
    waits_for_commands: bool = False
    shows_errors: bool = False
    """Whether the user sees why a command could not be done. Helix and Kate show nothing of it."""
    tells_with_answers: bool = False
    takes_first_answer: bool = False
    document_changes: bool = False
    file_operations: frozenset[FileOperationKind] = frozenset()
    """What it does well with files that are open, where it advertises that. Others lose what is typed meanwhile, or
    leave the document open."""
    saves_refactorings: int = 0
    """How many documents an edit marked as a refactoring must change for the client to save them; 0: it does not."""


_QUIRKS: Final[Mapping[str, _Quirk]] = {
    # Collects changes for 150 ms; takes `documentChanges` although it does not advertise them. A rename takes the buffer
    # along; a deletion throws it away with all that was typed, since it does not look at versions. Since 0.12 it asks one
    # question for all the changes of a document that need a confirmation, yes or no, and stands still until it is answered,
    # as it does at every question.
    "neovim": _Quirk(
        debounce_seconds=0.15,
        questions_cover=True,
        document_changes=True,
        shows_errors=True,
        file_operations=frozenset({"rename"}),
    ),
    # Collects changes for `eglot-send-changes-idle-time`, in which nothing may be going on; RET takes the first action,
    # and keys go to the minibuffer until then. After a question that came while nothing was going on Emacs is not idle
    # for its timers before the next key, so that it tells of no edit.
    "eglot": _Quirk(
        debounce_seconds=0.5,
        tells_at_next_key=True,
        reject_first=True,
        questions_cover=True,
        waits_for_commands=True,
        shows_errors=True,
    ),
    # Return takes the first action; the pop-up covers the text and has the keys. A deleted file stays open.
    "helix": _Quirk(reject_first=True, questions_cover=True, file_operations=frozenset({"rename"})),
    # Collects changes for `updatetime`, of those it is told to make only from the next key on, and what is typed only when
    # Insert mode is left. Before it answers a message it tells of all that is new in the current buffer. Of the answers to
    # choose from it takes every other one than the first for none.
    "vim-lsp": _Quirk(debounce_seconds=0.5, tells_with_answers=True, takes_first_answer=True),
    # Saves what a refactoring changed, but for the file in the active editor, if that is more than one file.
    "visual studio code": _Quirk(
        shows_errors=True, saves_refactorings=2, file_operations=frozenset({"rename", "delete"})
    ),
    # Saves what a refactoring changed, if the user's settings say so.
    "sublime text lsp": _Quirk(saves_refactorings=1),
}

_SETTLE_SECONDS: Final = 2.0
"""Generous: it is only waited for in full where the edit was not made at all."""
READS_SECONDS: Final = 0.3
"""Nobody reads a question and answers it in less."""
_NEXT_KEY_SECONDS: Final = 600.0
"""So long a user may look elsewhere."""


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """What can be sent to the client, and what to expect."""

    name: str = ""
    version: str = ""
    encoding: Encoding = "utf-16"
    document_changes: bool = False
    progress: bool = False
    configuration: bool = False
    code_actions: bool = False
    """Whether it asks for them."""
    action_literals: bool = False
    """Whether code actions may be more than a command."""
    code_lenses: bool = False
    """Whether it shows them."""
    refreshes_lenses: bool = False
    """Whether it can be told to ask for them again."""
    tells_with_answers: bool = False
    """Whether it tells what it held back of the text before it answers a message, also one that leaves no choice."""
    takes_first_answer: bool = False
    """Whether no other answer than the first can be given to a message."""
    reads_seconds: float = 0.0
    """How long after a question a yes counts as a key that was pressed before it; 0 where questions do not take the keyboard."""
    shows_errors: bool = False
    """Whether the user sees why a command could not be done; who gets events is a program, and sees to that itself."""
    traits: EditorTraits = field(
        default_factory=lambda: EditorTraits(
            can_apply_edits=False,
            can_show_documents=False,
            settle_seconds=_SETTLE_SECONDS,
            debounce_seconds=0.0,
        )
    )


def profile_of(params: Mapping[str, Any]) -> ClientProfile:
    """The profile of a client, from the params of its `initialize`.

    Reads what is there and right, and takes the rest as absent: a client with half a capability is still served.
    """
    name, version = at(params, "clientInfo", "name"), at(params, "clientInfo", "version")
    quirk = _QUIRKS.get(name.lower(), _Quirk()) if isinstance(name, str) else _Quirk()
    says = at(params, "capabilities")
    debounce = at(params, "initializationOptions", "debounce")
    if not isinstance(debounce, int | float) or isinstance(debounce, bool) or not 0 <= debounce <= 10:
        debounce = quirk.debounce_seconds
    return ClientProfile(
        name=name if isinstance(name, str) else "",
        version=version if isinstance(version, str) else "",
        encoding=_ENCODINGS[encoding_of(says)],
        document_changes=at(says, "workspace", "workspaceEdit", "documentChanges") is True
        or quirk.document_changes,
        progress=at(says, "window", "workDoneProgress") is True,
        configuration=at(says, "workspace", "configuration") is True,
        code_actions=isinstance(at(says, "textDocument", "codeAction"), dict),
        action_literals=isinstance(at(says, "textDocument", "codeAction", "codeActionLiteralSupport"), dict),
        code_lenses=shows_lenses(says),
        refreshes_lenses=at(says, "workspace", "codeLens", "refreshSupport") is True,
        tells_with_answers=quirk.tells_with_answers,
        takes_first_answer=quirk.takes_first_answer,
        # A test answers at once; any other program is no editor of this table.
        reads_seconds=READS_SECONDS
        if quirk.questions_cover and at(params, "initializationOptions", "testing") is None
        else 0.0,
        shows_errors=quirk.shows_errors or at(params, "initializationOptions", "events") is True,
        traits=EditorTraits(
            can_apply_edits=at(says, "workspace", "applyEdit") is True,
            can_show_documents=at(says, "window", "showDocument", "support") is True,
            settle_seconds=_SETTLE_SECONDS,
            debounce_seconds=float(debounce),
            tells_at_next_key_seconds=_NEXT_KEY_SECONDS if quirk.tells_at_next_key else 0.0,
            reject_first=quirk.reject_first,
            questions_cover=quirk.questions_cover,
            waits_for_commands=quirk.waits_for_commands,
            can_disable_actions=at(says, "textDocument", "codeAction", "disabledSupport") is True,
            file_operations=_file_operations(says, quirk),
            asks_together=True,
            encoding=_ENCODINGS[encoding_of(says)],
            takes_items=_understands(params, ASK_EXTENSION),
            lends_language=_understands(params, LANGUAGE_EXTENSION),
            save_ways=tuple(_save_ways(params, quirk)),
            tells_saves=at(says, "textDocument", "synchronization", "didSave") is True,
        ),
    )


def _file_operations(says: Any, quirk: _Quirk) -> frozenset[FileOperationKind]:
    edits = at(says, "workspace", "workspaceEdit")
    if at(says, "workspace", "applyEdit") is not True:
        return frozenset()
    if at(edits, "documentChanges") is not True and not quirk.document_changes:
        return frozenset()
    listed = at(edits, "resourceOperations")
    operations = cast("list[Any]", listed) if isinstance(listed, list) else []
    return frozenset(kind for kind in quirk.file_operations if kind in operations)


def _understands(params: Mapping[str, Any], extension: str) -> bool:
    extensions = at(params, "initializationOptions", "extensions")
    return isinstance(extensions, list) and extension in cast("list[Any]", extensions)


def _save_ways(params: Mapping[str, Any], quirk: _Quirk) -> Iterator[tuple[SaveWay, int]]:
    if _understands(params, SAVE_EXTENSION):
        yield "extension", 1
    # LSP 3.18, "WorkspaceEditMetadata".
    knows = at(params, "capabilities", "workspace", "workspaceEdit", "metadataSupport") is True
    if knows and quirk.saves_refactorings and at(params, "capabilities", "workspace", "applyEdit") is True:
        yield "refactoring", quirk.saves_refactorings
