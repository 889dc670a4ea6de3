"""Tools that the client runs: checked and allowed like all others, then handed over as `outrider/tool`.

What a tool does is the client's word. Arguments that do not fit its schema never leave this process.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final, cast

from pydantic import Field, ValidationError
from pydantic_core import to_jsonable_python

from outrider.permissions.policy.decide import Access
from outrider.ports.model import ToolCall, ToolSpec
from outrider.ports.patterns import PatternError, built
from outrider.tools.context import Action, ClientContext, ToolResult
from outrider.tools.registry import Params, Parsed, Tool, read_object
from outrider_protocol.settings import SCHEMA_BYTES, ClientTool

TITLE_CHARACTERS: Final = 200
"""Characters of a title; longer arguments stand in the detail."""
MOST_PROBLEMS: Final = 3
"""Wrong arguments that one result names."""
PROBLEM_CHARACTERS: Final = 200
"""Characters of one of them."""


class Given(Params):
    """Arguments that fit the tool's schema."""

    values: dict[str, Any] = Field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class HandedTool(Tool[Given]):
    """A tool that the client registered."""

    schema: Mapping[str, Any]

    @property
    def is_own(self) -> bool:
        """The client runs it."""
        return False

    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, self.schema)

    def parse(self, arguments: str) -> Parsed[Given] | str:
        """The arguments, held against the schema; a text says where they do not fit."""
        given = read_object(arguments)
        if isinstance(given, str):
            return given
        try:
            json.dumps(to_jsonable_python(given), ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError):
            return "the arguments contain NaN or invalid Unicode, or are nested too deeply"
        return _misfit(self.schema, given) or Parsed(Given(values=given))


def prepare() -> None:
    """Load the library that checks schemas, in a thread, instead of with the first tool."""
    import_module("jsonschema")


def handed_tools(registered: Iterable[ClientTool]) -> list[Tool[Any]]:
    """The tools that a client registered, ready for a registry."""
    return [_tool(one) for one in registered]


def definition_of(registered: ClientTool) -> dict[str, Any]:
    """A tool as the log keeps it."""
    return {
        "name": registered.name,
        "description": registered.description,
        "schema": registered.input_schema,
        "effect": registered.effect,
    }


def defined(definition: Mapping[str, Any]) -> ClientTool | None:
    """The tool of such a definition, which may come from a file of anybody; None if it is none."""
    fields = {key: value for key, value in definition.items() if key != "schema"}
    try:
        tool = ClientTool.from_wire({**fields, "inputSchema": definition.get("schema")})
    except ValidationError:
        return None
    return None if schema_problem(tool.input_schema) else tool


