"""Who answers the server's questions: first the rules of the command line, then the person at the keyboard.

Without either a question stays unanswered; nothing here ever invents a yes.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import outrider_protocol as names
from outrider.cli.hunk_review import REVIEW_KEY, HunkReview, ReviewedChange, changes_of
from outrider.cli.render import Renderer, essential_argument
from outrider.cli.terminal import Keyboard, visible
from outrider.lsp.client import Question
from outrider.ports.visible import spelled_out
from outrider_protocol import EDIT_TOOLS

COMMAND_TOOL: Final = "run_command"
OUTSIDE: Final = " outside the workspace"

# Answers that open a document, which a terminal cannot do.
_NEED_AN_EDITOR: Final = frozenset({names.REVIEW, names.ANSWER_IN_DOCUMENT})
# In a command a `*` stays within one simple command: it never reaches over what joins or nests commands.
_SHELL_JOINTS: Final = r"[^;&|<>$`(){}\n\r\\]*"


_COUNTS: Final = re.compile(r" \((?:[+−]\d+ ?)+\)")
"""What a title says of an edit's size, which a pattern need not know."""
_BEGINNINGS: Final = (
    "Change ",
    "Edit ",
    "Create ",
    "Delete ",
    "Rename ",
    "Run: ",
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


class OpenItems:
    """What waits for an answer now: a fold over the events, and over the status of a resumed session."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, str]] = {}
        self._items: dict[str, OpenItem] = {}
        self._proposed: dict[str, dict[str, Any]] = {}

    def __iter__(self) -> Iterator[OpenItem]:
        return iter(self._items.values())

    def event(self, event: dict[str, Any]) -> None:
        """Take in an `outrider/event`."""
        data = cast("dict[str, Any]", event.get("data", {}))
        match event.get("type"):
            case "tool.requested":
                self._calls[data["callId"]] = data["name"], essential_argument(data["name"], data["input"])
            case "tool.finished":
                self._calls.pop(data["callId"], None)
            case "edit.proposed":
                self._proposed[data["changeId"]] = data
            case "approval.requested":
                self._add(data | {"kind": "approval"})
            case "question.asked":
                self._add(data | {"kind": "question", "title": data["question"]})
            case "tool.asked":
                self._add(data | {"kind": "tool", "title": f"Tool {data['name']}", "allowFreeForm": True})
            case "approval.resolved" | "question.answered" | "tool.answered":
                self._items.pop(data["id"], None)
            case "turn.parked":
                self.status(data["open"])
            case _:
                pass

    def status(self, items: Sequence[dict[str, Any]]) -> None:
        """Take in the open items of a status, but a question about trust: it is in no event, so it is shown when it is asked."""
        for item in items:
            if item["id"] not in self._items and not item["id"].startswith(names.TRUST_ITEM):
                self._add(item)

    def asked_by(self, question: Question) -> OpenItem | None:
        """The item that a question is about: its message begins with the title; the latest if there are several."""
        # A message has what a title hides spelled out.
        fitting = [
            item
            for item in self._items.values()
            if question.message.startswith((item.title.strip(), spelled_out(item.title).strip()))
        ]
        return max(fitting, key=lambda item: len(item.title), default=None)

    def _add(self, data: dict[str, Any]) -> None:
        tool, argument = self._calls.get(data.get("callId", ""), ("", ""))
        ids = cast("list[str]", data.get("changeIds", []))
        proposed = [self._proposed[one] for one in ids] if self._proposed.keys() >= set(ids) else []
        self._items[data["id"]] = OpenItem(
            id=data["id"],
            kind=data["kind"],
            title=data["title"],
            call=f"{tool}: {argument}" if tool else "",
            tool=tool or _tool_of(data["title"]),
            detail=data.get("detail", ""),
            free_form=bool(data.get("allowFreeForm", False)),
            has_buttons=bool(data.get("options")),
            # What was reviewed before has other hunks than were proposed.
            changes=() if data.get("reviewed") else changes_of(proposed),
        )


def _tool_of(title: str) -> str:
    # After a restart the call's event is not sent again; the title says enough (contract, "Titles").
    verb = title.partition(" ")[0]
    by_verb = {"Run:": COMMAND_TOOL, "Edit": "edit_file", "Create": "write_file", "Delete": "delete_file"}
    by_verb |= {"Rename": "rename_file", "Change": "apply_patch"}
    return by_verb.get(verb, "")


@dataclass(frozen=True, slots=True)
class Rules:
    """What `--yes-to` allows: `edits`, `commands`, `all`, or patterns with `*` and `?`."""

    patterns: tuple[str, ...] = ()

    def allowing(self, item: OpenItem) -> str | None:
        """The first rule that allows an approval; questions are never answered by rule.

        A pattern is compared with the whole title, such as `Run: make test`, and with the call, such as
        `run_command: make test`. For commands its wildcards do not match what joins or nests commands. For edits
        outside the workspace it has to say so.
        """
        if item.kind != "approval":
            return None
        return next((pattern for pattern in self.patterns if _allows(pattern, item)), None)


def can_match(pattern: str) -> bool:
    """Whether there can be an approval that `pattern` allows: a slip would park the turn without a word."""
    if pattern in {"all", "edits", "commands"} or pattern.startswith(_BEGINNINGS):
        return True
    tools = EDIT_TOOLS | {COMMAND_TOOL}
    head = re.split("[:*?]", pattern, maxsplit=1)[0]
    if head == pattern:
        return False
    return head in tools if pattern[len(head)] == ":" else any(tool.startswith(head) for tool in tools)


def _allows(pattern: str, item: OpenItem) -> bool:
    match pattern:
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


def _compiled(pattern: str, many: str) -> re.Pattern[str]:
    one = many[:-1]
    parts = (many if part == "*" else one if part == "?" else re.escape(part) for part in pattern)
    return re.compile("".join(parts))


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

    async def __call__(self, question: Question) -> str | None:
        """Give the title to answer with, None to leave the question open."""
        item = self.items.asked_by(question)
        once = next((one for one in (names.ALLOW_ONCE, names.RUN_OUTSIDE) if one in question.titles), None)
        rule = self.rules.allowing(item) if item else None
        # A yes to a command is none to leave its sandbox; a yes to all is.
        if once and rule and (once == names.ALLOW_ONCE or "all" in self.rules.patterns):
            self.used.add(rule)
            self._say(f"  > {once} (--yes-to {rule})", "green")
            return once
        if self.always in question.titles and item and item.kind == "approval":
            self._say(f"  > {self.always}", "green")
            return self.always
        if self.keyboard is None:
            return None
        return await self._ask(question, item, self.keyboard)

    async def ask_here(self, item: OpenItem) -> None:
        """Ask what the server cannot ask with buttons; without a keyboard it stays open."""
        if self.keyboard is not None:
            await self._ask(Question(item.title, ()), item, self.keyboard)

    async def _ask(self, question: Question, item: OpenItem | None, keyboard: Keyboard) -> str | None:
        titles = [title for title in question.titles if title not in _NEED_AN_EDITOR]
        note = item is not None and item.kind == "approval" and names.REJECT in titles
        free = item is not None and item.free_form
        if item is None:  # such as a conflict of an undo: no event has shown it
            self._say(visible(question.message), "bold")
        for number, title in enumerate(titles, start=1):
            self._say(f"  {number}  {visible(title)}")
        if note:
            self._say("  n  Reject with a note")
        changes = item.changes if item is not None and names.ALLOW_ONCE in titles else ()
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
            if choice.isdecimal() and 1 <= int(choice) <= len(titles):
                return titles[int(choice) - 1]
            if exact := next((title for title in titles if title.lower() == choice.lower()), None):
                return exact
            if choice.isdecimal() and titles:
                self._say(f"  there is no {choice}: 1 to {len(titles)}", "yellow")
                continue
            if note and item and choice.lower() == "n":
                text = ((await self._typed(keyboard, "  what should it do instead? ")) or "").strip()
                await self.answer_command(
                    {"id": item.id, "decision": "reject"} | ({"note": text} if text else {})
                )
                return None
            if review and item and choice.lower() == REVIEW_KEY:
                if await self._review(item, keyboard):
                    return None
                continue
            if free and item:
                await self.answer_command({"id": item.id, "answer": choice})
                return None
            self._say(f"  “{visible(choice)}” is none of them", "yellow")

    async def _review(self, item: OpenItem, keyboard: Keyboard) -> bool:
        """Have each change of an edit decided about; False where the person went back."""
        review = HunkReview(item.changes, self._say, lambda text: self._typed(keyboard, text))
        decided = await review.decide()
        if decided is None:
            return False
        await self.answer_command({"id": item.id, "decision": "allow_once", "review": decided})
        return True

    async def _typed(self, keyboard: Keyboard, prompt: str) -> str | None:
        self.renderer.console.print(prompt, end="")
        return await keyboard.line()

    def _say(self, text: str, style: str = "") -> None:
        self.renderer.console.print(text, style=style)
