"""Who answers the server's questions: first the rules of the command line, then the user at the keyboard.

Without either a question stays unanswered; nothing here ever invents a yes. Protected files that a command changed are put back
where nobody can be asked: left in place, other programs would act on them.
"""

import asyncio
import os
import shlex
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, Final, cast

import outrider_protocol as names
from outrider.cli.diffs import diff_lines
from outrider.cli.render import Renderer, essential_argument
from outrider.cli.terminal import Keyboard, one_line, visible
from outrider.lsp.client import Question
from outrider.ports.patterns import Pattern, built, escaped, linear
from outrider.ports.text import spelled_out
from outrider_protocol import EDIT_TOOLS, logged

Data = dict[str, Any]

REVIEW_KEY: Final = "r"
_WAYS: Final = "y accept, n reject, e edit, a accept this and all others, q back"


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """One hunk of an edit that waits for a yes."""

    id: str
    path: str
    operation: str
    hunk: logged.WireHunk | None
    """Its lines; None for what has none, such as a renaming."""
    to: str = ""

    @property
    def title(self) -> str:
        """What it does, and where."""
        path = one_line(self.path)
        match self.operation:
            case "rename":
                return f"rename {path} to {one_line(self.to)}"
            case "create" | "delete":
                return f"{self.operation} {path}"
            case _:
                return f"{path} line {self.hunk['line'] if self.hunk else 1}"

    @property
    def may_be_edited(self) -> bool:
        """Whether it puts lines in, which may be others."""
        return self.hunk is not None and self.operation not in {"delete", "rename"}


def changes_of(proposed: Sequence[logged.EditProposed]) -> list[ReviewedChange]:
    """The hunks of what was proposed together, in order.

    Args:
        proposed: The data of each `edit.proposed`.
    """
    found: list[ReviewedChange] = []
    for data in proposed:
        for number, hunk in enumerate(data["hunks"] or [None], start=1):
            name, to = f"{data['changeId']}#{number}", data.get("to", "")
            found.append(ReviewedChange(name, data["path"], data["operation"], hunk, to))
    return found


@dataclass(slots=True)
class HunkReview:
    """One review."""

    changes: Sequence[ReviewedChange]
    say: Callable[[str, str], None]
    """Shows a line in a style."""
    ask: Callable[[str], Awaitable[str | None]]
    """Shows a text and gives the line that is typed then, None at the end of the input."""
    suspended: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Leaves the terminal to the user's editor."""

    async def decide(self) -> list[Data] | None:
        """Go through all changes; gives the `review` of an answer, None where the user went back."""
        decided: list[Data] = []
        for number, change in enumerate(self.changes, start=1):
            self.say(f"  change {number} of {len(self.changes)}: {change.title}", "bold")
            for line in diff_lines([change.hunk])[1:] if change.hunk else []:
                self.say(f"    {visible(line)}", {"+": "green", "-": "red"}.get(line[:1], ""))
            one = await self._decide(change)
            if one is None:
                return None
            if one == "all":
                return [
                    *decided,
                    *({"id": rest.id, "decision": "take"} for rest in self.changes[number - 1 :]),
                ]
            decided.append(cast("Data", one))
        return decided

    async def _decide(self, change: ReviewedChange) -> Data | str | None:
        while True:
            typed = await self.ask(f"  {_WAYS}: ")
            match (typed or "").strip().lower():
                case "y":
                    return {"id": change.id, "decision": "take"}
                case "n":
                    reason = ((await self.ask("  why not? Enter for no reason: ")) or "").strip()
                    return {"id": change.id, "decision": "reject"} | ({"reason": reason} if reason else {})
                case "a":
                    return "all"
                case "e":
                    if (text := await self._edited(change)) is not None:
                        return {"id": change.id, "decision": "take", "text": text}
                case "" | "q":
                    return None
                case other:
                    self.say(f"  “{visible(other)}” is not one of them", "yellow")

    async def _edited(self, change: ReviewedChange) -> str | None:
        """The lines that it puts in, as the user wrote them in their own editor; None where they did not."""
        if change.hunk is None or not change.may_be_edited:
            self.say("  there are no lines to edit; choose y or n", "yellow")
            return None
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor:
            self.say("  no editor is set: set VISUAL or EDITOR", "yellow")
            return None
        with tempfile.TemporaryDirectory() as folder:
            # With the name, so that the editor knows the language.
            file = Path(folder, PurePath(change.path).name)
            await asyncio.to_thread(_write, file, str(change.hunk["added"]))
            try:
                async with self.suspended():
                    editing = await asyncio.create_subprocess_exec(*shlex.split(editor), str(file))
                    code = await editing.wait()
                text = await asyncio.to_thread(_read, file)
            except (OSError, ValueError) as problem:
                self.say(f"  {visible(editor)} could not be used: {problem}", "yellow")
                return None
        if code:
            self.say(f"  {visible(editor)} ended with {code}, so nothing was changed", "yellow")
            return None
        if text == change.hunk["added"]:  # whoever leaves an editor without saving has not said yes
            self.say("  nothing was edited; y accepts the change as it is", "yellow")
            return None
        return text


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="")


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


