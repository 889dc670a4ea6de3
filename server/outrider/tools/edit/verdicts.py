"""What an edit does to the problems that language servers find, in words and on the wire."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from outrider.ports.editor import Reported
from outrider.ports.language import Verdict
from outrider.ports.text import one_line
from outrider.tools.edit.report import VERDICT
from outrider_protocol import events

MOST: Final = 20
"""Problems of each kind on the wire."""
MOST_TOLD: Final = 10
"""Problems of each kind that the model is told; the same one in many places is one."""
MOST_SHOWN: Final = 3
"""Problems of each kind that the user is shown."""
MESSAGE_CHARACTERS: Final = 300
_RANK: Final = {"error": 0, "warning": 1, "information": 2, "hint": 3}

HELD: Final = (
    "Not asked for yet: this edit {sum}.\n{problems}\nNothing was changed. Improve it, for example by an edit that changes all these places "
    "together; or make the same call again, and the user is asked about it as it is."
)


@dataclass(frozen=True, slots=True)
class Heard:
    """Which servers were heard about an edit."""

    waits_for: Sequence[str] = ()
    """Those that may still come to a verdict."""
    silent: Sequence[str] = ()
    """Those that came to none."""
    linted_by: Sequence[str] = ()
    """Those that came to one, where they all look at one file alone."""

    @property
    def missing(self) -> str:
        """Who is missing, in words; empty for nobody."""
        late = f"no verdict yet from {', '.join(self.waits_for)}" if self.waits_for else ""
        none = f"no verdict from {', '.join(self.silent)}" if self.silent else ""
        return "; ".join(filter(None, (late, none)))


def on_wire(verdict: Verdict, display: Callable[[str], str], silent: Sequence[str] = ()) -> events.Verdict:
    """A verdict as an event has it.

    Args:
        verdict: The verdict.
        display: How the file of a URI is written.
        silent: The servers that gave none.
    """
    return events.Verdict(
        introduced=[problem_on_wire(one, display) for one in _spread(verdict.introduced)[:MOST]],
        introduced_count=len(verdict.introduced),
        fixed=[problem_on_wire(one, display) for one in _spread(verdict.fixed)[:MOST]],
        fixed_count=len(verdict.fixed),
        unjudged=verdict.unjudged or None,
        unfollowed=verdict.unfollowed or None,
        silent=list(silent) or None,
    )


def _spread(found: Sequence[Reported]) -> list[Reported]:
    """Problems so that of each severity the first one of every file comes before the second one of any: where it broke is told first."""
    before = Counter[tuple[str, str]]()
    placed: list[tuple[int, int, Reported]] = []
    for one in found:
        placed.append((_RANK[one.severity], before[one.severity, one.uri], one))
        before[one.severity, one.uri] += 1
    return [one for _, _, one in sorted(placed, key=lambda each: each[:2])]


def problem_on_wire(one: Reported, display: Callable[[str], str]) -> events.Problem:
    """A problem as an event has it; see `on_wire`."""
    message = " ".join(one.message.split())
    if len(message) > MESSAGE_CHARACTERS:
        message = f"{message[: MESSAGE_CHARACTERS - 1]}…"
    return events.Problem(
        path=display(one.uri),
        line=one.start.line + 1,
        severity=one.severity,
        message=message,
        source=one.source or None,
        code=one.code or None,
    )


def line_of(one: events.Problem) -> str:
    """A problem in one line."""
    who = " ".join(filter(None, (one.source, one.code)))
    return f"{_place(one)}: {one.severity}: {one.message}{f' [{who}]' if who else ''}"


def for_user(verdict: events.Verdict | None, heard: Heard) -> str:
    """What an approval says of an edit that was tried; empty where nobody judges it."""
    missing = heard.missing
    if verdict is None:
        return f"{_begun(missing)}." if missing else ""
    if not verdict.introduced_count and not verdict.fixed_count:
        none = (
            f"{', '.join(heard.linted_by)} finds no new errors" if heard.linted_by else "Introduces no errors"
        )
        seen = _unjudged(verdict, " in the files that were looked at; {}")
        return f"{none}{seen}{f'; {missing}' if missing else ''}."
    return "\n".join(
        [
            f"{_begun(_sum(verdict))}{_unjudged(verdict, '; {}')}{f'; {missing}' if missing else ''}:",
            *_lines(verdict, MOST_SHOWN),
        ]
    )


def for_model(verdict: events.Verdict | None, heard: Heard) -> str:
    """What the result of an edit says of it; empty where nobody judges it."""
    missing = heard.missing
    if heard.waits_for:
        missing += "; what is missing is told as soon as it is known"
    if verdict is None:
        return f"{VERDICT}{missing}." if missing else ""
    if not verdict.introduced_count and not verdict.fixed_count:
        seen = _unjudged(verdict, " in the files that were looked at; {}")
        by = f" found by {', '.join(heard.linted_by)}" if heard.linted_by else ""
        return f"{VERDICT}no new problems{by}{seen}.{f' But {missing}.' if missing else ''}"
    return "\n".join(
        [
            f"{VERDICT}this edit {_sum(verdict)}{_unjudged(verdict, '; {}')}:",
            *_lines(verdict, MOST_TOLD),
            *([f"[{missing}.]"] if missing else []),
        ]
    )


def told_later(verdict: events.Verdict) -> str | None:
    """What the model is told of edits after their results were given; None for nothing new."""
    if not verdict.introduced_count and not verdict.fixed_count:
        silent = ", ".join(verdict.silent or ())
        return f"[Language server, on your edits of before: no verdict from {silent}.]" if silent else None
    return "\n".join(
        [
            f"[Language server, on your edits of before: they {_sum(verdict, plural=True)}{_unjudged(verdict, '; {}')}:]",
            *_lines(verdict, MOST_TOLD),
        ]
    )


def held_back(verdict: events.Verdict) -> str:
    """What the model is told of an edit that is not asked for yet."""
    return HELD.format(
        sum=f"would {_sum(verdict, plural=True)}{_unjudged(verdict, '; {}')}",
        problems="\n".join(_lines(verdict, MOST_TOLD)),
    )


def _sum(verdict: events.Verdict, *, plural: bool = False) -> str:
    introduces, fixes = ("introduce", "fix") if plural else ("introduces", "fixes")
    parts: list[str] = []
    if verdict.introduced_count:
        parts.append(f"{introduces} {verdict.introduced_count}")
    if verdict.fixed_count:
        parts.append(f"{fixes} {verdict.fixed_count}")
    return ", ".join(parts)


def _unjudged(verdict: events.Verdict, form: str) -> str:
    """What was not looked at of what refers to the changed files; empty for nothing."""
    files, names = verdict.unjudged or 0, verdict.unfollowed or 0
    parts = [
        f"{files} more file{'s' if files > 1 else ''} that use it were not" if files else "",
        f"who uses {names} more name{'s' if names > 1 else ''} was not" if names else "",
    ]
    said = " and ".join(filter(None, parts))
    return form.format(said) if said else ""


def _begun(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _lines(verdict: events.Verdict, most: int) -> list[str]:
    shown = verdict.introduced[:most]
    lines = [line_of(one) for one in shown]
    if most == MOST_TOLD:
        lines, shown = _grouped(verdict.introduced)
    if (more := verdict.introduced_count - len(shown)) > 0:
        lines.append(f"… and {more} more")
    lines += [f"fixed: {line_of(one)}" for one in verdict.fixed[:most]]
    if (more := verdict.fixed_count - min(most, len(verdict.fixed))) > 0:
        lines.append(f"… and {more} more that are fixed")
    return lines


def _grouped(problems: Sequence[events.Problem]) -> tuple[list[str], list[events.Problem]]:
    """As many lines as the model is told, one for all places with the same problem, and what is in them."""
    groups: dict[str, list[events.Problem]] = {}
    for one in problems:
        groups.setdefault(line_of(one).removeprefix(_place(one)), []).append(one)
    told = list(groups.items())[:MOST_TOLD]
    lines = [", ".join(map(_place, places)) + what for what, places in told]
    return lines, [one for _, places in told for one in places]


def _place(one: events.Problem) -> str:
    return f"{one_line(one.path)}:{one.line}"
