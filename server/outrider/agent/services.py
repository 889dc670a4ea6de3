"""What the sessions of one workspace share. Nothing else is shared between them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from outrider.agent.prompt import Briefing
from outrider.agent.trust import WorkspaceTrust
from outrider.models.catalog import Catalog
from outrider.permissions.guarded import Guarded
from outrider.permissions.ledger import Ledger
from outrider.ports.clock import Clock
from outrider.ports.editor import Editor
from outrider.ports.events import FrameListener
from outrider.ports.ids import Ids
from outrider.ports.maps import Maps
from outrider.ports.model import Message
from outrider.processes import Supervisor
from outrider.processes.sandbox import Sandbox
from outrider.store.log import Store
from outrider.tools.git.history import GitHistory
from outrider.tools.registry import Registry
from outrider.workspace.census import Census
from outrider.workspace.choosing import Choosing
from outrider.workspace.documents import DocumentStore
from outrider.workspace.editing import Editing
from outrider.workspace.overlay import Overlay
from outrider.workspace.paths import Folders
from outrider.workspace.search import Search
from outrider.workspace.sightings import Sightings
from outrider_protocol.events import BudgetExhausted, ContextCompacted, ContextPruned, ContextTrimmed
from outrider_protocol.settings import Settings


class Rewritten(Protocol):
    """What was done to a conversation because of its length, where that cannot be worked out again.

    So it is where texts were changed by a redaction: their lengths say nothing.
    """

    def summarised(self) -> Sequence[Message] | None:
        """The request for a summary that was made next, if one was."""
        ...

    def rewritten(self) -> tuple[ContextCompacted | ContextPruned | ContextTrimmed, Sequence[Message]] | None:
        """What was done next, and the conversation as it was then; None if that was all."""
        ...

    def too_long(self) -> BudgetExhausted | None:
        """The account of the request that was too long next, if it was."""
        ...


@dataclass(slots=True)
class Services:
    """The house, as the agent sees it. `folders` and what is built on them change when folders are added."""

    clock: Clock
    """The time of the log, of budgets and of the models."""
    deadlines: Clock
    """What waits for the editor or a process is timed by: real also where a test has fixed `clock`."""
    ids: Ids
    store: Store
    editor: Editor
    documents: DocumentStore
    folders: Folders
    overlay: Overlay
    editing: Editing
    choosing: Choosing
    """Has the person choose in the editor."""
    search: Search
    sightings: Sightings
    census: Census
    briefing: Briefing
    """What a turn's first messages say."""
    maps: Maps
    """Draws maps of the workspace's names."""
    supervisor: Supervisor
    git_history: GitHistory
    sandbox: Sandbox
    ledger: Ledger
    """The rules that hold."""
    guarded: Guarded
    """The files that want an explicit yes."""
    trust: WorkspaceTrust
    """Whose word there is for the workspace folders."""
    catalog: Catalog
    tools: Registry
    env: Mapping[str, str]
    host: str
    """The machine's name; empty where it is not known."""
    machine_key: bytes | None
    """The key for hashes of secrets; None where texts have none any more, as in a replay."""
    settings: Callable[[], Settings]
    """The settings that hold now."""
    on_frame: FrameListener
    """Where live text goes."""
    version: str
    rewritten: Rewritten | None = None
    """Set where the log alone says what was left out of a conversation."""
