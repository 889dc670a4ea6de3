"""What a command of the person finds around itself: their environment, without keys, pagers and prompts.

It only decides: it reads no environment itself.
"""

import re
from collections.abc import Mapping

_START_FILES = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4"})
"""Would run code or change the shell's rules before the command that was approved."""

_EXPORTED_FUNCTION = re.compile(r"BASH_FUNC_|.*\(\)$")
"""A function that would stand in for a program of the same name."""

_KEY_NAME = re.compile(
    r"(^|_)(API|ACCESS|PRIVATE|SECRET|AUTH)?(KEY|TOKEN|SECRET|PAT)(_?\d+)?$"
    r"|(^|_)(API|ACCESS|PRIVATE|SECRET|AUTH)_?(KEY|TOKEN)(_|$)|(^|_)(KEY|TOKEN)_(LIVE|TEST|PROD|DEV|STAGING|BASE)(_|$)"
    r"|(^|_)SECRETS?_|(^|_)SECRETS$|(?<!^)_(PASS|PWD|PSW|PW|AUTH)(_?\d+)?$|^PASS$|(^|_)JWT(_|$)"
    r"|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL",
    re.IGNORECASE,
)
"""Names that look like keys: what a command prints goes to the model."""

_ASKING = frozenset({"GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "FORCE_COLOR", "CLICOLOR_FORCE"})
"""Programs that open a window to ask, and orders that contradict NO_COLOR."""

_QUIET = {
    # Nobody can press a key in a pager.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "AWS_PAGER": "cat",
    "LESS": "-FRX",  # for what calls `less` by name: leave when it fits, keep the screen
    # Nobody can type: a password, an answer, a commit message.
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "VISUAL": "true",  # comes before EDITOR
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    # The output is text for a model and a log, not for a terminal.
    "TERM": "dumb",
    "NO_COLOR": "1",
    # Seen as it is written, so that silence means silence.
    "PYTHONUNBUFFERED": "1",
}


def command_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a person's command, from the server's.

    CI is left as it is: setting it changes what test runners do.
    """
    kept = {name: value for name, value in env.items() if not _is_dropped(name)}
    return kept | _QUIET


def holds_key(name: str) -> bool:
    """Whether a variable of that name looks as if it held a key."""
    return _KEY_NAME.search(name) is not None


def _is_dropped(name: str) -> bool:
    return (
        name in _START_FILES
        or name in _ASKING
        or _EXPORTED_FUNCTION.match(name) is not None
        or holds_key(name)
    )


def shell_argv(command: str) -> list[str]:
    """Run `command` by bash, without anybody's start files."""
    return ["bash", "--noprofile", "--norc", "-c", command]
