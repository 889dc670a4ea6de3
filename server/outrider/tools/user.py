"""The tools that talk to the user: a question, and the plan."""

from typing import Annotated, Final

from pydantic import Field, StringConstraints, field_validator

from outrider.permissions.policy.decide import Access
from outrider.ports.model import ToolCall
from outrider.tools.context import Action, AskContext, PlanUnwritten, ToolResult, error, ok
from outrider.tools.registry import Params, Tool
from outrider_protocol.events import PlanItem, PlanUpdated


class Option(Params):
    """An answer to choose from, with what it means."""

    label: str
    description: str = ""


MOST_POINTS: Final = 100
LONGEST_POINT: Final = 1_000
"""Characters of a point of the plan, which every front end shows whole."""


KEPT: Final = (
    "\n[Your plan leaves out steps of the user, so they were put back. Give each word for word; one that is done or no longer needed is "
    "`done`.]\n{steps}"
)


class AskUser(Params):
    """Arguments of `ask_user`."""

    question: str = Field(min_length=1)
    options: list[str | Option] = Field(
        default_factory=list[str | Option],
        max_length=4,
        description="None, or 2 to 4 answers; the one you recommend first. A description says what one means.",
    )
    allow_free_form: bool = Field(default=True, description="Allow other answers.")


class UpdatePlan(Params):
    """Arguments of `update_plan`."""

    items: list[PlanItem] = Field(max_length=MOST_POINTS, description="The whole plan.")

    @field_validator("items")
    @classmethod
    def _are_short(cls, items: list[PlanItem]) -> list[PlanItem]:
        if any(len(item.text) > LONGEST_POINT for item in items):
            raise ValueError(f"a point has more than {LONGEST_POINT} characters")
        return items


Point = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_POINT)]


class WritePlan(Params):
    """Arguments of `write_plan`."""

    goal: str = Field(
        min_length=1, max_length=4 * LONGEST_POINT, description="What is to be reached, in a few sentences."
    )
    steps: list[Point] = Field(
        min_length=1,
        max_length=MOST_POINTS,
        description="What to do, in order; each names its files and names.",
    )
    files: list[Point] = Field(
        default_factory=list[Point], max_length=MOST_POINTS, description="`path: what changes there`."
    )
    checks: list[Point] = Field(
        default_factory=list[Point],
        max_length=20,
        description="Commands that show that it is done, such as `pytest -q`.",
    )


async def plan_ask(params: AskUser, call: ToolCall, context: AskContext) -> Action | ToolResult:
    """Ask the user."""
    given = [Option(label=one) if isinstance(one, str) else one for one in params.options if one != ""]
    meanings = {one.label.strip(): one.description.strip() for one in reversed(given) if one.label.strip()}
    options = list(reversed(meanings))
    # One option alone is no choice: the user may say something else.
    free_form = params.allow_free_form or len(options) < 2
    detail = "\n".join(f"{option}: {meanings[option]}" for option in options if meanings[option])

    async def perform() -> ToolResult:
        user = context.user
        if (known := user.answered(call, params.question)) is not None:  # before a restart
            return ok(known)
        if (known := user.answered_before(params.question)) is not None:
            told = f"{known.answer}\n[The user answered this question before, and was not asked again.]"
            return ToolResult("ok", told, recalled=known)
        if why := user.asks_too_often(call):
            return error(
                f"Not asked: {why}. Assume what is most likely, say in your answer what you assumed, and go on."
            )
        return ok(await user.ask(call, params.question, options, free_form=free_form, detail=detail))

    return Action(access=Access("ask"), perform=perform)


async def plan_plan(params: UpdatePlan, _call: ToolCall, context: AskContext) -> Action | ToolResult:
    """Replace the plan, but for the steps of the user."""

    async def perform() -> ToolResult:
        items, kept = await context.user.with_own_steps(params.items)
        context.log.record(PlanUpdated(items=items))
        done = sum(item.status == "done" for item in items)
        told = f"The plan has {len(items)} items, {done} of them done."
        if kept:
            told += KEPT.format(steps="\n".join(f"- {one.text} ({one.status})" for one in kept))
        return ok(told)

    return Action(access=Access("ask"), perform=perform)


async def plan_write(params: WritePlan, _call: ToolCall, context: AskContext) -> Action | ToolResult:
    """Write the plan document of a planning turn."""

    async def perform() -> ToolResult:
        path = await context.user.write_plan(params.goal, params.steps, params.files, params.checks)
        if isinstance(path, PlanUnwritten):
            return error(f"The plan could not be written: {path.message}. Give it in your answer.")
        return ok(f"Written to {path}, where the user can change and start it. Call it again to replace it.")

    return Action(access=Access("ask"), perform=perform)


ASK_USER = Tool(
    "ask_user",
    "Ask the user one question and wait for the answer. Use it when only they can know or decide; not for what the files "
    'tell, and not for permission, which every tool asks for itself. Example: {"question": "Which port?", "options": ["8080", '
    '{"label": "80", "description": "needs root"}]}',
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
WRITE_PLAN = Tool(
    "write_plan",
    "Write the plan of this planning turn into a document that the user can change and start. What the user answered is added. Example: "
    '{"goal": "Export orders as CSV", "steps": ["Add `export()` to src/orders.py", "Test it"], "files": ["src/orders.py: export()"], '
    '"checks": ["pytest -q tests/test_orders.py"]}',
    "ask",
    WritePlan,
    plan_write,
    only_in="plan",
)
