"""The one way to an effect: validation → permission → approval → effect → result.

Every call goes through here, whoever asks for it. Each gets exactly one `tool.finished`; a call that is
cancelled in the middle gets its result from the turn, which knows why it ends.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from outrider_protocol.events import ApprovalResolved, EditRejected, ToolFinished, ToolStarted

from outrider.ports.model import ToolCall
from outrider.tools import changes
from outrider.tools.context import Action, ToolContext
from outrider.tools.registry import Params, Registry, Tool
from outrider.tools.result import ToolResult, error

log = logging.getLogger(__name__)

TIMES_ASKED = 3
"""An approval whose subject changed is asked again, twice at most."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A call whose arguments are good and whose action is worked out."""

    call: ToolCall
    tool: Tool[Any]
    params: Params
    action: Action
    change_id: str | None = None
    """The id of the change, for a call that makes one and was allowed."""


class Executor:
    """Runs the calls of one turn."""

    def __init__(self, registry: Registry, context: ToolContext) -> None:
        self._registry = registry
        self._context = context

    async def execute(self, calls: Sequence[ToolCall]) -> None:
        """Run the calls in order; neighbours that only read run at the same time.

        What a bystander sees does not depend on the scheduling: events are recorded in the order of the calls.
        """
        waiting = list(calls)
        while waiting:
            reads = list(takewhile(lambda call: self._registry.effect(call.name) == "read", waiting))
            group = reads or waiting[:1]
            plans = await asyncio.gather(*(self._plan(call) for call in group))
            ready = list(takewhile(self._may_go_at_once, plans)) if reads else []
            if ready:
                await self._run_together(list(zip(group, ready, strict=False)))
            else:
                self._finish(group[0], await self._run_alone(plans[0]))
            waiting = waiting[max(1, len(ready)) :]

    async def _plan(self, call: ToolCall) -> Planned | ToolResult:
        tool = self._registry.get(call.name)
        if isinstance(tool, str):
            return error(tool)
        params = tool.parse(call.arguments)
        if isinstance(params, str):
            return error(f"{call.name}: {params}")
        return await self._work_out(call, tool, params)

    async def _work_out(self, call: ToolCall, tool: Tool[Any], params: Params) -> Planned | ToolResult:
        try:
            action = await tool.plan(params, call, self._context)
        except Exception:
            log.exception("%s could not be planned", call.name)
            return error(f"{call.name} failed inside Outrider; its log has the details.")
        return action if isinstance(action, ToolResult) else Planned(call, tool, params, action)

    def _may_go_at_once(self, plan: Planned | ToolResult) -> bool:
        return isinstance(plan, ToolResult) or self._context.judge(plan.action.access).verdict == "allow"

    async def _run_together(self, group: list[tuple[ToolCall, Planned | ToolResult]]) -> None:
        for call, plan in group:
            if isinstance(plan, Planned):
                self._context.record(ToolStarted(call_id=call.id))
        results = await asyncio.gather(*(self._perform(plan) for _, plan in group))
        for (call, _), result in zip(group, results, strict=True):
            self._finish(call, result)

    async def _run_alone(self, plan: Planned | ToolResult) -> ToolResult:
        if isinstance(plan, ToolResult):
            return plan
        allowed = await self._allow(plan)
        if isinstance(allowed, ToolResult):
            return allowed
        context, change, change_id = self._context, allowed.action.change, allowed.change_id
        context.record(ToolStarted(call_id=plan.call.id))
        if change is not None and change_id is not None:
            changes.record_applying(context, plan.call, change_id, change)
        if allowed.action.access.effect in {"edit", "execute"} and (
            problem := await context.settled(durable=True)
        ):
            return error(f"Nothing was done: {problem}")
        if change is not None and change_id is not None:
            return await _to_its_end(changes.write(context, plan.call, change_id, change))
        return await self._perform(allowed)

    async def _allow(self, plan: Planned) -> Planned | ToolResult:
        """Get a yes for exactly what will happen; a `ToolResult` says why there is none."""
        context, call = self._context, plan.call
        approved: str | None = None
        change_id = context.new_id("chg") if plan.action.change is not None else None
        for _ in range(TIMES_ASKED):
            judgement = context.judge(plan.action.access)
            if judgement.verdict == "deny":
                return ToolResult("denied", f"{call.name} is not possible: {judgement.reason}.")
            if judgement.verdict == "allow":
                if plan.action.access.effect in {"edit", "execute"} and approved is None:
                    context.record(_allowed_by(context, call, judgement.by, judgement.reason))
                return replace(plan, change_id=change_id)
            if change_id is not None and plan.action.change is not None:
                changes.record_proposed(context, call, change_id, plan.action.change)
            approval = await context.approve(call, plan.action)
            if approval.decision == "reject":
                return _rejected(context, call, change_id, plan.action, approval.note)
            approved = plan.action.digest
            again = await self._work_out(call, plan.tool, plan.params)
            if isinstance(again, ToolResult):
                return again
            plan = again
            # A mode that was narrowed meanwhile holds at once, whatever was approved.
            if plan.action.digest == approved and context.judge(plan.action.access).verdict != "deny":
                return replace(plan, change_id=change_id)
        current = f"\nThe text is now:\n{plan.action.change.before}" if plan.action.change else ""
        return error(f"Refused: what {call.name} would do changed each time it was approved.{current}")

    async def _perform(self, plan: Planned | ToolResult) -> ToolResult:
        if isinstance(plan, ToolResult):
            return plan
        try:
            return await plan.action.perform()
        except asyncio.CancelledError:
            if plan.action.partial is not None:
                self._finish(
                    plan.call, ToolResult("cancelled", f"{plan.action.partial()}\n[cancelled]".lstrip())
                )
            raise
        except Exception:
            log.exception("%s failed", plan.call.name)
            return error(f"{plan.call.name} failed inside Outrider; its log has the details.")

    def _finish(self, call: ToolCall, result: ToolResult) -> None:
        self._context.record(
            ToolFinished(call_id=call.id, name=call.name, status=result.status, content=result.content)
        )


async def _to_its_end(writing: Any) -> ToolResult:
    """Let an edit that has begun come to its end, so that it is known whether it happened, and cancel then."""
    task = asyncio.ensure_future(writing)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        # The edit is bounded by the time-outs of the editor and of the disk, so this wait is bounded too.
        return await task


def _allowed_by(context: ToolContext, call: ToolCall, by: Any, reason: str) -> ApprovalResolved:
    return ApprovalResolved(
        id=context.new_id("open"), call_id=call.id, decision="allow_once", by=by, rule=reason
    )


def _rejected(
    context: ToolContext, call: ToolCall, change_id: str | None, action: Action, note: str | None
) -> ToolResult:
    if change_id is not None and action.change is not None:
        context.record(
            EditRejected(**changes.describe(change_id, call, action.change), reason="the person rejected it")
        )
    said = f" and said: {note}" if note else ""
    return ToolResult("denied", f"The person rejected this{said}.")
