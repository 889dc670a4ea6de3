"""`outrider setup`: from nothing to a model that answers, at the keyboard or by options.

Nothing is written before the last step. A key is read without an echo or from standard input, and never printed.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TextIO

from rich.console import Console

from outrider import app as composition
from outrider.cli.exits import ExitCode
from outrider.cli.problems import Problems
from outrider.cli.terminal import Keyboard, make_console, visible
from outrider.setup.steps import Setup
from outrider.surroundings import surroundings
from outrider_protocol.choices import ProviderKind
from outrider_protocol.commands import KeyPlace, SetupModel, SetupParams, SetupProvider, SetupResult

_MOST_SHOWN: Final = 30
"""Models in one listing; some of the name that is looked for narrows it."""
_PLACES: Final[dict[KeyPlace, str]] = {
    "keyring": "in the system's keyring",
    "file": "in a file that only you can read",
    "env": "in a variable that you set yourself",
}
_KINDS: Final[tuple[ProviderKind, ...]] = ("openai-chat", "openai-responses", "anthropic", "gemini", "ollama")


class SetupKeyboard(Keyboard, Protocol):
    """A keyboard at which a key can be typed, too."""

    async def secret(self, draw: Callable[[bool], None]) -> str | None:
        """Ask for a line that is not shown; None at the end of the input."""
        ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say; what they leave open is asked."""

    provider: str | None = None
    kind: ProviderKind | None = None
    base_url: str | None = None
    model: str | None = None
    key: str | None = None
    """From standard input."""
    key_env: str | None = None
    keep: KeyPlace | None = None
    tries: bool = True
    """Whether the model is tried."""
    lists: bool = False
    """Whether only what there is to choose from is shown."""


class _AbortedError(Exception):
    """The user left; nothing is written."""


@dataclass(slots=True)
class _Dialog:
    """The questions and the answers."""

    setup: Setup
    console: Console
    keyboard: SetupKeyboard
    problems: Problems
    is_saving: bool = False
    """Whether the last step has begun."""

    def say(self, text: str, style: str | None = None, *, is_copied: bool = False) -> None:
        """Show a text by whole words; with `is_copied` its lines stay as they are."""
        whole = is_copied or not self.console.is_terminal
        self.console.print(visible(text), style=style, markup=False, highlight=False, soft_wrap=whole)

    async def ask(self, question: str, *, default: str = "", is_secret: bool = False) -> str:
        """An answer in a line."""

        def draw(early: bool) -> None:
            if early:
                self.say("(what was typed before the question was shown does not count)", "dim")
            more = f" [{default}]" if default else ""
            self.console.print(f"{visible(question)}{visible(more)}: ", end="", markup=False, highlight=False)
            self.console.file.flush()

        answered = await (self.keyboard.secret(draw) if is_secret else self.keyboard.answer(draw))
        if is_secret:
            self.say("")
        if answered is None:
            raise _AbortedError
        return answered.strip() or default

    async def choose(self, question: str, choices: Sequence[str], *, default: int = 0) -> int:
        """The number of one of some choices, from 0."""
        for number, choice in enumerate(choices, 1):
            self.say(f"  {number:>2}  {choice}")
        while True:
            answer = await self.ask(question, default=str(default + 1))
            if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(choices):
                return int(answer) - 1
            self.say(f"give a number from 1 to {len(choices)}", "yellow")


async def set_up(wanted: Wanted, keyboard: SetupKeyboard | None, json_on: TextIO | None) -> ExitCode:
    """Do all of it in this process, which needs no server.

    Args:
        wanted: The options.
        keyboard: Where questions are answered; None: there are none.
        json_on: Where the result goes as JSON, instead of being shown.
    """
    console, problems = make_console(sys.stdout), Problems()
    async with composition.setup(surroundings()) as (setup, messages):
        for message in messages:
            problems.warning(message)
        if keyboard is not None:
            return await by_hand(setup, wanted, console, keyboard, problems)
        if wanted.lists:
            return await show_choices(setup, wanted, console, problems, json_on)
        return await by_options(setup, wanted, console, problems, json_on)


async def by_hand(
    setup: Setup, wanted: Wanted, console: Console, keyboard: SetupKeyboard, problems: Problems
) -> ExitCode:
    """Lead a user through the steps; what the options say already is not asked.

    Args:
        setup: Does the steps.
        wanted: The options.
        console: Where it is shown.
        keyboard: Where it is answered.
        problems: Where errors go.
    """
    dialog = _Dialog(setup, console, keyboard, problems)
    try:
        return await _steps(dialog, wanted)
    except _AbortedError:
        _left(dialog)
        return ExitCode.CANCELLED
    except asyncio.CancelledError:  # so Ctrl-C comes
        if not dialog.is_saving:
            _left(dialog)
        raise


def _left(dialog: _Dialog) -> None:
    dialog.say("")  # ends the line of the question
    dialog.problems.note("nothing was written")


