"""What the settings are: defaults, the user's file, the client and the command line, in rising authority.

What may come from the repository (`workspace/configuration`) is taken apart: only harmless keys and values
that narrow count. Every wrong or refused value becomes a message that names its key and what is used instead.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final, cast

from pydantic import ValidationError

from outrider_protocol.choices import PERMISSION_MODES
from outrider_protocol.settings import (
    MOST_TOOLS,
    SANDBOX_MODES,
    ClientTool,
    Limits,
    SandboxSettings,
    Settings,
)

_OF_PARTS: Final = (
    "languageServers",
    "limits",
    "mcpServers",
    "models",
    "providers",
    "repositoryMap",
    "retry",
    "routing",
    "sandbox",
    "store",
    "testing",
    "tiers",
)
"""Settings that are merged part by part."""
_LEFT_OUT: Final = {
    "providers": "this provider is ignored",
    "models": "all settings of this model are ignored",
    "mcpServers": "this server is ignored",
    "languageServers": "this server is ignored",
}
"""What is not taken in part."""
_LONGEST_SHOWN: Final = 80
"""Characters of a value that are put in a message."""


@dataclass(frozen=True, slots=True)
class Layered:
    """Settings, and what has to be said about where they come from."""

    settings: Settings
    messages: tuple[str, ...] = ()


def from_layers(*layers: tuple[str, Any]) -> Layered:
    """Merge layers value by value, the later ones over the earlier.

    Limits count one by one, models and tiers too, providers as a whole by their name: a part of one is never completed by another layer,
    which could send a key to an address it was not meant for. Tools count one by one, by their name.

    Args:
        layers: Each one's name, for messages, and what it holds: an object, or None for nothing.
    """
    values: dict[str, Any] = {}
    messages: list[str] = []
    for name, layer in layers:
        if layer is not None and not isinstance(layer, Mapping):
            messages.append(f"{name}: must be an object; {_shown(layer)} is ignored")
            continue
        given = dict(_object(layer))
        values["tools"], problems = _with_tools(values.get("tools", []), given.pop("tools", None))
        messages += [f"{name}: {problem}" for problem in problems]
        entries = list(_entries(given))
        # One by one only if something is wrong, to find out what.
        whole = reduce(lambda merged, entry: _with(merged, *entry), entries, values)
        if _problem(whole, ()) is None:
            values = whole
            continue
        for path, value in entries:
            trial = _with(values, path, value)
            if problem := _problem(trial, path):
                messages.append(f"{name}: {problem}; {_used_instead(values, path)}")
            else:
                values = trial
    return Layered(_effective(Settings.from_wire(values)), tuple(messages))


def _entries(layer: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """What a layer sets, part by part, so that one wrong value takes no others with it. Null sets nothing."""
    for key, value in layer.items():
        if key == "sandbox" and isinstance(value, str):
            yield (key, "mode"), value
        elif key in _OF_PARTS and isinstance(value, Mapping):
            for part, inner in _object(value).items():
                if inner is not None:
                    given = _object(inner) if isinstance(inner, Mapping) else None
                    yield (key, part), inner if given is None else _without_nulls(given)
        elif value is not None:
            yield (key,), value


def _with(values: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    key, *rest = path
    return {**values, key: {**_object(values.get(key)), rest[0]: value} if rest else value}


def _with_tools(before: list[Any], given: Any) -> tuple[list[Any], list[str]]:
    """The tools of weaker layers and those of the next one, as they stand on the wire, and what is wrong with these."""
    if given is None:
        return before, []
    if not isinstance(given, list):
        return before, [f"tools: must be a list; {_shown(given)} is ignored"]
    taken: dict[str, Any] = {}
    problems: list[str] = []
    names = {tool["name"] for tool in before}
    for number, item in enumerate(cast("list[Any]", given)):
        place = f"tools.{number}"
        tool = _tool(item, taken)
        if not isinstance(tool, ClientTool):
            problems.append(f"{place}{tool}; this tool is ignored")
        elif len(names | taken.keys() | {tool.name}) > MOST_TOOLS:
            problems.append(f"{place}: there are {MOST_TOOLS} tools already; this one is ignored")
        else:
            taken[tool.name] = item
    return [*(tool for tool in before if tool["name"] not in taken), *taken.values()], problems


def _tool(item: Any, taken: Mapping[str, Any]) -> ClientTool | str:
    """A tool, or the key in it that is wrong and why."""
    # Imported where a tool is given: `outrider sessions` reads settings too, and is to be quick.
    from outrider.tools.all import own_tools
    from outrider.tools.client import schema_problem

    try:
        tool = ClientTool.from_wire(item)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f".{_cut(str(part))}" for part in first["loc"])
        unknown = first["type"] == "extra_forbidden"
        return (
            f"{place}: {'there is no such key' if unknown else first['msg'][:1].lower() + first['msg'][1:]}"
        )
    if tool.name in own_tools():
        return f".name: {tool.name} is a tool of Outrider"
    if tool.name in taken:
        return f".name: {tool.name} is already registered"
    if problem := schema_problem(tool.input_schema):
        return f".inputSchema: {problem}"
    return tool


def _without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _effective(settings: Settings) -> Settings:
    # Nobody vouches for the workspace: it is looked at, nothing more.
    if settings.trusted is False:
        return settings.model_copy(update={"permission_mode": "read-only"})
    return settings


def _problem(values: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
    try:
        Settings.from_wire(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = _cut(".".join(str(part) for part in first["loc"] or path))
        if first["type"] == "extra_forbidden":
            hint = (
                "; a key cannot be a setting: use apiKeyEnv, apiKeyCommand, apiKeyFile or apiKeyKeyring"
                if place.endswith("apiKey")
                else ""
            )
            return f"{place}: unknown setting{hint}"
        return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return None


def _used_instead(values: Mapping[str, Any], path: tuple[str, ...]) -> str:
    before, default = _at(values, path), _at(Settings().to_wire(), path)
    if before is not None:
        # A provider may hold headers, which are nobody's business.
        return "the earlier value stays in use" if isinstance(before, Mapping) else f"{before!r} stays in use"
    if default is not None:
        return "the default is used" if isinstance(default, Mapping) else f"{default!r} is used"
    return _LEFT_OUT.get(path[0], "it is ignored")


def _at(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = values
    for part in path:
        found = _object(found).get(part)
    return found


def _shown(value: Any) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def narrowed(base: Settings, values: Any, *, is_refused: bool = False) -> Layered:
    """Apply what `workspace/configuration` says, which the repository may have written, to `base`.

    `permissionMode` may only become narrower, limits and the sandbox only smaller, `trusted` only false; `model` may name
    another model of a provider that is configured already; `events` and `codeLens` are harmless. All else is ignored, and said
    unless it is what holds anyway.

    Args:
        base: What the authorities above the workspace set.
        values: Whatever the client gave; None for nothing.
        is_refused: Whether the workspace was said not to be trusted: then it names no model either.
    """
    update: dict[str, Any] = {}
    messages: list[str] = []
    if values is not None and not isinstance(values, Mapping):
        messages.append(f"must be an object; {_shown(values)} is ignored")
    holds = base.to_wire()
    for key, value in _object(values).items():
        if value is None:
            continue
        match key:
            case "permissionMode":
                _narrow_mode(base, value, update, messages)
            case "limits":
                _narrow_limits(base, value, update, messages)
            case "sandbox":
                _narrow_sandbox(base, value, update, messages)
            case "trusted" if isinstance(value, bool):
                if not value:
                    update["trusted"] = False
                elif base.trusted is not True:
                    messages.append("trusted: a workspace cannot declare itself trusted; it is ignored")
            case "events" | "codeLens" if isinstance(value, bool):
                update["events" if key == "events" else "code_lens"] = value
            case "model" if (is_refused or base.trusted is False) and value != base.model:
                messages.append("model: the workspace is not trusted; it is ignored")
            case "model" if isinstance(value, str):
                _choose_model(base, value, update, messages)
            case "trusted" | "events" | "codeLens" | "model":
                messages.append(f"{key}: {_shown(value)} is of the wrong type; it is ignored")
            case _ if value != holds.get(key):
                messages.append(f"{_cut(key)}: cannot be set by the workspace; it is ignored")
            case _:
                pass
    return Layered(
        _effective(base.model_copy(update=update)), tuple(f"workspace settings: {text}" for text in messages)
    )


def _narrow_mode(base: Settings, value: Any, update: dict[str, Any], messages: list[str]) -> None:
    if value not in PERMISSION_MODES:
        messages.append(
            f"permissionMode: {_shown(value)} must be one of {', '.join(PERMISSION_MODES)}; "
            f"{base.permission_mode!r} stays in use"
        )
        return
    from outrider.permissions.policy.decide import (
        narrowest,  # all of the policy: the command line reads settings, too
    )

    update["permission_mode"] = narrowest(base.permission_mode, value)
    if update["permission_mode"] != value:
        messages.append(f"permissionMode: {value!r} would allow more; {base.permission_mode!r} stays in use")


def _narrow_limits(base: Settings, value: Any, update: dict[str, Any], messages: list[str]) -> None:
    if not isinstance(value, Mapping):
        messages.append(f"limits: must be an object; {_shown(value)} is ignored")
        return
    limits: dict[str, Any] = base.limits.to_wire()
    for key, limit in _without_nulls(_object(value)).items():
        if problem := _problem({"limits": {key: limit}}, ("limits",)):
            messages.append(f"{problem}; {_used_instead({'limits': limits}, ('limits', key))}")
        elif limits.get(key) is not None and limit > limits[key]:
            messages.append(f"limits.{key}: {_shown(limit)} would allow more; {limits[key]} stays in use")
        else:
            limits[key] = limit
    update["limits"] = Limits.from_wire(limits)


def _narrow_sandbox(base: Settings, value: Any, update: dict[str, Any], messages: list[str]) -> None:
    if not isinstance(value, (str, Mapping)):
        messages.append(f"sandbox: must be a mode or an object; {_shown(value)} is ignored")
        return
    given = {"mode": value} if isinstance(value, str) else _without_nulls(_object(value))
    sandbox: dict[str, Any] = base.sandbox.to_wire()
    for key, one in given.items():
        if problem := _problem({"sandbox": {key: one}}, ("sandbox",)):
            messages.append(f"{problem}; {_used_instead({'sandbox': sandbox}, ('sandbox', key))}")
        elif _widens_sandbox(sandbox[key], one):
            messages.append(f"sandbox.{key}: {_shown(one)} would allow more; {sandbox[key]!r} stays in use")
        else:
            sandbox[key] = one
    update["sandbox"] = SandboxSettings.from_wire(sandbox)


def _widens_sandbox(before: Any, after: Any) -> bool:
    if isinstance(after, bool):
        return after and before is not True
    if isinstance(after, list):
        if isinstance(before, bool):  # hosts, where there were all or none
            return not before and after != []
        return any(path not in before for path in cast("list[str]", after))
    return SANDBOX_MODES.index(after) < SANDBOX_MODES.index(before)


def _choose_model(base: Settings, value: str, update: dict[str, Any], messages: list[str]) -> None:
    provider, _, model = value.partition("/")
    if value == base.model or (provider in base.providers and model.strip()):
        update["model"] = value
    else:
        messages.append(f"model: {_shown(value)} has no configured provider; {base.model!r} stays in use")
