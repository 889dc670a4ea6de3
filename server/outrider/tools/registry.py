"""What a tool is, and the set of them that a turn can call."""

import difflib
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final, Generic, Protocol, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from outrider.ports.model import ToolCall, ToolSpec
from outrider.tools import foreign
from outrider.tools.context import Action, ToolContext, ToolResult
from outrider_protocol.choices import Effect
from outrider_protocol.events import Mode

MOST_WORDS: Final = 4_000
"""Characters of an argument that is no content: a path, a pattern, a question. Longer ones are looked through and shown nowhere."""
MOST_CONTENT: Final = 1_000_000
"""Characters of one that is: the text of a file, a patch, a command. One answer of a model has no more."""


class Params(BaseModel):
    """Arguments of a tool. What the model sends under other names is brought into this form before: see `foreign`."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, str_max_length=MOST_WORDS
    )


P = TypeVar("P", bound=Params)


class Settle(Protocol):
    """Deals with a call that was cut off by the end of the server."""

    async def __call__(self, call: ToolCall, context: ToolContext, /, *, may_ask: bool) -> str | None:
        """Gives what the result of the call says; None where that waits until the user can be asked."""
        ...


def interrupted(what: str) -> str:
    """What is said of a call that was cut off, by a name for what ran."""
    return f"{what} was interrupted when the server stopped; the effect is unknown. Check before you do it again."


async def _unknown(call: ToolCall, _context: ToolContext, /, *, may_ask: bool) -> str:  # noqa: ARG001 - as others do
    return interrupted(call.name)


@dataclass(frozen=True, slots=True)
class Parsed(Generic[P]):
    """The arguments of a call."""

    params: P
    unknown: tuple[str, ...] = ()
    """Names that the model gave and that mean nothing here; they are left out, and it is told so."""

    @property
    def kind(self) -> type[Params]:
        """Whose arguments they are."""
        return type(self.params)


@dataclass(frozen=True, slots=True)
class Tool(Generic[P]):
    """One tool. `plan` works out what a call would do; it changes nothing."""

    name: str
    description: str
    effect: Effect
    params: type[P]
    plan: Callable[[P, ToolCall, ToolContext], Awaitable[Action | ToolResult]]
    only_in: Mode | None = field(default=None, kw_only=True)
    """The only mode of turns in which it is offered; None: in all where its effect is possible."""
    settle: Settle = field(default=_unknown, kw_only=True)
    """What is done about a call whose effect had begun when the server stopped."""

    @property
    def is_own(self) -> bool:
        """Whether it runs here, and not in the client."""
        return True

    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, json_schema(self.params))

    def parse(self, arguments: str) -> Parsed[P] | str:
        """The arguments, also under the names of other harnesses; a text says what is wrong with them, and which there are."""
        given = read_object(arguments)
        if isinstance(given, str):
            return given
        own = list(_by_name(self.params))
        said = foreign.translated(self.name, given, own)
        if isinstance(said, str):
            return f"{said}. {takes(self.params)}"
        found, unknown = said
        if instead := foreign.elsewhere(self.name, found):
            return instead
        for key, value in found.items():
            inner = self._items(key, value)
            if isinstance(inner, str):
                return f"{inner}. {takes(self.params)}"
            found[key] = inner[0]
            unknown += inner[1]
        # A null is how many write an argument that they leave out.
        known = {key: value for key, value in found.items() if value is not None}
        try:
            return Parsed(self.params.model_validate(known), tuple(dict.fromkeys(unknown)))
        except ValidationError as problem:
            wrong = problem.errors(include_url=False, include_context=True)
            said = "; ".join(dict.fromkeys(_say(error) for error in wrong[:MOST_PROBLEMS]))
            return f"{said}. {takes(self.params)}"

    def _items(self, key: str, value: Any) -> tuple[Any, list[str]] | str:
        """The items of a list, under our names, and those that mean nothing; other values stay as they are."""
        field = _by_name(self.params)[key]
        if get_origin(field.annotation) is not list:
            return value, []
        given: Any = foreign.items_of(self.name, key, value)
        kind = get_args(field.annotation)[0]
        if not isinstance(given, list) or not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            return cast("Any", given), []
        most = json_schema(self.params)["properties"][key]["maxItems"]
        if len(cast("list[Any]", given)) > most:
            return f"{key} has too many items; the most are {most}"
        items, unknown = list[Any](), list[str]()
        for item in cast("list[Any]", given):
            if not isinstance(item, dict):
                items.append(item)
                continue
            one = foreign.translated(
                f"{self.name}.{key}",
                cast("dict[str, Any]", item),
                list(kind.model_fields),
                within=f"{key}[].",
            )
            if isinstance(one, str):
                return one
            items.append(one[0])
            unknown += one[1]
        return items, unknown


@dataclass(frozen=True, slots=True)
class VaryingTool(Tool[P]):
    """One that is there only where something was brought along, such as a skill. The log keeps what it does."""

    def spec(self) -> ToolSpec:
        """The tool as the model sees it, and what it does."""
        return replace(Tool[Any].spec(self), effect=self.effect)


def read_object(arguments: str) -> dict[str, Any] | str:
    """The arguments as the model wrote them, read as a JSON object; a text says what is wrong with them."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as problem:
        return f"the arguments are not valid JSON: {problem}"
    if not isinstance(given, dict):
        return "the arguments must be a JSON object"
    return cast("dict[str, Any]", given)