async def _steps(dialog: _Dialog, wanted: Wanted) -> ExitCode:
    listed = await dialog.setup.do(SetupParams(action="list"))
    params = await _provider(dialog, wanted, listed)
    if problem := dialog.setup.problem_of(params):
        dialog.problems.error(problem)
        return ExitCode.USAGE
    keep: KeyPlace | None = wanted.keep
    name = params.model_copy(update={"key": None}).provider or ""
    shown = next((one for one in listed.providers or () if one.name == name), None)
    model = wanted.model
    if shown is None or shown.needs_key:
        params = await _key(dialog, params, shown)
    while True:
        if model is None:
            model = await _model(dialog, params)
        if not wanted.tries:
            break
        dialog.say(f"one small request to {name}/{model} …", "dim")
        tried = await dialog.setup.do(params.model_copy(update={"action": "try", "model": model}))
        trial = tried.trial
        if trial is not None and trial.ok:
            dialog.say(f"it answers, in {trial.seconds:g} s: {trial.detail}", "green")
            break
        dialog.say(trial.detail if trial else tried.problem or "", "red")
        next_step = await dialog.choose(
            "What now", ["another model", "another key", "save it all the same", "leave"]
        )
        if next_step == 0:
            model = None
        elif next_step == 1:
            params = await _key(
                dialog, params.model_copy(update={"key": None, "api_key_env": None}), shown, anew=True
            )
        elif next_step == 2:
            break
        else:
            raise _AbortedError
    if params.key is not None and keep is None:
        places: list[KeyPlace] = [one for one in listed.keeps or () if one in _PLACES]
        picked = await dialog.choose("Where to keep the key", [_PLACES[one] for one in places])
        keep = places[picked]
    if keep == "env" and params.key is not None:
        usual = params.api_key_env or (shown.api_key_env if shown else None) or f"{_upper(name)}_API_KEY"
        while not (
            (variable := await dialog.ask("Name of the variable", default=usual)).isidentifier()
            and variable.isascii()
        ):
            dialog.say("a variable's name has letters, digits and _ alone", "yellow")
        params = params.model_copy(update={"api_key_env": variable})
    return await _saved(dialog, params, model, keep)


async def _saved(dialog: _Dialog, params: SetupParams, model: str, keep: KeyPlace | None) -> ExitCode:
    update = {"action": "save", "model": model, "keep": keep if params.key is not None else None}
    dialog.is_saving = True
    saved = await dialog.setup.do(_checked(params, update))
    if saved.problem is not None:
        dialog.problems.error(saved.problem)
        return ExitCode.FAILED
    dialog.say(f"\nwritten to {saved.file}:", "bold", is_copied=True)
    dialog.say(saved.written or "", is_copied=True)
    if keep == "env" and params.key is not None:
        dialog.say(
            f"The key was not kept: have {params.api_key_env} set where your editor is started.", "yellow"
        )
    here = 'outrider run "explain this project"' if sys.platform == "win32" else "outrider"
    dialog.say(f"Open your editor, or begin here, in the folder of a project: {here}")
    return ExitCode.COMPLETED


async def _provider(dialog: _Dialog, wanted: Wanted, listed: SetupResult) -> SetupParams:
    """The provider, by the options or by choice."""
    given: dict[str, Any] = {
        "kind": wanted.kind,
        "base_url": wanted.base_url,
        "api_key_env": wanted.key_env,
        "key": wanted.key,
    }
    if wanted.provider is not None:
        return SetupParams(action="models", provider=wanted.provider, **given)
    providers = listed.providers or []
    dialog.say("Which provider? Those found here come first.", "bold")
    lines = [_line_of(one) for one in providers]
    picked = await dialog.choose("Provider", [*lines, "another one, by its address"])
    if picked < len(providers):
        return SetupParams(action="models", provider=providers[picked].name, **given)

    def at(address: str, name: str = "my") -> SetupParams:
        asked: dict[str, Any] = {**given, "base_url": address}
        return SetupParams(action="models", provider=name, **asked)

    base_url = await _right(dialog, "Address, with its version (https://…/v1)", "", at)
    given["kind"] = _KINDS[await dialog.choose("The API it speaks", _KINDS)]
    name = await _right(dialog, "A name for it", "my", lambda name: at(base_url, name))
    return at(base_url, name)


async def _right(dialog: _Dialog, question: str, default: str, of: Callable[[str], SetupParams]) -> str:
    """An answer with which there is nothing wrong: it is asked for until then."""
    while True:
        answer = await dialog.ask(question, default=default)
        problem = dialog.setup.problem_of(of(answer))
        if problem is None:
            return answer
        dialog.say(problem, "yellow")


def _line_of(one: SetupProvider) -> str:
    return f"{one.title}: {one.found}" if one.found else f"{one.title} ({one.base_url})"


async def _key(
    dialog: _Dialog, params: SetupParams, shown: SetupProvider | None, *, anew: bool = False
) -> SetupParams:
    """The key, unless there is one already or none is wanted."""
    if params.key is not None or params.api_key_env is not None:
        return params
    has_one = shown is not None and (
        shown.configured or bool(dialog.setup.around.env.get(shown.api_key_env or "", "").strip())
    )
    if has_one and not anew:
        return params
    if shown is None:
        question = "Key, which is not shown (Enter: it needs none)"
    else:
        question = f"Key of {shown.title}, which is not shown"
    while True:
        key = await dialog.ask(question, is_secret=True)
        if key:
            return params.model_copy(update={"key": key})
        if shown is None:
            return params
        dialog.say("paste the key and press Enter; Ctrl-C leaves", "yellow")


