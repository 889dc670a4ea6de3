"""Writes a provider and the model into the user's `settings.toml`, and leaves everything else in it as it stands."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from outrider.permissions.policy.own_file import MOST_BYTES, locked, replace_text

_KEYS: Final = ("apiKeyEnv", "apiKeyCommand", "apiKeyFile", "apiKeyKeyring")
"""The settings that say where a key is: a provider has one of them."""
HEADING: Final = "# Settings of Outrider, for every editor. A key is never one of them."


@dataclass(frozen=True, slots=True)
class Change:
    """What is written."""

    model: str
    """The setting `model`."""
    provider: str
    values: Mapping[str, Any]
    """Settings of the provider; empty where it stays as it is."""

    @property
    def lines(self) -> str:
        """The lines of a settings file that say that, for a user."""
        import tomlkit

        document = tomlkit.document()
        document["model"] = self.model
        if self.values:
            _set_provider(document, self.provider, self.values)
        return tomlkit.dumps(document).strip() + "\n"


def problem_of(path: Path) -> str | None:
    """Why the file cannot be changed, None if it can. Blocks."""
    found = _read(path)
    return found if isinstance(found, str) else None


def has_provider(path: Path, name: str) -> bool:
    """Whether the file has a provider of that name. Blocks."""
    found = _read(path)
    given = found.values.get("providers") if isinstance(found, _Text) else None
    return isinstance(given, dict) and name in given


def write(path: Path, change: Change) -> str | None:
    """Change the file, or make it; as a whole or not at all. Blocks.

    Returns:
        Why it was not, None if it was.
    """
    try:
        with locked(path):
            found = _read(path)
            if isinstance(found, str):
                return found
            text = _changed(found.text, change)
            if text is None:
                return f"{path} cannot be changed without rewriting what you wrote; add this to it:\n{change.lines}"
            replace_text(path, text)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror or type(error).__name__}"
    return None


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    values: dict[str, Any]


def _read(path: Path) -> _Text | str:
    try:
        if path.exists() and (not path.is_file() or path.stat().st_size > MOST_BYTES):
            return f"{path} is not a settings file"
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return _Text("", {})
    except (OSError, UnicodeDecodeError) as error:
        return f"{path} cannot be read: {error}"
    try:
        return _Text(text, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # it descends into lists and tables
        return f"{path} is not valid TOML ({error}): correct it, or put it away, and set up again"


def _changed(text: str, change: Change) -> str | None:
    """The text with the change in it; None where it would not say just that."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    before = tomllib.loads(text)
    try:
        document = tomlkit.parse(text or f"{HEADING}\n\n")
        document["model"] = change.model
        if change.values:
            _set_provider(document, change.provider, change.values)
        after = tomlkit.dumps(document)
        said = tomllib.loads(after)
    except (TOMLKitError, tomllib.TOMLDecodeError, TypeError, AttributeError, ValueError):
        return None
    # A library that writes between what others wrote is not taken at its word.
    return after if said == _wanted(before, change) else None


def _wanted(before: dict[str, Any], change: Change) -> dict[str, Any]:
    wanted: dict[str, Any] = {**before, "model": change.model}
    if change.values:
        providers = cast("dict[str, Any]", before.get("providers", {}))
        mine = cast("dict[str, Any]", providers.get(change.provider, {}))
        kept = {key: value for key, value in mine.items() if key not in _KEYS}
        wanted["providers"] = {**providers, change.provider: {**kept, **change.values}}
    return wanted


def _set_provider(document: Any, name: str, values: Mapping[str, Any]) -> None:
    import tomlkit

    if "providers" not in document:
        document["providers"] = tomlkit.table(is_super_table=True)
    providers = document["providers"]
    if name not in providers:
        table = tomlkit.table()
        for key, value in values.items():
            table.add(key, value)
        providers[name] = table
        return
    for key in _KEYS:
        providers[name].pop(key, None)
    for key, value in values.items():
        providers[name][key] = value
