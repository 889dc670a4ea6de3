"""The one way to an effect: validation → permission → approval → effect → result.

Every call goes through here, whoever asks for it. Each gets exactly one `tool.finished`; a call that is
cancelled in the middle gets its result from the turn, which knows why it ends.
"""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from outrider.permissions.policy.decide import UNSANDBOXED, Judgement
from outrider.ports.model import Image, ToolCall, content_hash
from outrider.ports.text import visible
from outrider.tools.context import Action, Approval, Judged, ToolContext, ToolResult, error
from outrider.tools.edit import changes, placeholders, review, stale
from outrider.tools.edit.placeholders import Given
from outrider.tools.edit.transaction import Patience, write_all
from outrider.tools.registry import Parsed, Registry, Tool, takes
from outrider.tools.size import shortened
from outrider.workspace.edits.review import Review
from outrider_protocol import RUN_OUTSIDE
from outrider_protocol.events import ApprovalResolved, ReadText, ToolFinished, ToolStarted, WireImage

log = logging.getLogger(__name__)

TIMES_ASKED = 3
"""An approval whose subject changed is asked again, twice at most."""
NO_SANDBOX = (
    "There is no sandbox here: the command can write everywhere you can and use the network. Outrider asks this "
    "only once: the permission mode is full, so later commands of this session run without a sandbox and without asking."
)
MOST_UNKNOWN = 10
"""Arguments that are left out and named."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A call whose arguments are good and whose action is worked out."""

    call: ToolCall
    tool: Tool[Any]
    given: Given
    parsed: Parsed[Any]
    action: Action


