"""The custom commands that a task can call, for front ends that complete them."""

from outrider.agent.services import Services
from outrider_protocol.commands import CommandArgument, CommandsResult, CustomCommandInfo


async def commands(services: Services) -> CommandsResult:
    """What there is."""
    listed = await services.brought.commands.listed()
    withheld = len(await services.brought.commands.withheld())
    return CommandsResult(
        commands=[
            CustomCommandInfo(
                name=one.name,
                description=one.description,
                hint=one.hint or None,
                arguments=[
                    CommandArgument(name=a.name, description=a.description, required=a.required)
                    for a in one.arguments
                ]
                or None,
                source=one.source,
                path=one.path or None,
            )
            for one in listed
        ],
        withheld=withheld or None,
    )
