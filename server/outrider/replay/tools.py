"""The tools that answered the loop, and the rules. Each waits for its time, and says what it said.

A call is where a session meets the files and processes of its workspace: what it read and ran is in no log, only what came of it.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import Any, Final

from outrider import __version__
from outrider.permissions.policy.commands import Command
from outrider.permissions.policy.decide import CAN_BE_UNDONE, ENDS_OWN, ONLY_READS, Access
from outrider.permissions.policy.ruling import Ruling
from outrider.permissions.shell.model import CommandLine, Program
from outrider.ports.model import ToolCall, ToolSpec, images_of
from outrider.replay.tape import LoggedEvent, Tape
from outrider.tools.all import OF_LANGUAGES, own_tools
from outrider.tools.client import handed_tools
from outrider.tools.context import OUTSIDE, Action, ToolContext, ToolResult
from outrider.tools.edit.changes import make
from outrider.tools.edit.report import rest
from outrider.tools.edit.review import untold
from outrider.tools.registry import Params, Parsed, Registry, Tool, read_object
from outrider.workspace.edits.change import Change
from outrider.workspace.paths import Located
from outrider_protocol import PUT_BACK, REVIEW, RUN_OUTSIDE
from outrider_protocol.choices import Effect, PermissionMode
from outrider_protocol.events import InputField, InputWanted, Mode, Ran, RulePattern, Verdict, WorkspaceSaved

_CANCELLED: Final = "[cancelled]"
_OF_COMMANDS: Final = frozenset({"run_command", "read_job"})
"""One of these is offered in every mode, where commands can be run."""
_UNFINISHED: Final = frozenset({"cancelled", "interrupted"})
_WORKED_OUT: Final = (
    "approval.requested", "approval.resolved", "question.asked", "question.answered", "workspace.saved",
    "tool.started", "edit.proposed", "edit.applying",
)  # fmt: skip
"""What only a call can come to whose arguments were good."""
_NOTHING: Final[Mapping[str, Any]] = {}
_READS: Final = Command(CommandLine("", (Program((), ""),)), (None,))
"""A command that only reads."""


@dataclass(frozen=True, slots=True)
class _RecordedTool(Tool[Any]):
    """A tool as it was defined in the log. One that is not known here has no parameters of its own."""

    definition: ToolSpec

    def spec(self) -> ToolSpec:
        """The tool as the model saw it."""
        return self.definition

    def parse(self, arguments: str) -> Parsed[Any] | str:
        """The arguments. What the log says of a call names those that were left out, except where the call is made again."""
        if self.params is Params and not isinstance(read_object(arguments), str):
            return Parsed(Params())
        parsed = Tool[Any].parse(self, arguments)
        return parsed if isinstance(parsed, str) or self.effect == "ask" else replace(parsed, unknown=())


class _Recorded(Registry):
    """Tools of a log: those that came and went are offered as they were, and all of them are known."""

    def __init__(
        self,
        lasting: Sequence[Tool[Any]],
        brought: Mapping[str, Tool[Any]],
        known: Mapping[str, Tool[Any]],
        leaves_out: Callable[[], Awaitable[Collection[str]]],
    ) -> None:
        super().__init__([*lasting, *{**known, **brought}.values()], leaves_out)
        self._offered = Registry([*lasting, *brought.values()])

    def offered(self, mode: Mode) -> Sequence[Tool[Any]]:
        """Those that were offered with the next request."""
        return self._offered.offered(mode)


def _spec(one: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(one["name"], one["description"], one["schema"], one.get("effect"))


class RecordedCalls:
    """What the calls of a log came to, and what the rules said of them."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._rulings: dict[int, tuple[Access, Ruling | None]] = {}
        """What rules said, by the identity of the access that they were asked about."""
        hashes = [one.data["toolsHash"] for one in tape.events if one.type == "model.requested"]
        self._read: dict[str, list[Any]] = {one: json.loads(tape.text(one) or "[]") for one in set(hashes)}
        self._listed = [self._read[one] for one in dict.fromkeys(hashes)]
        """The tools of the requests, each list once."""

    def ruling(self, tool: str, access: Access, mode: PermissionMode) -> Ruling | None:
        """What the rules said then."""
        return self._rulings.get(id(access), (access, None))[1]

    async def prepare(self, session_id: str, turn_id: str, seconds: float) -> None:
        """Nothing is looked for: the log tells which tools there were."""

    def now(self, mode: Mode, looked_up: Collection[str] = ()) -> Registry:
        """The tools that there are when the next event is written.

        Tools that only ask the user, and those of the client, are real; all others give what they gave. Those that come and go
        are offered as they were with the next request.
        """
        tape, listed = self._tape, self._listed
        # Which were offered follows from the mode: the longest list has all of them, in their order, and in full if any has.
        varying = {one["name"]: _spec(one) for tools in listed for one in tools if "effect" in one}
        specs: dict[str, ToolSpec] = {}
        for one in (one for tools in sorted(listed, key=len, reverse=True) for one in tools):
            if one["name"] not in varying:
                specs.setdefault(one["name"], _spec(one))
        # The system of then may have been one that runs no commands.
        own = own_tools(with_commands=not specs or not _OF_COMMANDS.isdisjoint(specs))
        if tape.program == __version__ or not specs:
            known = {tool.name: tool.spec() for tool in own.all}
            specs = {name: specs.get(name, spec) for name, spec in known.items()}
        begun = [one.seq for one in tape.events if one.type in {"session.started", "session.restored"}]
        of_client = {tool.name for seq in begun for tool in tape.client_tools(seq)}
        recorded = [self._tool(own.get(name), spec) for name, spec in specs.items() if name not in of_client]
        coming = tape.first_ahead("model.requested", purpose="main")
        offered = self._read[coming.data["toolsHash"]] if coming is not None else []
        brought = {one["name"]: self._tool("", _spec(one)) for one in offered if "effect" in one}
        lasting = [*recorded, *handed_tools(tape.client_tools(tape.position + 1))]
        known = {name: self._tool("", spec) for name, spec in varying.items()}
        return _Recorded(lasting, brought, known, self._left_out)

    async def _left_out(self) -> Collection[str]:
        """The tools that ask language servers and were not offered in the turn that begins."""
        coming = self._tape.first_ahead("model.requested")
        offered = self._read[coming.data["toolsHash"]] if coming is not None else []
        return {tool.name for tool in OF_LANGUAGES} - {one["name"] for one in offered}

    def _tool(self, known: Tool[Any] | str, spec: ToolSpec) -> Tool[Any]:
        effect: Effect = (spec.effect or "read") if isinstance(known, str) else known.effect

        async def plan(_params: Any, call: ToolCall, context: ToolContext) -> Action | ToolResult:
            return await self._plan(effect, call, context)

        recorded = _RecordedTool(spec.name, spec.description, effect, Params, plan, spec, settle=self._settle)
        if isinstance(known, str):
            return recorded
        return replace(
            recorded,
            params=known.params,
            plan=known.plan if effect == "ask" else plan,
            only_in=known.only_in,
        )

    async def _plan(self, effect: Effect, call: ToolCall, context: ToolContext) -> Action | ToolResult:
        told = _Story(self._tape, call, context, effect)
        # A read has no event before it begins; one whose neighbours went on when the log broke off began with them.
        if told.was_worked_out or (told.finished is None and effect == "read"):
            action, ruling = told.action()
            self._rulings[id(action.access)] = action.access, ruling
            return action
        return await told.end()

    async def _settle(self, call: ToolCall, context: ToolContext, /, *, may_ask: bool) -> str | None:
        told = _Story(self._tape, call, context, "execute")
        if may_ask:
            return await told.settled()
        # Its session is let in just now: to wait until that is done would be for ever.
        return told.result().content if told.finished is not None else None


