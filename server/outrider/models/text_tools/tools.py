"""The tools a model may call, and what the text of an argument is worth by their schemas."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from outrider.models.text_tools import literal
from outrider.models.text_tools.source import Mismatch
from outrider.ports.model import ToolSpec

_KINDS = (
    ("string", ("str", "text", "char", "varchar", "enum")),
    ("integer", ("int", "long", "short", "uint", "unsigned")),
    ("number", ("num", "float", "double", "decimal")),
    ("boolean", ("bool",)),
    ("array", ("arr", "list", "tuple", "seq")),
    ("object", ("obj", "dict", "map")),
    ("null", ("null", "none")),
)
_INTEGER = re.compile(r"[-+]?\d{1,300}(?:\.0*)?")
_COMBINATIONS = ("anyOf", "oneOf", "allOf")
_BOOLEANS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}
_DEEPEST = 8
"""How far references and combinations in a schema are followed."""


class Tools:
    """Tools by name."""

    def __init__(self, tools: Iterable[ToolSpec] | None) -> None:
        """Make it.

        Args:
            tools: The tools; None if nothing is known of them, so that every name may be one.
        """
        self._any = tools is None
        self._by_name = {tool.name: tool for tool in tools or ()}
        self._parameters: dict[str, Mapping[str, Any]] = {}
        self._folded = {name.casefold(): name for name in self._by_name}

    def knows(self, name: str) -> bool:
        """Whether it is one of them, or nothing is known of them."""
        return self._any or name in self._by_name

    def has(self, name: str) -> bool:
        """Whether it is known to be one of them."""
        return name in self._by_name

    def named_like(self, name: str) -> str | None:
        """The tool whose name is `name` but for capitals."""
        return name if self._any else self._folded.get(name.casefold())

    def schema(self, name: str) -> Mapping[str, Any]:
        """The schema of its arguments; empty if there is none."""
        tool = self._by_name.get(name)
        return tool.schema if tool else {}

    def parameters(self, name: str) -> Mapping[str, Any]:
        """Its parameters' schemas, by name."""
        if name not in self._parameters:
            schema = self.schema(name)
            self._parameters[name] = _properties(schema, schema)
        return self._parameters[name]

    def required(self, name: str) -> Sequence[str]:
        """The parameters it cannot do without."""
        required = self.schema(name).get("required")
        return [str(one) for one in literal.listed(required) or ()]

    def only(self, arguments: Mapping[str, Any]) -> str | None:
        """The only tool, or the only one that takes `arguments`."""
        names = list(self._by_name)
        if len(names) > 1:
            names = [name for name in names if self._takes(name, arguments)]
        return names[0] if len(names) == 1 else None

    def _takes(self, name: str, arguments: Mapping[str, Any]) -> bool:
        return arguments.keys() <= self.parameters(name).keys() and arguments.keys() >= set(
            self.required(name)
        )

    def argument(
        self, tool: str, name: str, text: str, *, undeclared: Literal["string", "value"] = "string"
    ) -> Any:
        """What `text` is worth as the argument `name` of `tool`.

        A string stays what it is; where the schema wants something else and `text` is not that, it stays
        text as well, so that the check of the arguments can say what is wrong.

        Args:
            tool: The tool.
            name: The argument.
            text: What the model wrote.
            undeclared: What it is where the schema says nothing: its text, or the value that is written there.

        Returns:
            A JSON value.
        """
        return self.worth(tool, self.parameters(tool).get(name), text, undeclared=undeclared)

    def worth(
        self, tool: str, declared: Any, text: str, *, undeclared: Literal["string", "value"] = "string"
    ) -> Any:
        """What `text` is worth by `declared`, a schema within that of `tool`; see `argument`."""
        kinds = _kinds(declared, self.schema(tool)) if declared is not None else set[str]()
        if not kinds:
            return text if undeclared == "string" else written(text)
        return text if text in _values(declared) else _worth(text, kinds)

    def may_be(self, tool: str, declared: Any, kind: str) -> bool:
        """Whether `declared`, a schema within that of `tool`, allows a value of `kind`, as JSON Schema calls it."""
        kinds = _kinds(declared, self.schema(tool))
        return not kinds or kind in kinds

    def within(self, tool: str, declared: Any, key: str | None) -> Any:
        """The schema of a field of an object, or of an item of a list, if `key` is None; None if there is none.

        Args:
            tool: The tool.
            declared: The schema of the object or the list, within that of `tool`.
            key: The field.
        """
        if key is None:
            return _mapping(declared).get("items")
        properties = _properties(declared, self.schema(tool))
        return properties.get(key) or _mapping(declared).get("additionalProperties")


