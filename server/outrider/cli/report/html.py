"""HTML in the making. The one place that escapes: whatever is no `Html` is text, and is shown as text."""

import html
from typing import Final

from outrider.cli.terminal import visible

_EMPTY: Final = frozenset({"meta", "rect"})


class Html(str):
    """A piece of HTML that was made here, from escaped text alone."""

    __slots__ = ()


def text(value: str) -> Html:
    """A text, with every character spelled out that acts, or that makes it read differently from what it is."""
    return Html(html.escape(visible(value), quote=True))


def tag(element: str, /, *children: "Html | str | None", **attributes: str | float | bool | None) -> Html:
    """An element.

    Args:
        element: Such as `p`; a constant of the caller.
        children: Its content; a text is escaped, None is left out.
        attributes: Its attributes, `class_` for `class` and `aria_label` for `aria-label`. None and False are left
            out, True has no value.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in _EMPTY:
        return Html(f"<{element}{given} />")
    return Html(f"<{element}{given}>{joined(*children)}</{element}>")


def joined(*children: "Html | str | None") -> Html:
    """Pieces one behind the other; a text is escaped, None is left out."""
    return Html(
        "".join(child if isinstance(child, Html) else text(child) for child in children if child is not None)
    )


def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{text(str(value)).replace(chr(10), " ")}"'
