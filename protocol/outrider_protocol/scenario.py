"""A scenario file: a workspace, a script for the model, what the user does, and what must come of it.

Scenarios are written by hand: their keys are snake_case, as in scripts. `outrider scenario run FILE` plays them.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from outrider_protocol.events import Decision, Mode, ReviewedHunk
from outrider_protocol.script import Expectation, Script, ScriptWire

Connection = Literal["in-process", "stdio"]


class Occurrence(ScriptWire):
    """An event of the log: its type, and what its data holds at least."""

    type: str
    data: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Keys and values that must be there; objects are compared key by key, everything else must be equal."""


class Answer(ScriptWire):
    """What the user does with a question. A plain string in its place is its `title`."""

    to: str | None = None
    """What the question must contain; another question there fails the scenario."""
    first: "list[Step]" = Field(default_factory=list["Step"])
    """What the user does while the question is on the screen, before it is answered."""
    title: str | None = None
    """The button that is pressed."""
    how: Literal["dismiss", "never", "null", "fail", "unknown_title"] | None = None
    """Or: it is closed in the editor's way, left open, or answered with null, an error, or a title nobody offered."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.title is None) == (self.how is None):
            raise ValueError("give exactly one of `title` and `how`")
        return self


class ToolAnswer(ScriptWire):
    """How the editor answers a call of its own tool."""

    content: str | None = None
    is_error: bool = False
    how: Literal["null", "never", "fail", "garbage", "twice"] | None = None
    """Or not as it should. `twice`: `content`, and then another one for the same request."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.content is None and self.how in (None, "twice"):
            raise ValueError("give `content`, or another `how`")
        return self


class EditorTool(ScriptWire):
    """A tool that the editor brings."""

    name: str
    description: str = "A tool of the editor."
    input_schema: dict[str, Any] = Field(default_factory=lambda: {"type": "object"})
    effect: Literal["read", "edit", "execute", "ask"] = "read"
    replies: list[ToolAnswer] = Field(default_factory=list[ToolAnswer])
    """In the order of the calls; a call beyond them fails the scenario."""


# --- what the user does ------------------------------------------------------------------------------------


class Run(ScriptWire):
    """Give a task."""

    do: Literal["run"]
    prompt: str
    mode: Mode = "agent"
    model: str | None = None
    limits: dict[str, Any] | None = None
    selection: str | None = None
    """A text that occurs once in the first open document and is selected."""
    new_session: bool = False
    """Whether a new session is begun; else the one there is goes on."""
    wait: bool = True
    """Whether the next step waits until the turn is finished or parked."""


class Wait(ScriptWire):
    """Wait until the turn is finished or parked."""

    do: Literal["wait"]


class Until(ScriptWire):
    """Wait for an event."""

    do: Literal["until"]
    event: Occurrence
    count: Annotated[int, Field(ge=1)] = 1


class Reply(ScriptWire):
    """Answer an open item by command. Exactly one of `decision`, `answer` and `error`."""

    do: Literal["answer"]
    decision: Decision | None = None
    answer: str | None = None
    error: str | None = None
    note: str | None = None
    review: list[ReviewedHunk] | None = None
    """Of an edit: what is decided about single hunks."""
    refused: str | None = None
    """The reason why this must be refused."""
    item: str | None = None
    """What its title contains; absent: the only open item, or the last one if it is answered again."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if sum(given is not None for given in (self.decision, self.answer, self.error)) != 1:
            raise ValueError("give exactly one of `decision`, `answer` and `error`")
        return self


class Steer(ScriptWire):
    """Say something to the running turn."""

    do: Literal["steer"]
    text: str


class Cancel(ScriptWire):
    """End the turn."""

    do: Literal["cancel"]
    reason: str | None = None
    by: Literal["command", "progress"] = "command"


class Action(ScriptWire):
    """Take a code action."""

    do: Literal["action"]
    path: str
    title: str
    """Its title, or how the only one begins."""
    at: str | None = None
    """A text that occurs once in the document and where the cursor is."""
    diagnostic: str | None = None
    """Message of a diagnostic there."""


class Command(ScriptWire):
    """Run any command. `$session`, `$turn` and `$item` in strings of its params are the ids of now."""

    do: Literal["command"]
    name: str
    params: dict[str, Any] = Field(default_factory=dict[str, Any])
    result: dict[str, Any] | None = None
    """What its result holds at least."""
    refused: str | None = None
    """The reason (`data.reason`) of the error, or its code as text."""


class OpenFile(ScriptWire):
    """Open a document in the editor."""

    do: Literal["open"]
    path: str


class Type(ScriptWire):
    """Type into an open document."""

    do: Literal["type"]
    path: str
    text: str
    replace: str | None = None
    """A text that occurs once and is replaced; absent: the end of the document."""
    at: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)] | None = None
    """Line and column, from 0."""

    @model_validator(mode="after")
    def _says_one_place(self) -> Self:
        if self.replace is not None and self.at is not None:
            raise ValueError("`replace` and `at` exclude each other")
        return self


class Save(ScriptWire):
    """Save a document, or all."""

    do: Literal["save"]
    path: str | None = None


class Close(ScriptWire):
    """Close a document; unsaved text is thrown away."""

    do: Literal["close"]
    path: str


class Rename(ScriptWire):
    """Rename or move a file, or a folder, in the editor, which tells the server of it if it tells any."""

    do: Literal["rename"]
    path: str
    to: str


class EditorUndo(ScriptWire):
    """Undo, or redo, in the editor."""

    do: Literal["editor_undo", "editor_redo"]
    path: str


class Undo(ScriptWire):
    """Have Outrider take changes back, or bring them back."""

    do: Literal["undo", "redo"]
    scope: Literal["hunk", "step", "turn", "session"] | None = None
    id: str | None = None
    refused: str | None = None


class Write(ScriptWire):
    """Another program writes a file; without `text` it deletes it."""

    do: Literal["write"]
    path: str
    text: str | None = None


class Configure(ScriptWire):
    """Change the editor's configuration (section `outrider`)."""

    do: Literal["configure"]
    values: dict[str, Any]


