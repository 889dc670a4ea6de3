"""The tools that answered the loop, and the rules. Each waits for its time, and says what it said.

A call is where a session meets the files and processes of its workspace: what it read and ran is in no log, only what came of it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final

from pydantic import ConfigDict

from outrider import __version__
from outrider.permissions.policy.commands import Command
from outrider.permissions.policy.decide import ENDS_OWN, ONLY_READS, Access
from outrider.permissions.policy.ruling import Ruling
from outrider.permissions.shell.model import CommandLine, Program
from outrider.ports.model import ToolCall, ToolSpec, images_of
from outrider.replay.tape import LoggedEvent, Tape
from outrider.tools.all import own_tools
from outrider.tools.client import handed_tools
from outrider.tools.context import OUTSIDE, Action, ToolContext, ToolResult
from outrider.tools.diagnostics import DIAGNOSTICS
from outrider.tools.edit.changes import make
from outrider.tools.edit.report import rest
from outrider.tools.edit.review import untold
from outrider.tools.registry import Params, Parsed, Registry, Tool, read_object
from outrider.workspace.edits.change import Change
from outrider.workspace.edits.review import Review
from outrider.workspace.paths import Located
from outrider_protocol import PUT_BACK, REVIEW, RUN_OUTSIDE
from outrider_protocol.events import ReviewedHunk, RulePattern, WorkspaceSaved
from outrider_protocol.settings import Effect, PermissionMode

_CANCELLED: Final = "[cancelled]"
_OF_COMMANDS: Final = frozenset({"run_command", "read_job"})
"""One of these is offered in every mode, where commands can be run."""
_UNFINISHED: Final = frozenset({"cancelled", "interrupted"})
_WORKED_OUT: Final = frozenset({
    "approval.requested", "approval.resolved", "question.asked", "question.answered", "workspace.saved",
    "tool.started", "edit.proposed", "edit.applying",
})  # fmt: skip
"""What only a call can come to whose arguments were good."""


class _Anything(Params):
    """Arguments of a tool that is not known here."""

    model_config = ConfigDict(frozen=True, extra="allow")


@dataclass(frozen=True, slots=True)
class _RecordedTool(Tool[Any]):
    """A tool as it was defined in the log."""

    definition: ToolSpec

    def spec(self) -> ToolSpec:
        """The tool as the model saw it."""
        return self.definition

    def parse(self, arguments: str) -> Parsed[Any] | str:
        """The arguments. What the log says of a call names those that were left out, except where the call is made again."""
        if self.params is _Anything:
            given = read_object(arguments)
            return given if isinstance(given, str) else Parsed(_Anything())
        parsed = Tool[Any].parse(self, arguments)
        return parsed if isinstance(parsed, str) or self.effect == "ask" else replace(parsed, unknown=())


class RecordedCalls:
    """What the calls of a log came to, and what the rules said of them."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._rulings: dict[int, tuple[Access, Ruling | None]] = {}
        """What rules said, by the identity of the access that they were asked about."""
        self._requested = {one.data["id"] for one in tape.events if one.type == "approval.requested"}

    def ruling(self, tool: str, access: Access, mode: PermissionMode) -> Ruling | None:
        """What the rules said then."""
        return self._rulings.get(id(access), (access, None))[1]

    def registry(self) -> Registry:
        """The tools that there are in the process that writes the next event.

        Tools that only ask the user, and those of the client, are real; all others give what they gave.
        """
        tape = self._tape
        listed = [
            json.loads(tape.text(one.data["toolsHash"]) or "[]")
            for one in tape.events
            if one.type == "model.requested"
        ]
        # Which were offered follows from the mode: the longest list has all of them, in their order.
        specs = {
            one["name"]: ToolSpec(one["name"], one["description"], one["schema"])
            for tools in sorted(listed, key=len, reverse=True)
            for one in tools
        }
        # The system of then may have been one that runs no commands, its editor one that tells no diagnostics.
        own = own_tools(
            with_commands=not specs or not _OF_COMMANDS.isdisjoint(specs),
            with_diagnostics=DIAGNOSTICS.name in specs,
        )
        if tape.program == __version__ or not specs:
            known = {tool.name: tool.spec() for tool in own.offered(read_only=False)}
            specs = {name: specs.get(name, spec) for name, spec in known.items()}
        begun = [one.seq for one in tape.events if one.type in {"session.started", "session.restored"}]
        of_client = {tool.name for seq in begun for tool in tape.client_tools(seq)}
        recorded = [self._tool(own, spec) for name, spec in specs.items() if name not in of_client]
        return Registry([*recorded, *handed_tools(tape.client_tools(tape.position + 1))])

    def _tool(self, own: Registry, spec: ToolSpec) -> Tool[Any]:
        known = own.get(spec.name)
        effect: Effect = "read" if isinstance(known, str) else known.effect

        async def plan(_params: Any, call: ToolCall, context: ToolContext) -> Action | ToolResult:
            return await self._plan(effect, call, context)

        if isinstance(known, str):
            return _RecordedTool(spec.name, spec.description, effect, _Anything, plan, spec)
        answers = known.plan if effect == "ask" else plan
        return _RecordedTool(spec.name, spec.description, effect, known.params, answers, spec)

    async def _plan(self, effect: Effect, call: ToolCall, context: ToolContext) -> Action | ToolResult:
        tape = self._tape
        story = [
            one for one in tape.ahead() if one.data.get("callId") == call.id and not self._is_superseded(one)
        ]
        told = _Story(tape, call, context, effect, story)
        # A read has no event before it begins; one whose neighbours went on when the log broke off began with them.
        began = told.was_worked_out or (told.finished is None and effect == "read")
        if began or (told.finished is not None and told.finished.data["status"] == "ok"):
            action, ruling = told.action()
        elif told.finished is None or told.finished.data["status"] in _UNFINISHED:
            return await tape.reached(None) or ToolResult("cancelled", "")
        elif told.finished.data["status"] != "denied":
            await tape.reached(told.finished)
            return told.result()
        else:
            action, ruling = Action(access=Access(effect), perform=told.perform), None
        self._rulings[id(action.access)] = action.access, ruling
        return action

    def _is_superseded(self, event: LoggedEvent) -> bool:
        """Whether it closes an approval only because another one takes its place."""
        data = event.data
        closes = event.type == "approval.resolved" and (data["by"], data["decision"]) == ("rule", "reject")
        return closes and data["id"] in self._requested


