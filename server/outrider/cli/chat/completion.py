"""What is completed in the composer: `/` the commands, its own and custom ones, `@` the files of the workspace."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from outrider.cli.chat.slash import SlashCommand
from outrider.cli.terminal import one_line
from outrider.ports.text import visible

MOST_FILES: Final = 20_000
MOST_SHOWN: Final = 50
FRESH_SECONDS: Final = 10.0
"""How long a list is good."""
GIT_SECONDS: Final = 5.0


class ComposerCompleter(Completer):
    """Completes commands at the start of a message, and files anywhere."""

    def __init__(
        self,
        workspace: Path,
        commands: Mapping[str, SlashCommand],
        custom: Callable[[], Sequence[Mapping[str, Any]]],
    ) -> None:
        """Complete for a workspace; `custom` gives its custom commands, as `outrider.commands` listed them last."""
        self._workspace = workspace
        self._commands = commands
        self._custom = custom
        self._files: list[str] = []
        self._listed = float("-inf")

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The commands; files are found by `get_completions_async`."""
        text = document.text_before_cursor
        if (typed := _slash_word(text)) is None:
            return
        for name, one in () if text.startswith("//") else self._commands.items():
            if name.startswith(typed):
                yield Completion(f"/{name} ", -len(text), f"/{name}", one.description)
        for name, about in ((str(one["name"]), str(one["description"])) for one in self._custom()):
            # One that is called like a command of the composer has two slashes.
            called = f"//{name}" if name in self._commands else f"/{name}"
            if name.startswith(typed) and name == visible(name):
                yield Completion(f"{called} ", -len(text), called, one_line(about))

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Everything."""
        for one in self.get_completions(document, complete_event):
            yield one
        word = document.get_word_before_cursor(WORD=True)
        if word.startswith("@"):
            if time.monotonic() - self._listed > FRESH_SECONDS:
                self._files, self._listed = await files_of(self._workspace), time.monotonic()
            for path in matching(self._files, word[1:]):
                yield Completion(f"@{path} ", -len(word), one_line(path))


def _slash_word(text: str) -> str | None:
    """What was typed of a command's name; None where no command is typed."""
    is_one = text.startswith("/") and not any(map(str.isspace, text))
    return text.removeprefix("/").removeprefix("/") if is_one else None


def matching(files: Iterable[str], typed: str) -> list[str]:
    """The files whose path contains what was typed: those first whose name begins with it, the shortest first."""
    wanted = typed.casefold()
    found = [path for path in files if wanted in path.casefold()]
    found.sort(key=lambda path: (not Path(path).name.casefold().startswith(wanted), len(path), path))
    return found[:MOST_SHOWN]


async def files_of(workspace: Path) -> list[str]:
    """The files of a workspace, without what git ignores; of no repository without hidden folders."""
    listed = await _of_git(workspace)
    paths = listed if listed is not None else await asyncio.to_thread(_walked, workspace)
    # A name that the terminal would act on, or that is no one word, is not completed.
    return [path for path in paths if path == visible(path) and not any(map(str.isspace, path))]


async def _of_git(workspace: Path) -> list[str] | None:
    # A repository may name programs that git would run: a monitor, and what fetches what a partial clone lacks.
    command = [
        *("git", "-c", "core.fsmonitor=false", "-C", str(workspace)),
        *("ls-files", "-co", "--exclude-standard", "-z"),
    ]
    try:
        git = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"},
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(GIT_SECONDS):
            output, _ = await git.communicate()
    except TimeoutError:
        git.kill()
        await git.wait()
        return None
    if git.returncode:
        return None
    return output.decode("utf-8", "replace").split("\0")[:MOST_FILES]


def _walked(workspace: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(workspace):
        folders[:] = [one for one in folders if not one.startswith(".") and one != "node_modules"]
        found += [str(Path(folder, one).relative_to(workspace)) for one in files]
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]
