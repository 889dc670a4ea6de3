"""Takes over plain values of options without pydantic, by which typer converts each value.

Its import takes longer than all that a command such as `outrider trust list` does. What is not plain goes typer's own way. The names
are typer's private ones: where a version has them no longer, the import fails, and all values go that way.
"""

import os
from pathlib import Path
from typing import Any, get_args

from typer import core
from typer._click import Context
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param


class _Plain(RuntimeParam):
    """Values that are as they are wanted; others are converted by typer."""

    def __init__(self, descriptor: TypeDescriptor) -> None:
        super().__init__(descriptor.parameter_info, descriptor.annotation)
        object.__setattr__(self, "descriptor", descriptor)

    def _coerce_value(self, value: Any, param: Any, ctx: Context) -> Any:
        descriptor: TypeDescriptor = self.__dict__["descriptor"]
        if descriptor.is_list and get_args(descriptor.annotation) == (str,):
            if all(isinstance(one, str) for one in value):
                return list(value)
        elif descriptor.is_choice:
            if value in (descriptor.choices or ()):
                return value
        elif descriptor.annotation is str or isinstance(
            value, int | float
        ):  # a number is a default: what is typed is text
            if type(value) is descriptor.annotation:
                return value
        elif descriptor.annotation is Path and _is_free(descriptor.parameter_info, value):
            return Path(value)
        converting = build_runtime_param(descriptor)
        return converting._coerce_value(value, param=param, ctx=ctx)  # pyright: ignore[reportPrivateUsage]


def _is_free(info: Any, value: Any) -> bool:
    """Whether a path is taken whatever lies there."""
    is_checked = info.exists or info.resolve_path or info.path_type or info.writable
    return (
        not is_checked
        and info.file_okay
        and info.dir_okay
        and (not os.access(value, os.F_OK) or os.access(value, os.R_OK))
    )


def take_plain_values() -> None:
    """Have it so for all commands that are made from now on."""
    core.build_runtime_param = _Plain  # pyright: ignore[reportPrivateImportUsage]