class Restart(ScriptWire):
    """The server is shut down (`restart`) or killed (`kill`); the same editor starts it again."""

    do: Literal["restart", "kill"]
    resume: bool = True
    """Whether the session is resumed then."""


class ReadLog(ScriptWire):
    """Read the log from an event on: it must be what was sent live."""

    do: Literal["read_log"]
    from_seq: Annotated[int, Field(ge=1)] = 1


Step = Annotated[
    Run | Wait | Until | Reply | Steer | Cancel | Action | Command | OpenFile | Type | Save | Close | Rename | EditorUndo
    | Undo | Write | Configure | Restart | ReadLog,
    Field(discriminator="do"),
]  # fmt: skip


# --- what must come of it ------------------------------------------------------------------------------------


class WireMessage(ScriptWire):
    """A message that must go over the wire."""

    to: Literal["server", "editor"]
    method: str
    params: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What its params hold at least."""


class Expect(ScriptWire):
    """What must hold at the end. What is absent is not looked at."""

    outcome: (
        Literal["completed", "cancelled", "budget_exhausted", "failed", "refused", "needs_input", "running"]
        | None
    ) = None
    """Of the last turn."""
    reason: str | None = None
    response: str | None = None
    """The summary of the last turn."""
    events: list[str | Occurrence] | None = None
    """The whole log of the last session, event by event."""
    contains: list[str | Occurrence] = Field(default_factory=list[str | Occurrence])
    """Events that must be there in this order, others between them or not."""
    ends_with: list[str | Occurrence] = Field(default_factory=list[str | Occurrence])
    lacks: list[str | Occurrence] = Field(default_factory=list[str | Occurrence])
    files: dict[str, str | None] = Field(default_factory=dict[str, str | None])
    """Texts on disk; null: there is no such file."""
    buffers: dict[str, str] = Field(default_factory=dict[str, str])
    """Texts of open documents."""
    requests: list[Expectation] | None = None
    """Each request of the main loop to the model, in order."""
    messages: list[WireMessage] = Field(default_factory=list[WireMessage])
    """Messages that must have gone over the wire in this order, others between them or not."""
    said: list[str] = Field(default_factory=list[str])
    """What messages to the user must contain, in any order."""
    questions: list[str] | None = None
    """What each question to the user contains, in order: exactly these were asked."""
    left_over: Annotated[int, Field(ge=0)] = 0
    """Answers of the script that the model is not asked for."""
    golden: str | None = None
    """A transcript beside this file that events and standard messages must equal to the byte."""


class Scenario(ScriptWire):
    """A whole scenario."""

    schema_: str | None = Field(default=None, alias="$schema")
    """Where editors find the schema of this file; not looked at."""
    version: Literal[1]
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    description: str = ""
    covers: list[str] = Field(default_factory=list[str])
    """Names of what it shows, for a manifest."""
    include: list[str] = Field(default_factory=list[str])
    """Files beside this one whose keys are taken first: objects are merged key by key, everything else replaced."""
    profile: str = "stock"
    """The editor: a name of `outrider.testing.editor.profiles`."""
    connection: Connection = "in-process"
    workspace: dict[str, str] = Field(default_factory=dict[str, str])
    """Texts of the files there are at the beginning."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Changes of the `initializationOptions`; null leaves a key out."""
    configuration: dict[str, Any] | None = None
    """What the editor's configuration says."""
    open: list[str] = Field(default_factory=list[str])
    """Documents that are open at the beginning."""
    tools: list[EditorTool] = Field(default_factory=list[EditorTool])
    model: Script
    steps: list[Step] = Field(min_length=1)
    answers: list[str | Answer] = Field(default_factory=list[str | Answer])
    """What the user says to questions, in their order."""
    otherwise: str | Answer | None = None
    """What they say to all further ones; absent: a further question fails the scenario."""
    expect: Expect = Field(default_factory=Expect)


Answer.model_rebuild()