class Executor:
    """Runs the calls of one turn."""

    def __init__(self, registry: Registry, context: ToolContext) -> None:
        self._registry = registry
        self._context = context
        self._answered: dict[str, tuple[Planned, Approval, list[str]]] = {}
        """What was said of edits that were asked about together: as they were planned then, and the ids of their changes."""

    async def execute(self, calls: Sequence[ToolCall]) -> None:
        """Run the calls in order; neighbours that only read run at the same time.

        What a bystander sees does not depend on the scheduling: events are recorded in the order of the calls.
        """
        waiting = list(calls)
        last = -1
        while waiting:
            edits = list(takewhile(lambda call: self._registry.effect(call.name) == "edit", waiting))
            if len(edits) > 1 and len(calls) - len(waiting) > last:
                last = len(calls) - len(waiting) + len(edits)
                await self._ask_together(edits)
            reads = list(takewhile(lambda call: self._registry.effect(call.name) == "read", waiting))
            group = reads or waiting[:1]
            plans = await asyncio.gather(*(self._plan(call) for call in group))
            ready = list(takewhile(self._may_go_at_once, plans)) if reads else []
            if ready:
                await self._run_together(list(zip(group, ready, strict=False)))
            else:
                result = self._reviewed(group[0], _named(plans[0], await self._run_one(plans[0])))
                await self._context.masking.look(result.content)
                self._finish(group[0], result)
            waiting = waiting[max(1, len(ready)) :]

    async def _ask_together(self, calls: Sequence[ToolCall]) -> None:
        """Ask about the edits of a step at once, where the client can show that.

        Together are those that can be worked out for the texts as they are, and that ask for no other reason than the mode. One that
        lies near an earlier one would not be the same any more once that is made.
        """
        context = self._context
        if not context.user.asks_together:
            return
        plans = await asyncio.gather(*(self._plan(call) for call in calls))
        asking: list[Planned] = []
        for plan in takewhile(self._asks_plainly, plans):
            if not isinstance(plan, Planned) or changes.are_near(
                [change for one in asking for change in one.action.changes], plan.action.changes
            ):
                break
            asking.append(plan)
        if len(asking) < 2:
            return
        proposed = [
            list(context.user.proposed(plan.call, plan.action))
            or changes.propose(context, plan.call, plan.action.changes)
            for plan in asking
        ]
        asked = [(plan.call, replace(plan.action), ids) for plan, ids in zip(asking, proposed, strict=True)]
        approvals = await context.user.approve_together(asked)
        for plan, approval, ids in zip(asking, approvals, proposed, strict=True):
            self._answered[plan.call.id] = plan, approval, ids

    def _asks_plainly(self, plan: Planned | ToolResult) -> bool:
        if isinstance(plan, ToolResult) or not plan.action.changes or plan.action.asked_alone:
            return False
        judgement = self._context.rules.judge(plan.tool.name, plan.action.access)
        is_settled = plan.action.digest == self._context.user.approved(plan.call)
        return judgement.verdict == "ask" and not judgement.warning and not is_settled

    async def _plan(self, call: ToolCall) -> Planned | ToolResult:
        tool = self._registry.get(call.name)
        if call.refused is not None:
            return error(call.refused)
        if isinstance(tool, str):
            return error(tool)
        given = await placeholders.put_in(tool, call.arguments, self._context)
        if isinstance(given, ToolResult):
            return given
        parsed = tool.parse(given.arguments)
        if isinstance(parsed, str):
            return error(f"{call.name}: {parsed}")
        planned = await self._work_out(call, tool, given, parsed)
        return planned if isinstance(planned, Planned) else _with_unknown(planned, call, parsed)

    async def _work_out(
        self, call: ToolCall, tool: Tool[Any], given: Given, parsed: Parsed[Any]
    ) -> Planned | ToolResult:
        try:
            # A plan changes nothing, so that it need not wait for the rules: it is made anew where they have changed.
            changed, action = await asyncio.gather(
                self._context.rules.refresh(tool.effect), tool.plan(parsed.params, call, self._context)
            )
            if changed:
                action = await tool.plan(parsed.params, call, self._context)
            if isinstance(action, Action):
                action = review.amended(action, self._context.user.reviews(call))
                action = placeholders.checked(action, given.secrets, self._context)
            if isinstance(action, Action) and (why := self._context.user.asked_by_hook(call)):
                action = replace(action, access=replace(action.access, grant=None, writes_secret=why))
            if isinstance(action, Action):
                action = await stale.refused(action, self._context) or action
            if isinstance(action, Action):
                await self._context.masking.look(action.detail, *_texts_of(action))
        except Exception:
            log.exception("%s could not be planned", call.name)
            return error(f"{call.name} failed because of an error in Outrider; see the server log.")
        return action if isinstance(action, ToolResult) else Planned(call, tool, given, parsed, action)

    def _may_go_at_once(self, plan: Planned | ToolResult) -> bool:
        if isinstance(plan, ToolResult):
            return True
        judgement = self._context.rules.judge(plan.tool.name, plan.action.access)
        # What a rule allowed is recorded before it begins, by itself.
        return judgement.verdict == "allow" and judgement.by == "mode"

    async def _run_together(self, group: list[tuple[ToolCall, Planned | ToolResult]]) -> None:
        for call, plan in group:
            if isinstance(plan, Planned):
                self._context.log.record(ToolStarted(call_id=call.id))
        results = [
            _named(plan, result)
            for (_, plan), result in zip(
                group, await asyncio.gather(*(self._perform(plan) for _, plan in group)), strict=True
            )
        ]
        await self._context.masking.look(*(result.content for result in results))
        for (call, _), result in zip(group, results, strict=True):
            self._finish(call, result)

    async def _run_one(self, plan: Planned | ToolResult) -> ToolResult:
        """Run a call by itself; what was said of it with others holds."""
        if isinstance(plan, ToolResult):
            return plan
        if (said := self._answered.pop(plan.call.id, None)) is None:
            return await self._run_alone(plan)
        before, approval, ids = said
        if approval.decision == "reject":
            return _rejected(self._context, ids, before, approval)
        if approval.review is not None:
            ids = _left(self._context, ids, before, approval.review)
        return await self._run_alone(plan, ids)

    async def _run_alone(self, plan: Planned | ToolResult, ids: Sequence[str] = ()) -> ToolResult:
        """Get a yes for exactly what will happen, then do it.

        After an approval, and when the text changed before the effect, the action is worked out again: the same
        digest is the same effect and needs no second yes, another one is asked again.
        """
        context = self._context
        approved = None if isinstance(plan, ToolResult) else context.user.approved(plan.call)
        asked = tried = 0
        patience = Patience(context.clock)
        ids = list(ids)
        prepared = False
        while not isinstance(plan, ToolResult):
            call, action = plan.call, plan.action
            judgement = context.rules.judge(plan.tool.name, action.access)
            if judgement.verdict == "deny":
                if judgement.by == "rule":
                    _record_decided(context, plan, judgement)
                reason = f"{call.name} is not allowed: {judgement.reason}."
                return ToolResult("denied", reason + _done_before(context, call))
            _announce(context, action, judgement)
            if asked == TIMES_ASKED and action.digest != approved:
                return _refused(plan)
            if judgement.verdict == "ask" and action.digest != approved:
                ids = list(context.user.proposed(call, action))
                judged = await context.verdicts.before(call, action.changes) if not ids else None
                if judged is not None and judged.held and not asked:
                    return replace(error(judged.held), verdict=judged.verdict)
                ids = ids or changes.propose(context, call, action.changes)
                shown = _with_verdict(action, judged)
                shown = replace(shown, detail=_warned(shown.detail, judgement.warning))
                if judgement.leaves_sandbox:
                    shown = _without_sandbox(shown)
                approval = await context.user.approve(call, shown, ids)
                if approval.decision == "reject":
                    return _rejected(context, ids, plan, approval)
                asked += 1
                if approval.review is not None:
                    ids = _left(context, ids, plan, approval.review)
                approved = context.user.approved(call) or action.digest
            elif action.prepare is not None and not prepared:
                if instead := await action.prepare():
                    return instead
                prepared = True
            else:
                has_effect = action.access.effect in {"edit", "execute"}
                if approved is None and tried == 0 and (has_effect or judgement.by == "rule"):
                    _record_decided(context, plan, judgement)
                result = await self._do(plan, ids, first=tried == 0)
                if result is not None:
                    return result
                tried, ids = tried + 1, []
                if not await patience.again():
                    return _refused(plan)
            plan = await self._work_out(call, plan.tool, plan.given, plan.parsed)
        return plan

    async def _do(self, plan: Planned, ids: list[str], *, first: bool) -> ToolResult | None:
        """Do what was allowed, under the ids it was proposed by; None if a text changed before it could be."""
        context, call, wanted = self._context, plan.call, plan.action.changes
        if first:
            context.log.record(ToolStarted(call_id=call.id))
        if wanted:
            if len(ids) != len(wanted):
                # Of several changes it has to be known what all of them are, wherever it breaks off.
                ids = (
                    changes.propose(context, call, wanted) if len(wanted) > 1 else [context.log.new_id("chg")]
                )
            return await self._to_its_end(call, write_all(context, call, plan.action, ids))
        effect = plan.action.access.effect
        if effect in {"edit", "execute"} and (problem := await context.log.settled(durable=True)):
            return error(f"Nothing was done: {problem}")
        return await self._perform(plan)

    async def _to_its_end(
        self,
        call: ToolCall,
        writing: Coroutine[Any, Any, ToolResult | None],
    ) -> ToolResult | None:
        """Let an edit that has begun come to its end before a cancel takes hold: it is known then what happened.

        Args:
            call: What it is for.
            writing: The edit.
        """
        task = asyncio.ensure_future(writing)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # The edit is bounded by the time-outs of the editor and of the disk, so this wait is bounded too.
            if result := await task:
                self._finish(call, self._reviewed(call, result))
            raise

    def _reviewed(self, call: ToolCall, result: ToolResult) -> ToolResult:
        return review.told_of(result, self._context.user.reviews(call), self._context.user.notes(call))

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
            return error(f"{plan.call.name} failed because of an error in Outrider; see the server log.")

    def _finish(self, call: ToolCall, result: ToolResult) -> None:
        texts = {path: changes.encode(text) for path, text in result.read.items()}
        read = [ReadText(path=path, hash=content_hash(text)) for path, text in texts.items()]
        finished = ToolFinished(
            call_id=call.id,
            name=call.name,
            status=result.status,
            content=shortened(visible(result.content), self._context.limits.output_bytes),
            read=read or None,
            images=[wire_image(image) for image in result.images] or None,
            ran=result.ran,
            verdict=result.verdict,
            recalled=result.recalled,
        )
        blobs = {one.hash: texts[one.path] for one in read}
        self._context.log.record(finished, {**blobs, **result.image_contents})


