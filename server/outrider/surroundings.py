"""What a process finds around itself: the only module that reads the environment. It is as light as the smallest command needs it."""

import os
import platform

import platformdirs

from outrider.ports.outside import Outside


def surroundings() -> Outside:
    """What this process finds around itself."""
    return Outside(
        env=dict(os.environ),
        state_dir=platformdirs.user_state_path("outrider"),
        user_settings=platformdirs.user_config_path("outrider") / "settings.toml",
        cache_dir=platformdirs.user_cache_path("outrider"),
        host=platform.node(),
    )
