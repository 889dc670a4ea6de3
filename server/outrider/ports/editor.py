"""What the agent needs from the editor. `lsp` implements it; nothing above this floor knows which editor it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from outrider.ports.text import Place, PlacedEdit

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""What columns are counted in, as LSP calls it."""
WhyUnanswered = Literal["dismissed", "timeout", "error", "unsupported", "unknown_title", "closed"]


@dataclass(frozen=True, slots=True)
class Answered:
    """The user chose one of the titles that were offered."""

    title: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """There is no answer, which is never a yes."""

    why: WhyUnanswered


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call of a tool that the client runs."""

    session_id: str
    turn_id: str
    call_id: str
    id: str
    """The open item, the same when the call is asked again."""
    name: str
    input: Mapping[str, Any]
    again: bool = False
    """Whether it was asked before a restart."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What came of such a call."""

    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ItemReply:
    """What a client that puts open items before the user itself sent back; whoever asked checks it."""

    value: Any


@dataclass(frozen=True, slots=True)
class Applied:
    """The client's word on a `workspace/applyEdit`; it proves nothing (facts, C2)."""

    claimed: bool
    reason: str | None = None


Severity = Literal["error", "warning", "information", "hint"]


@dataclass(frozen=True, slots=True)
class Reported:
    """A problem that the editor shows, whoever found it."""

    uri: str
    start: Place
    severity: Severity
    message: str
    source: str = ""
    """Who found it; empty where that is not said."""
    code: str = ""
    encoding: Encoding = "utf-16"
    """What the column of its place is counted in."""


@dataclass(frozen=True, slots=True)
class Lent:
    """What language servers of the editor answered; nothing in it is to be trusted."""

    result: Any
    """As LSP has it."""
    encoding: Encoding
    """What its columns are counted in."""
    by: Sequence[str] = ()
    """Who answered, where that is known."""
    versions: Mapping[str, int] = field(default_factory=dict[str, int])
    """The versions of open documents that it is about."""


@dataclass(frozen=True, slots=True)
class Unserved:
    """No language server of the editor does what was asked."""

    why: str


SaveWay = Literal["extension", "refactoring"]
"""How a client is asked to save: by a request of ours, or by an edit after which it saves."""


@dataclass(frozen=True, slots=True)
class DocumentEdit:
    """Changes of one open document, against the version they were worked out for."""

    uri: str
    version: int
    edits: Sequence[PlacedEdit]


FileOperationKind = Literal["rename", "delete"]


@dataclass(frozen=True, slots=True)
class FileOperation:
    """The renaming or the deletion of the file of an open document, for the version it was worked out for."""

    kind: FileOperationKind
    uri: str
    version: int
    to: str = ""
    """The new URI of a rename, which must not exist."""


@dataclass(frozen=True, slots=True)
class EditorTraits:
    """What can be expected of the client, for decisions above the LSP room."""

    can_apply_edits: bool
    can_show_documents: bool
    settle_seconds: float
    """How long after an answer to `applyEdit` its change may take to arrive."""
    debounce_seconds: float
    """How long the client may hold back what the user types."""
    tells_at_next_key_seconds: float = 0.0
    """How long to wait for a key of the user, where the client may tell of an edit only then; 0 where it does not wait for one."""
    reject_first: bool = False
    """Whether the client preselects the first button, so that it must be the harmless one."""
    questions_cover: bool = False
    """Whether nothing can be read or written as long as a question is there."""
    can_disable_actions: bool = False
    """Whether it shows an action that cannot be taken, with the reason."""
    file_operations: frozenset[FileOperationKind] = frozenset()
    """What it can do with files whose documents are open, without losing what is typed meanwhile."""
    asks_together: bool = False
    """Whether the edits of one step are asked about at once."""
    takes_items: bool = False
    """Whether it puts open items before the user in its own way."""
    lends_language: bool = False
    """Whether its own language servers and linters can be asked."""
    encoding: Encoding = "utf-16"
    """What it counts columns in."""
    save_ways: tuple[tuple[SaveWay, int], ...] = ()
    """How it can be asked to save, the best way first, each with the fewest documents that it works for."""
    waits_for_commands: bool = False
    """Whether it does nothing else until a command is answered: of an edit it tells only then."""
    tells_saves: bool = True
    """Whether it says that it saved a document; before that it tells what was typed."""
    tells_when_asked: bool = False
    """Whether it says nothing of what is open, and gives the text of a file only when it is asked for it."""
    takes_approvals: bool = True
    """Whether what it answers to an approval counts: not where any program could be the client."""


