"""JSON files that people write by hand: read with care, and what is wrong in them said with its place."""

import json
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_LARGEST = 10_000_000
_MOST_ERRORS = 3
_QUOTE: Final = "'"
_TAGGED: Final[Mapping[str, str]] = {"do": "step"}
"""What the objects are that a key tells apart."""


@dataclass(frozen=True, slots=True)
class JsonProblem:
    """Why a file gives no JSON: the file, the place in it and what is wrong there."""

    message: str


def read_json(path: Path, *, called: str) -> object | JsonProblem:
    """The JSON data of a file (UTF-8, a byte order mark or not), at most 10 MB. Blocks.

    Args:
        path: The file. Anything but a regular file is refused.
        called: What it is, for the message where there is none.
    """
    try:
        # Looked at before it is opened: opening a pipe would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            return JsonProblem(f"{path}: not a regular file")
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return JsonProblem(f"{path}: there is no such {called}")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return JsonProblem(f"{path}: cannot be read: {reason}")
    if len(content) > _LARGEST:
        return JsonProblem(f"{path}: larger than {_LARGEST // 1_000_000} MB")
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=_each_key_once)
    except UnicodeDecodeError as error:
        return JsonProblem(f"{path}: not UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        return JsonProblem(f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg}")
    except _TwiceError as error:
        return JsonProblem(f"{path}: {error}")
    except (ValueError, RecursionError) as error:
        return JsonProblem(f"{path}: not JSON: {error}")


class _TwiceError(Exception):
    """A key stands twice in one object; Python would take the last one in silence."""


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _TwiceError(f"the key {json.dumps(twice, ensure_ascii=False)} stands twice in one object")
    return found


def keys_of(model: type[BaseModel]) -> frozenset[str]:
    """Every key that a model and those within it have, as candidates for one that is misspelt."""
    schema = model.model_json_schema()
    objects: list[dict[str, Any]] = [schema, *schema.get("$defs", {}).values()]
    return frozenset(name for each in objects for name in each.get("properties", {}))


def places_of(error: ValidationError, data: object, known: Collection[str] = ()) -> list[tuple[str, str]]:
    """Each place in `data` where a model found something wrong, as in `turns[0].text`, and what is wrong there.

    Args:
        error: What the model found.
        data: What it looked at.
        known: Keys that may have been meant, for those that there are not; see `keys_of`.
    """
    places = [(_place(detail, data), _wrong(detail, known), detail["type"]) for detail in _details(error)]
    # Where a text or an object may stand, what is wrong within the object says more than that it is no text.
    return [
        (place, wrong)
        for place, wrong, kind in places
        if kind != "string_type"
        or not any(other.startswith((f"{place}.", f"{place}[")) for other, _, _ in places)
    ]


def said_of(error: ValidationError, data: object, known: Collection[str] = ()) -> str:
    """What a model found wrong in `data`, with the places, in one line; `known` is as in `places_of`."""
    return said_at(places_of(error, data, known))


def said_at(places: Sequence[tuple[str, str]]) -> str:
    """The first few of these places with what is wrong there, in one line."""
    said = [f"{place}: {wrong}" for place, wrong in places[:_MOST_ERRORS]]
    if len(places) > _MOST_ERRORS:
        said.append(f"and {len(places) - _MOST_ERRORS} more")
    return "; ".join(said)


def key(name: int | str) -> str:
    """A key as a part of a place."""
    return f".{name}" if str(name).isidentifier() else f"[{json.dumps(name, ensure_ascii=False)}]"


def _details(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _wrong(detail: ErrorDetails, known: Collection[str]) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            close = get_close_matches(str(detail["loc"][-1]), known, 1)
            return "there is no such key" + (f"; did you mean `{close[0]}`?" if close else "")
        case "missing":
            return "is missing"
        case "union_tag_not_found":
            return f"`{context['discriminator'].strip(_QUOTE)}` is missing"
        case "union_tag_invalid":
            named = context["discriminator"].strip(_QUOTE)
            there_are = context["expected_tags"].replace(_QUOTE, "")
            return f"there is no {_TAGGED.get(named, named)} {context['tag']!r}; there are {there_are}"
        case _:
            return detail["msg"].removeprefix("Value error, ")


def _place(detail: ErrorDetails, data: object) -> str:
    # pydantic's locations also name members of unions, which are not in the file. The member that `do` names is
    # such a name even where the object has a key that is called the same.
    location, path, tagged = detail["loc"], "", False
    for number, part in enumerate(location):
        if isinstance(data, Mapping) and not tagged and cast("Mapping[Any, Any]", data).get("do") == part:
            tagged = True
            continue
        tagged = False
        if isinstance(part, int) and isinstance(data, list):
            path += f"[{part}]"
            data = cast("list[Any]", data)[part]
        elif isinstance(data, Mapping) and part in data:
            path += key(part)
            data = cast("Mapping[Any, Any]", data)[part]
        elif detail["type"] == "missing" and number == len(location) - 1:
            path += key(part)
    return path.removeprefix(".") or "the file"
