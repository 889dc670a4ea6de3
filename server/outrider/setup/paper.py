"""The document in which a model is set up: what it says, and what a user filled in. It has no place for a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from outrider_protocol.commands import SetupModel, SetupParams, SetupProvider

HEADING: Final = "## What came of it"
_FIELDS: Final = frozenset({"provider", "model", "key variable", "address", "api"})
_LONGEST_VARIABLE: Final = 100
_MOST_SHOWN: Final = 300
_NO_KEY: Final = (
    "`key variable` must be the name of an environment variable. If a key stands there, take it out of the document: "
    "it is saved in the workspace. `outrider setup` in a terminal keeps a key for you"
)


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why nothing can be done with what was filled in."""

    message: str


def written(providers: Sequence[SetupProvider], file: Path) -> str:
    """The document, with nothing filled in.

    Args:
        providers: What there is to choose from.
        file: The user's settings file.
    """
    found = [f"- {one.name}: {one.found}" for one in providers if one.found]
    others = [
        f"- {one.name}: {one.title}" + (f", key variable {one.api_key_env}" if one.api_key_env else "")
        for one in providers
        if not one.found
    ]
    here = (
        "\n".join(found)
        if found
        else "Nothing was found on this machine: no key in a variable, no local server."
    )
    known = "\n".join(others)
    return f"""\
# Set up a model for Outrider

Fill in a provider and save: its models are listed below. Fill in one of them and save: one small request tries it, and if it
answers, your settings are written ({file}).
Write no key here. Name a variable that has it, or run `outrider setup` in a terminal: that keeps the key for you.

provider:
model:
key variable:
address:
api:

{HEADING}

Nothing yet.

## Providers

{here}

Others that are known:

{known}

Any other one: make up a name, and give its address with the version (https://…/v1) and its api: openai-chat, openai-responses,
anthropic, gemini or ollama.
"""


def read(text: str) -> SetupParams | Unclear | None:
    """What was filled in: the step to do, or why it cannot be done; None where nothing was.

    Args:
        text: The document.
    """
    given: dict[str, str] = {}
    for line in text.partition(HEADING)[0].splitlines():
        name, colon, value = line.partition(":")
        if colon and (field := name.strip().lower()) in _FIELDS:
            given.setdefault(field, value.strip())
    filled = {key: value for key, value in given.items() if value}
    if not filled:
        return None
    variable = filled.get("key variable")
    if variable is not None and (
        not (variable.isascii() and variable.isidentifier())
        or len(variable) > _LONGEST_VARIABLE
        or variable.startswith("sk_")
    ):
        return Unclear(_NO_KEY)
    provider, model = filled.get("provider"), filled.get("model")
    if provider is None:
        return Unclear("fill in the provider")
    step = {
        "action": "models" if model is None else "try",
        "provider": provider,
        "model": model and model.removeprefix(f"{provider}/"),
        "kind": filled.get("api"),
        "baseUrl": filled.get("address"),
        "apiKeyEnv": variable,
    }
    try:
        return SetupParams.from_wire({key: value for key, value in step.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        what = {"kind": "api", "baseUrl": "address"}.get(
            str(first["loc"][0]) if first["loc"] else "", "provider"
        )
        return Unclear(f"{what}: {first['msg'].removeprefix('Value error, ')}")


def with_result(text: str, result: str) -> str:
    """The document with what came of the last step.

    Args:
        text: The document.
        result: What came of it.
    """
    before, heading, rest = text.partition(HEADING)
    end = "" if before.endswith("\n") or not before else "\n\n"
    _, mark, after = rest.partition("\n## ")
    return f"{before}{'' if heading else end}{HEADING}\n\n{result}\n{mark}{after}"


def listed(models: Sequence[SetupModel]) -> str:
    """The models of a provider, as lines to copy one from."""
    lines = [f"- {one.name}" for one in models[:_MOST_SHOWN]]
    more = [f"- and {len(models) - _MOST_SHOWN} more"] if len(models) > _MOST_SHOWN else []
    return "\n".join(["Fill in one of these models, and save:", "", *lines, *more])