class Editor(Protocol):
    """The editor at the other end."""

    @property
    def traits(self) -> EditorTraits:
        """What it can do."""
        ...

    async def ask(
        self,
        message: str,
        titles: Sequence[str],
        *,
        seconds: float,
        late: Callable[[str], None] | None = None,
        still_open: Callable[[], bool] | None = None,
    ) -> Answered | Unanswered:
        """Ask the user to choose. One question at a time: others wait for the slot.

        Args:
            message: The question, short.
            titles: The buttons; the answer is one of them.
            seconds: How long the question holds the slot.
            late: Called with the title when an answer comes after `seconds`.
            still_open: Looked at when the slot becomes free; False: do not ask any more (the answer came
                through another channel), gives `Unanswered("closed")`.
        """
        ...

    async def call_tool(
        self, request: ToolRequest, *, seconds: float, overdue: Callable[[], None]
    ) -> ToolAnswer | Unanswered:
        """Have the client run a tool; any number of them at once. Who stops waiting takes the call back.

        Args:
            request: The call.
            seconds: How long the client may take before `overdue` is called. It may still answer then.
            overdue: Told that there is no answer yet.
        """
        ...

    async def ask_item(
        self,
        session_id: str,
        item: Mapping[str, Any],
        *,
        seconds: float,
        overdue: Callable[[], None],
        told: Mapping[str, str] = MappingProxyType({}),
    ) -> ItemReply | Unanswered:
        """Have the client put an open item before the user; any number of them at once.

        Who stops waiting takes the request back, because another channel was first.

        Args:
            session_id: Whose item it is.
            item: The item, as on the wire.
            seconds: How long the client may take before `overdue` is called. It may still answer then.
            overdue: Told that there is no answer yet.
            told: What is said of options below the item, by their titles, for those that the user is offered.
        """
        ...

    async def apply(self, label: str, edits: Sequence[DocumentEdit]) -> Applied:
        """Ask the client to change open documents, as one step of its undo. One edit at a time."""
        ...

    async def catch_up(self, uris: Sequence[str]) -> bool:
        """Have the client tell what it holds back of these texts; whether it was reached, and no waiting is needed.

        Of a client that tells only when it is asked they are open documents then, as far as it has them.
        """
        ...

    async def operate(self, label: str, operation: FileOperation) -> Applied:
        """Ask the client to rename or delete the file of an open document. Never over another file."""
        ...

    async def save(self, way: SaveWay, versions: Mapping[str, int]) -> Mapping[str, str]:
        """Ask the client to save open documents.

        Args:
            way: One of those that the traits name.
            versions: The version of each document, by its URI.

        Returns:
            By URI why one is not saved, by the client's word, which proves nothing.
        """
        ...

    async def language(
        self, method: str, params: Mapping[str, Any], uris: Sequence[str], *, seconds: float
    ) -> Lent | Unserved | Unanswered:
        """Ask the language servers and linters of the editor. Who stops waiting takes the request back.

        Args:
            method: A request of LSP.
            params: Its params, with columns as the editor counts them.
            uris: The documents that it is about, as the client spells them.
            seconds: How long it may take.
        """
        ...

    async def show(self, uri: str, *, take_focus: bool = False, external: bool = False) -> bool:
        """Show a document, or a page in the browser (`external`); False if the client cannot or did not answer."""
        ...

    def say(self, level: Literal["error", "warning", "info", "log"], text: str) -> None:
        """Tell the user: a message, or a line of the log for `log`."""
        ...