def _texts_of(action: Action) -> list[str]:
    """The texts of an action that its events hold."""
    hunks = [hunk for change in action.changes for hunk in change.difference.hunks]
    return [text for hunk in hunks for text in (hunk.removed, hunk.added)]


def wire_image(image: Image) -> WireImage:
    """An image as an event names it."""
    return WireImage(
        name=image.name,
        hash=image.hash,
        media_type=image.media_type,
        width=image.width,
        height=image.height,
        size=image.size,
    )


def _record_decided(context: ToolContext, plan: Planned, judgement: Judgement) -> None:
    """Record what was decided without the user: by a rule, a grant or the mode."""
    by_grant = judgement.by == "rule" and judgement.verdict == "allow" and not judgement.rules
    context.log.record(
        ApprovalResolved(
            id=context.log.new_id("open"),
            call_id=plan.call.id,
            decision="reject" if judgement.verdict == "deny" else "allow_once",
            by=judgement.by,
            rule=judgement.reason,
            rules=list(judgement.rules) or None,
            grant=plan.action.access.grant if by_grant else None,
        )
    )
    context.rules.decided(judgement)


def _announce(context: ToolContext, action: Action, judgement: Judgement) -> None:
    """Say before the first command that the mode alone allows, or would allow, that there is no sandbox, or no copy of the files."""
    none = action.access.no_sandbox
    by_mode = (
        judgement.by == "mode" and judgement.verdict == "allow" and context.rules.permission_mode == "full"
    )
    if none is not None and (judgement.leaves_sandbox or by_mode):
        context.rules.tell_of_no_sandbox(none)
    if (reason := action.access.why_no_copy) and judgement.verdict == "ask" and judgement.by == "mode":
        context.rules.tell_of_no_copy(reason)


