"""The tools that answered the loop, and the rules. Each waits on the tape for its time, and says what it said."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from pydantic import ConfigDict

from outrider import __version__
from outrider.permissions.decide import ENDS_OWN, Access
from outrider.permissions.ruling import Ruling
from outrider.ports.events import LoggedEvent
from outrider.ports.model import (
    ToolCall,
    ToolSpec,
    images_of,
)
from outrider.replay.rulings import RecordedAccess
from outrider.replay.tape import Tape
from outrider.replay.world import located
from outrider.tools.all import own_tools
from outrider.tools.changes import OUTSIDE
from outrider.tools.client import handed_tools
from outrider.tools.context import Action, ToolContext
from outrider.tools.diagnostics import DIAGNOSTICS
from outrider.tools.executor import NOTE
from outrider.tools.registry import Params, Registry, Tool
from outrider.tools.result import ToolResult
from outrider.tools.review import untold
from outrider.workspace.change import Change
from outrider.workspace.review import Review
from outrider_protocol.events import ReviewedHunk, RulePattern, WorkspaceSaved
from outrider_protocol.settings import Effect

_CANCELLED = "[cancelled]"
_OF_COMMANDS = frozenset({"run_command", "read_job"})
"""One of these is offered in every mode, where commands can be run."""
_UNFINISHED = frozenset({"cancelled", "interrupted"})
_WORKED_OUT = frozenset(
    {
        "approval.requested",
        "approval.resolved",
        "question.asked",
        "question.answered",
        "workspace.saved",
        "tool.started",
        "edit.proposed",
        "edit.applying",
    }
)
"""What only a call can come to whose arguments were good."""


# --- tools ---------------------------------------------------------------------------------------------------


class _Anything(Params):
    """Arguments of a tool that is not known here."""

    model_config = ConfigDict(frozen=True, extra="allow")


@dataclass(frozen=True, slots=True)
class _RecordedTool(Tool[Any]):
    """A tool as it was defined then."""

    definition: ToolSpec

    def spec(self) -> ToolSpec:
        """The tool as the model saw it."""
        return self.definition


class RecordedTools(Registry):
    """The tools that were offered. Those that only talk to the person are real; all others give what they gave."""

    def __init__(self, tape: Tape) -> None:
        """Take the tools from the tape."""
        self._tape = tape
        requests = [event for event in tape.events if event.type == "model.requested"]
        offered = {name for request in requests for name in request.data["tools"]}
        # The system of then may have been one that runs no commands, its editor one that tells no diagnostics.
        self._own = own_tools(
            with_commands=not offered or not _OF_COMMANDS.isdisjoint(offered),
            with_diagnostics=DIAGNOSTICS.name in offered,
        )
        tools = {tool.name: self._tool(tool.spec()) for tool in self._own.offered(read_only=False)}
        for request in reversed(requests):
            tools |= {tool.name: tool for tool in self._of_request(request)}
        super().__init__(tools.values())
        self._requested = {event.data["id"] for event in tape.events if event.type == "approval.requested"}
        self._begun = [
            event.seq for event in tape.events if event.type in {"session.started", "session.restored"}
        ]

    def get(self, name: str) -> Tool[Any] | str:
        """The tool of that name, as far as it was registered at this moment; else a text."""
        return self._now().get(name)

    def effect(self, name: str) -> Effect | None:
        """The effect of that tool."""
        return self._now().effect(name)

    def _now(self) -> Registry:
        """The tools at this moment: those of the client are real, and were other ones before a restart."""
        handed = handed_tools(self._tape.client_tools(self._tape.position))
        ever = {tool.name for seq in self._begun for tool in self._tape.client_tools(seq)}
        return Registry([*(tool for name, tool in self._tools.items() if name not in ever), *handed])

    def offered(self, *, read_only: bool) -> Sequence[Tool[Any]]:
        """The tools that a turn of now is offered, as they were defined then.

        Which they are is worked out, unless another version wrote the log, which may have had other ones.
        """
        request = self._tape.first_ahead("model.requested", purpose="main")
        if request is None:
            return self._now().offered(read_only=read_only)
        then = self._of_request(request)
        if self._tape.program != __version__:
            return then
        defined = {tool.name: tool for tool in then}
        return [defined.get(tool.name, tool) for tool in self._now().offered(read_only=read_only)]

    def _of_request(self, request: LoggedEvent) -> list[Tool[Any]]:
        defined = json.loads(self._tape.text(request.data["toolsHash"]) or "[]")
        return [self._tool(ToolSpec(one["name"], one["description"], one["schema"])) for one in defined]

    def _tool(self, spec: ToolSpec) -> Tool[Any]:
        own = self._own.get(spec.name)
        if isinstance(own, str):
            return _RecordedTool(spec.name, spec.description, "read", _Anything, self._plan_as("read"), spec)
        plan = own.plan if own.effect == "ask" else self._plan_as(own.effect)
        return _RecordedTool(own.name, spec.description, own.effect, own.params, plan, spec)

    def _plan_as(self, effect: Effect) -> Callable[[Any, ToolCall, ToolContext], Any]:
        async def plan(_params: Any, call: ToolCall, context: ToolContext) -> Action | ToolResult:
            return await self._plan(effect, call, context)

        return plan

    async def _plan(self, effect: Effect, call: ToolCall, context: ToolContext) -> Action | ToolResult:
        tape = self._tape
        await tape.hang_if_over()
        story = [event for event in tape.story(call.id) if not self._superseded(event)]
        finished = next((event for event in story if event.type == "tool.finished"), None)
        requested = next((event for event in story if event.type == "approval.requested"), None)
        # A read has no event before it begins; one whose neighbours went on when the log broke off began with them.
        began = (
            any(event.type in _WORKED_OUT for event in story)
            or (finished is None and effect == "read")
            or bool(self._questions(call, story))
            or self._pending(call, story, finished) is not None
        )
        if began or (finished is not None and finished.data["status"] == "ok"):
            return self._action(effect, call, context, story, requested, finished)
        if finished is None or finished.data["status"] in _UNFINISHED:
            await tape.hang()
        elif finished.data["status"] != "denied":
            await tape.fed_before(finished)
            return _result(tape, finished)
        return Action(access=Access(effect), perform=_nothing)

    def _action(
        self,
        effect: Effect,
        call: ToolCall,
        context: ToolContext,
        story: list[LoggedEvent],
        requested: LoggedEvent | None,
        finished: LoggedEvent | None,
    ) -> Action:
        tape = self._tape
        asked = requested if requested and _comes_first(requested, story) else None
        given = asked or self._latest_request(call)
        reviewed = self._reviewed(call)
        decided = next((e for e in story if e.type == "approval.resolved" and e.data["by"] != "person"), None)
        by_rule = decided if decided is not None and decided.data["by"] == "rule" else None
        source = given or by_rule
        grant = source.data.get("grant") if source else None

        async def perform() -> ToolResult:
            if finished is None and effect == "read":
                return ToolResult("ok", "")  # its neighbours may have come to an end before the log broke off
            if finished is None or finished.data["status"] in _UNFINISHED:
                await self._asked_outside(call, context, story)
                await tape.hang()
                return ToolResult("cancelled", "")
            await self._asked_outside(call, context, story)
            await tape.fed_before(finished)
            return _result(tape, finished)

        questions = self._questions(call, story)
        saves = [event for event in story if event.type == "workspace.saved"]

        async def prepare() -> ToolResult | None:
            for save in saves:
                await tape.fed_before(save)
                context.record(WorkspaceSaved.model_validate(save.data))
            for question in questions:
                data = question.data
                options, free_form = data.get("options", []), data.get("allowFreeForm", True)
                await context.ask(call, data["question"], options, free_form=free_form)
            if not any(e.type == "tool.started" for e in story):
                if saves and (finished is None or finished.data["status"] in _UNFINISHED):
                    await tape.hang()
                if finished is not None:
                    return _result(tape, finished)
            return None

        partial = _partial(finished)
        return Action(
            access=RecordedAccess(
                effect,
                inside=given is None or _stays_inside(effect, given),
                grant=grant,
                ruling=Ruling("ask", "it was asked") if asked else _ruling(by_rule),
                was_reading=decided is not None and decided is not by_rule and effect == "execute",
                ends_own=decided is not None and decided.data.get("rule") == ENDS_OWN,
            ),
            perform=perform,
            prepare=prepare if questions or saves else None,
            title=given.data["title"] if given else "",
            detail=given.data["detail"] if given else "",
            digest=self._digest(call, asked, given),
            changes=self._changes(call, story, self._pending(call, story, finished)),
            note=_note(finished),
            always=[RulePattern.from_wire(one) for one in given.data.get("always", ())] if given else (),
            partial=None if partial is None else lambda: partial,
            as_reviewed=asked.data.get("reviewed", False) if asked is not None else reviewed is not None,
        )

    async def _asked_outside(self, call: ToolCall, context: ToolContext, story: list[LoggedEvent]) -> None:
        """Ask what the call asked in its middle: whether a command may run without its sandbox."""
        begun = next((index for index, e in enumerate(story) if e.type == "tool.started"), len(story))
        asked = next((e for e in story[begun:] if e.type == "approval.requested"), None)
        if asked is None:
            return
        await self._tape.fed_before(asked)
        data = asked.data
        action = Action(
            access=RecordedAccess("execute"),
            perform=_nothing,
            title=data["title"],
            detail=data["detail"],
            digest=data["digest"],
            leaves_sandbox=True,
        )
        await context.approve(call, action, [])

    def _digest(self, call: ToolCall, asked: LoggedEvent | None, given: LoggedEvent | None) -> str:
        if given is None:
            return call.id
        reviewed = self._reviewed(call)
        if asked is None and reviewed is not None and reviewed.data["id"] == given.data["id"]:
            return reviewed.data.get("digest", given.data["digest"])
        return given.data["digest"]

    def _reviewed(self, call: ToolCall) -> LoggedEvent | None:
        """What was last allowed of the call in parts, before this moment."""
        for event in self._tape.behind(self._tape.position):
            if (
                event.type == "approval.resolved"
                and event.data["callId"] == call.id
                and "review" in event.data
            ):
                return event if event.data["decision"] != "reject" else None
        return None

    def _pending(
        self, call: ToolCall, story: list[LoggedEvent], finished: LoggedEvent | None
    ) -> LoggedEvent | None:
        """The approval of an edit that was asked for before a restart, where it goes on to wait under its id."""
        asked = self._latest_request(call)
        if asked is None or not asked.data.get("changeIds"):
            return None
        item = asked.data["id"]
        behind = self._tape.behind(self._tape.position)
        if any(event.type == "approval.resolved" and event.data["id"] == item for event in behind):
            return None
        if any(event.type == "edit.proposed" for event in story):
            return None
        resolved = any(event.type == "approval.resolved" and event.data["id"] == item for event in story)
        open_still = finished is None or finished.data["status"] in _UNFINISHED
        return asked if resolved or open_still else None

    def _superseded(self, event: LoggedEvent) -> bool:
        """Whether it closes an approval only because another one takes its place."""
        data = event.data
        closes = event.type == "approval.resolved" and (data["by"], data["decision"]) == ("rule", "reject")
        return closes and data["id"] in self._requested

    def _questions(self, call: ToolCall, story: list[LoggedEvent]) -> list[LoggedEvent]:
        """What the call asks from here on; first what it had asked before the process ended, if that is not pointless now."""
        earlier: list[LoggedEvent] = []
        answered = {e.data["id"] for e in story if e.type == "question.answered"}
        if answered or not any(e.type in {"tool.started", "tool.finished"} for e in story):
            earlier = self._tape.left_open(call.id)
        return [*earlier, *(e for e in story if e.type == "question.asked")]

    def _latest_request(self, call: ToolCall) -> LoggedEvent | None:
        """The approval of the call that came last, before this moment."""
        for event in self._tape.behind(self._tape.position):
            if event.type == "approval.requested" and event.data["callId"] == call.id:
                return event
        return None

    def _changes(
        self, call: ToolCall, story: list[LoggedEvent], pending: LoggedEvent | None
    ) -> tuple[Change, ...]:
        """What was worked out: of several changes the log has all before the first is begun."""
        if pending is not None:
            return tuple(change for _, change in self._asked_for(pending))
        first = next((e for e in story if e.type in {"edit.proposed", "edit.applying"}), None)
        if first is None:
            return ()
        begun: dict[str, dict[str, Any]] = {}
        if first.type == "edit.applying":  # the texts may have moved since they were proposed
            begun = {e.data["changeId"]: e.data for e in reversed(story) if e.type == "edit.applying"}
        batch = self._left_of(call, first) or [
            (data["changeId"], self._change(data)) for data in self._proposed_with(first) or [first.data]
        ]
        return tuple(
            self._change(begun[change_id]) if change_id in begun else change for change_id, change in batch
        )

    def _asked_for(self, asked: LoggedEvent) -> list[tuple[str, Change]]:
        """The changes that an approval was asked for, under their ids."""
        return [(data["changeId"], self._change(data)) for data in self._proposals(asked)]

    def _proposals(self, asked: LoggedEvent) -> list[dict[str, Any]]:
        proposed = {
            e.data["changeId"]: e.data for e in self._tape.behind(asked.seq) if e.type == "edit.proposed"
        }
        return [proposed[change_id] for change_id in asked.data["changeIds"] if change_id in proposed]

    def _left_of(self, call: ToolCall, first: LoggedEvent) -> list[tuple[str, Change]] | None:
        """What a review left of the changes it was about, where `first` is one of them."""
        reviewed, asked = self._reviewed(call), self._latest_request(call)
        if reviewed is None or asked is None or reviewed.data["id"] != asked.data["id"]:
            return None
        if first.data["changeId"] not in asked.data.get("changeIds", ()):
            return None
        decided = [ReviewedHunk.from_wire(one) for one in reviewed.data["review"]]
        review = Review.read(self._proposals(asked), decided)
        return review.amended(self._asked_for(asked)) if isinstance(review, Review) else None

    def _proposed_with(self, first: LoggedEvent) -> list[dict[str, Any]]:
        """The data of what was proposed together with a change, that one included; empty if it was not proposed."""
        events = self._tape.events
        at = next(
            (
                e.seq
                for e in self._tape.behind(first.seq)
                if e.type == "edit.proposed" and e.data["changeId"] == first.data["changeId"]
            ),
            None,
        )
        if at is None:
            return []
        batch = takewhile(lambda e: e.type == "edit.proposed", events[at - 1 :])
        return [event.data for event in batch]

    def _change(self, data: dict[str, Any]) -> Change:
        return Change(
            data.get("operation", "edit"),
            located(data["path"]),
            located(data["to"]) if "to" in data else None,
            self._tape.text(data.get("before")),
            self._tape.text(data.get("after")),
            data.get("encoding", "utf-8"),
            int(data["mode"], 8) if "mode" in data else None,
            folder=located(data["folder"]) if "folder" in data else None,
            folders={one["path"]: int(one["mode"], 8) for one in data.get("folders", ())},
        )


def _stays_inside(effect: Effect, requested: LoggedEvent) -> bool:
    """Whether what was asked for stays in the workspace: a title says where it does not, and no grant covers a command there."""
    if effect == "execute":
        return "grant" in requested.data
    return not requested.data["title"].endswith(OUTSIDE)


def _comes_first(requested: LoggedEvent, story: list[LoggedEvent]) -> bool:
    """Whether the approval comes before the effect and before any answer to one that came earlier."""
    for event in story:
        if event is requested:
            return True
        if event.type in {"tool.started", "edit.applying", "approval.resolved"}:
            return False
    return False


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


def _note(finished: LoggedEvent | None) -> str:
    if finished is None or finished.data["status"] != "ok":
        return ""
    content: str = finished.data["content"]
    return untold(content.partition(NOTE)[2])


def _partial(finished: LoggedEvent | None) -> str | None:
    if finished is None or finished.data["status"] != "cancelled":
        return None
    content: str = finished.data["content"]
    return content.removesuffix(_CANCELLED).removesuffix("\n") if content.endswith(_CANCELLED) else None


def _result(tape: Tape, finished: LoggedEvent) -> ToolResult:
    data = finished.data
    read = {one["path"]: tape.text(one["hash"]) or "" for one in data.get("read", ())}
    content = untold(data["content"])  # it is said anew
    return ToolResult(data["status"], content, read, tuple(images_of(data.get("images", ()))))


async def _nothing() -> ToolResult:
    raise AssertionError("it was denied")
