"""What a tool is, and the set of them that a turn can call."""

import difflib
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from outrider.ports.model import ToolCall, ToolSpec
from outrider.tools.context import Action, ToolContext, ToolResult
from outrider_protocol.settings import Effect


class Params(BaseModel):
    """Arguments of a tool, as the model sends them; an unknown one is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True)


P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class Tool(Generic[P]):
    """One tool. `plan` works out what a call would do; it changes nothing."""

    name: str
    description: str
    effect: Effect
    params: type[P]
    plan: Callable[[P, ToolCall, ToolContext], Awaitable[Action | ToolResult]]

    @property
    def is_own(self) -> bool:
        """Whether it runs here, and not in the client."""
        return True

    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, json_schema(self.params))

    def parse(self, arguments: str) -> P | str:
        """The arguments as `params`; a text says what is wrong with them."""
        given = read_object(arguments)
        if isinstance(given, str):
            return given
        try:
            return self.params.model_validate(given)
        except ValidationError as problem:
            return "; ".join(
                _say(error) for error in problem.errors(include_url=False, include_context=False)
            )


def read_object(arguments: str) -> dict[str, Any] | str:
    """The arguments as the model wrote them, read as a JSON object; a text says what is wrong with them."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as problem:
        return f"the arguments are not valid JSON: {problem}"
    if not isinstance(given, dict):
        return "the arguments must be a JSON object"
    return cast("dict[str, Any]", given)


def _say(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"]) or "arguments"
    return f"{place}: {error['msg'].removeprefix('Value error, ')}"


@cache
def json_schema(params: type[Params]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without the titles that pydantic adds: they only cost tokens.

    Made once: each turn offers all tools, and making their schemas took half of its start. Nobody may change it.
    """
    schema = params.model_json_schema()
    _untitle(schema)
    schema.pop("description", None)
    return schema


def _untitle(schema: Any) -> None:
    if isinstance(schema, dict):
        for key in ("title", "default"):
            if key in schema and not isinstance(schema[key], dict):
                del schema[key]
        for value in cast("dict[str, Any]", schema).values():
            _untitle(value)
    elif isinstance(schema, list):
        for value in cast("list[Any]", schema):
            _untitle(value)


class Registry:
    """Tools by name, in the order they are offered."""

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    @property
    def names(self) -> frozenset[str]:
        """What they are called."""
        return frozenset(self._tools)

    def with_others(self, tools: Iterable[Tool[Any]]) -> "Registry":
        """These tools, and others after them."""
        return Registry([*self._tools.values(), *tools])

    def offered(self, *, read_only: bool) -> Sequence[Tool[Any]]:
        """The tools that make sense in a mode: a read-only turn is not offered what it could never do."""
        return [t for t in self._tools.values() if not read_only or t.effect in {"read", "ask"}]

    def get(self, name: str) -> Tool[Any] | str:
        """The tool of that name; a text names the ones that are nearest to it."""
        if tool := self._tools.get(name):
            return tool
        near = difflib.get_close_matches(name, self._tools, n=3, cutoff=0.5)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Available: {', '.join(self._tools)}."
        return f"There is no tool {name!r}. {hint}"

    def effect(self, name: str) -> Effect | None:
        """The effect of the tool of that name, None if there is none."""
        tool = self._tools.get(name)
        return tool.effect if tool else None