COMMAND_TOOL: Final = "run_command"
OUTSIDE: Final = " outside the workspace"
_OUTSIDE_SANDBOX: Final = f"{names.RUN_OUTSIDE}: "
"""How the title of a command without a sandbox begins."""
_OF_FILES: Final = {"put-back": names.PUT_BACK, "keep": names.KEEP}
"""What `--yes-to` says of protected files that a command changed."""

# Answers that open a document, which a terminal cannot do.
_NEED_AN_EDITOR: Final = frozenset({names.REVIEW, names.ANSWER_IN_DOCUMENT})
# In a command a `*` stays within one simple command: it never reaches over what joins or nests commands.
_SHELL_JOINTS: Final = r"[^;&|<>$`(){}\n\r\\]*"


_TOO_EARLY: Final = "Text typed before the question appeared, or pasted, is ignored."
_COUNTS: Final = linear("answers.counts", r" \((?:[+−]\d+ ?)+\)")
"""What a title says of an edit's size, which a pattern need not know."""
_BEGINNINGS: Final = (
    "Change ",
    "Edit ",
    "Create ",
    "Delete ",
    "Rename ",
    "Run: ",
    _OUTSIDE_SANDBOX,
    "Read ",
    "List ",
    "Search ",
    "Tool ",
    "*",
    "?",
)


@dataclass(frozen=True, slots=True)
class OpenItem:
    """An approval, a question or a call of a client's tool that waits."""

    id: str
    kind: str
    title: str
    call: str = ""
    """For an approval: the call as `tool: essential argument`."""
    tool: str = ""
    detail: str = ""
    free_form: bool = False
    has_buttons: bool = True
    """Whether it can be answered with a `window/showMessageRequest`."""
    changes: Sequence[ReviewedChange] = ()
    """For an edit: what can be decided one by one."""
    summary: str = ""
    """One line that says what will happen, where the title can be long."""
    options: tuple[str, ...] = ()
    """Its buttons."""
    group: str = ""
    """For edits of one step that are asked about together: the id of the first of them."""

    @property
    def puts_back(self) -> bool:
        """Whether it is about protected files that a command changed, which only an answer for just that decides."""
        return self.kind == "approval" and names.PUT_BACK in self.options

    @property
    def head(self) -> str:
        """What says in one line what it is about."""
        return self.summary or self.title

    @property
    def leaves_sandbox(self) -> bool:
        """Whether it is about a command without a sandbox."""
        return self.title.startswith(_OUTSIDE_SANDBOX)


