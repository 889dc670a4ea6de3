"""What shows that a turn did what it was to do: the checks that ran, as they went, and whether a file changed since. Pure.

No word of the model counts: only what was run, with its exit code, and what was changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final, Literal

from outrider.ports.text import one_line
from outrider.tools.run_command.checks import checked_nothing, covers
from outrider.workspace.paths import OWN_FOLDER
from outrider_protocol import logged
from outrider_protocol.events import CheckKind, CheckNotRun, CheckRun, Done, DoneDiagnostics

State = Literal["no_changes", "unverified", "checked", "check_failed"]
WhyNotRun = Literal["refused", "not_allowed", "failed", "ended"]
"""Why a check did not run, as the wire has it."""

_NOTED: Final = (".md", ".markdown")
_NAMED: Final[Mapping[str, str]] = {
    "test": "tests", "types": "types", "lint": "lint", "build": "build",
}  # fmt: skip
_NOT_RUN: Final[Mapping[WhyNotRun, str]] = {
    "refused": "you refused it", "not_allowed": "it was not allowed", "failed": "it did not come to its end",
    "ended": "the turn ended first",
}  # fmt: skip
_LONGEST: Final = 60
"""Characters of a command in the line for users."""
_MOST_NAMED: Final = 2
"""Checks that it names."""


Texts = tuple[int, frozenset[tuple[str, str | None]]]
"""What a turn changed: how many changes left nobody knows what, and the files that differ from before it, with the hashes of their texts.
Whether a file is ignored, so that no check sees it, may become known later."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one file: the hashes of its text before and after it, None where it was or is not there."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class _Went:
    """How a check went the last time."""

    kind: CheckKind
    exit_code: int | None
    seconds: float
    saw: Texts
    """What was changed when it ran."""
    nothing: str = ""
    """Why it checked nothing, in words."""
    stale: bool = False
    """Whether something else is changed now: a file was changed since, and not changed back."""

    @property
    def failed(self) -> bool:
        return self.exit_code != 0 and not self.stale

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and not self.stale


