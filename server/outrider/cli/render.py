"""Shows a session in the terminal: a fold over its events and frames that prints as it goes.

It only shows. Everything that comes from a model, a file or a command passes `terminal.visible` first.
"""

import json
import shlex
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from rich.console import Console
from rich.text import Text

from outrider.cli.diffs import FILE_LINES, counts, counts_of, cut, diff_lines, diff_style, told_and_diffs
from outrider.cli.problems import Problems
from outrider.cli.terminal import Flow, TextFlow, one_line, plain_output, visible
from outrider.models.searches import searches_in_words
from outrider.ports.model import READ_ANEW
from outrider_protocol import EDIT_TOOLS, logged
from outrider_protocol.settings import is_script

_WHY: Final = {
    "first_step": "the first step",
    "after_reasoning": "the step before was only thinking",
    "step": "a step",
    "side_task": "no step",
}
_MISSED: Final = ("language_server", "untrusted_folder")
"""Errors without which all goes on, if less is known."""


def again(data: logged.ModelRetried) -> str:
    """Of a `model.retried`: who is asked once more, and after what wait."""
    wait = f" in {seconds:g} s" if (seconds := data.get("wait")) else ""
    which = f"attempt {data['attempt']} of {most}: " if (most := data.get("attempts")) else ""
    why = data.get("message") or data["reason"]
    return f"asking {data['model']} again{wait} ({which}{why})"


def instead(data: logged.ModelFellBack) -> str:
    """Of a `model.fellBack`: who is asked now."""
    return f"continuing with {data['to']} ({data['reason']})"


def switched(data: logged.ModelSwitched) -> str:
    """Of a `model.switched`: why calls are text, and how they are written."""
    why = "wrote unreadable tool calls" if data["reason"] == "unread_calls" else "does not support tools"
    return f"{data['model']} {why}: its calls are text from now on ({data['toolFormat']})"


def chosen(data: logged.ModelRouted) -> str:
    """Of a `model.routed`: who answers."""
    return f"{data['model']} ({_tier(data)})"


def choice(data: logged.ModelRouted) -> str:
    """Of a `model.routed`: all that decided, a line for each model that there was."""
    room = f"about {data['tokens']} of {data['contextWindow']} tokens"
    wanted = f"wanted: {data['wanted']} ({_WHY[data['reason']]}); {room}; decided by {data['by']}"
    after = [f"after it: {', '.join(data['others'])}"] if data["others"] else []
    return "\n".join([wanted, f"asked: {chosen(data)}", *after, *map(_candidate, data["candidates"])])


def _candidate(one: logged.RouteCandidate) -> str:
    price, score = one.get("price"), one.get("score")
    told = [
        _tier(one),
        f"left out: {why}" if (why := one.get("leftOut")) else "",
        "price unknown" if price is None else f"about {price:.4f}",
        "" if score is None else f"score {score:g}",
    ]
    return f"- {one['model']}: {', '.join(part for part in told if part)}"


def _tier(data: logged.ModelRouted | logged.RouteCandidate) -> str:
    return f"tier {tier}" if (tier := data.get("tier")) else "`model` of the settings"


HEAD_LINES: Final = 12
"""Lines of a command's output that are shown at once."""
TAIL_LINES: Final = 6
"""Lines of its end that are shown when it is over."""
DIFF_LINES: Final = 200
"""Lines of an applied change that are shown."""

# The argument that says most about a call, by tool.
_ESSENTIAL: Final = {
    "read_file": "path", "list_files": "path", "find_files": "pattern", "search": "pattern", "edit_file": "path",
    "insert_lines": "path", "write_file": "path", "delete_file": "path", "rename_file": "from", "run_command": "command",
    "ask_user": "question",
}  # fmt: skip
_SHOWN_BY_THEIR_EVENTS: Final = EDIT_TOOLS | {"update_plan", "write_plan", "ask_user"}
_WAYS: Final = {
    "editor": "in the editor",
    "disk": "on disk",
    "command": "by the command",
    "undo": "by an undo",
}
_MOST_FAILURES: Final = 8
"""Failures of checks that the end of a turn names."""
_PLAN_MARKS: Final = {"done": ("[x]", "green"), "in_progress": ("[>]", "bold"), "pending": ("[ ]", "")}
_NO_COPY: Final = "Outrider asks about commands as in permission mode auto-edit: "
_NO_SANDBOX: Final = "Outrider runs the commands of this session without a sandbox. "
"""How the server says it, too."""
_OF_OLD_LOGS: Final = {
    "checked": "checked by a command",
    "unverified": "unverified: nothing was run after the last change",
    "check_failed": "the last command failed",
}
"""What the last line says about the way a completed turn was checked, by its `reason`, where there is no `done`."""
_OUTCOMES: Final = {
    "completed": "green", "cancelled": "yellow", "budget_exhausted": "yellow", "failed": "red", "refused": "red",
}  # fmt: skip