class OpenItems:
    """What waits for an answer now: a fold over the events, and over the status of a resumed session."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, str]] = {}
        self._items: dict[str, OpenItem] = {}
        self._proposed: dict[str, logged.EditProposed] = {}

    def __iter__(self) -> Iterator[OpenItem]:
        return iter(self._items.values())

    def event(self, event: logged.WireEvent) -> None:
        """Take in an `outrider/event`."""
        match event["type"]:
            case "tool.requested":
                name = event["data"]["name"]
                self._calls[event["data"]["callId"]] = name, essential_argument(name, event["data"]["input"])
            case "tool.finished":
                self._calls.pop(event["data"]["callId"], None)
            case "edit.proposed":
                self._proposed[event["data"]["changeId"]] = event["data"]
            case "approval.requested":
                asked = event["data"]
                # What was reviewed before has other hunks than were proposed.
                ids = [] if asked.get("reviewed") else asked.get("changeIds", [])
                self._add("approval", asked, asked["title"], changes=ids)
            case "question.asked":
                asked = event["data"]
                self._add("question", asked, asked["question"], free_form=asked["allowFreeForm"])
            case "tool.asked":
                self._add("tool", event["data"], f"Tool {event['data']['name']}", free_form=True)
            case "approval.resolved" | "question.answered" | "tool.answered":
                self._items.pop(event["data"]["id"], None)
            case "turn.parked":
                self.status(event["data"]["open"])
            case _:
                pass

    def status(self, items: Sequence[logged.Open]) -> None:
        """Take in the open items of a status, but a question about trust: it is in no event, so it is shown when it is asked."""
        for item in items:
            if item["id"] not in self._items and not item["id"].startswith(names.TRUST_ITEM):
                self._add(item["kind"], item, item["title"], free_form=item["allowFreeForm"])

    def asked_by(self, question: Question) -> OpenItem | None:
        """The item that a question is about: its message begins with the item's summary or title, the longest of them."""
        # A message has what a title hides spelled out.
        fitting = [
            item
            for item in self._items.values()
            if question.message.startswith((item.head.strip(), spelled_out(item.title).strip()))
        ]
        return max(fitting, key=lambda item: len(item.head), default=None)

    def together(self, question: Question) -> list[OpenItem]:
        """The edits of one step that a question is about; none where it is about something else."""
        if not any(names.approves(title) and title not in names.APPROVING for title in question.titles):
            return []
        grouped = [item for item in self._items.values() if item.group]
        return [item for item in grouped if item.group == grouped[-1].group]

    def _add(
        self,
        kind: str,
        data: logged.ApprovalRequested | logged.QuestionAsked | logged.ToolAsked | logged.Open,
        title: str,
        *,
        free_form: bool = False,
        changes: Sequence[str] = (),
    ) -> None:
        tool, argument = self._calls.get(data.get("callId", ""), ("", ""))
        proposed = [self._proposed[one] for one in changes] if self._proposed.keys() >= set(changes) else []
        self._items[data["id"]] = OpenItem(
            id=data["id"],
            kind=kind,
            title=title,
            call=f"{tool}: {argument}" if tool else "",
            tool=tool or _tool_of(title),
            detail=data.get("detail", ""),
            free_form=free_form,
            has_buttons=bool(data.get("options")),
            options=tuple(data.get("options", ())),
            changes=changes_of(proposed),
            summary=data.get("summary", ""),
            group=data.get("group", ""),
        )


def _tool_of(title: str) -> str:
    # After a restart the call's event is not sent again; the title says enough (contract, "Titles").
    verb = title.partition(" ")[0]
    by_verb = {
        "Run:": COMMAND_TOOL,
        "Run": COMMAND_TOOL,
        "Edit": "edit_file",
        "Create": "write_file",
        "Delete": "delete_file",
    }
    by_verb |= {"Rename": "rename_file", "Change": "apply_patch"}
    return by_verb.get(verb, "")


