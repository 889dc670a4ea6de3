"""How the commands of this house are run: in which environment, and behind which walls."""

from collections.abc import Sequence
from pathlib import Path

from outrider.agent.services import Services
from outrider.processes import command_environment
from outrider.processes.sandbox import Confined, SandboxWish


async def confined(services: Services, argv: Sequence[str], cwd: Path) -> Confined:
    """Put a command into the sandbox, as far as the settings want it and the system can.

    Args:
        services: The house.
        argv: The command.
        cwd: Where it runs; a real path.
    """
    settings = services.settings()
    # The keys of the providers, whatever their names: nobody can name these for a command.
    keys = {name for provider in settings.providers.values() if (name := provider.api_key_env) is not None}
    wish = settings.sandbox
    return await services.sandbox.confine(
        argv,
        cwd=cwd,
        env=command_environment(services.env, settings.command_environment, keys),
        folders=[folder.path for folder in services.folders.folders],
        wish=SandboxWish(wish.mode, wish.network, tuple(wish.readable), tuple(wish.writable)),
    )