Data = dict[str, Any]


@dataclass(slots=True)
class _Call:
    """A tool call that has not finished."""

    name: str
    argument: str
    started: bool = False
    partial: list[str] = field(default_factory=list[str])
    """The pieces of the line that has not ended."""
    lines: int = 0
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))


def _kind(touched: logged.TouchedFile) -> str:
    kind = touched.get("kind")
    return f"the {kind} " if kind in {"link", "folder"} else ""


class Renderer:
    """Prints one session's events and frames in the order they come."""

    def __init__(
        self,
        console: Console,
        problems: Problems | None = None,
        *,
        after_rejection: str = "",
        flow: TextFlow | None = None,
        start: str = "outrider run --plan {path}",
    ) -> None:
        """Show a session on a console.

        Args:
            console: Where it is shown.
            problems: Where errors, warnings and messages go; None is standard error.
            after_rejection: Said whenever something was rejected.
            flow: Shows the model's text as it comes; None prints it as it is.
            start: How the plan at `{path}` is started.
        """
        self._console = console
        self._after_rejection = after_rejection
        self._start = start
        self._calls: dict[str, _Call] = {}
        self._proposed: dict[str, list[logged.EditProposed]] = {}
        """The changes that were worked out, by call."""
        self._approved: dict[str, list[tuple[str, list[logged.WireHunk]]]] = {}
        """The paths and hunks that were shown for approval, by call."""
        self._refused: set[str] = set()
        """Calls of which it is shown that they were rejected, and why."""
        self._plan_shown: dict[str, str] = {}
        self._checks: set[str] = set()
        """Calls that are checks of the task, and not the model's."""
        self._hooks: dict[str, str] = {}
        """What each call of a hook is shown as."""
        self._failures: dict[str, list[logged.CheckFailure]] = {}
        """What checks say is wrong, by command, as they went the last time."""
        self._flow: TextFlow = flow if flow is not None else Flow(console)
        self.problems = problems if problems is not None else Problems()
        self.problems.before = self._flow.end
        self._requested: str | None = None
        """The message that is being answered."""
        self._early: dict[str, list[tuple[str, str]]] = {}
        """Pieces of text that came before the event of their request, by message."""
        self._streamed: dict[str, int] = {}
        """Characters of the text that are shown, by message."""
        self._answered: set[str] = set()
        self._unclaimed: dict[str, list[str]] = {}
        """Output that came before the event of its call's start, by call."""
        self._last_text = ""
        self._steps = 0
        self._started: str | None = None
        self._chosen = ""
        """The model of which it was last said that it answers."""
        self._costs = False
        """Whether any answer of the turn may cost something."""

    @property
    def console(self) -> Console:
        """Where it prints."""
        return self._console

    def note(self, text: str) -> None:
        """Show something about the run itself."""
        self._line(visible(text), "dim")

    def open_items(
        self, titles: list[str], go_on: str | None, rules: Sequence[str], *, has_question: bool = False
    ) -> None:
        """Show what waits for an answer, and how to give it.

        Args:
            titles: What waits.
            go_on: The command that goes on with the session; None if nothing can.
            rules: What `--yes-to` has to name, so that rules answer it; empty where none can.
            has_question: Whether a question of the model is among them, which can be answered ahead.
        """
        self._line("")
        self._line("The turn waits for:", "bold")
        for title in titles:
            self._line(f"  {visible(title)}")
        if go_on is None:
            return
        by_option = "allow it by an option" if rules else "answer it by an option" if has_question else ""
        self._line(f"Answer at a terminal{f', or {by_option}' if by_option else ''}:")
        self._unbroken(f"  {go_on}")
        if has_question:
            self._unbroken(f"  {go_on} --answer TEXT")
        if rules:
            self._unbroken(f"  {go_on}{''.join(f' --yes-to {rule}' for rule in rules)}")
        if "outside" in rules:
            self._line(
                "`--yes-to outside` runs commands without a sandbox; `--yes-to all` does not include it."
            )

    def cut_off(self, go_on: str) -> None:
        """Show the command that goes on with a turn whose server is gone."""
        self._line("What was done so far is in the log. To continue:")
        self._unbroken(f"  {go_on}")

    def frame(self, frame: Data) -> None:
        """Show an `outrider/stream`."""
        text, kind = str(frame.get("text", "")), frame.get("kind")
        if kind == "output":
            self._output(str(frame.get("callId", "")), text)
        else:
            source = str(frame.get("messageId", ""))
            if source in self._answered:
                return
            if source == self._requested:
                self._piece(source, str(kind), text)
            else:
                self._early.setdefault(source, []).append((str(kind), text))

    def _piece(self, source: str, kind: str, text: str) -> None:
        if kind == "text":
            self._streamed[source] = self._streamed.get(source, 0) + len(text)
        self._flow.put(f"{source}/{kind}", text, "dim italic" if kind == "reasoning" else "")

    def recall(self, events: Sequence[logged.WireEvent], waiting: set[str]) -> None:
        """Take in what the log has of a turn that goes on, and show of it what still waits.

        Args:
            events: From the start of the turn on.
            waiting: The ids of the open items.
        """
        for event in events:
            match event["type"]:
                case "approval.requested" | "question.asked" | "tool.asked":
                    self._console.quiet = event["data"]["id"] not in waiting
                case _:
                    self._console.quiet = True
            try:
                self.event(event)
            finally:
                self._console.quiet = False
        self._started = None  # the time of waiting is nobody's work

    def event(self, event: logged.WireEvent) -> None:
        """Show an `outrider/event`."""
        self.problems.hold_no_more()
        match event["type"]:
            case "turn.started":
                self._steps, self._started, self._costs = 0, event["ts"], False
            case "turn.parked":
                self._line("waiting for an answer", "yellow")
            case "turn.finished":
                self._finished(event["data"], event["ts"])
            case "model.requested":
                self._model_requested(event["data"]["messageId"])
                self._costs = self._costs or not is_script(event["data"]["model"])
            case "model.responded":
                self._responded(event["data"])
            case "model.reset":
                self._streamed.pop(event["data"]["messageId"], None)
                why = (
                    "was not an answer yet"
                    if event["data"]["reason"] == READ_ANEW
                    else f"is withdrawn: {visible(event['data']['reason'])}"
                )
                self._line(f"(the text above {why})", "yellow")
            case "model.retried":
                self._line(visible(again(event["data"])), "yellow")
            case "model.fellBack":
                self._chosen = event["data"]["to"]
                self._line(visible(instead(event["data"])), "yellow")
            case "model.switched":
                self._line(visible(switched(event["data"])), "yellow")
            case "model.routed" if (
                event["data"]["purpose"] == "main" and event["data"]["model"] != self._chosen
            ):
                self._chosen = event["data"]["model"]
                self._line(f"model: {visible(chosen(event['data']))}", "dim")
            case "sandbox.absent" if not self.problems.said_before(
                no_sandbox := _NO_SANDBOX + event["data"]["reason"]
            ):
                self.problems.warning(no_sandbox)
            case "auto.limited" if not self.problems.said_before(
                no_copy := f"{_NO_COPY}{event['data']['reason']}."
            ):
                self.problems.warning(no_copy)
            case "hook.started":
                # Its whole line has what it is given, which is long and was said before.
                point = event["data"]["on"]
                self._hooks |= {
                    one["id"]: f"{visible(one['hook'])}  (hook, {point})" for one in event["data"]["calls"]
                }
            case "tool.requested":
                name = event["data"]["name"]
                argument = self._hooks.get(event["data"]["callId"])
                call = _Call(name, argument or essential_argument(name, event["data"]["input"]))
                self._calls[event["data"]["callId"]] = call
            case "verify.started":
                self._checks = {one["id"] for one in event["data"]["calls"]}
            case "tool.started":
                self._call_started(event["data"]["callId"])
            case "tool.finished":
                self._call_finished(event["data"])
                if count := event["data"].get("masked"):
                    self._line(f"  secrets hidden from the model: {count}", "dim")
            case "approval.requested":
                self._approval(event["data"])
            case "approval.resolved":
                self._resolved(event["data"])
            case "question.asked":
                self._line("")
                self._line(f"? {visible(event['data']['question'])}", "bold")
                for meaning in event["data"].get("detail", "").splitlines():
                    self._line(f"  {visible(meaning)}", "dim")
            case "question.answered":
                self._line(f"  answered: {visible(event['data']['answer'])}", "dim")
            case "tool.asked":
                self._line("")
                self._line(f"? Tool {visible(event['data']['name'])}, which the client runs", "bold")
            case "tool.answered" if event["data"].get("channel") != "client":
                self._line(f"  answered: {visible(event['data']['content'])}", "dim")
            case "edit.proposed":
                if call_id := event["data"].get("callId"):
                    self._proposed.setdefault(call_id, []).append(event["data"])
            case "edit.applied" | "edit.merged":
                self._applied(event["data"])
            case "edit.rejected":
                self._line(
                    f"  not applied to {one_line(event['data']['path'])}: {visible(event['data']['reason'])}",
                    "yellow",
                )
            case "workspace.changed":
                way = _WAYS.get(event["data"].get("by", ""), "by someone else")
                self._line(f"  {one_line(event['data']['path'])} {_became(event['data'])} {way}", "yellow")
            case "workspace.renamed":
                self._line(
                    f"  {one_line(event['data']['path'])} was renamed to {one_line(event['data']['to'])} in the editor",
                    "yellow",
                )
            case "workspace.touched":
                for one in event["data"]["files"]:
                    how = "got another mode" if one["how"] == "mode" else f"was {one['how']}"
                    self._line(
                        f"  {_kind(one)}{one_line(one['path'])} {how} by a command; undo cannot restore it",
                        "yellow",
                    )
                if "more" in event["data"]:
                    self._line(f"  and {event['data']['more']} further files", "yellow")
                if "unseen" in event["data"]:
                    self._line(
                        f"  what else it changed is unknown: {visible(event['data']['unseen'])}", "yellow"
                    )
            case "plan.updated":
                self._plan(event["data"]["items"])
            case "plan.written":
                path = visible(event["data"]["path"])
                start = self._start.format(path=shlex.quote(path))
                self._line(f"Plan: {path} (change what you like, then: {start})", "bold")
            case "context.compacted":
                self._line(
                    f"older messages were summarised ({event['data']['before']} to {event['data']['after']} tokens)",
                    "dim",
                )
            case "budget.exhausted" if event["data"]["limit"] == "contextWindow":
                tokens = f"about {event['data']['used']:g} tokens"
                self._line(f"the request ({tokens}) is too long for the model's context window", "yellow")
            case "budget.exhausted":
                self._line(
                    f"the budget {event['data']['limit']} = {event['data']['allowed']:g} is spent", "yellow"
                )
            case "error" if not self.problems.said_before(event["data"]["message"]):
                word, style = ("warning", "yellow") if event["data"]["code"] in _MISSED else ("error", "red")
                self._line(f"{word}: {visible(event['data']['message'])} ({event['data']['code']})", style)
            case _:
                pass

    # --- text of the model -----------------------------------------------------------------------------------

    def _model_requested(self, source: str) -> None:
        self._requested = source
        for kind, text in self._early.pop(source, []):
            self._piece(source, kind, text)

    def _responded(self, data: logged.ModelResponded) -> None:
        if data["purpose"] != "main":
            return
        source, text = data["messageId"], data["text"]
        self._steps += 1
        self._requested = None
        self._early.pop(source, None)
        self._answered.add(source)
        self._last_text = text
        rest = text[self._streamed.pop(source, 0) :]
        if rest.strip():
            self._flow.put(f"{source}/text", rest, "")
        self._flow.end()
        for line in searches_in_words(data):
            self._line(visible(line), "dim")

    # --- tool calls ------------------------------------------------------------------------------------------

    def _call_started(self, call_id: str) -> None:
        call = self._calls.get(call_id)
        if call is None:
            return
        call.started = True
        if call.name == "run_command":
            self._line("")
            check = "  (the task's check)" if call_id in self._checks else ""
            self._line(f"$ {call.argument}{check}", "bold")
        if early := self._unclaimed.pop(call_id, None):
            self._output(call_id, "".join(early))

    def _output(self, call_id: str, text: str) -> None:
        call = self._calls.get(call_id)
        if call is None or not call.started:
            self._unclaimed.setdefault(call_id, []).append(text)
            return
        *lines, rest = text.split("\n")
        for line in lines:
            self._output_line(call, "".join([*call.partial, line]))
            call.partial.clear()
        if rest:
            call.partial.append(rest)

    def _output_line(self, call: _Call, line: str) -> None:
        call.lines += 1
        if call.lines <= HEAD_LINES:
            self._cut_line(f"  {plain_output(line)}", "dim")
        else:
            call.tail.append(line)

    def _call_finished(self, data: logged.ToolFinished) -> None:
        call = self._calls.pop(data["callId"], None) or _Call(data["name"], "")
        status, content = data["status"], data["content"]
        if ran := data.get("ran"):
            self._failures[ran["command"]] = ran.get("failures", [])
        if call.name == "run_command" and status not in ("denied", "skipped"):
            self._command_finished(call, status, content)
            return
        if recalled := data.get("recalled"):
            self._line("")
            self._line(f"? {visible(recalled['question'])}", "bold")
            self._line(f"  {answered_as_before(recalled)}", "dim")
            return
        if status == "ok" and call.name in _SHOWN_BY_THEIR_EVENTS:
            return
        mark, style = ("+", "green") if status == "ok" else ("-", "yellow" if status != "error" else "red")
        line = Text(f"{mark} ", style)
        line.append(call.name, "bold")
        line.append(f"  {call.argument}")
        if status != "ok":
            line.append(f"  {status}", style)
        self._cut(line)
        if status == "error" or (status == "denied" and data["callId"] not in self._refused):
            self._whole_line(f"  {plain_output(content.strip().partition(chr(10))[0])}", "dim")

    def _command_finished(self, call: _Call, status: str, content: str) -> None:
        last = content.rstrip().rpartition("\n")[2]
        note = last if status != "ok" and last.startswith("[") else ""
        if not call.lines and not call.partial:
            for line in content.rstrip().removesuffix(note).rstrip().split("\n"):
                self._output_line(call, line)
        elif call.partial:
            self._output_line(call, "".join(call.partial))
        if (hidden := call.lines - HEAD_LINES - len(call.tail)) and hidden > 0:
            self._line(f"  … {hidden} more lines", "dim")
        for line in call.tail:
            self._cut_line(f"  {plain_output(line)}", "dim")
        if status != "ok":
            why = plain_output(note) or status
            self._whole_line(f"  {why}", "red" if status == "error" else "yellow")

    # --- approvals and edits ---------------------------------------------------------------------------------

    def _approval(self, data: logged.ApprovalRequested) -> None:
        self._line("")
        self._line(f"? {visible(data.get('summary') or data['title'])}", "bold")
        call_id, ids = data["callId"], data.get("changeIds")
        self._approved[call_id] = [
            (change["path"], change["hunks"])
            for change in self._proposed.get(call_id, [])
            if ids is None or change["changeId"] in ids
        ]
        told, files = told_and_diffs(data["detail"])
        for line in told:
            self._line(f"  {visible(line)}", "" if files else diff_style(line))
        named = len(files) == 1 and files[0].path in data["title"]
        for file in files:
            if not named:
                self._line(f"  {one_line(file.path)}  {counts(file.added, file.removed)}", "bold")
            for line in cut(file.lines, None if len(files) == 1 else FILE_LINES):
                self._line(f"  {visible(line)}", diff_style(line))

    def _resolved(self, data: logged.ApprovalResolved) -> None:
        if "instead" in data:
            self._line("  withdrawn: the change is different now, and is asked about again", "yellow")
            return
        if self._after_rejection and data["decision"] == "reject":
            self._line(f"  {self._after_rejection}", "yellow")
        if data["decision"] == "reject":
            self._refused.add(data["callId"])
        if data["by"] == "mode" or data.get("channel") == "message":
            return  # nothing was asked, or the answer was given here
        if data["by"] == "rule" and data["callId"] in self._hooks:
            return  # the user allowed it once and for all
        words = {
            "allow_once": "allowed once",
            "allow_session": "allowed for this session",
            "allow_always": "always allowed",
            "choose": "to be chosen in the editor",
            "reject": "rejected",
            "put_back": "put back",
            "keep": "kept",
        }
        text = words.get(data["decision"], data["decision"])
        if data["by"] == "rule" and data["decision"] != "reject":
            text = "allowed"  # not only this once
        if rule := data.get("rule"):
            text += f" ({visible(rule)})"
        if note := data.get("note"):
            text += f": {visible(note)}"
        self._line(f"  {text}", "red" if data["decision"] == "reject" else "green")

    def _applied(self, data: logged.EditApplied | logged.EditMerged) -> None:
        path, hunks = one_line(data["path"]), data["hunks"]
        verb = {"create": "created", "delete": "deleted", "rename": "renamed", "edit": "edited"}[
            data["operation"]
        ]
        target = f" to {one_line(to)}" if (to := data.get("to")) else ""
        size = f"  {counts_of(hunks)}" if hunks or not target else ""
        self._line(f"  {verb} {path}{target}{size}", "green")
        if (data["path"], hunks) not in self._approved.get(data.get("callId", ""), []):
            for line in cut(diff_lines(hunks), DIFF_LINES):
                self._line(f"  {line}", diff_style(line))

    # --- the rest --------------------------------------------------------------------------------------------

    def _plan(self, items: Sequence[logged.PlanItem]) -> None:
        texts = [item["text"] for item in items]
        self._line("")
        if texts != list(self._plan_shown):
            self._line("Plan", "bold")
            self._plan_shown = {}
        for item in items:
            if self._plan_shown.get(item["text"]) == item["status"]:
                continue
            self._plan_shown[item["text"]] = item["status"]
            mark, style = _PLAN_MARKS.get(item["status"], ("[ ]", ""))
            self._line(f"  {mark} {visible(item['text'])}", style)

    def _finished(self, data: logged.TurnFinished, ts: str) -> None:
        summary, outcome = data["summary"].strip(), data["outcome"]
        if summary and outcome == "failed":
            self._line("")
            self._line(f"error: {visible(summary)}", "red")
        elif summary and summary != self._last_text.strip():
            self._flow.put("summary", summary, "")
            self._flow.end()
        reason = data["reason"]
        why = f" ({reason})" if reason not in ("", outcome) else ""
        said, style = verdict(data), _OUTCOMES.get(outcome, "")
        if outcome != "completed":
            parts = [f"{outcome.replace('_', ' ')}{why}"]
        elif has_failed_check(data):
            parts, style, said = ["check failed"], "red", said.removeprefix("check failed: ")
        else:
            parts, style = [outcome], style if is_shown_done(data) else ""
        if said:
            parts.append(said)
        parts.append(counted(self._steps, "step"))
        if (seconds := _seconds_between(self._started, ts)) is not None:
            parts.append(f"{seconds:.1f} s")
        parts.append(usage_line(data["usage"], costs=self._costs))
        self._line("")
        self._line(" · ".join(part for part in parts if part), style)
        self._failures_left(data)

    def _failures_left(self, data: logged.TurnFinished) -> None:
        """Where the checks that failed found something wrong, as `file:line`, which terminals open."""
        done = data.get("done")
        failed = [] if done is None else [one for one in done["checks"] if not one["ok"] and not one["stale"]]
        wrong = [failure for check in failed for failure in self._failures.get(check["command"], [])]
        for one in wrong[:_MOST_FAILURES]:
            self._cut_line(f"  {one_line(one['path'])}:{one['line']}: {one_line(one['message'])}", "red")
        if len(wrong) > _MOST_FAILURES:
            self._line(f"  and {len(wrong) - _MOST_FAILURES} more", "red")

    def _line(self, text: str, style: str = "") -> None:
        self._flow.end()
        self._console.print(Text(text, style=style))

    def _unbroken(self, text: str) -> None:
        # A command that was broken in two would be another one where it is copied.
        self._flow.end()
        self._console.print(Text(text), soft_wrap=True)

    def _cut_line(self, text: str, style: str) -> None:
        self._cut(Text(text, style=style))

    def _whole_line(self, text: str, style: str) -> None:
        # Where no terminal would break it, a line stays one line, so that it can be searched.
        self._flow.end()
        self._console.print(Text(text, style=style), soft_wrap=not self._console.is_terminal)

    def _cut(self, text: Text) -> None:
        self._flow.end()
        if self._console.is_terminal:
            self._console.print(text, no_wrap=True, overflow="ellipsis", crop=True)
        else:
            self._console.print(text, soft_wrap=True)