class _Story:
    """What comes of one call from here on, and what it asked for before."""

    def __init__(
        self, tape: Tape, call: ToolCall, context: ToolContext, effect: Effect, story: Sequence[LoggedEvent]
    ) -> None:
        self._tape, self._call, self._context, self._events = tape, call, context, story
        self._effect: Effect = effect
        self._past = [one for one in tape.behind() if one.data.get("callId") == call.id]
        """The latest first."""
        self.finished = self._first("tool.finished")
        self._asked_before = next((one for one in self._past if one.type == "approval.requested"), None)
        reviewed = (one for one in self._past if one.type == "approval.resolved" and "review" in one.data)
        self._reviewed = next(reviewed, None)
        if self._reviewed is not None and self._reviewed.data["decision"] == "reject":
            self._reviewed = None
        self._questions = self._asked_of_user()
        self._waits = self._still_waits()

    def _first(self, *types: str) -> LoggedEvent | None:
        return next((one for one in self._events if one.type in types), None)

    @property
    def _is_unfinished(self) -> bool:
        return self.finished is None or self.finished.data["status"] in _UNFINISHED

    @property
    def was_worked_out(self) -> bool:
        """Whether it came further than to its arguments."""
        return bool(self._questions) or self._waits is not None or self._first(*_WORKED_OUT) is not None

    def result(self) -> ToolResult:
        """What it gave."""
        data: dict[str, Any] = self.finished.data if self.finished else {"status": "ok", "content": ""}
        read = {one["path"]: self._tape.text(one["hash"]) or "" for one in data.get("read", ())}
        content = untold(data["content"])  # it is said anew
        return ToolResult(data["status"], content, read, tuple(images_of(data.get("images", ()))))

    def action(self) -> tuple[Action, Ruling | None]:
        """What the call was about to do, and what the rules said of it."""
        requested, decided = self._first("approval.requested"), self._first("approval.resolved")
        comes_first = self._first("approval.requested", "tool.started", "edit.applying", "approval.resolved")
        asked = requested if requested is comes_first else None
        given = asked or self._asked_before
        of_given: dict[str, Any] = given.data if given is not None else {}
        if decided is not None and decided.data["by"] == "person":
            resolved = (e for e in self._events if e.type == "approval.resolved" and e.data["by"] != "person")
            decided = next(resolved, None)
        by_rule = decided if decided is not None and decided.data["by"] == "rule" else None
        source = given or by_rule
        # A title says where a call leaves the workspace, and no grant covers a command there.
        inside = given is None or (
            "grant" in of_given if self._effect == "execute" else not of_given["title"].endswith(OUTSIDE)
        )
        only_read = decided is not None and decided.data.get("rule") == ONLY_READS
        content = self.finished.data["content"] if self.finished is not None else ""
        status = self.finished.data["status"] if self.finished is not None else ""
        access = Access(
            self._effect,
            inside=inside,
            grant=source.data.get("grant") if source else None,
            command=_READS if only_read else None,
            ends_own=decided is not None and decided.data.get("rule") == ENDS_OWN,
        )
        partial = content.removesuffix(_CANCELLED).removesuffix("\n")
        is_partial = status == "cancelled" and content.endswith(_CANCELLED)
        action = Action(
            access=access,
            perform=self.perform,
            prepare=self._prepare if self._questions or self._first("workspace.saved") else None,
            title=of_given.get("title", ""),
            summary=of_given.get("summary", ""),
            detail=of_given.get("detail", ""),
            is_folded=REVIEW in of_given.get("options", ()),
            leaves_sandbox=RUN_OUTSIDE in of_given.get("options", ()),
            digest=self._digest(asked, given),
            # A command makes changes in its middle alone.
            changes=self._changes() if self._effect != "execute" else (),
            besides=untold(rest(content)) if status == "ok" else "",
            always=[RulePattern.from_wire(one) for one in of_given.get("always", ())],
            partial=(lambda: partial) if is_partial else None,
            as_reviewed=asked.data.get("reviewed", False)
            if asked is not None
            else self._reviewed is not None,
        )
        return action, Ruling("ask", "it was asked") if asked else _ruling(by_rule)

    def _digest(self, asked: LoggedEvent | None, given: LoggedEvent | None) -> str:
        if given is None:
            return self._call.id
        reviewed = self._reviewed
        if asked is None and reviewed is not None and reviewed.data["id"] == given.data["id"]:
            return reviewed.data.get("digest", given.data["digest"])
        return given.data["digest"]

    # --- running ---------------------------------------------------------------------------------------------

    async def _prepare(self) -> ToolResult | None:
        tape, context = self._tape, self._context
        for save in (one for one in self._events if one.type == "workspace.saved"):
            await tape.reached(save)
            context.log.record(WorkspaceSaved.model_validate(save.data))
        for question in self._questions:
            data = question.data
            options, free_form = data.get("options", []), data.get("allowFreeForm", True)
            await context.user.ask(self._call, data["question"], options, free_form=free_form)
        if self._first("tool.started") is not None:
            return None
        if self._first("workspace.saved") is not None and self._is_unfinished:
            await tape.reached(None)
        return self.result() if self.finished is not None else None

    async def perform(self) -> ToolResult:
        """Do what was done in the middle of the call, and give its result."""
        tape, call, context = self._tape, self._call, self._context
        if self.finished is None and self._effect == "read":
            return self.result()  # its neighbours may have come to an end before the log broke off
        events = iter(self._events)
        any(one.type == "tool.started" for one in events)
        for event in events if self._first("tool.started") else self._events[:0]:
            if event.type == "approval.requested":  # such as whether a command may leave its sandbox
                await tape.reached(event)
                await context.user.approve(call, self._asked_amid_call(event), [])
            elif event.type == "edit.applying":
                await tape.reached(event)
                await make(context, call, event.data["changeId"], self._change(event.data))
        await tape.reached(None if self._is_unfinished else self.finished)
        return self.result()

    def _asked_amid_call(self, asked: LoggedEvent) -> Action:
        data = asked.data
        return Action(
            access=Access("execute"),
            perform=self.perform,
            title=data["title"],
            summary=data.get("summary", ""),
            detail=data["detail"],
            is_folded=REVIEW in data["options"],
            digest=data["digest"],
            leaves_sandbox=RUN_OUTSIDE in data["options"],
            puts_back=PUT_BACK in data["options"],
            amid_call=True,
        )

    # --- what it asked and changed ---------------------------------------------------------------------------

    def _asked_of_user(self) -> list[LoggedEvent]:
        """What the call asks from here on; first what it had asked before the process ended, if that is not pointless now."""
        earlier: list[LoggedEvent] = []
        if self._first("question.answered") or not self._first("tool.started", "tool.finished"):
            answered = {one.data["id"] for one in self._past if one.type == "question.answered"}
            asked = (one for one in reversed(self._past) if one.type == "question.asked")
            earlier = [one for one in asked if one.data["id"] not in answered]
        return [*earlier, *(one for one in self._events if one.type == "question.asked")]

    def _still_waits(self) -> LoggedEvent | None:
        """The approval of an edit that was asked for before a restart, where it goes on to wait under its id."""
        asked = self._asked_before
        if asked is None or not asked.data.get("changeIds") or self._first("edit.proposed"):
            return None
        ends = [("approval.resolved", asked.data["id"])]
        if any((one.type, one.data.get("id")) in ends for one in self._past):
            return None
        is_resolved = any((one.type, one.data.get("id")) in ends for one in self._events)
        return asked if is_resolved or self._is_unfinished else None

    def _changes(self) -> tuple[Change, ...]:
        """What was worked out: of several changes the log has all before the first is begun."""
        if self._waits is not None:
            return tuple(change for _, change in self._asked_for(self._waits))
        first = self._first("edit.proposed", "edit.applying")
        if first is None:
            return ()
        # The texts may have moved since they were proposed.
        begun = {
            one.data["changeId"]: one.data for one in reversed(self._events) if one.type == "edit.applying"
        }
        if first.type == "edit.proposed":
            begun = {}
        batch = self._left_of(first) or [
            (one["changeId"], self._change(one)) for one in self._proposed_with(first)
        ]
        return tuple(self._change(begun[one]) if one in begun else change for one, change in batch)

    def _asked_for(self, asked: LoggedEvent) -> list[tuple[str, Change]]:
        """The changes that an approval was asked for, under their ids."""
        proposed = {one.data["changeId"]: one.data for one in self._past if one.type == "edit.proposed"}
        wanted = asked.data.get("changeIds", ())
        return [(one, self._change(proposed[one])) for one in wanted if one in proposed]

    def _left_of(self, first: LoggedEvent) -> list[tuple[str, Change]] | None:
        """What a review left of the changes it was about, where `first` is one of them."""
        reviewed, asked = self._reviewed, self._asked_before
        if reviewed is None or asked is None or reviewed.data["id"] != asked.data["id"]:
            return None
        if first.data["changeId"] not in asked.data.get("changeIds", ()):
            return None
        proposed = {one.data["changeId"]: one.data for one in self._past if one.type == "edit.proposed"}
        decided = [ReviewedHunk.from_wire(one) for one in reviewed.data["review"]]
        review = Review.read([proposed[one] for one in asked.data["changeIds"] if one in proposed], decided)
        return review.amended(self._asked_for(asked)) if isinstance(review, Review) else None

    def _proposed_with(self, first: LoggedEvent) -> list[dict[str, Any]]:
        """The data of what was proposed together with a change; that of the change alone, if it was not proposed."""
        for event in self._tape.behind(first.seq):
            if event.type == "edit.proposed" and event.data["changeId"] == first.data["changeId"]:
                batch = takewhile(lambda one: one.type == "edit.proposed", self._tape.events[event.seq - 1 :])
                return [one.data for one in batch]
        return [first.data]

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


_READS: Final = Command(CommandLine("", (Program((), ""),)), (None,))
"""A command that only reads."""


def _located(display: str) -> Located:
    """What a path of an event names, as far as the log knows."""
    return Located(display, display, None, None, inside=True, own=False)


def _ruling(decided: LoggedEvent | None) -> Ruling | None:
    """What the rules said, where they decided; a grant of the session is no rule."""
    if decided is None:
        return None
    data = decided.data
    if data["decision"] == "reject":
        return Ruling("deny", data.get("rule", ""), tuple(data.get("rules", ())))
    if "rules" not in data:
        return None
    # Where the rule was one for reading, it named the file: another one decides nothing there.
    return Ruling("allow", data["rule"], tuple(data["rules"]), names_files=True)
