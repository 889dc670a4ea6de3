"""Leaves the methods of dataclasses uncompiled until they are first called, before Python 3.13.

A dataclass has its methods compiled from text, one by one, when it is declared. The server declares 400 of them when it
starts, which took a fifth of the start, and never calls most of their methods. Python 3.13 compiles the methods of a class at once.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

_Method = Callable[..., Any]


def compile_methods_late() -> None:
    """Have it so for all dataclasses that are declared from now on. Does nothing where Python compiles them otherwise."""
    inside = dataclasses.__dict__
    compiled: Callable[..., _Method] | None = inside.get("_create_fn")
    if compiled is None:
        return

    def create(name: str, *source: Any, **names: Any) -> _Method:
        return _late(name, lambda: compiled(name, *source, **names))

    inside["_create_fn"] = create


def _late(name: str, compiled: Callable[[], _Method]) -> _Method:
    method: _Method | None = None

    def late(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal method
        if method is None:
            method = compiled()
        for owner in type(self).__mro__:
            if vars(owner).get(name) is late:
                setattr(owner, name, method)
        return method(self, *args, **kwargs)

    late.__name__ = name  # dataclasses sets the method under it
    return late