def verdict(data: logged.TurnFinished) -> str:
    """What shows that a turn did what it was to do, in one line; empty where there is nothing to say."""
    if (done := data.get("done")) is not None:
        return one_line(done["line"])
    return _OF_OLD_LOGS.get(data["reason"], "") if data["outcome"] == "completed" else ""


def has_failed_check(data: logged.TurnFinished) -> bool:
    """Whether a turn came to its end with a check that failed."""
    done = data.get("done")
    state = data["reason"] if done is None else done["state"]
    return data["outcome"] == "completed" and state == "check_failed"


def is_shown_done(data: logged.TurnFinished) -> bool:
    """Whether a turn that came to its end is shown to be done: all is checked, or nothing was changed and nothing is open."""
    done = data.get("done")
    if done is None:  # of an older version
        return data["reason"] in ("checked", "no_changes")
    diagnostics = done.get("diagnostics")
    if done["openItems"] or (diagnostics is not None and diagnostics["introduced"]):
        return False
    if done["state"] == "checked":
        return all(one["ok"] or one["stale"] for one in done["checks"])
    # Where nothing was changed, a line says what was not done.
    return done["state"] == "no_changes" and not done["line"]


def answered_as_before(recalled: logged.Recalled) -> str:
    """Of a question that was not asked again: what counts."""
    return f"answered as before: {visible(recalled['answer'])}"


