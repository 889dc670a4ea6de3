"""The tools that a model may call, the shapes of calls as JSON, and the values that texts have by a tool's schema."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from outrider.models.text_tools.source import Mismatch, listed, mapping, number, of_text, written
from outrider.ports.model import ReadAnew, ReasoningDelta, TextDelta, ToolSpec


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a model wrote."""

    name: str
    arguments: Mapping[str, Any]

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments)


Item = TextDelta | ReasoningDelta | ReadAnew | Call

_KINDS = (
    ("string", ("str", "text", "char", "varchar", "enum")),
    ("integer", ("int", "long", "short", "uint", "unsigned")),
    ("number", ("num", "float", "double", "decimal")),
    ("boolean", ("bool",)),
    ("array", ("arr", "list", "tuple", "seq")),
    ("object", ("obj", "dict", "map")),
    ("null", ("null", "none")),
)
_COMBINATIONS = ("anyOf", "oneOf", "allOf")
_KINDS_OF_VALUES = (
    (bool, "boolean"), (int, "integer"), (float, "number"), (dict, "object"), (list, "array"), (str, "string")
)  # fmt: skip
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_DEEPEST = 8
"""How far references and combinations in a schema are followed."""
_LONGEST_INTEGER = 300
LONGEST_NAME: Final = 256
_NAMES = ("name", "tool_name", "function_name", "tool", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "tool_input")
_OF_A_CALL = {*_NAMES, "id", "type"}
"""What a call may hold besides its arguments. With more it may be the description of a tool."""
_LISTS = ("tool_calls", "tool_call")
_MISSING: Any = object()
WRAPPERS: Final = frozenset({"multi_tool_use.parallel", "multi_tool_use_parallel"})
"""A call of several tools at once, which OpenAI's models write, and models that learned from them. No provider has it:
`multi_tool_use.parallel {"tool_uses": [{"recipient_name": "functions.NAME", "parameters": {…}}, …]}`."""
NAMESPACE: Final = "functions."
"""What these models write before the name of a tool."""


class Tools:
    """Tools by name."""

    def __init__(self, tools: Iterable[ToolSpec] | None) -> None:
        """Make it.

        Args:
            tools: The tools; None if they are not known, so that every name may be one.
        """
        self._any = tools is None
        self._by_name = {tool.name: tool for tool in tools or ()}
        self._parameters: dict[str, Mapping[str, Any]] = {}
        self._folded = {name.casefold(): name for name in self._by_name}

    def knows(self, name: str) -> bool:
        """Whether it is a tool, or may be one because the tools are not known."""
        return self._any or name in self._by_name

    def has(self, name: str) -> bool:
        """Whether it is known to be a tool."""
        return name in self._by_name

    def named_like(self, name: str) -> str | None:
        """The tool with this name, upper and lower case aside; None if there is none."""
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
        """The parameters that a call must have."""
        required = self.schema(name).get("required")
        return [str(one) for one in listed(required) or ()]

    def only(self, arguments: Mapping[str, Any]) -> str | None:
        """The only tool, or the only one that takes `arguments`; None if there are none or several."""
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
        """The value of `text` as the argument `name` of `tool`.

        A string stays as it is. Where the schema wants something else and `text` is not that, it stays text as
        well, so that the validation of the arguments can say what is wrong.

        Args:
            tool: The tool.
            name: The argument.
            text: What the model wrote.
            undeclared: What it is where the schema says nothing: the text, or the value that the text writes.

        Returns:
            A JSON value.
        """
        return self.worth(tool, self.parameters(tool).get(name), text, undeclared=undeclared)

    def worth(
        self, tool: str, declared: Any, text: str, *, undeclared: Literal["string", "value"] = "string"
    ) -> Any:
        """The value of `text` by `declared`, a schema within that of `tool`; see `argument`."""
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


def _worth(text: str, kinds: set[str]) -> Any:
    bare = text.strip()
    if "string" not in kinds and kinds & {"integer", "number"}:
        bare = bare.strip('\\"')
    low = bare.lower()
    if "null" in kinds and low in ("null", "none"):
        return None
    whole, _, fraction = bare.partition(".")
    digits = whole.removeprefix("-").removeprefix("+")
    if (
        "integer" in kinds
        and digits.isdecimal()
        and len(bare) <= _LONGEST_INTEGER
        and not fraction.strip("0")
    ):
        return int(whole)
    if "number" in kinds:
        with suppress(Mismatch):
            found = number(bare)
            return int(found) if isinstance(found, float) and found.is_integer() else found
    if "boolean" in kinds and low in _BOOLEANS and ("string" not in kinds or len(bare) > len("yes")):
        return _BOOLEANS[low]
    if kinds & {"object", "array"} and bare.startswith(("{", "[", "(", '"', "'")):
        found = written(bare)
        found = written(found) if isinstance(found, str) else found
        if isinstance(found, str) and '\\"' in bare:
            # Escaped as if it stood in a string: `[{\"a\": 1}]`.
            unescaped = written(f'"{bare}"')
            found = written(unescaped) if isinstance(unescaped, str) else found
        if (
            "object" if mapping(found) is not None else "array" if listed(found) is not None else ""
        ) in kinds:
            return found
    return text


def _parts(schema: Any, root: Mapping[str, Any], depth: int = 0) -> list[Mapping[str, Any]]:
    """A schema, and those that it refers to or combines."""
    fields = _mapping(schema)
    if depth > _DEEPEST or not fields:
        return []
    inner = [part for name in _COMBINATIONS for part in listed(fields.get(name)) or ()]
    reference = fields.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        target: Any = root
        for step in reference[2:].split("/"):
            target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
        inner.append(target)
    return [fields, *(found for part in inner for found in _parts(part, root, depth + 1))]