@dataclass(frozen=True, slots=True)
class Rules:
    """What `--yes-to` allows: `edits`, `commands`, `outside`, `all` of these but `outside`, or patterns with `*` and `?`.

    Protected files that a command changed are no effect to allow: `put-back` and `keep` say what becomes of them, nothing else does.
    """

    patterns: tuple[str, ...] = ()

    def allowing(self, item: OpenItem) -> str | None:
        """The first rule that allows an approval; questions are never answered by rule.

        A pattern is compared with the whole title, such as `Run: make test`, and with the call, such as
        `run_command: make test`. For commands its wildcards do not match what joins or nests commands. For edits
        outside the workspace, and for commands without a sandbox, it has to say so.
        """
        if item.kind != "approval":
            return None
        return next((pattern for pattern in self.patterns if _allows(pattern, item)), None)


def can_match(pattern: str) -> bool:
    """Whether there can be an approval that `pattern` allows: a slip would park the turn without a word."""
    if pattern in {"all", "edits", "commands", "outside", *_OF_FILES} or pattern.startswith(_BEGINNINGS):
        return True
    tools = EDIT_TOOLS | {COMMAND_TOOL}
    head = "".join(takewhile(lambda sign: sign not in ":*?", pattern))
    if head == pattern:
        return False
    return head in tools if pattern[len(head)] == ":" else any(tool.startswith(head) for tool in tools)


def _allows(pattern: str, item: OpenItem) -> bool:
    if item.puts_back or pattern in _OF_FILES:
        return item.puts_back and pattern in _OF_FILES
    if item.leaves_sandbox and pattern != "outside" and not pattern.startswith(_OUTSIDE_SANDBOX):
        return False  # a yes to a command, or to all that asks, is none to run it without a sandbox
    match pattern:
        case "outside":
            return item.leaves_sandbox
        case "all":
            return True
        case "edits":
            return item.tool in EDIT_TOOLS and not item.title.endswith(OUTSIDE)
        case "commands":
            return item.tool == COMMAND_TOOL
        case _:
            is_edit = item.tool in EDIT_TOOLS
            if is_edit and item.title.endswith(OUTSIDE) and not pattern.endswith(OUTSIDE):
                return False
            expression = _compiled(pattern, ".*" if is_edit else _SHELL_JOINTS)
            texts = (item.title, _COUNTS.sub("", item.title), item.call)
            return any(expression.fullmatch(text) for text in texts if text)


def _compiled(pattern: str, many: str) -> Pattern:
    one = many[:-1]
    return built("".join(many if sign == "*" else one if sign == "?" else escaped(sign) for sign in pattern))


