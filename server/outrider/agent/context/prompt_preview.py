"""What the model would be sent next, for a user to look at: from the log alone, whoever runs the session."""

from collections.abc import Sequence
from dataclasses import replace

from outrider.agent.context.compaction import SUMMARY_HEAD
from outrider.agent.context.offer import Offer, encoded, is_small
from outrider.agent.context.tokens import Counter
from outrider.agent.masking import masking_for
from outrider.agent.services import CommandsHere, Services
from outrider.agent.state.state import SessionState
from outrider.models.text_tools import FORMATS
from outrider.models.wrappers import as_text
from outrider.ports.model import Message, ModelRequest, Tokens
from outrider.tools.executor import wire_image
from outrider_protocol.choices import Effect
from outrider_protocol.commands import PromptMessage, PromptResult, PromptSection, ToolInfo
from outrider_protocol.events import WireToolCall


async def next_request(
    services: Services, state: SessionState, model: str | None, commands: CommandsHere
) -> PromptResult | str:
    """The next request of a session, as it would be made now.

    Args:
        services: The house.
        state: The session, folded from its log.
        model: The one that a turn would ask, where none was asked so far.
        commands: How commands run.

    Returns:
        The request; a text says why it cannot be told.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    blobs = await services.runtime.store.blobs(state.requested)
    if missing := [digest for digest in state.requested if digest not in blobs]:
        return f"the log of {state.session_id} lacks {len(missing)} of its messages"
    messages = [Message.decode(blobs[digest]) for digest in state.requested]
    memory, turn = state.memory, state.turn
    without_secrets = masking_for(services, state).without_secrets
    mode = turn.mode if turn is not None else "agent"
    tools = await services.tools.now(mode, state.looked_up).offered_now(mode)
    asked = memory.model or model
    profile = services.catalog.profile(asked, state.tool_formats) if asked else None
    suits = profile.edit_format if profile else None
    window = memory.context_window or (profile.context_window if profile else None)
    in_short = window is not None and is_small(window)
    specs = Offer([tool.spec() for tool in tools], in_short=in_short).to(suits)
    effects: dict[str, Effect] = {tool.name: tool.effect for tool in tools}
    counter = Counter(tools=len(encoded(specs)))
    if memory.last is not None and memory.last.messages <= len(messages):
        last = memory.last
        counter.take(last.model, messages[: last.messages], Tokens(last.input, last.output))
    if turn is None or not turn.asked:
        told = await services.briefing.system(mode, services.policy.trust.trusts, commands, in_short=in_short)
        system = told.reworded(without_secrets)
        if messages[:1] != [system]:
            messages[:1] = [system]
            counter.forget()
    messages += [*state.since, *state.news]
    if turn is not None and not turn.asked:
        task = await services.briefing.task(turn.task, turn.context, commands, messages)
        images = tuple(image for image, _ in await services.briefing.images(turn.task, turn.context))
        messages.append(replace(task, images=images).reworded(without_secrets))
    messages += [(await services.briefing.steering(text))[0] for text in state.steering.values()]
    tokens, form = counter.tokens(messages), FORMATS.get(profile.tool_format) if profile else None
    of_tools = [PromptSection(kind="tools", tokens=counter.of(counter.tools))]
    if form is not None:
        messages, of_tools = as_text(ModelRequest("main", messages, specs), form).messages, []
    told = [_told(message, counter) for message in messages]
    return PromptResult(
        session_id=state.session_id,
        model=asked,
        tool_format=form and form.id,
        messages=told,
        tools=[
            ToolInfo(
                name=spec.name,
                description=spec.description,
                input_schema=dict(spec.schema),
                effect=effects[spec.name],
            )
            for spec in specs
        ],
        sections=[*_summed(told), *of_tools],
        tokens=tokens,
        counted=memory.last and memory.last.input + memory.last.output,
        context_window=memory.context_window,
    )


def _told(message: Message, counter: Counter) -> PromptMessage:
    calls = [WireToolCall(id=c.id, name=c.name, arguments=c.arguments) for c in message.tool_calls]
    sections = [
        PromptSection(
            kind=part.kind, name=part.name, tokens=counter.of(len(part.text.encode("utf-8", "replace")))
        )
        for part in message.parts
    ]
    if sections:
        sections += [PromptSection(kind="image", name=one.name, tokens=one.tokens) for one in message.images]
    return PromptMessage(
        role=message.role,
        text=message.text,
        reasoning=message.reasoning,
        tool_calls=calls or None,
        tool_call_id=message.tool_call_id,
        tokens=counter.of(replace(message, parts=()).weight),
        images=[wire_image(image) for image in message.images] or None,
        sections=sections or None,
    )


def _summed(messages: Sequence[PromptMessage]) -> list[PromptSection]:
    """The tokens of each kind of section, in the order in which the kinds come."""
    sums: dict[tuple[str, str | None], int] = {}
    for message in messages:
        kind = "summary" if message.text.startswith(SUMMARY_HEAD) else message.role
        for one in message.sections or [PromptSection(kind=kind, tokens=message.tokens)]:
            sums[one.kind, one.name] = sums.get((one.kind, one.name), 0) + one.tokens
    return [PromptSection(kind=kind, name=name, tokens=tokens) for (kind, name), tokens in sums.items()]
