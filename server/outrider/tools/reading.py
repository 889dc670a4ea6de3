"""The tools that look: read, list, find, search. All of them see open buffers before the disk."""

from collections.abc import Awaitable, Callable

from pydantic import Field

from outrider.permissions.policy.decide import Access
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.ports.model import Image, ToolCall, content_hash
from outrider.tools.context import OUTSIDE, Action, ReadContext, ToolResult, error, ok
from outrider.tools.foreign import MOST_AROUND
from outrider.tools.nearest import missing
from outrider.tools.registry import Params, Tool
from outrider.workspace.documents.overlay import Picture, ReadProblem
from outrider.workspace.paths import Located, PathProblem
from outrider.workspace.search import SearchProblem, Show
from outrider.workspace.text.encoding import apart
from outrider.workspace.text.lines import split_lines

_MAY_BE_AN_IMAGE = frozenset({"binary", "encoding", "too_big"})
MOST_MATCHES = 200
"""Of a search that are shown; fewer with lines around them."""
LINE_LIMIT = 2000
"""Characters of one line that are shown."""


class ReadFile(Params):
    """Arguments of `read_file`."""

    path: str = Field(min_length=1)
    start_line: int | None = Field(default=None, ge=1, description="From 1.")
    end_line: int | None = Field(default=None, ge=1)


class ListFiles(Params):
    """Arguments of `list_files`."""

    path: str = Field(default=".", description="A folder. Default: the workspace.")


class FindFiles(Params):
    """Arguments of `find_files`."""

    pattern: str = Field(min_length=1, description="Glob such as **/*.py or src/*.ts.")


class SearchText(Params):
    """Arguments of `search`."""

    pattern: str = Field(min_length=1, description="Regular expression (ripgrep's dialect).")
    path: str | None = Field(default=None, description="File or folder to search. Default: the workspace.")
    glob: str | None = Field(default=None, description="Only files that match this glob, such as *.py.")
    context: int = Field(default=0, ge=0, le=MOST_AROUND, description="Lines above and below each match.")
    show: Show = Field(
        default="lines", description="counts: how many lines match in each file; files: only their paths."
    )