def essential_argument(tool: str, arguments: Any) -> str:
    """The one argument of a call that says what it is about, as one line."""
    if not isinstance(arguments, dict):
        return visible(str(arguments)).replace("\n", " ")
    fields = cast("Data", arguments)
    if tool == "rename_file":
        return visible(f"{fields.get('from', '')} to {fields.get('to', '')}")
    value = fields.get(_ESSENTIAL.get(tool, ""))
    if value is None:
        value = json.dumps(fields, ensure_ascii=False) if fields else ""
    return visible(str(value)).replace("\n", " ⏎ ")


def usage_line(usage: logged.Usage, *, costs: bool = False) -> str:
    """Tokens and cost, short; empty where nothing was counted, and no cost where nothing `costs` anything."""
    given, made = usage["inputTokens"], usage["outputTokens"]
    if not given and not made:
        return ""
    text = f"{'~' if usage.get('estimated') else ''}{given:,} tokens in, {made:,} out"
    cost = usage.get("cost")
    if cost is None:
        return f"{text}, cost unknown" if costs else text
    return f"{text}, cost {cost:.4f}"


def _became(changed: logged.WorkspaceChanged) -> str:
    if "before" not in changed and "changeId" in changed:
        return "was created"
    if "before" not in changed or "after" in changed:
        return "was changed"
    told = changed.get("told", "")
    if "can no longer be read" in told or "cannot be read any more" in told:  # the latter in older logs
        return "was made unreadable"
    return "was deleted" if "was deleted" in told else "was deleted or made unreadable"


def counted(count: int, noun: str) -> str:
    """A number with its noun, such as `1 hunk`, `2 hunks`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _seconds_between(start: str | None, end: str) -> float | None:
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start or "")).total_seconds()
    except ValueError:
        return None