async def _model(dialog: _Dialog, params: SetupParams) -> str:
    """The model, of those that the provider lists, or by its name."""
    found = await dialog.setup.do(params.model_copy(update={"action": "models"}))
    models = found.models or []
    if found.problem is not None:
        dialog.say(found.problem, "red")
    while models:
        dialog.say(
            f"{params.provider} has {len(models)} models:" if len(models) > 1 else "It has one model:", "bold"
        )
        for number, one in enumerate(models[:_MOST_SHOWN], 1):
            dialog.say(f"  {number:>2}  {_line_of_model(one)}")
        if len(models) > _MOST_SHOWN:
            dialog.say(f"      and {len(models) - _MOST_SHOWN} more: type a part of the name")
        answer = await dialog.ask("Model, by number or name", default="1" if len(models) == 1 else "")
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= min(len(models), _MOST_SHOWN):
            return models[int(answer) - 1].name
        if any(one.name == answer for one in models):
            return answer
        fitting = [one for one in found.models or () if answer and answer.casefold() in one.name.casefold()]
        if not fitting and answer:
            return answer  # some providers list not all they have
        models = fitting or models
    while not (name := await dialog.ask("Model, by its name there (Ctrl-C leaves)")):
        pass
    return name


def _line_of_model(one: SetupModel) -> str:
    facts = [
        *([f"{one.context_window:,} tokens"] if one.context_window else []),
        *([f"{one.price.input:g} in, {one.price.output:g} out"] if one.price else []),
        *(["no tools of its own"] if one.tools is False else []),
    ]
    return f"{one.name}  ({', '.join(facts)})" if facts else one.name


async def by_options(
    setup: Setup, wanted: Wanted, console: Console, problems: Problems, json_on: TextIO | None
) -> ExitCode:
    """Do what the options say, and ask nothing.

    Args:
        setup: Does the steps.
        wanted: The options, with a provider and a model.
        console: Where it is shown.
        problems: Where errors go.
        json_on: Where the result goes as JSON, instead of being shown.
    """
    params = SetupParams(
        action="models",
        provider=wanted.provider,
        kind=wanted.kind,
        base_url=wanted.base_url,
        api_key_env=wanted.key_env,
        key=wanted.key,
    )
    trial = None
    if wanted.tries:
        tried = await setup.do(params.model_copy(update={"action": "try", "model": wanted.model}))
        trial = tried.trial
        if trial is None or not trial.ok:
            problems.error(f"{trial.detail if trial else tried.problem}; nothing was written")
            return ExitCode.FAILED
    keep = wanted.keep
    if wanted.key is not None and keep is None:
        keep = next(iter((await setup.do(SetupParams(action="list"))).keeps or ()), "env")
    update = {"action": "save", "model": wanted.model, "keep": keep if wanted.key is not None else None}
    saved = await setup.do(_checked(params, update))
    if saved.problem is not None:
        problems.error(saved.problem)
        return ExitCode.FAILED
    if json_on is not None:
        print(json.dumps(saved.model_copy(update={"trial": trial}).to_wire()), file=json_on)
        return ExitCode.COMPLETED
    if trial is not None:
        console.print(visible(f"{saved.model} answers: {trial.detail}"), soft_wrap=True)
    console.print(visible(f"written to {saved.file}:\n{saved.written}"), soft_wrap=True)
    return ExitCode.COMPLETED


async def show_choices(
    setup: Setup, wanted: Wanted, console: Console, problems: Problems, json_on: TextIO | None
) -> ExitCode:
    """Show the providers, or the models of the one that is named.

    Args:
        setup: Does the steps.
        wanted: The options.
        console: Where it is shown.
        problems: Where errors go.
        json_on: Where it goes as JSON, instead of being shown.
    """
    if wanted.provider is None:
        found = await setup.do(SetupParams(action="list"))
    else:
        given: dict[str, Any] = {"kind": wanted.kind, "base_url": wanted.base_url, "key": wanted.key}
        params = SetupParams(action="models", provider=wanted.provider, api_key_env=wanted.key_env, **given)
        found = await setup.do(params)
    if found.problem is not None:
        problems.error(found.problem)
        return ExitCode.FAILED
    if json_on is not None:
        print(json.dumps(found.to_wire()), file=json_on)
        return ExitCode.COMPLETED
    lines = [f"{one.name}  {_line_of(one)}" for one in found.providers or ()]
    for line in [*lines, *(_line_of_model(one) for one in found.models or ())]:
        console.print(visible(line), soft_wrap=True)
    return ExitCode.COMPLETED


def _checked(params: SetupParams, update: dict[str, Any]) -> SetupParams:
    """The params with others in them, which are looked at as those of the wire are."""
    return SetupParams(**{**dict(params), **update})


def _upper(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper()


def read_key() -> str:
    """The key from standard input, of which the first line counts."""
    return sys.stdin.readline().strip()