@dataclass(slots=True)
class Evidence:
    """The checks of one turn. It is folded from the log."""

    paths: set[str] = field(default_factory=set[str])
    """Those that it changed, as far as they are known."""
    refused: bool = False
    """Whether a command was not allowed to run."""
    ran_checks: int = 0
    """How many checks have run."""
    ran_at: str = ""
    """When the latest came to its end, as its event says."""
    _went: dict[str, _Went] = field(default_factory=dict[str, _Went])
    _demanded: dict[str, None] = field(default_factory=dict[str, None])
    """The checks that are to run after a change."""
    _not_run: dict[str, tuple[WhyNotRun, Texts]] = field(default_factory=dict[str, tuple[WhyNotRun, Texts]])
    """Those that did not run when it was their time: why, and what was changed then."""
    _vain: tuple[str, str, Texts] | None = None
    """The latest check that checked nothing and was not demanded: the command, why, and what was changed when it ran."""
    _first: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The hash of what each changed file had before, where it is known what it has now."""
    _now: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """The hash of what it has now, where that is something else."""
    _own: set[str] = field(default_factory=set[str])
    """Those that were not only changed by others."""
    _unknown: int = 0
    """Changes that left nobody knows what."""
    _does: bool = False
    """Whether one of those was not made by others."""
    _ignored: set[str] = field(default_factory=set[str])
    """Those of which it is known that they are ignored."""
    left: list[logged.Problem] = field(default_factory=list["logged.Problem"])
    """The errors that its edits brought, as far as they are not known to be gone."""
    fixed: int = 0
    """How many errors of before are gone with them."""
    judged: bool = False
    """Whether a language server came to a verdict on one of its edits."""

    def copy(self) -> "Evidence":
        """The same, for a turn that goes on with this one, which has checks of its own."""
        return replace(
            self, paths=set(self.paths), _went=dict(self._went), _first=dict(self._first), _now=dict(self._now),
            _own=set(self._own), _ignored=set(self._ignored), left=list(self.left), _demanded={}, _not_run={},
        )  # fmt: skip

    @property
    def stands(self) -> bool:
        """Whether a check shows how it is now, as far as is known."""
        return any(not went.stale for went in self._went.values())

    @property
    def changed(self) -> bool:
        """Whether the turn changed something that is not as it was before."""
        return self._does or not self._own.isdisjoint(self._now)

    @property
    def needs_check(self) -> bool:
        """Whether that is more than a note."""
        return self._does or any(counts(path) for path in self._own & self._now.keys())

    @property
    def texts(self) -> Texts:
        """What is changed now that a check could see."""
        return self._unknown, frozenset(one for one in self._now.items() if counts(one[0]))

    @property
    def to_blame(self) -> Sequence[str]:
        """The files for whose change alone checks do not stand any more."""
        ran = [dict(went.saw[1]) for went in self._went.values() if went.stale]
        now = dict(self._seen(self.texts)[1])
        return sorted(
            {
                path
                for saw in ran
                for path in saw.keys() | now.keys()
                if path not in self._ignored and saw.get(path, "") != now.get(path, "")
            }
        )

    def ignore(self, paths: Sequence[str]) -> None:
        """Take note that no check sees these files: they are ignored."""
        self._ignored.update(paths)
        self._outdate()

    def _seen(self, texts: Texts) -> Texts:
        """What of it a check could see, as far as is known."""
        return texts[0], frozenset(one for one in texts[1] if one[0] not in self._ignored)

    def change(self, *changes: FileChange, by_others: bool = False) -> None:
        """Take note that files changed; one that is again as before the turn does not count."""
        for one in changes:
            if self._first.setdefault(one.path, one.before) == one.after:
                self._now.pop(one.path, None)
            else:
                self._now[one.path] = one.after
            if not by_others:
                self.paths.add(one.path)
                self._own.add(one.path)
        self._outdate()

    def change_unknown(self, *, by_others: bool = False) -> None:
        """Take note that something changed, and nobody knows what it is now."""
        self._unknown += 1
        self._does = self._does or not by_others
        self._outdate()

    def _outdate(self) -> None:
        now = self._seen(self.texts)
        self._went = {
            command: replace(went, stale=self._seen(went.saw) != now) for command, went in self._went.items()
        }

    def ran(self, ran: logged.Ran, seconds: float, saw: Texts, at: str, *, demanded: bool = False) -> None:
        """Take note of a command that came to its end.

        Args:
            ran: What it was, and its exit code.
            seconds: How long it took.
            saw: What was changed when it ran.
            at: When it came to its end.
            demanded: Whether it was demanded as a check, and so is one, whatever it is.
        """
        kind, code = ran["kind"], ran.get("exitCode")
        nothing = checked_nothing(ran["command"], code)
        if not demanded and kind == "other":
            return
        if not demanded and nothing:
            self._vain = ran["command"], nothing, saw
            return
        if code == 0:  # all of `pytest` is more than `pytest tests/test_a.py`, which failed before
            covered = [
                one for one, went in self._went.items() if went.kind == kind and covers(ran["command"], one)
            ]
            for one in covered:
                del self._went[one]
            for one in [one for one in self._not_run if covers(ran["command"], one)]:
                del self._not_run[one]
        self._not_run.pop(ran["command"], None)
        self._went.pop(ran["command"], None)
        self.ran_checks += 1
        self.ran_at = at
        self._went[ran["command"]] = _Went(
            kind, code, seconds, saw, nothing, self._seen(saw) != self._seen(self.texts)
        )

    def demand(self, checks: Iterable[str]) -> None:
        """Take note of checks without which nothing is checked."""
        self._demanded |= dict.fromkeys(checks)

    def not_run(self, command: str, why: WhyNotRun) -> None:
        """Take note of a demanded check that did not run when it was its time."""
        self._not_run[command] = why, self.texts

    def judge(self, verdict: logged.Verdict) -> None:
        """Take note of what an edit did to the errors that language servers find."""
        self.judged = True
        for one in verdict["fixed"]:
            own = next((known for known in self.left if _is_same(known, one)), None)
            if own is not None:
                self.left.remove(own)
            elif one["severity"] == "error":
                self.fixed += 1
        self.left += [one for one in verdict["introduced"] if one["severity"] == "error"]

    @property
    def is_missing(self) -> bool:
        """Whether the model could still check what it changed."""
        return self.state == "unverified" and self.needs_check and not self.refused

    @property
    def state(self) -> State:
        """What it comes to."""
        if any(went.failed for went in self._went.values()):
            return "check_failed"
        if not self.changed:
            return "no_changes"
        if self.lacking:
            return "unverified"
        return "checked" if any(went.passed for went in self._went.values()) else "unverified"

    @property
    def lacking(self) -> Sequence[tuple[str, WhyNotRun]]:
        """The demanded checks that did not run, though something was changed, with why."""
        if not self.changed:
            return ()
        none = "ended", self.texts
        return [(one, self._not_run.get(one, none)[0]) for one in self._demanded if not self._ran(one)]

    def _ran(self, command: str, *, since_change: bool = False) -> bool:
        """Whether a check ran, by itself or within another one that succeeded."""
        return command not in self._not_run and any(
            (one == command or (went.exit_code == 0 and covers(one, command)))
            and not (since_change and went.stale)
            for one, went in self._went.items()
        )

    def failed(self, command: str) -> bool:
        """Whether a check failed, and nothing was changed since."""
        return command in self._went and self._went[command].failed

    def is_settled(self, checks: Sequence[str]) -> bool:
        """Whether all these had their time since the last change: they were run, or could not be."""
        now = self._seen(self.texts)
        return all(
            self._seen(self._not_run[one][1]) == now
            if one in self._not_run
            else self._ran(one, since_change=True)
            for one in checks
        )

    def done(self, open_items: Sequence[str], about_document: str = "") -> Done:
        """What it comes to, on the wire.

        Args:
            open_items: The items of its plan that are open.
            about_document: Of a turn that was to write a plan document: what became of that.
        """
        order = sorted(self._went.items(), key=lambda one: (one[1].stale, one[1].passed))
        checks = [
            CheckRun(
                kind=went.kind,
                command=command,
                exit_code=went.exit_code,
                ok=went.exit_code == 0,
                stale=went.stale,
                seconds=went.seconds,
            )
            for command, went in order
        ]
        said = [
            about_document,
            # To change nothing else is what such a turn is for.
            "" if about_document and self.state == "no_changes" else self._said(),
            said_of_errors(len(self.left)),
            _said_of_plan(len(open_items)),
        ]
        return Done(
            state=self.state,
            line="; ".join(filter(None, said)),
            changed=sorted(path for path in self.paths if path in self._now or path not in self._first),
            checks=checks,
            not_run=[CheckNotRun(command=one, reason=why) for one, why in self.lacking],
            open_items=list(open_items),
            diagnostics=DoneDiagnostics(introduced=len(self.left), fixed=self.fixed) if self.judged else None,
        )

    def _said(self) -> str:
        lacking = [f"`{_short(command)}` ({_NOT_RUN[why]})" for command, why in self.lacking]
        not_run = f"not run: {_some(lacking)}" if lacking else ""
        passed = [_passed(command, went) for command, went in self._went.items() if went.passed]
        checked = f"checked: {_some(passed)}" if passed else ""
        match self.state:
            case "check_failed":
                told = [_failure(command, went) for command, went in self._went.items() if went.failed]
                return "; ".join(filter(None, [f"check failed: {_some(told)}", not_run]))
            case "checked":
                return checked
            case "unverified" if not_run:
                return "; ".join(filter(None, [not_run, checked]))
            case "unverified" if not self.needs_check:
                return "only Markdown was changed"
            case "unverified" if self._vain and self._seen(self._vain[2]) == self._seen(self.texts):
                command, why, _ = self._vain
                return f"unverified: `{_short(command)}` {why}"
            case "unverified" if self._went or self._vain:
                return "unverified: no check was run after the last change"
            case "unverified":
                return "unverified: no check was run"
            case "no_changes" if not self._own.isdisjoint(self._first):
                return "nothing is left of its changes"
            case "no_changes" if self._demanded:
                return "nothing was changed, so its checks did not run"
            case _:
                return ""


def counts(path: str) -> bool:
    """Whether a change of a file can undo what a check showed."""
    parts = PurePosixPath(path)
    return parts.suffix.lower() not in _NOTED and OWN_FOLDER not in parts.parts[:1]


def said_of_errors(count: int) -> str:
    """That an edit left errors behind, in words; empty for none."""
    return "" if not count else "1 new error is left" if count == 1 else f"{count} new errors are left"


def _is_same(one: logged.Problem, other: logged.Problem) -> bool:
    """Whether two problems are one, wherever its line is now."""
    return all(one.get(key) == other.get(key) for key in ("path", "severity", "message", "source", "code"))


def _passed(command: str, went: _Went) -> str:
    named = f"`{_short(command)}`"
    return f"{_NAMED[went.kind]} ({named})" if went.kind in _NAMED else named


def _failure(command: str, went: _Went) -> str:
    how = went.nothing or (
        "did not end by itself" if went.exit_code is None else f"exit code {went.exit_code}"
    )
    return f"`{_short(command)}` ({how})"


def _short(command: str) -> str:
    shown = one_line(command)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _some(told: Sequence[str]) -> str:
    more = f" and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
    return ", ".join(told[:_MOST_NAMED]) + more


def _said_of_plan(count: int) -> str:
    return (
        ""
        if not count
        else "1 item of the plan is open"
        if count == 1
        else f"{count} items of the plan are open"
    )