def written(text: str) -> Any:
    """The value that `text` is, or `text` itself if it is none."""
    try:
        return literal.of_text(text)
    except Mismatch:
        return text


def _worth(text: str, kinds: set[str]) -> Any:
    bare = text.strip()
    if "string" not in kinds and kinds & {"integer", "number"}:
        bare = bare.strip('\\"')
    if "null" in kinds and bare.lower() in ("null", "none"):
        return None
    if "integer" in kinds and _INTEGER.fullmatch(bare):
        return int(bare.partition(".")[0])
    if "number" in kinds:
        try:
            found = literal.number(bare)
        except Mismatch:
            pass
        else:
            return int(found) if isinstance(found, float) and found.is_integer() else found
    if "boolean" in kinds and bare.lower() in _BOOLEANS and ("string" not in kinds or len(bare) > len("yes")):
        return _BOOLEANS[bare.lower()]
    if bare[:1] in ("{", "[", "(", '"', "'") and kinds & {"object", "array"}:
        found = written(bare)
        if isinstance(found, str):
            found = written(found)
        if ("object" in kinds and literal.mapping(found) is not None) or (
            "array" in kinds and literal.listed(found) is not None
        ):
            return found
    return text


def _kinds(schema: Any, root: Mapping[str, Any], depth: int = 0) -> set[str]:
    """The types that `schema` allows, by their names in JSON Schema; none if it does not say."""
    kinds: set[str] = set()
    fields = _mapping(schema)
    if depth > _DEEPEST or not fields:
        return kinds
    named = fields.get("type")
    for name in literal.listed(named) or [named]:
        if isinstance(name, str):
            kinds.add(_kind(name))
    reference = fields.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        kinds |= _kinds(_target(reference, root), root, depth + 1)
    for combination in _COMBINATIONS:
        for option in literal.listed(fields.get(combination)) or ():
            kinds |= _kinds(option, root, depth + 1)
    if not kinds:
        kinds |= {_kind_of(one) for one in _values(fields)}
        if "properties" in fields:
            kinds.add("object")
        if "items" in fields:
            kinds.add("array")
    return kinds


def _properties(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """The properties of an object, also those that stand behind a reference or in a combination."""
    fields = _mapping(schema)
    if depth > _DEEPEST or not fields:
        return _mapping(None)
    found: dict[str, list[Any]] = {}
    parts: list[Any] = [part for name in _COMBINATIONS for part in literal.listed(fields.get(name)) or ()]
    reference = fields.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        parts.append(_target(reference, root))
    if not parts:
        return _mapping(fields.get("properties"))
    for properties in (
        _mapping(fields.get("properties")),
        *(_properties(part, root, depth + 1) for part in parts),
    ):
        for name, one in properties.items():
            found.setdefault(name, []).append(one)
    return {name: ones[0] if len(ones) == 1 else {"anyOf": ones} for name, ones in found.items()}


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    """What a reference within the schema means."""
    target: Any = root
    for step in reference[2:].split("/"):
        target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _values(schema: Any) -> list[Any]:
    """The values that a schema names."""
    fields = _mapping(schema)
    return [*(literal.listed(fields.get("enum")) or ()), *([fields["const"]] if "const" in fields else ())]


def _kind(name: str) -> str:
    folded = name.lower()
    for kind, beginnings in _KINDS:
        if folded == kind or folded.startswith(beginnings):
            return kind
    return "string"


def _kind_of(one: Any) -> str:
    for kind, types in (
        ("boolean", bool),
        ("integer", int),
        ("number", float),
        ("object", dict),
        ("array", list),
    ):
        if isinstance(one, types):
            return kind
    return "null" if one is None else "string"


def _mapping(found: Any) -> Mapping[str, Any]:
    return literal.mapping(found) or {}


def tool_of(definition: Any) -> ToolSpec | None:
    """The tool that a definition of any usual form describes.

    Args:
        definition: `{"type": "function", "function": {…}}`, or what stands in it alone; the schema of its
            arguments is called `parameters`, `schema`, `input_schema` or `inputSchema`.

    Returns:
        The tool, None if it has no name.
    """
    fields = _mapping(definition)
    fields = _mapping(fields.get("function")) or fields
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        return None
    keys = ("parameters", "schema", "input_schema", "inputSchema")
    schema = next((_mapping(fields[key]) for key in keys if fields.get(key)), _mapping(None))
    return ToolSpec(name, str(fields.get("description") or ""), schema)