class _Story:
    """What comes of one call from here on, and what it asked for before."""

    def __init__(self, tape: Tape, call: ToolCall, context: ToolContext, effect: Effect) -> None:
        self._tape, self._call, self._context = tape, call, context
        self._effect: Effect = effect
        self._past = [one for one in tape.behind() if one.data.get("callId") == call.id]
        """The latest first."""
        own = [one for one in tape.ahead() if one.data.get("callId") == call.id]
        self._ask = next((one for one in self._past if one.type == "approval.requested"), None)
        """The approval that was asked for last."""
        asked = {one.data["id"] for one in [*self._past, *own] if one.type == "approval.requested"}
        # An approval that the rules close only gives way to another one.
        self._events = [e for e in own if not (e.data.get("by") == "rule" and e.data["id"] in asked)]
        self.finished = self._first("tool.finished")
        self.status = self.finished.data["status"] if self.finished else "interrupted"
        answers = (one for one in self._past if one.type == "approval.resolved")
        self._answer = next((e for e in answers if self._ask and e.data["id"] == self._ask.data["id"]), None)
        """What was said to it."""
        self._questions = self._asked_of_user()

    def _first(self, *types: str) -> LoggedEvent | None:
        return next((one for one in self._events if one.type in types), None)

    @property
    def was_worked_out(self) -> bool:
        """Whether it came further than to its arguments."""
        is_left = self._waits and self.status in _UNFINISHED
        is_done = self.status in {"ok", "denied"}
        return is_left or is_done or bool(self._questions) or self._first(*_WORKED_OUT) is not None

    @property
    def _waits(self) -> bool:
        """Whether it waits for a yes since before a restart."""
        return self._ask is not None and self._answer is None

    async def end(self) -> ToolResult:
        """What it gave, when it gave that."""
        await self._tape.reached(None if self.status in _UNFINISHED else self.finished)
        return self.result()

    def result(self) -> ToolResult:
        """What the log says that it gave."""
        data: dict[str, Any] = self.finished.data if self.finished else {"status": "ok", "content": ""}
        read = {one["path"]: self._tape.text(one["hash"]) or "" for one in data.get("read", ())}
        content = untold(data["content"])  # it is said anew
        ran = Ran.from_wire(data["ran"]) if "ran" in data else None
        verdict = Verdict.from_wire(data["verdict"]) if "verdict" in data else None
        images = tuple(images_of(data.get("images", ())))
        return ToolResult(data["status"], content, read, images, ran=ran, verdict=verdict)

    def action(self) -> tuple[Action, Ruling | None]:
        """What the call was about to do, and what the rules said of it."""
        comes_first = self._first("approval.requested", "tool.started", "edit.applying", "approval.resolved")
        asks = comes_first is not None and comes_first.type == "approval.requested"
        ask = comes_first if asks else self._ask
        resolved = (one for one in self._events if one.type == "approval.resolved")
        decided = next((one.data for one in resolved if one.data["by"] != "person"), _NOTHING)
        by_rule = decided if decided.get("by") == "rule" else _NOTHING
        given = ask.data if ask is not None else _NOTHING
        # A title says where a call leaves the workspace, and no grant covers a command there.
        leaves = given.get("title", "").endswith(OUTSIDE)
        # Such as a list of what a language server could change.
        only_says = self._effect == "edit" and ask is None and not decided
        only_says = only_says and [one.type for one in self._events][:2] == ["tool.started", "tool.finished"]
        # Where nothing but reading is possible, a rule allowed a command only because it just reads.
        is_closed = self._context.rules.permission_mode == "read-only"
        only_reads = decided.get("rule") == ONLY_READS or (
            is_closed and by_rule.get("decision", "reject") != "reject"
        )
        access = Access(
            "read" if only_says else self._effect,
            inside=ask is None or ("grant" in given if self._effect == "execute" else not leaves),
            grant=(given or by_rule).get("grant"),
            command=_READS if only_reads else None,
            ends_own=decided.get("rule") == ENDS_OWN,
            can_be_undone=decided.get("rule") == CAN_BE_UNDONE,
        )
        content: str = self.finished.data["content"] if self.finished else ""
        is_partial = self.status == "cancelled" and content.endswith(_CANCELLED)
        partial = content.removesuffix(_CANCELLED).removesuffix("\n")
        reviewed = given.get("reviewed", False) if asks else bool(self._context.user.reviews(self._call))
        action = self._asked(
            given,
            access,
            prepare=self._prepare if self._questions or self._first("workspace.saved") else None,
            digest=self._digest(given, asks=asks),
            # A command makes changes in its middle alone.
            changes=self._changes() if self._effect != "execute" else (),
            besides=untold(rest(content)) if self.status == "ok" else "",
            partial=(lambda: partial) if is_partial else None,
            as_reviewed=reviewed,
            asked_alone=asks and "group" not in given,
        )
        return action, Ruling("ask", "it was asked") if asks else _ruling(by_rule)

    def _asked(self, given: Mapping[str, Any], access: Access, **more: Any) -> Action:
        """An action as an approval was asked for it."""
        options = given.get("options", ())
        shown = {key: given[key] for key in ("title", "summary", "detail", "digest") if key in given}
        flags = {"is_folded": REVIEW, "leaves_sandbox": RUN_OUTSIDE, "puts_back": PUT_BACK}
        told: dict[str, Any] = shown | {flag: option in options for flag, option in flags.items()} | more
        always = [RulePattern.from_wire(one) for one in given.get("always", ())]
        return Action(access=access, perform=self._perform, always=always, **told)

    def _digest(self, given: Mapping[str, Any], *, asks: bool) -> str:
        of_ask: str = given.get("digest", self._call.id)
        return of_ask if asks or self._answer is None else self._answer.data.get("digest", of_ask)

    # --- running ---------------------------------------------------------------------------------------------

    async def _prepare(self) -> ToolResult | None:
        saves = [one for one in self._events if one.type == "workspace.saved"]
        for save in saves:
            await self._tape.reached(save)
            self._context.log.record(WorkspaceSaved.model_validate(save.data))
        for question in self._questions:
            await self._ask_user(question.data)
        if self._first("tool.started", "input.wanted") is not None or not (saves or self.finished):
            return None
        return await self.end()

    async def settled(self) -> str:
        """Ask what was asked after it had been cut off, and say what was said of it."""
        for event in self._events:
            if event.type == "approval.requested":
                await self._tape.reached(event)
                asked = self._asked(event.data, Access("edit"), amid_call=True)
                await self._context.user.approve(self._call, asked, [])
        await self._tape.reached(self.finished)
        return self.result().content

    async def _ask_user(self, data: Mapping[str, Any]) -> None:
        options, free_form = data.get("options", []), data.get("allowFreeForm", True)
        await self._context.user.ask(
            self._call,
            data["question"],
            options,
            free_form=free_form,
            detail=data.get("detail", ""),
            fields=[InputField.from_wire(one) for one in data.get("fields", ())],
            url=data.get("url"),
        )

    async def _perform(self) -> ToolResult:
        """Do what was done in the middle of the call, and give its result."""
        tape, call, context = self._tape, self._call, self._context
        if self.finished is None and self._effect == "read":
            return self.result()  # its neighbours may have come to an end before the log broke off
        started = self._first("tool.started")
        begun = (
            self._events.index(started) + 1 if started is not None else 0
        )  # else it began before a restart
        for event in self._events[begun:]:
            if event.type == "input.wanted":
                await tape.reached(event)
                context.log.record(InputWanted.from_wire(event.data))
            elif event.type == "question.asked" and event not in self._questions:
                await self._ask_user(event.data)
            elif event.type == "approval.requested":  # such as whether a command may leave its sandbox
                await tape.reached(event)
                await context.user.approve(
                    call, self._asked(event.data, Access("execute"), amid_call=True), []
                )
            elif event.type == "edit.applying":
                await tape.reached(event)
                await make(context, call, event.data["changeId"], self._change(event.data))
        return await self.end()

    # --- what it asked and changed ---------------------------------------------------------------------------

    def _asked_of_user(self) -> list[LoggedEvent]:
        """What the call asks from here on; first what it had asked before the process ended, if that is not pointless now."""
        earlier: list[LoggedEvent] = []
        if self._first("question.answered") or not self._first("tool.started", "tool.finished"):
            answered = {one.data["id"] for one in self._past if one.type == "question.answered"}
            asked = (one for one in reversed(self._past) if one.type == "question.asked")
            earlier = [one for one in asked if one.data["id"] not in answered]
        # What an MCP server asks in the middle of its call comes when that has begun.
        own = takewhile(lambda one: one.type != "tool.started", self._events)
        begins = self._first("tool.started") is not None or self._first("input.wanted") is None
        return [*earlier, *(one for one in own if begins and one.type == "question.asked")]

    def _changes(self) -> tuple[Change, ...]:
        """What was worked out: of several changes the log has all before the first is begun."""
        asked_for: list[str] = self._ask.data.get("changeIds", []) if self._ask else []
        first = self._first("edit.proposed", "edit.applying")
        if self._waits and first is not None and first.type == "edit.applying":
            first = None  # that comes after the yes
        wanted = first.data["changeId"] if first else next(iter(asked_for), "")
        story = [*reversed(self._past), *self._events]
        since = dropwhile(lambda e: (e.type, e.data.get("changeId")) != ("edit.proposed", wanted), story)
        batch = list(takewhile(lambda e: e.type == "edit.proposed", since)) or ([first] if first else [])
        changes = [(one.data["changeId"], self._change(one.data)) for one in batch]
        begins = first is not None and first.type == "edit.applying"
        if begins and wanted in asked_for and self._answer is not None and "review" in self._answer.data:
            changes = self._context.user.reviews(self._call)[-1].amended(changes) or changes
        # The texts may have moved since they were proposed.
        applying = (one for one in reversed(self._events) if begins and one.type == "edit.applying")
        begun = {one.data["changeId"]: one.data for one in applying}
        return tuple(self._change(begun[one]) if one in begun else change for one, change in changes)

    def _change(self, data: dict[str, Any]) -> Change:
        return Change(
            data.get("operation", "edit"),
            _located(data["path"]),
            _located(data["to"]) if "to" in data else None,
            self._tape.text(data.get("before")),
            self._tape.text(data.get("after")),
            data.get("encoding", "utf-8"),
            int(data["mode"], 8) if "mode" in data else None,
            folder=_located(data["folder"]) if "folder" in data else None,
            folders={one["path"]: int(one["mode"], 8) for one in data.get("folders", ())},
        )


def _located(display: str) -> Located:
    """What a path of an event names, as far as the log knows."""
    return Located(display, display, None, None, inside=True, own=False)


def _ruling(decided: Mapping[str, Any]) -> Ruling | None:
    """What the rules said, where they decided; a grant of the session is no rule."""
    rules = tuple(decided.get("rules", ()))
    if decided.get("decision") == "reject":
        return Ruling("deny", decided.get("rule", ""), rules)
    # Where the rule was one for reading, it named the file: another one decides nothing there.
    return Ruling("allow", decided["rule"], rules, names_files=True) if rules else None
