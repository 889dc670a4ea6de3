"""The front matter of a Markdown file: YAML between two lines of three dashes. Pure, and lenient as other agents are."""

from collections.abc import Mapping
from typing import Any, Final, cast

MOST_CHARACTERS: Final = 16_000
"""Of front matter; a longer one is none."""
_MARK: Final = "---"


def split(text: str) -> tuple[Mapping[str, Any], str]:
    """The front matter of a text and what follows it. Takes milliseconds and loads a library: for a thread.

    YAML that is not valid is read line by line, because many files hold an unquoted colon or glob.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not text.startswith(f"{_MARK}\n"):
        return {}, text
    head, found, body = text[len(_MARK) + 1 :].partition(f"\n{_MARK}\n")
    if not found:
        head, found = (
            text[len(_MARK) + 1 :].removesuffix("\n").removesuffix(f"\n{_MARK}"),
            text.endswith(_MARK),
        )
        body = ""
    if not found and not text.rstrip().endswith(f"\n{_MARK}"):
        return {}, text
    if len(head) > MOST_CHARACTERS:
        return {}, body
    return _read(head), body


def _read(head: str) -> Mapping[str, Any]:
    from yaml import AliasEvent, SafeLoader, YAMLError

    class Plain(SafeLoader):
        """YAML without aliases, by which a few lines could stand for a text without end."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(AliasEvent):  # pyright: ignore[reportUnknownMemberType] -- PyYAML has no types of its own
                raise YAMLError("an alias")
            return super().compose_node(parent, index)

    loader = Plain(head)
    try:
        found: Any = loader.get_single_data()  # pyright: ignore[reportUnknownMemberType] -- as above
        if isinstance(found, dict):
            return {str(key): value for key, value in cast("dict[Any, Any]", found).items()}
    except (YAMLError, ValueError, RecursionError):
        pass
    finally:
        loader.dispose()  # pyright: ignore[reportUnknownMemberType] -- as above
    return _line_by_line(head)


def _line_by_line(head: str) -> Mapping[str, Any]:
    """Lines as `key: text`, or as `key:` with the lines of a list below."""
    values: dict[str, Any] = {}
    items: list[str] | None = None
    """The list that a line may belong to."""
    for line in head.splitlines():
        item = line.strip()
        if items is not None and item.startswith("- "):
            items.append(item[2:].strip().strip("\"'"))
        elif not line.startswith((" ", "#", "-")):
            key, colon, value = line.partition(":")
            said = value.strip().strip("\"'")
            items = [] if colon and not said else None
            if colon:
                values[key.strip()] = said if items is None else items
    return {key: value or "" for key, value in values.items()}


def text_of(values: Mapping[str, Any], key: str) -> str:
    """A value as one line of text; empty where there is none."""
    value: Any = values.get(key)
    if isinstance(value, list):
        return " ".join(f"[{one}]" for one in cast("list[Any]", value))
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def list_of(values: Mapping[str, Any], key: str) -> list[str]:
    """A value as a list of texts: a list, or a text with commas."""
    value: Any = values.get(key)
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return [str(one) for one in cast("list[Any]", value)] if isinstance(value, list) else []
