"""What the sessions of one workspace share. Nothing else is shared between them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from outrider.agent.customization.files import Files
from outrider.agent.customization.hooks import HookRun, ListedHooks
from outrider.agent.customization.toolbox import Brought
from outrider.agent.interaction.plan_document import Plan, PlanProblem, Step
from outrider.agent.state.record import Record
from outrider.agent.state.state import SessionState
from outrider.agent.trust import WorkspaceTrust
from outrider.agent.workspace_file import ChecksHere, WorkspaceFiles
from outrider.language.languages import Languages
from outrider.models.catalog import Catalog, ModelProblem
from outrider.permissions.policy.decide import Access
from outrider.permissions.policy.ledger import Ledger
from outrider.permissions.policy.protected_files import Guarded
from outrider.permissions.policy.ruling import Ruling
from outrider.ports.clock import Clock
from outrider.ports.editor import Editor
from outrider.ports.events import FrameListener
from outrider.ports.ids import Ids
from outrider.ports.maps import Maps
from outrider.ports.model import Image, Message, Model
from outrider.processes import Supervisor
from outrider.processes.sandbox import Confined, Facts, Sandbox
from outrider.store.log import Store
from outrider.tools.context import Verdicts
from outrider.tools.registry import Registry
from outrider.workspace.paths import Folder
from outrider.workspace.workspace import Workspace
from outrider_protocol.choices import PermissionMode
from outrider_protocol.events import Context, Mode
from outrider_protocol.settings import HookPoint, Settings


class Models(Protocol):
    """Opens the model of a turn."""

    async def open(self, reference: str, state: SessionState) -> Model | ModelProblem:
        """The model that answers a turn.

        Args:
            reference: The model's name as the turn's `turn.started` has it.
            state: The session.
        """
        ...


class CommandsHere(Protocol):
    """What of the commands of a session the first messages need; see `tools.context.Commands`."""

    @property
    def supervisor(self) -> Supervisor:
        """Where processes are started."""
        ...

    async def facts(self) -> Facts:
        """What a model should know of how commands run."""
        ...

    async def confine_to_read(
        self, argv: Sequence[str], cwd: Path, *, runs_git: bool = False
    ) -> Confined | None:
        """A command in a read-only sandbox; None where there is none."""
        ...


class FirstMessages(Protocol):
    """Writes the messages that a turn begins with; see `Briefing`."""

    async def system(
        self, mode: Mode, trusts: Callable[[Path], bool], commands: CommandsHere, *, in_short: bool
    ) -> Message:
        """The system message of a turn; `trusts` says whether a folder's own instructions count, `commands` how commands run."""
        ...

    async def instructions_of(self, folder: Folder) -> str | None:
        """The path of the instructions of a workspace folder, or of some of them; None where it has none."""
        ...

    async def task(
        self, prompt: str, context: Context | None, commands: CommandsHere, before: Sequence[Message] = ()
    ) -> Message:
        """The message that brings a task; it begins with `prompt`, and leaves out what stands in the messages `before`."""
        ...

    async def images(self, prompt: str, context: Context | None) -> list[tuple[Image, bytes]]:
        """The images that a task names, with their contents."""
        ...

    async def steering(self, text: str) -> tuple[Message, list[tuple[Image, bytes]]]:
        """The message that brings a text that the user sent meanwhile, and the images that it names."""
        ...

    async def instructions_near(self, paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """The instructions of the folders above these files that are not known yet: path → what is told of it."""
        ...

    async def instructions_about(self, paths: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """Those whose patterns these files match, in the same way."""
        ...


class Tools(Protocol):
    """The tools of turns; see `Toolbox`."""

    async def prepare(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Look for what may have come or gone since, at the start of a turn, which a question holds for some seconds."""
        ...

    def now(self, mode: Mode, looked_up: Collection[str] = ()) -> Registry:
        """The tools of a turn as they are now; `looked_up` names those whose definitions the model has looked up."""
        ...


class PlansHere(Protocol):
    """Writes the documents of plans; see `PlanPapers`."""

    async def write(self, plan: Plan, before: str | None) -> str | PlanProblem:
        """Write one, in place of the one at `before` as long as nobody changed that; gives its path."""
        ...

    async def read(self, uri: str) -> tuple[str, Plan] | PlanProblem:
        """The plan in a document, with the document's path."""
        ...

    async def steps_of(self, path: str) -> Sequence[Step] | None:
        """The steps that a document has by now; None where it is no plan any more."""
        ...


class TurnVerdicts(Verdicts, Protocol):
    """Language servers, where they judge the edits of a turn; see `agent.loop.judging`."""

    async def tell(self) -> None:
        """Record what has become known of edits since their results were given, before the next request."""
        ...

    async def settle(self) -> None:
        """Look again whether the errors are still there that edits brought, before the turn ends."""
        ...

    async def end(self) -> None:
        """Stop judging."""
        ...


@dataclass(frozen=True, slots=True)
class Runtime:
    """What the process has: time, ids, the log, the editor, processes, the environment and the settings."""

    clock: Clock
    """The time of the log, of budgets and of the models."""
    deadlines: Clock
    """What waits for the editor or a process is timed by: real also where a test has fixed `clock`."""
    ids: Ids
    store: Store
    state_dir: Path
    """Where the log lies, and other files of our own."""
    editor: Editor
    supervisor: Supervisor
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

    def warn(self, text: str) -> None:
        """Show the user a warning that belongs to no session."""
        self.editor.say("warning", f"Outrider: {text}")

    def inform(self, text: str) -> None:
        """Show the user a message that belongs to no session."""
        self.editor.say("info", f"Outrider: {text}")


class ChecksOfWorkspace(Protocol):
    """The checks that the settings of trusted workspace folders name; see `WorkspaceChecks`."""

    async def look(self, session_id: str, turn_id: str, seconds: float) -> ChecksHere:
        """Those that run, and those that the user did not allow, who is asked about new ones."""
        ...


class HooksHere(Protocol):
    """The hooks of a house; see `Hooks`."""

    found: Files | None
    """Looks for those of other agents; set once the files of the workspace can be looked for."""

    @property
    def any(self) -> bool:
        """Whether there are any."""
        ...

    async def look(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Find out which hooks there are; the user is asked about new ones of a workspace, for some seconds."""
        ...

    async def listed(self) -> ListedHooks:
        """What there is, for the user; nobody is asked."""
        ...

    async def withheld(self, folder: Folder | None = None) -> Sequence[str]:
        """The files with hooks in workspace folders that are not trusted, or in one of them."""
        ...

    async def at(self, point: HookPoint, tool: str, given: Mapping[str, Any], cwd: str) -> list[HookRun]:
        """The hooks of a point, with what they are given."""
        ...

    def ended(self, runs: Sequence[HookRun]) -> None:
        """They came to their end."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be done."""

    ledger: Ledger
    """The rules that hold."""
    ruling: Callable[[str, Access, PermissionMode], Ruling | None]
    """What they say of an access of a tool; None where they leave it to the mode."""
    guarded: Guarded
    """The files that want an explicit yes."""
    trust: WorkspaceTrust
    """Whose word there is for the workspace folders."""
    sandbox: Sandbox
    files: WorkspaceFiles
    """What the settings of trusted workspace folders say."""
    checks: ChecksOfWorkspace
    hooks: HooksHere
    """What runs at points of a session."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the sessions of one workspace share."""

    runtime: Runtime
    workspace: Workspace
    policy: Policy
    catalog: Catalog
    models: Models
    """Opens those of turns."""
    tools: Tools
    """Those that there are now."""
    briefing: FirstMessages
    """What a turn's first messages say."""
    maps: Maps
    """Draws maps of the workspace's names."""
    brought: Brought
    """What the user and the workspace brought along."""
    plans: PlansHere
    languages: Languages
    """The language servers of the workspace."""
    judges: Callable[[Record, str | None], TurnVerdicts]
    """Has the edits of a turn judged; given the session's log and the turn."""
