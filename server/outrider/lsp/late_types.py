"""Imports lsprotocol without making its 550 classes: attrs makes each one when it is first used.

attrs compiles the methods of a class when the class is declared. For all of lsprotocol that takes 150 ms and 15 MB in every
server, and a server uses some sixty of them.
"""

import importlib
import threading
from typing import Any

import attrs

_define = attrs.define
_making = threading.RLock()


class _Late:
    """Stands in a class for what attrs gives it, and has attrs make the class when somebody asks for that."""

    def __init__(self, cls: type[Any], name: str) -> None:
        self._cls, self._name = cls, name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        with _making:
            if self._cls.__dict__[self._name] is self:
                # In place, as other classes refer to this one: without slots. A server only reads attributes, so it needs no
                # comparisons and representations. `auto_detect` would take this object for an `__init__` of the class.
                _define(self._cls, slots=False, eq=False, repr=False, auto_detect=False)
                types = importlib.import_module("lsprotocol.types")
                attrs.resolve_types(self._cls, types.ALL_TYPES_MAP, {})
        return getattr(owner if instance is None else instance, self._name)


def _declare(cls: type[Any]) -> type[Any]:
    for name in ("__init__", "__attrs_attrs__"):  # to make one, and to ask attrs about the class
        setattr(cls, name, _Late(cls, name))
    return cls


def import_pygls() -> None:
    """Import lsprotocol so, and pygls with it. To be called before anything else imports them; does nothing new afterwards."""
    attrs.define = _declare
    try:
        importlib.import_module("lsprotocol.types")
    finally:
        attrs.define = _define
    # What this would do, which is to look at every class, is done above for each one that is used.
    vars(importlib.import_module("lsprotocol._hooks"))["_resolved_forward_references"] = True
    importlib.import_module("pygls.lsp.server")