@dataclass(slots=True)
class Answerer:
    """Answers `window/showMessageRequest`."""

    renderer: Renderer
    items: OpenItems
    rules: Rules
    keyboard: Keyboard | None
    answer_command: Callable[[dict[str, Any]], Awaitable[object]]
    """Sends `outrider.answer`, for what no button can say: a note, a free text, a review."""
    used: set[str] = field(default_factory=set[str])
    """The rules that have allowed something."""
    always: str | None = None
    """A title to answer every approval with, said aloud; for the demo without a terminal."""
    show_prompt: Callable[[str], None] | None = None
    """Shows what is to be typed, where that is not simply printed."""
    suspended: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Leaves the terminal to the user's editor."""
    answers: list[str] = field(default_factory=list[str])
    """What was given ahead to the questions of the model, in their order."""

    def can_answer(self, item: OpenItem) -> bool:
        """Whether there is somebody, or something given ahead, to answer an item that the server does not ask about."""
        return self.keyboard is not None or self._given_ahead(item) is not None

    def _given_ahead(self, item: OpenItem) -> str | None:
        """What was given ahead for a question: one of its answers by its words or its number, or words of one's own."""
        if item.kind != "question" or not self.answers:
            return None
        given = self.answers[0]
        exact = next((one for one in item.options if one.lower() == given.lower()), None)
        if exact is None and given.isdecimal() and 1 <= int(given) <= len(item.options):
            return item.options[int(given) - 1]
        return exact or (given if item.free_form else None)

    async def _answer_ahead(self, item: OpenItem) -> bool:
        """Answer a question with what was given ahead; False where that is nothing, or none of its answers."""
        if (answer := self._given_ahead(item)) is None:
            return False
        self.answers.pop(0)
        self._say(f"  > {visible(answer)} (--answer)", "green")
        await self.answer_command({"id": item.id, "answer": answer})
        return True

    async def __call__(self, question: Question) -> str | None:
        """Give the title to answer with, None to leave the question open."""
        if together := self.items.together(question):
            return await self._answer_together(question, together)
        item = self.items.asked_by(question)
        if item is not None and await self._answer_ahead(item):
            return None
        rule = self.rules.allowing(item) if item else None
        wanted = (_OF_FILES[rule],) if rule in _OF_FILES else (names.ALLOW_ONCE, names.RUN_OUTSIDE)
        title = next((one for one in wanted if one in question.titles), None)
        if title and rule:
            self.used.add(rule)
            self._say(f"  > {title} (--yes-to {rule})", "green")
            return title
        if (
            self.keyboard is None
            and item is not None
            and item.puts_back
            and names.PUT_BACK in question.titles
        ):
            self._say(f"  > {names.PUT_BACK} (nobody can answer; --yes-to keep keeps such changes)", "green")
            return names.PUT_BACK
        if self.always in question.titles and item and item.kind == "approval":
            self._say(f"  > {self.always}", "green")
            return self.always
        if self.keyboard is None:
            if item is not None and item.kind == "question":
                for number, option in enumerate(item.options, 1):
                    self._say(f"  {number}  {visible(option)}")
            return None
        return await self._ask(question, item, self.keyboard)

    async def _answer_together(self, question: Question, items: Sequence[OpenItem]) -> str | None:
        """Answer a question about several edits: each that a rule allows, and the rest at the keyboard."""
        by_rule = {item.id: rule for item in items if (rule := self.rules.allowing(item))}
        rules = sorted(set(by_rule.values()))
        self.used.update(rules)
        everything = next(title for title in question.titles if names.approves(title))
        if len(by_rule) == len(items):
            self._say(f"  > {everything} (--yes-to {', '.join(rules)})", "green")
            return everything
        if self.always == names.ALLOW_ONCE:
            self._say(f"  > {everything}", "green")
            return everything
        for item in items:
            if item.id in by_rule:
                self._say(
                    f"  > {names.ALLOW_ONCE}: {visible(item.head)} (--yes-to {by_rule[item.id]})", "green"
                )
                await self.answer_command({"id": item.id, "decision": "allow_once"})
        rest = [item for item in items if item.id not in by_rule]
        if self.keyboard is None:
            return None
        titles = (names.allow_all(len(rest)) if len(rest) > 1 else names.ALLOW_ONCE, names.REJECT)
        for item in rest:
            self._say(f"  {visible(item.head)}", "bold")
        changes = [change for item in rest for change in item.changes]
        whole = replace(rest[0], changes=changes, summary=f"{len(rest)} edits")
        of_all = {"together": True} if len(rest) > 1 else {}
        title = await self._ask(Question(question.message, titles), whole, self.keyboard, of_all)
        if title is None:
            return None
        if by_rule or title not in question.titles:
            decision = "reject" if title == names.REJECT else "allow_once"
            await self.answer_command({"id": rest[0].id, "decision": decision, **of_all})
            return None
        return title

    async def ask_here(self, item: OpenItem) -> None:
        """Ask about an item again, or about what the server cannot ask with buttons; without a keyboard it stays open."""
        if await self._answer_ahead(item) or self.keyboard is None:
            return
        self._say(visible(item.head), "bold")
        # Which rules would be saved only the server can show.
        titles = tuple(title for title in item.options if title != names.ALWAYS_ALLOW)
        title = await self._ask(Question(item.title, titles), item, self.keyboard)
        if title is not None:
            given = {"decision": names.DECISIONS[title]} if item.kind == "approval" else {"answer": title}
            await self.answer_command({"id": item.id, **given})

    async def _ask(
        self,
        question: Question,
        item: OpenItem | None,
        keyboard: Keyboard,
        of_all: Mapping[str, Any] = MappingProxyType({}),
    ) -> str | None:
        """Ask at the keyboard.

        Args:
            question: Has the buttons.
            item: What it is about, as far as that is known.
            keyboard: Where the user types.
            of_all: What an answer by command says besides.
        """
        titles = [title for title in question.titles if title not in _NEED_AN_EDITOR]
        note = item is not None and item.kind == "approval" and names.REJECT in titles
        free = item is not None and item.free_form
        if item is None:  # such as a conflict of an undo: no event has shown it
            self._say(visible(question.message), "bold")
        for number, title in enumerate(titles, start=1):
            self._say(f"  {number}  {visible(title)}")
        if note:
            self._say("  n  Reject with a note")
        changes = item.changes if item is not None and any(map(names.approves, titles)) else ()
        review = len(changes) > 1 or any(change.may_be_edited for change in changes)
        if review:
            what = "Decide about each of its changes" if len(changes) > 1 else "Edit its change first"
            self._say(f"  {REVIEW_KEY}  {what}")
        ways = ["a number"] if titles else []
        ways += ["n"] if note else []
        ways += [REVIEW_KEY] if review else []
        ways += ["your answer in words"] if free else []
        hint = " or ".join(ways)
        while True:
            typed = await self._typed(keyboard, f"  {hint}, Enter to leave it open: ")
            choice = (typed or "").strip()
            if not choice:
                return None
            # An answer may be a number itself, and then it is no place in the list.
            if exact := next((title for title in titles if title.lower() == choice.lower()), None):
                return exact
            if choice.isdecimal() and 1 <= int(choice) <= len(titles):
                return titles[int(choice) - 1]
            # Where the answers offered are numbers, another number is one in words; else it is a slip.
            means_itself = free and any(title[:1].isdecimal() for title in titles)
            if choice.isdecimal() and titles and not means_itself:
                self._say(f"  there is no {choice}: 1 to {len(titles)}", "yellow")
                continue
            if note and item and choice.lower() == "n":
                text = ((await self._typed(keyboard, "  what should it do instead? ")) or "").strip()
                await self.answer_command(
                    {"id": item.id, "decision": "reject", **of_all} | ({"note": text} if text else {})
                )
                return None
            if review and item and choice.lower() == REVIEW_KEY:
                if await self._review(item, keyboard, of_all):
                    return None
                continue
            if free and item:
                await self.answer_command({"id": item.id, "answer": choice})
                return None
            self._say(f"  “{visible(choice)}” is not one of them", "yellow")

    async def _review(self, item: OpenItem, keyboard: Keyboard, of_all: Mapping[str, Any]) -> bool:
        """Have each change of an edit decided about; False where the user went back."""
        review = HunkReview(item.changes, self._say, lambda text: self._typed(keyboard, text), self.suspended)
        decided = await review.decide()
        if decided is None:
            return False
        await self.answer_command({"id": item.id, "decision": "allow_once", "review": decided, **of_all})
        return True

    async def _typed(self, keyboard: Keyboard, prompt: str) -> str | None:
        before = ""

        def draw(early: bool) -> None:
            nonlocal before
            if early:
                self._say(f"{before}  {_TOO_EARLY}", "yellow")
            if self.show_prompt is not None:
                self.show_prompt(prompt)
                return
            self.renderer.console.print(prompt, end="")
            before = "\n"  # the cursor is left behind the prompt

        return await keyboard.answer(draw)

    def _say(self, text: str, style: str = "") -> None:
        self.renderer.console.print(text, style=style)
