"""The types of the wire as LuaCATS annotations: `python editors/neovim/scripts/wire_types.py > lua/outrider/types.lua`.

They are read from `protocol/schema.json`, and only by language servers: the plugin never loads the file they are in.
"""

import json
import sys
from pathlib import Path
from typing import Any

SCHEMA = Path(__file__).resolve().parents[3] / "protocol" / "schema.json"
PARTS = ("commands", "events", "notifications", "requests", "settings")
"""What a plugin meets: scripts, scenarios and exports are for others."""

_NAMES = {"string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "nil"}
_LUA_WORDS = {
    "and",
    "end",
    "for",
    "function",
    "goto",
    "if",
    "in",
    "local",
    "nil",
    "not",
    "or",
    "repeat",
    "then",
    "until",
}
_REFERENCE = "#/$defs/"


def render(schema: dict[str, Any]) -> str:
    """The text of `types.lua`."""
    names: dict[str, None] = {}
    for part in PARTS:
        _reach(schema[part], schema["$defs"], names)
    lines = ["---@meta", "--- Generated from protocol/schema.json by scripts/wire_types.py: do not edit."]
    for name in sorted(names):
        lines += ["", *_definition(name, schema["$defs"][name])]
    commands = " | ".join(json.dumps(name).replace('"', "'") for name in sorted(schema["commands"]))
    events = "\n".join(
        f"---| '{name}' # {ref['$ref'].removeprefix(_REFERENCE)}"
        for name, ref in sorted(schema["events"].items())
    )
    lines += [
        "",
        "--- A command of `workspace/executeCommand`.",
        f"---@alias outrider.CommandName {commands}",
    ]
    lines += [
        "",
        "--- The type of an event, and what its data is.",
        f"---@alias outrider.EventType\n{events}",
    ]
    return "\n".join(lines) + "\n"


def _reach(node: Any, definitions: dict[str, Any], names: dict[str, None]) -> None:
    if isinstance(node, dict):
        name = str(node.get("$ref", "")).removeprefix(_REFERENCE)
        if name and name not in names:
            names[name] = None
            _reach(definitions[name], definitions, names)
        for value in node.values():
            _reach(value, definitions, names)
    elif isinstance(node, list):
        for value in node:
            _reach(value, definitions, names)


def _definition(name: str, definition: dict[str, Any]) -> list[str]:
    lines = _comment(definition)
    if "properties" not in definition and definition.get("type") != "object":
        return [*lines, f"---@alias outrider.{name} {_type(definition)}"]
    lines.append(f"---@class outrider.{name}")
    required = definition.get("required", ())
    for key, value in sorted(definition.get("properties", {}).items()):
        said = " ".join(value.get("description", "").split())
        mark = "" if key in required else "?"
        field = f"{key}{mark}" if key.isidentifier() and key not in _LUA_WORDS else f'["{key}"]'
        lines.append(f"---@field {field} {_type(value)} {said}".rstrip())
    return lines


def _comment(definition: dict[str, Any]) -> list[str]:
    return [f"--- {line}".rstrip() for line in definition.get("description", "").splitlines()]


def _type(node: dict[str, Any]) -> str:
    if "$ref" in node:
        return "outrider." + node["$ref"].removeprefix(_REFERENCE)
    if "const" in node or "enum" in node:
        values = node.get("enum", [node.get("const")])
        return "|".join(f"'{value}'" if isinstance(value, str) else json.dumps(value) for value in values)
    for key in ("anyOf", "oneOf"):
        if key in node:
            # Null never travels: what has no value is absent, which the field's `?` says.
            found = dict.fromkeys(_type(one) for one in node[key] if one.get("type") != "null")
            return "|".join(found)
    match node.get("type"):
        case "array":
            inner = _type(node.get("items", {}))
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case "object":
            values = node.get("additionalProperties")
            return f"table<string, {_type(values)}>" if isinstance(values, dict) else "table<string, any>"
        case str(name):
            return _NAMES[name]
        case _:
            return "any"


if __name__ == "__main__":
    sys.stdout.write(render(json.loads(SCHEMA.read_text(encoding="utf-8"))))