def _kinds(schema: Any, root: Mapping[str, Any]) -> set[str]:
    """The types that `schema` allows, by their names in JSON Schema; none if it does not say."""
    kinds: set[str] = set()
    for fields in _parts(schema, root):
        types = [name for name in listed(fields.get("type")) or [fields.get("type")] if isinstance(name, str)]
        kinds |= {_kind(name) for name in types}
        if not types:
            kinds |= {
                next((kind for cls, kind in _KINDS_OF_VALUES if isinstance(one, cls)), "null")
                for one in _values(fields)
            }
            kinds |= {kind for key, kind in (("properties", "object"), ("items", "array")) if key in fields}
    return kinds


def _properties(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of an object; one that several parts of the schema describe may be any of these."""
    found: dict[str, list[Any]] = {}
    for fields in _parts(schema, root):
        for name, one in _mapping(fields.get("properties")).items():
            found.setdefault(name, []).append(one)
    return {name: ones[0] if len(ones) == 1 else {"anyOf": ones} for name, ones in found.items()}


def _values(schema: Any) -> list[Any]:
    """The values that a schema names."""
    fields = _mapping(schema)
    return [*(listed(fields.get("enum")) or ()), *([fields["const"]] if "const" in fields else ())]


def _kind(name: str) -> str:
    folded = name.lower()
    return next((kind for kind, beginnings in _KINDS if folded.startswith((kind, *beginnings))), "string")


def _mapping(found: Any) -> Mapping[str, Any]:
    return mapping(found) or {}


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


def without_namespace(name: str, tools: Tools) -> str:
    """The name of a tool that is written with its namespace; any other name as it is."""
    bare = name.removeprefix(NAMESPACE)
    return bare if bare != name and not tools.has(name) and tools.knows(bare) else name


def several(
    name: str, arguments: Mapping[str, Any], tools: Tools
) -> list[tuple[str, Mapping[str, Any]]] | None:
    """The calls that a call of `WRAPPERS` stands for.

    Args:
        name: The name of the call.
        arguments: Its arguments.
        tools: What may be called. A tool that really has this name is what is meant.

    Returns:
        Names and arguments; None if it is no such wrapper, or something in it is no call of a tool.
    """
    if name.removeprefix(NAMESPACE) not in WRAPPERS or tools.has(name):
        return None
    calls: list[tuple[str, Mapping[str, Any]]] = []
    for use in listed(arguments.get("tool_uses")) or ():
        fields = _mapping(use)
        recipient, given = fields.get("recipient_name"), mapping(fields.get("parameters") or {})
        if not isinstance(recipient, str) or given is None:
            return None
        called = without_namespace(recipient.strip(), tools)
        if not called or not tools.knows(called):
            return None
        calls.append((called, given))
    return calls or None


def named(name: str, arguments: Any, tools: Tools, *, known: bool = False) -> Call:
    """A call.

    Args:
        name: The tool, with or without its namespace.
        arguments: Its arguments; None if they cannot be read.
        tools: What may be called.
        known: Whether it must be a known tool.

    Raises:
        Mismatch: If it is no call.
    """
    name = without_namespace(name.strip(), tools)
    if arguments is None or not name or len(name) > LONGEST_NAME or "\n" in name:
        raise Mismatch
    if known and not tools.knows(name) and several(name, arguments, tools) is None:
        raise Mismatch
    return Call(name, arguments)


def arguments_of(found: Any) -> Mapping[str, Any] | None:
    """The arguments that a JSON value is: an object, one that is written in a string, or nothing; None if neither."""
    if isinstance(found, str) and found.strip():
        try:
            return mapping(of_text(found))
        except Mismatch:
            return None
    return {} if found is None or isinstance(found, str) else mapping(found)


def calls_in(found: Any, tools: Tools, *, known: bool = False, bare: bool = False) -> list[Item]:
    """The calls in a JSON value: one, a list of them, or an object around such a list; what is no call is text.

    Args:
        found: The value.
        tools: What may be called.
        known: Whether only known tools count.
        bare: Whether the arguments may be missing if a tool needs none; in a list they always may.

    Raises:
        Mismatch: If there is no call in it.
    """
    around = _mapping(found)
    inner = next((around[key] for key in _LISTS if key in around), found)
    many = listed(inner)
    items: list[Item] = []
    for one in [inner] if many is None else many:
        try:
            items.append(_call_of(one, tools, known=known, bare=bare or many is not None))
        except Mismatch:
            items.append(TextDelta(json.dumps(one, ensure_ascii=False) + "\n"))
    return with_a_call(items)


def with_a_call(items: list[Item]) -> list[Item]:
    """The items.

    Raises:
        Mismatch: If there is no call among them.
    """
    if not any(isinstance(item, Call) for item in items):
        raise Mismatch
    return items


def _call_of(found: Any, tools: Tools, *, known: bool, bare: bool) -> Call:
    fields = _mapping(found)
    inner = mapping(fields.get("function"))
    if inner is not None:
        return _call_of(inner, tools, known=known, bare=bare)
    name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), "").strip()
    given = next((fields[key] for key in _ARGUMENTS if key in fields), _MISSING)
    if given is _MISSING:
        may_be = tools.has(name) or (tools.knows(name) and fields.keys() <= _OF_A_CALL)
        if not bare or not may_be or tools.required(name):
            raise Mismatch
        given = None
    arguments = arguments_of(given)
    if arguments and arguments.get("type") == "object" and isinstance(arguments.get("properties"), Mapping):
        raise Mismatch  # the description of a tool, with the schema of its arguments
    return named(name, arguments, tools, known=known)