async def plan_read(params: ReadFile, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Read a stretch of a file."""
    located = await context.workspace.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)

    async def perform() -> ToolResult:
        snapshot = await context.workspace.overlay.read(located)
        if isinstance(snapshot, ReadProblem) and snapshot.kind in _MAY_BE_AN_IMAGE:
            picture = await context.workspace.overlay.read_image(located)
            if picture is not None:
                return _seen(picture, context)
        if isinstance(snapshot, ReadProblem) and snapshot.kind == "too_big":
            return await _part(params, located, snapshot, context)
        if isinstance(snapshot, ReadProblem):
            return await missing(located, snapshot, context)
        text = _numbered(
            apart(snapshot.text)[1], params.start_line or 1, params.end_line, context.limits.output_bytes
        )
        if isinstance(text, ToolResult):
            return text
        notes = [
            note
            for flag, note in ((snapshot.unsaved, "unsaved buffer"), (snapshot.read_only, snapshot.read_only))
            if flag
        ]
        shown = f"[{located.shown}: {'; '.join(map(str, notes))}]\n{text}" if notes else text
        return ok(shown, {located.display: snapshot.text})

    return _look(located, "Read", perform)


def _seen(picture: Picture | ReadProblem, context: ReadContext) -> ToolResult:
    """An image, for a model that takes one."""
    if isinstance(picture, ReadProblem):
        return error(picture.message)
    image = image_of(picture)
    shown = f"{image.name}: {image.media_type}, {image.width} × {image.height} pixels, {image.size} bytes"
    if not context.knowledge.takes_images:
        return error(f"[{shown}; not attached: this model does not support images]")
    return ToolResult("ok", f"[{shown}]", images=(image,), image_contents={image.hash: picture.content})


def image_of(picture: Picture) -> Image:
    """An image as a message names it."""
    head, content = picture.head, picture.content
    return Image(picture.path, content_hash(content), head.media_type, head.width, head.height, len(content))


async def _part(params: ReadFile, located: Located, problem: ReadProblem, context: ReadContext) -> ToolResult:
    """Lines of a file that is too big to be read as a whole."""
    first, last = params.start_line or 1, params.end_line
    if last is not None and last < first:
        return error(f"end_line {last} is before start_line {first}.")
    part = await context.workspace.overlay.read_part(
        located, first, last, LINE_LIMIT, context.limits.output_bytes
    )
    if isinstance(part, ReadProblem):
        return error(part.message)
    if not part.lines:
        return error(f"start_line {first} is past the end: the file has {part.seen} lines.")
    lines = [
        _line(number, line, part.cut.get(number - first, 0))
        for number, line in enumerate(part.lines, start=first)
    ]
    if part.more:
        lines.append(f"[more lines follow; continue with start_line={first + len(part.lines)}]")
    return ok("\n".join([f"[{problem.message}; this is part of it]", *lines]))


def _line(number: int, text: str, cut: int) -> str:
    return f"{number:>6}\t{text}" + (f" [… {cut} characters]" if cut else "")


def _look(located: Located, verb: str, perform: Callable[[], Awaitable[ToolResult]]) -> Action:
    title = f"{verb} {located.shown}{'' if located.inside else OUTSIDE}"
    grant = f"read:{located.uri}" if located.inside else None
    return Action(
        access=Access("read", inside=located.inside, grant=grant, paths=[located.names]),
        perform=perform,
        title=title,
        detail=f"It resolves to {located.resolved}.",
        digest=f"{title}\0{located.resolved}",
        covers=f"reading {located.shown}" if grant else "",
    )


def _numbered(text: str, first: int, last: int | None, limit: int) -> str | ToolResult:
    lines = split_lines(text)
    if not lines:
        return "[the file is empty]"
    if first > len(lines):
        return error(f"start_line {first} is past the end: the file has {len(lines)} lines.")
    if last is not None and last < first:
        return error(f"end_line {last} is before start_line {first}.")
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 : last], start=first):
        bare = line.rstrip("\r\n")
        cut = _line(number, bare[:LINE_LIMIT], max(0, len(bare) - LINE_LIMIT))
        size += len(cut.encode("utf-8", "replace")) + 1
        if size > limit and shown:
            shown.append(f"[stopped: the file has {len(lines)} lines; continue with start_line={number}]")
            break
        shown.append(cut)
    return "\n".join(shown)


async def plan_list(params: ListFiles, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """List a folder."""
    located = await context.workspace.folders.locate(params.path)
    if isinstance(located, PathProblem):
        return error(located.message)

    async def perform() -> ToolResult:
        listing = await context.workspace.overlay.list_directory(located, limit=1000)
        if isinstance(listing, ReadProblem):
            return await missing(located, listing, context)
        return ok(listing.render())

    return _look(located, "List", perform)


async def plan_find(params: FindFiles, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Find files by name."""

    async def perform() -> ToolResult:
        found = await context.workspace.search.find(params.pattern, limit=500)
        if isinstance(found, SearchProblem):
            return error(found.message)
        return ok(found.render())

    return Action(access=Access("read"), perform=perform)


async def plan_search(params: SearchText, _call: ToolCall, context: ReadContext) -> Action | ToolResult:
    """Search texts."""
    located = None
    if params.path is not None and params.path != ".":
        located = await context.workspace.folders.locate(params.path)
        if isinstance(located, PathProblem):
            return error(located.message)

    async def perform() -> ToolResult:
        if located is not None and is_secret_file(located.display):
            snapshot = await context.workspace.overlay.read(located)
            if not isinstance(snapshot, ReadProblem):
                context.masking.learn_settings(snapshot.text)
        around = params.context if params.show == "lines" else 0
        found = await context.workspace.search.search(
            params.pattern, located, params.glob, limit=MOST_MATCHES // (1 + around), around=around
        )
        if isinstance(found, SearchProblem):
            return error(found.message)
        # Nothing is found in what is not there, and that would be taken for an answer.
        if located is not None and not found.counts:
            there = await context.workspace.overlay.read(located)
            if isinstance(there, ReadProblem) and there.kind == "not_found":
                return await missing(located, there, context)
        return ok(found.render(params.show))

    if located is None:
        return Action(access=Access("read"), perform=perform)
    return _look(located, "Search", perform)


READ_FILE = Tool(
    "read_file",
    "Read a text file as the editor has it, with unsaved changes. Each line begins with its number and a tab, which are not "
    "part of the text. Of a long file read only what you need: find the lines with search, then give start_line and "
    "end_line. A file over 10 MiB is read in parts and cannot be edited. Images (PNG, JPEG, GIF, WebP) are attached if the "
    'model supports them. Example: {"path": "src/app.py", "start_line": 120, '
    '"end_line": 180}',
    "read",
    ReadFile,
    plan_read,
)
LIST_FILES = Tool(
    "list_files",
    "List the entries of one folder, at most 1,000; it does not go deeper. To find files by name use find_files. Example: "
    '{"path": "src"}',
    "read",
    ListFiles,
    plan_list,
)
FIND_FILES = Tool(
    "find_files",
    "Find files by their path, at most 500; ignored files and installed packages are left out. For texts in files use search. Example: "
    '{"pattern": "src/**/*_test.py"}',
    "read",
    FindFiles,
    plan_find,
)
SEARCH = Tool(
    "search",
    "Search texts with a regular expression, in unsaved buffers too. Shows up to 200 matching lines as path:line: text, and "
    "says how many there are. For names of files use find_files. Ignored files, installed packages, secret files and files "
    'over 10 MiB are left out, unless `path` names one. Example: {"pattern": "def price\\\\b", "glob": "*.py", "context": 2}',
    "read",
    SearchText,
    plan_search,
)


async def unseen(located: Located, context: ReadContext) -> ToolResult | None:
    """Why a file must not be looked through for an edit, None where it may: what is not found in it would be told.

    Args:
        located: The file.
        context: The turn.
    """
    why = context.workspace.why_hidden(located.names)
    if why is None or await context.knowledge.seen(located.display) is not None:
        return None
    return error(f"{located.display} is a secret file: {why}. Read it first; the user decides.")


async def misfit(located: Located, said: str, context: ReadContext) -> str:
    """Why a change does not fit a file; of one outside the workspace that was not read, nothing that tells its text.

    Args:
        located: The file.
        said: Why it does not fit, with the lines that are there.
        context: The turn.
    """
    if located.inside or await context.knowledge.seen(located.display) is not None:
        return f"{located.shown}: {said}"
    return f"{located.shown}: the change does not fit. The file is outside the workspace: read it first; the user decides."