MOST_PROBLEMS = 3
"""Wrong arguments that one result names."""
_PLAIN: Mapping[str, str] = {
    "missing": "is missing",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "must be a whole number"
    ),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "must be a number"),
}


def _say(error: Any) -> str:
    """What is wrong with an argument, for somebody who knows nothing of how it is checked."""
    place, kind, limits = ".".join(str(part) for part in error["loc"]), error["type"], error.get("ctx", {})
    if kind == "value_error" or not place:
        return str(error["msg"]).removeprefix("Value error, ")
    match kind:
        case "greater_than_equal":
            said = f"must be at least {limits['ge']:g}"
        case "greater_than":
            said = f"must be more than {limits['gt']:g}"
        case "less_than_equal":
            said = f"must be at most {limits['le']:g}"
        case "string_too_long":
            said = f"has more than {limits['max_length']:,} characters"
        case "too_long":
            said = f"has too many items; the most are {limits['max_length']}"
        case "literal_error":
            said = f"must be {limits['expected']}"
        case _:
            said = _PLAIN.get(kind) or str(error["msg"])
    return f"{place} {said}"


def takes(params: type[Params]) -> str:
    """Which arguments there are, in a sentence."""
    names = {key: field.is_required() for key, field in _by_name(params).items()}
    must = ", ".join(key for key, required in names.items() if required)
    may = ", ".join(key for key, required in names.items() if not required)
    return f"It takes: {must}{'; ' if must and may else ''}{f'optional {may}' if may else ''}."


@cache
def _by_name(params: type[Params]) -> Mapping[str, FieldInfo]:
    """The arguments, by the names that the model knows."""
    return {field.alias or key: field for key, field in params.model_fields.items()}


@cache
def json_schema(params: type[Params]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, without what only costs tokens.

    That is titles, defaults, what pydantic takes from docstrings, that an argument which may be left out may also be null, and what nobody
    would send or what is answered with a plain sentence anyway: empty texts, negative numbers, other arguments.
    Made once: each turn offers all tools, and making their schemas took half of its start. Nobody may change it.
    """
    schema: dict[str, Any] = _bare(params.model_json_schema())
    for one in [schema, *schema.get("$defs", {}).values()]:
        one.pop("description", None)
    return schema


_COSTLY = frozenset(
    {"title", "default", "minLength", "maxLength", "minimum", "exclusiveMinimum", "additionalProperties"}
)
"""Of a schema, what costs tokens and tells a model nothing."""


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _bare(value)
        for key, value in cast("dict[str, Any]", schema).items()
        if key not in _COSTLY or isinstance(value, dict)
    }
    either = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
    if len(either) != 1:
        return kept
    del kept["anyOf"]
    return {**either[0], **kept}


class Registry:
    """Tools by name, in the order they are offered."""

    def __init__(
        self, tools: Iterable[Tool[Any]], leaves_out: Callable[[], Awaitable[Collection[str]]] | None = None
    ) -> None:
        """Hold tools.

        Args:
            tools: The tools.
            leaves_out: Says which of them there is no use for now.
        """
        self._tools = {tool.name: tool for tool in tools}
        self._leaves_out = leaves_out

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    @property
    def all(self) -> Sequence[Tool[Any]]:
        """All of them, in whatever mode they are offered."""
        return list(self._tools.values())

    @property
    def names(self) -> frozenset[str]:
        """What they are called."""
        return frozenset(self._tools)

    def with_others(self, tools: Iterable[Tool[Any]]) -> "Registry":
        """These tools, and others after them."""
        return Registry([*self._tools.values(), *tools], self._leaves_out)

    async def offered_now(self, mode: Mode) -> Sequence[Tool[Any]]:
        """What `offered` gives, without what there is no use for now."""
        left_out = await self._leaves_out() if self._leaves_out is not None else ()
        return [tool for tool in self.offered(mode) if tool.name not in left_out]

    def offered(self, mode: Mode) -> Sequence[Tool[Any]]:
        """The tools that make sense in a mode: a read-only turn is not offered what it could never do."""
        fitting = [one for one in self._tools.values() if one.only_in in {None, mode}]
        if mode == "agent":
            return fitting
        commands = (
            {"run_command"} if mode == "plan" else set[str]()
        )  # those that only read are all it may run
        return [one for one in fitting if one.effect in {"read", "ask"} or one.name in commands]

    def get(self, name: str) -> Tool[Any] | str:
        """The tool of that name; a text names the ones that are nearest to it."""
        if tool := self._tools.get(name):
            return tool
        return f"There is no tool {name!r}. {self._instead(name)}"

    def _instead(self, name: str) -> str:
        """What to call instead: what does the same, else what has a name that is like it."""
        wanted = foreign.plain(name)
        meant = foreign.TOOLS.get(wanted)
        if meant not in self._tools and (said := foreign.ABSENT.get(wanted)):
            return said
        same = (
            meant
            if meant in self._tools
            else next((one for one in self._tools if foreign.plain(one) == wanted), None)
        )
        near = [same] if same else difflib.get_close_matches(name, self._tools, n=3, cutoff=0.5)
        if not near:
            return f"Available: {', '.join(self._tools)}."
        arguments = (
            f" {takes(self._tools[near[0]].params)}" if len(near) == 1 and self._tools[near[0]].is_own else ""
        )
        return f"Did you mean {' or '.join(near)}?{arguments}"

    def effect(self, name: str) -> Effect | None:
        """The effect of the tool of that name, None if there is none."""
        tool = self._tools.get(name)
        return tool.effect if tool else None