def _without_sandbox(action: Action) -> Action:
    """A command as it is asked for where a session would run all of them without a sandbox. It is asked once."""
    return replace(
        action,
        access=replace(action.access, grant=UNSANDBOXED),
        title=f"{RUN_OUTSIDE}: {action.title.removeprefix('Run: ')}",
        detail=f"{NO_SANDBOX}\n{action.detail}",
        covers="",
        always=(),
        leaves_sandbox=True,
    )


def _with_verdict(action: Action, judged: Judged | None) -> Action:
    """An edit as it is asked for, with what it would do to the problems."""
    if judged is None:
        return action
    detail = f"{judged.told}\n{action.detail}" if judged.told else action.detail
    return replace(action, detail=detail, trial=judged.verdict)


def _warned(detail: str, warning: str) -> str:
    # What is warned of may begin with the name of a file, which is left as it is.
    warned = f"Careful: {warning}.\n"
    return f"{warned}{detail}" if warning and not detail.startswith(warned) else detail


def _named(plan: Planned | ToolResult, result: ToolResult) -> ToolResult:
    """The result of a call, with the arguments of it that were left out."""
    return _with_unknown(result, plan.call, plan.parsed) if isinstance(plan, Planned) else result


def _with_unknown(result: ToolResult, call: ToolCall, parsed: Parsed[Any]) -> ToolResult:
    if not parsed.unknown:
        return result
    names = ", ".join(parsed.unknown[:MOST_UNKNOWN])
    told = f"[ignored, as {call.name} has no such argument: {names}. {takes(parsed.kind)}]"
    return replace(result, content=f"{result.content}\n{told}".lstrip("\n"))


def _rejected(context: ToolContext, ids: list[str], plan: Planned, approval: Approval) -> ToolResult:
    given = approval.review
    for change_id, change in zip(ids, plan.action.changes, strict=True):
        reason = given.why_not(change_id) if given is not None else "the user rejected it"
        changes.record_rejected(context, plan.call, change_id, change, reason)
    said = f" and said: {approval.note}" if approval.note else ""
    reasons = f"\n{given.reasons()}" if given is not None and given.reasons() else ""
    return ToolResult("denied", f"The user rejected this{said}.{reasons}{_done_before(context, plan.call)}")


def _left(context: ToolContext, ids: list[str], plan: Planned, given: Review) -> list[str]:
    """The ids of the changes of which a review left something; the others are recorded as rejected."""
    proposed = list(zip(ids, plan.action.changes, strict=True))
    left = {change_id for change_id, _ in given.amended(proposed) or proposed}
    for change_id, change in proposed:
        if change_id not in left:
            changes.record_rejected(context, plan.call, change_id, change, given.why_not(change_id))
    return [change_id for change_id in ids if change_id in left]


def _done_before(context: ToolContext, call: ToolCall) -> str:
    handed = context.client.was_asked(call)
    return " The client was asked to do it earlier; it is unknown whether it did." if handed else ""


def _refused(plan: Planned) -> ToolResult:
    wanted = plan.action.changes
    before = wanted[0].before if len(wanted) == 1 else None
    current = f"\nThe text is now:\n{before}" if before is not None else ""
    if len(wanted) > 1:
        current = " Nothing was changed. Read the files before you continue."
    return error(
        f"Refused: the target of {plan.call.name} kept changing while it was being approved.{current}"
    )
