"""What the settings are: defaults, the user's file, the client and the command line, in rising authority.

What may come from the repository (`workspace/configuration`) is taken apart: only harmless keys and values
that narrow count. Every wrong or refused value becomes a message that names its key and what is used instead.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from outrider.permissions.decide import narrowest
from outrider_protocol.settings import PERMISSION_MODES, Limits, PermissionMode, Settings


@dataclass(frozen=True, slots=True)
class Layered:
    """Settings, and what has to be said about where they come from."""

    settings: Settings
    messages: tuple[str, ...] = ()


def from_layers(*layers: tuple[str, Mapping[str, Any]]) -> Layered:
    """Merge layers per key, the later ones over the earlier; each comes with its name for messages."""
    values: dict[str, Any] = {}
    messages: list[str] = []
    for name, layer in layers:
        for key, value in layer.items():
            if value is None:
                continue
            trial = {**values, key: _merged(values.get(key), value)}
            if problem := _problem(trial, key):
                messages.append(f"{name}: {problem}; {_used_instead(values, key)}")
            else:
                values = trial
    return Layered(_effective(Settings.model_validate(values)), tuple(messages))


def _effective(settings: Settings) -> Settings:
    # Nobody vouches for the workspace: it is looked at, nothing more.
    return settings.model_copy(update={"permission_mode": "read-only"}) if settings.trusted is False else settings


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, dict) and isinstance(new, Mapping):
        return {**old, **{key: value for key, value in new.items() if value is not None}}
    return new


def _problem(values: Mapping[str, Any], key: str) -> str | None:
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or key
        if first["type"] == "extra_forbidden":
            return f"{place}: there is no such setting"
        return f"{place}: {first['msg'].lower()}"
    return None


def _used_instead(values: Mapping[str, Any], key: str) -> str:
    known = {field.alias or name: name for name, field in Settings.model_fields.items()}
    if key not in known:
        return "it is ignored"
    if key in values:
        return f"{values[key]!r} stays in use"
    default = getattr(Settings(), known[key])
    return "the default is used" if default in (None, {}) or isinstance(default, Limits) else f"{default!r} is used"


def read_user_file(path: Path) -> tuple[dict[str, Any], str | None]:
    """Read the user's TOML file. Blocks.

    Returns:
        Its values, and what is wrong with it, if anything.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file), None
    except FileNotFoundError:
        return {}, None
    except (OSError, UnicodeDecodeError) as error:
        return {}, f"the settings file {path} cannot be read ({error}); it is ignored"
    except tomllib.TOMLDecodeError as error:
        return {}, f"the settings file {path} is not valid TOML ({error}); it is ignored"


def narrowed(base: Settings, values: Mapping[str, Any]) -> Layered:
    """Apply what `workspace/configuration` says, which the repository may have written, to `base`.

    `permissionMode` may only become narrower, limits only smaller, `trusted` only false; `model` may name
    another model of a provider that is configured already; `events` is harmless. All else is ignored.
    """
    update: dict[str, Any] = {}
    messages: list[str] = []
    for key, value in values.items():
        if value is None:
            continue
        match key:
            case "permissionMode":
                _narrow_mode(base, value, update, messages)
            case "limits":
                _narrow_limits(base, value, update, messages)
            case "trusted" if isinstance(value, bool):
                if not value:
                    update["trusted"] = False
                elif base.trusted is not True:
                    messages.append("trusted: a workspace cannot vouch for itself; it is ignored")
            case "events" if isinstance(value, bool):
                update["events"] = value
            case "model" if isinstance(value, str):
                if value == base.model or value.partition("/")[0] in base.providers:
                    update["model"] = value
                else:
                    messages.append(f"model: {value!r} is of no configured provider; {base.model!r} stays in use")
            case "trusted" | "events" | "model":
                messages.append(f"{key}: {value!r} is of the wrong type; it is ignored")
            case _:
                messages.append(f"{key}: cannot be set by the workspace; it is ignored")
    return Layered(_effective(base.model_copy(update=update)), tuple(f"workspace settings: {text}" for text in messages))


def _narrow_mode(base: Settings, value: Any, update: dict[str, Any], messages: list[str]) -> None:
    if value not in get_args(PermissionMode):
        allowed = ", ".join(PERMISSION_MODES)
        messages.append(f"permissionMode: {value!r} is none of {allowed}; {base.permission_mode!r} stays in use")
        return
    update["permission_mode"] = narrowest(base.permission_mode, value)
    if update["permission_mode"] != value:
        messages.append(f"permissionMode: {value!r} would widen; {base.permission_mode!r} stays in use")


def _narrow_limits(base: Settings, value: Any, update: dict[str, Any], messages: list[str]) -> None:
    if not isinstance(value, Mapping):
        messages.append("limits: must be an object; it is ignored")
        return
    limits: dict[str, Any] = base.limits.to_wire()
    for key, limit in value.items():
        if limit is None:
            continue
        if problem := _problem({"limits": {key: limit}}, "limits"):
            messages.append(f"{problem}; it is ignored")
        elif limits.get(key) is not None and limit > limits[key]:
            messages.append(f"limits.{key}: {limit} would widen; {limits[key]} stays in use")
        else:
            limits[key] = limit
    update["limits"] = Limits.model_validate(limits)