def _tool(registered: ClientTool) -> HandedTool:
    name, effect = registered.name, registered.effect

    async def plan(params: Given, call: ToolCall, context: ClientContext) -> Action | ToolResult:
        async def perform() -> ToolResult:
            # What asks for a yes has an effect: that it was handed over must be on disk before it is.
            answer = await context.client.call(call, params.values, durable=effect in {"edit", "execute"})
            return ToolResult("error" if answer.is_error else "ok", answer.content)

        key = f"{name}\0{json.dumps(params.values, sort_keys=True)}"
        title = f"Tool {name} {written(params.values)}"
        detail = "Your editor runs it."
        if len(title) > TITLE_CHARACTERS:
            title = f"{title[: TITLE_CHARACTERS - 1]}…"
            detail += f"\n{written(params.values, indent=2)}"
        return Action(
            access=Access(effect, grant=f"tool:{key}"),
            perform=perform,
            title=title,
            detail=detail,
            digest=hashlib.sha256(key.encode()).hexdigest(),
            covers="this tool with exactly these arguments",
        )

    return HandedTool(name, registered.description, effect, Given, plan, registered.input_schema)


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Why an `inputSchema` cannot be used, None if it can."""
    from jsonschema import SchemaError

    try:
        size = len(json.dumps(schema, ensure_ascii=False, allow_nan=False).encode())
        if size > SCHEMA_BYTES:
            return f"has {size} bytes; the limit is {SCHEMA_BYTES}"
        if schema.get("type") != "object":
            return "must describe an object: its type is not “object”"
        if outside := next((ref for ref in _references(schema) if not ref.startswith("#")), None):
            return f"refers to {_cut(outside)}, which is outside the schema"
        validator_type = _validator_type(schema)
        if validator_type is None:
            return f"uses an unknown dialect: {_cut(str(schema['$schema']))}"
        validator_type.check_schema(schema)
        inner = list(_schemas(schema))
        if any(isinstance(one.get("$schema"), str) for one in inner[1:]):
            return "contains a schema with its own dialect"
        if odd := next(filter(None, map(_odd_pattern, inner)), None):
            return odd
    except SchemaError as problem:
        return f"is not a valid JSON Schema: {_cut(f'{problem.json_path}: {problem.message}')}"
    except (TypeError, ValueError, RecursionError):  # of TOML, no Unicode, nested too deeply
        return "cannot be written as JSON"
    return None


def _validator_type(schema: Mapping[str, Any]) -> Any:
    # jsonschema has no types of its own.
    from jsonschema import validators

    found: Any = validators
    known: Any = found.Draft202012Validator
    if "$schema" in schema:
        known = found.validator_for(schema, default=None) if isinstance(schema["$schema"], str) else None
    return known and _without_re(known)


@cache
def _without_re(known: Any) -> Any:
    """A validator of the library, which matches with `re`, which a pattern can hold up for ever; with our own matching."""
    from jsonschema import validators

    found: Any = validators
    return found.extend(
        known,
        {
            "pattern": _check_pattern,
            "patternProperties": _check_pattern_properties,
            "additionalProperties": _check_additional_properties,
        },
    )


def _check_pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError as Misfit

    if validator.is_type(instance, "string") and not _pattern(pattern).search(instance):
        yield Misfit(f"{instance!r} does not match {pattern!r}")


def _check_pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[Any]:
    for pattern, inner in patterns.items() if validator.is_type(instance, "object") else ():
        for key, value in instance.items():
            if _pattern(pattern).search(key):
                yield from validator.descend(value, inner, path=key, schema_path=pattern)


def _check_additional_properties(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError as Misfit

    if not validator.is_type(instance, "object"):
        return
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for key, value in instance.items():
        if key in named or any(_pattern(pattern).search(key) for pattern in patterns):
            continue
        if inner is False:
            yield Misfit(f"additional properties are not allowed: {key!r} was not expected")
        else:
            yield from validator.descend(value, inner, path=key)


_pattern = lru_cache(maxsize=256)(built)


def _schemas(value: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all objects in it, whether they are schemas or not."""
    if isinstance(value, Mapping):
        yield cast("Mapping[str, Any]", value)
    inner = cast(
        "Iterable[Any]",
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else (),
    )
    for one in inner:
        yield from _schemas(one)


def _odd_pattern(schema: Mapping[str, Any]) -> str | None:
    """Why the patterns of one schema cannot be matched in linear time, None if they can."""
    named: Any = schema.get("patternProperties")
    patterns: list[Any] = [*named] if isinstance(named, Mapping) else []
    if patterns and "unevaluatedProperties" in schema:
        return "combines patternProperties with unevaluatedProperties, which is not supported"
    for pattern in [*patterns, schema.get("pattern")]:
        try:
            if isinstance(pattern, str):
                _pattern(pattern)
        except PatternError as problem:
            return _cut(f"has a pattern that RE2 does not support: {problem}")
    return None


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, Any]", value).items():
            if key in {"$ref", "$dynamicRef", "$recursiveRef"} and isinstance(inner, str):
                yield inner
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _references(inner)


def _misfit(schema: Mapping[str, Any], given: dict[str, Any]) -> str | None:
    """Where arguments do not fit a schema, None if they do."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # An empty registry: the default one of jsonschema would fetch what a schema refers to.
    registry = cast("Any", Registry)()
    validator = _validator_type(schema)(schema, registry=registry)
    try:
        errors: list[Any] = []
        for problem in validator.iter_errors(given):
            errors.append(problem)
            if len(errors) == MOST_PROBLEMS:
                break
    except (Unresolvable, RecursionError, PatternError) as problem:
        return f"they cannot be validated because the tool's schema is invalid: {_cut(str(problem))}"
    return "; ".join(
        f"{problem.json_path.removeprefix('$').removeprefix('.') or 'arguments'}: {_cut(problem.message)}"
        for problem in errors
    )


def _cut(text: str) -> str:
    return text if len(text) <= PROBLEM_CHARACTERS else f"{text[: PROBLEM_CHARACTERS - 1]}…"


def written(values: Mapping[str, Any], indent: int | None = None) -> str:
    """Arguments as a user reads them, with nothing hidden."""
    return _visible(json.dumps(values, ensure_ascii=False, indent=indent))


def _visible(text: str) -> str:
    """JSON in which nothing hides: what cannot be printed is escaped."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else json.dumps(sign).strip('"') for sign in text
    )
