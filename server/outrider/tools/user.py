"""The tools that talk to the user: a question, and the plan."""

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.ports.model import ToolCall
from outrider.tools.context import Action, AskContext, ToolResult, ok
from outrider.tools.registry import Params, Tool
from outrider_protocol.events import PlanItem, PlanUpdated


class AskUser(Params):
    """Arguments of `ask_user`."""

    question: str = Field(min_length=1, description="The question.")
    options: list[str] = Field(default_factory=list[str], max_length=6, description="Answers to choose from.")
    allow_free_form: bool = Field(default=True, description="Allow other answers.")


class UpdatePlan(Params):
    """Arguments of `update_plan`."""

    items: list[PlanItem] = Field(description="The whole plan, in order.")


async def plan_ask(params: AskUser, call: ToolCall, context: AskContext) -> Action | ToolResult:
    """Ask the user."""
    options = list(dict.fromkeys(option.strip() for option in params.options if option.strip()))
    free_form = params.allow_free_form or not options

    async def perform() -> ToolResult:
        known = context.user.answered(call, params.question)  # before a restart
        if known is None:
            known = await context.user.ask(call, params.question, options, free_form=free_form)
        return ok(known)

    return Action(access=Access("ask"), perform=perform)


async def plan_plan(params: UpdatePlan, _call: ToolCall, context: AskContext) -> Action | ToolResult:
    """Replace the plan."""

    async def perform() -> ToolResult:
        context.log.record(PlanUpdated(items=params.items))
        done = sum(item.status == "done" for item in params.items)
        return ok(f"The plan has {len(params.items)} items, {done} of them done.")

    return Action(access=Access("ask"), perform=perform)


ASK_USER = Tool(
    "ask_user",
    "Ask the user one question and wait for the answer. Use it when only they can know or decide; not for what the files "
    'tell, and not for permission, which every tool asks for itself. Example: {"question": "Which port?", "options": ["80", '
    '"8080"]}',
    "ask",
    AskUser,
    plan_ask,
)
UPDATE_PLAN = Tool(
    "update_plan",
    "Show the user the plan, for a task of three or more steps, and keep it true as you go. Each call replaces the whole plan; at "
    'most one point is in progress. Example: {"items": [{"text": "Find the cause", "status": "done"}, {"text": "Mend it", '
    '"status": "in_progress"}]}',
    "ask",
    UpdatePlan,
    plan_plan,
)
