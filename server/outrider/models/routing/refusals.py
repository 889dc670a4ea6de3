"""Which models refused tools, kept in a file over the processes, so that not each of them has to be refused once more.

It is for a while only: a server may learn. What is in the file is a hint; without it, or with one that cannot be read, a
model is asked as if nothing were known.
"""

import asyncio
import json
import logging
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast, get_args

from outrider.ports.clock import Clock, rfc3339
from outrider_protocol.settings import ToolFormat

log = logging.getLogger(__name__)

FILE: Final = "refused-tools.json"
KEPT: Final = timedelta(days=7)
MOST: Final = 200
"""Models in the file; the oldest go first."""
MOST_BYTES: Final = 1_000_000
"""A longer file is not ours."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    address: str
    """Where it was served: another server of that name may take tools."""
    form: ToolFormat
    at: datetime


class Refusals:
    """The file, and what is known of it."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Nothing is known before `load`; `clock` says how old something is."""
        self._path = path
        self._clock = clock
        self._known: dict[str, _Refusal] = {}
        self._writing: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Read the file."""
        self._known = await asyncio.to_thread(self._read)

    def form_of(self, model: str, address: str) -> ToolFormat | None:
        """How a model writes calls that refused tools there lately; None where nothing is known.

        Args:
            model: `provider/name`.
            address: Of its provider.
        """
        known = self._known.get(model)
        if known is None or known.address != address or self._clock.now() - known.at >= KEPT:
            return None
        return known.form

    def put(self, model: str, address: str, form: ToolFormat) -> None:
        """Remember that it refused tools now, and is asked in that format."""
        self._change(model, _Refusal(address, form, self._clock.now()))

    def forget(self, model: str) -> None:
        """Know nothing of it any more."""
        if model in self._known:
            self._change(model, None)

    async def close(self) -> None:
        """Wait until what changed is written."""
        if self._writing is not None:
            await self._writing

    def _change(self, model: str, refusal: _Refusal | None) -> None:
        before, changes = self._writing, {model: refusal}
        self._known = _with(self._known, changes)

        async def write() -> None:
            if before is not None:
                await before
            await asyncio.to_thread(self._write, changes)

        self._writing = asyncio.create_task(write(), name="remember who refused tools")

    def _read(self) -> dict[str, _Refusal]:
        known: dict[str, _Refusal] = {}
        with suppress(OSError, ValueError, RecursionError):
            if self._path.stat().st_size > MOST_BYTES:
                return {}
            held = json.loads(self._path.read_text("utf-8"))
            for model, said in held.items() if isinstance(held, dict) else ():  # pyright: ignore[reportUnknownVariableType] -- plain JSON
                if (one := _refusal(said)) is not None:  # pyright: ignore[reportUnknownArgumentType] -- as above
                    known[str(model)] = one  # pyright: ignore[reportUnknownArgumentType] -- as above
        return known

    def _write(self, changes: Mapping[str, _Refusal | None]) -> None:
        """Bring a change into the file, whatever other processes wrote there since."""
        oldest = self._clock.now() - KEPT
        kept = {model: one for model, one in _with(self._read(), changes).items() if one.at > oldest}
        latest = sorted(kept.items(), key=lambda item: item[1].at)[-MOST:]
        held = {
            model: {"address": one.address, "format": one.form, "at": rfc3339(one.at)}
            for model, one in latest
        }
        try:
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".refused-")  # only we may read it
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(held, file, ensure_ascii=False, indent=1)
            Path(name).replace(self._path)
        except OSError as problem:
            log.warning("%s cannot be written: %s", self._path, problem)


def _with(known: Mapping[str, _Refusal], changes: Mapping[str, _Refusal | None]) -> dict[str, _Refusal]:
    return {model: one for model, one in {**known, **changes}.items() if one is not None}


def _refusal(said: Any) -> _Refusal | None:
    if not isinstance(said, dict):
        return None
    held = cast("dict[str, Any]", said)
    address, form, at = (held.get(key) for key in ("address", "format", "at"))
    if not isinstance(address, str) or form not in get_args(ToolFormat) or form == "native":
        return None
    with suppress(TypeError, ValueError):
        when = datetime.fromisoformat(cast("str", at))
        return None if when.tzinfo is None else _Refusal(address, cast("ToolFormat", form), when)
    return None
