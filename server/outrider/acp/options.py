"""What the user can choose for a session in the client: what it may do, which model works, how much that thinks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

from acp.schema import (
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from outrider_protocol.choices import THINKING_LEVELS, PermissionMode
from outrider_protocol.events import Mode
from outrider_protocol.settings import Thinking

MODE: Final = "mode"
MODEL: Final = "model"
THINKING: Final = "thinking"
Category = Literal["mode", "model", "thought_level"]
DEFAULT: Final = "default"
"""The thinking that the settings say."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to work: what a turn may do, and what is asked before."""

    name: str
    description: str
    mode: Mode
    permission_mode: PermissionMode | None
    """None leaves that of the settings: nothing is changed anyway."""


MODES: Final[dict[str, Choice]] = {
    "ask": Choice("Ask", "Asks before each edit and each command that changes something.", "agent", "ask"),
    "auto-edit": Choice(
        "Edit", "Edits files in the workspace without asking; asks before commands.", "agent", "auto-edit"
    ),
    "auto": Choice("Auto", "Also runs sandboxed commands whose effects can be undone.", "agent", "auto"),
    "full": Choice(
        "Full", "Asks about nothing. Only for a place where nothing can be lost.", "agent", "full"
    ),
    "plan": Choice("Plan", "Only reads, and answers with a plan.", "plan", None),
    "explore": Choice("Explore", "Only reads, and answers.", "explore", None),
    "read-only": Choice(
        "Read only", "Only reads; runs no commands but those that read.", "agent", "read-only"
    ),
}


@dataclass(slots=True)
class Options:
    """What is chosen in a session."""

    mode: str
    model: str | None
    models: Sequence[str]
    """Those to choose from."""
    thinking: Thinking | Literal["default"] = DEFAULT

    @property
    def choice(self) -> Choice:
        """The way to work."""
        return MODES[self.mode]

    def modes(self) -> SessionModeState:
        """The modes (ACP, "Session Modes"), for clients without configuration options."""
        available = [
            SessionMode(id=key, name=one.name, description=one.description) for key, one in MODES.items()
        ]
        return SessionModeState(current_mode_id=self.mode, available_modes=available)

    def shown(self) -> list[SessionConfigOptionSelect]:
        """All of them (ACP, "Session Config Options")."""
        modes = [
            SessionConfigSelectOption(value=key, name=one.name, description=one.description)
            for key, one in MODES.items()
        ]
        options = [_select(MODE, "Mode", "mode", self.mode, modes)]
        if self.model is not None:
            models = [
                SessionConfigSelectOption(value=one, name=one)
                for one in dict.fromkeys([self.model, *self.models])
            ]
            options.append(_select(MODEL, "Model", "model", self.model, models))
        levels = [
            SessionConfigSelectOption(value=one, name=one.capitalize()) for one in (DEFAULT, *THINKING_LEVELS)
        ]
        thinking = str(self.thinking)
        if thinking not in {one.value for one in levels}:  # a number of tokens in the settings
            levels.append(SessionConfigSelectOption(value=thinking, name=f"{thinking} tokens"))
        options.append(_select(THINKING, "Thinking", "thought_level", thinking, levels))
        return options

    def choose(self, option: str, value: str) -> str | None:
        """Choose something; gives why that cannot be."""
        known = next((one for one in self.shown() if one.id == option), None)
        if known is None:
            return f"there is no option {ascii(option)[:80]}; there are {', '.join(one.id for one in self.shown())}"
        values = [one.value for one in cast("list[SessionConfigSelectOption]", known.options)]
        if value not in values:
            return f"{option} cannot be {ascii(value)[:80]}; it is one of {', '.join(values[:20])}"
        match option:
            case "mode":
                self.mode = value
            case "model":
                self.model = value
            case _ if not value.isdigit():
                self.thinking = cast("Thinking", value)
            case _:
                pass
        return None


def _select(
    option: str, name: str, category: Category, value: str, options: list[SessionConfigSelectOption]
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        type="select", id=option, name=name, category=category, current_value=value, options=options
    )
