"""The tool that runs a command, after the buffers it would read from the disk were saved.

It runs in the sandbox where there is one; if that stands in its way, the user may have it run once more without.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from outrider.permissions.policy.commands import Command
from outrider.permissions.policy.decide import Access, NoSandbox
from outrider.permissions.policy.protected_files import IGNORE_FILE
from outrider.permissions.policy.rules import RUN
from outrider.permissions.secrets.secret_files import MOST_BYTES
from outrider.permissions.shell.reading import LONGEST
from outrider.permissions.shell.tree import leaves_running, tree_of
from outrider.ports.model import ToolCall
from outrider.ports.text import Snapshot, without_colours
from outrider.processes import Capture, CommandResult, JobOrder, SpawnProblem, run_command, shell_argv
from outrider.processes.sandbox import TOO_MANY, Confined, Reached, sign_of_sandbox, sign_of_writing
from outrider.tools.context import Action, ToolContext, ToolResult, error, ok
from outrider.tools.nearest import missing
from outrider.tools.registry import MOST_CONTENT, Params, Tool
from outrider.tools.run_command import checks, cut_off, effects, planted, put_back
from outrider.tools.run_command.command_line import (
    folders_on_the_way,
    look_at,
    secret_files_named,
    with_objects,
)
from outrider.tools.run_command.connections import connections, refused_hosts
from outrider.tools.run_command.failure_places import placed
from outrider.tools.run_command.failures import failures_in
from outrider.tools.run_command.pipes import with_status_of_pipes
from outrider.tools.run_command.shown import explained, folded, in_one_line, is_whole_in_one_line, summary
from outrider.tools.unsaved import saved_by_client
from outrider.workspace.paths import OWN_FOLDER, PathProblem
from outrider.workspace.watch.obeyed_files import Sight
from outrider_protocol import RUN_OUTSIDE, RUN_WITHOUT_SAVING, SAVE_AND_CONTINUE, SAVE_CANCEL
from outrider_protocol.events import CheckFailure, CheckKind, JobFinished, JobStarted, Ran, RulePattern

MOST_NAMED = 3
"""Hidden files that a result names."""
KEEPS_RUNNING: Final = "what is to keep running is started with background"
_MOST_DECLARED: Final = 1_000_000
"""Bytes of a file that declares scripts or targets."""
_SAYS_FIRST: Final = 2000
"""Characters of an output in which a sandbox that cannot start says so."""


class RunCommand(Params):
    """Arguments of `run_command`."""

    command: str = Field(min_length=1, max_length=MOST_CONTENT)
    cwd: str | None = Field(default=None, description="Folder to run it in.")
    timeout: float | None = Field(
        default=None,
        gt=0,
        description="Time limit in seconds. With it, silence does not end the command.",
    )
    background: bool = Field(default=False, description="As a background job, for servers and watchers.")
    sandbox: Literal["network", "none"] | None = Field(
        default=None,
        description="Ask the user to run it with the network, or with no sandbox. Needs reason.",
    )
    reason: str | None = Field(default=None, description="Why; the user reads it.")


async def plan_run(params: RunCommand, call: ToolCall, context: ToolContext) -> Action | ToolResult:
    """Run a command."""
    if len(params.command) > LONGEST:
        return error(
            f"The command has {len(params.command):,} characters; the limit is {LONGEST:,}. Write it to a "
            "file with write_file, and run that."
        )
    folders = context.workspace.folders
    if params.cwd is None and not folders.folders:
        return error("no workspace folder is open; set cwd to the folder to run it in")
    located = await folders.locate(params.cwd or str(folders.folders[0].path))
    if isinstance(located, PathProblem):
        return error(located.message)
    if located.resolved is None:
        return error(f"{located.display} is not a folder on disk.")
    if located.inside and not await asyncio.to_thread(located.resolved.is_dir):
        there = await context.workspace.overlay.read(located)
        if isinstance(there, Snapshot):
            return error(f"{located.shown} is not a folder.")
        return await missing(located, there, context)
    if "\0" in params.command:
        return error("a command cannot contain NUL bytes")
    command = await _looked_at(params.command, located.resolved, context)
    command, confined = await _confined(params.command, command, located.resolved, context, located.inside)
    if confined.refused:
        return error(confined.told)
    leaves = ""
    if params.sandbox is not None:
        asked = await _as_asked(params, command, located.resolved, context, confined)
        if isinstance(asked, ToolResult):
            return asked
        confined, leaves = asked
    run = _Run(params, call, context, located.resolved, confined, command)

    async def prepare() -> ToolResult | None:
        if await _saved_first(call, context):
            return None
        return ToolResult("denied", "The user cancelled because files were unsaved.")

    where = (
        "the workspace folder"
        if located.display == "."
        else located.display
        if located.inside
        else str(run.cwd)
    )
    manner = "In the background, in" if params.background else "In"
    waiting = await _own_unsaved(context)
    unsaved = ", ".join(context.workspace.folders.display_of(uri) for uri in waiting)
    saves = (
        f"Outrider's changes in {unsaved} are not saved, and the command reads files from disk. They are saved "
        "before it starts; if your editor cannot do that, save them now.\n"
        if unsaved
        else ""
    )
    why_not_undone = await _why_not_undone(params, command, confined, context)
    # A grant is for the scripts as they were, and for how it is run: with other ones it is another command.
    key = ["run", *(["job"] if params.background else []), *(["sandboxed"] if confined.confinement else [])]
    scripts = "".join(sorted(command.scripts.values()))
    grant = f"{'-'.join(key)}:{run.cwd}\0{params.command}{scripts}" if located.inside and not leaves else None
    # A command may have thousands of parts; all of them are judged here.
    short, described, always = await asyncio.to_thread(
        lambda: (
            summary(
                params.command,
                "the workspace" if located.display == "." else where,
                _confinement(confined),
                background=params.background,
                is_check=context.user.demanded(call),
            ),
            run.described(),
            _rules_for(command) if grant else (),
        )
    )
    return Action(
        access=Access(
            "execute",
            inside=located.inside,
            grant=grant,
            command=command,
            cwd=str(located.resolved),
            no_sandbox=None if confined.confinement or leaves else _none(confined),
            leaves=leaves,
            is_job=params.background,
            can_be_undone=why_not_undone == "",
            why_no_copy=why_not_undone or "",
        ),
        perform=run.start if params.background else run.run,
        prepare=prepare if waiting else None,
        title=f"{RUN_OUTSIDE if leaves else 'Run'}: {params.command}",
        summary=short,
        is_folded=not is_whole_in_one_line(params.command),
        detail=f"{_reason(params) if leaves else ''}{manner} {where}, for {run.seconds:g} s at most.\n{saves}"
        f"{confined.told}\n{described}".rstrip(),
        digest=run.digest(confined),
        covers=f"this exact command in {where}" if grant else "",
        always=always,
        partial=run.shown.text,
        leaves_sandbox=bool(leaves),
    )


async def _as_asked(
    params: RunCommand, command: Command, cwd: Path, context: ToolContext, confined: Confined
) -> tuple[Confined, str] | ToolResult:
    """How a command runs that the model wants out of its sandbox, and what of it the user is asked; empty where it has that anyway."""
    if not (params.reason or "").strip():
        return error("sandbox needs a reason: say in one sentence why the command cannot run in the sandbox.")
    held = confined.confinement
    if held is None:
        return confined, ""
    argv = await asyncio.to_thread(_argv, params.command)
    if held.is_reading:
        confined = await context.commands.confine(argv, cwd, runs_git=command.runs_git)
        held = confined.confinement
    if held is None or confined.refused:
        return error(confined.told) if confined.refused else (confined, "")
    if params.sandbox == "none":
        if not confined.may_leave:
            return error("The setting `sandbox` requires one, so no command can run without.")
        return confined.outside(), "the model asks to run it without the sandbox"
    if held.network == "open":
        return confined, ""
    with_network = await context.commands.confine(argv, cwd, runs_git=command.runs_git, network=True)
    if with_network.confinement is None:
        return error(f"No sandbox here can leave the network open: {with_network.told}")
    return with_network, "the model asks to run it with the network"


def _rules_for(command: Command) -> tuple[RulePattern, ...]:
    """The rules that would allow a command from now on; empty where none can."""
    return tuple(
        RulePattern(tool=RUN, command=pattern.text, exact=True if pattern.is_exact else None, script=script)
        for pattern, script in command.allowing
    )


def _reason(params: RunCommand) -> str:
    return f"The model's reason, in its words:\n{folded((params.reason or '').strip())}\n"


def _none(confined: Confined) -> NoSandbox:
    return NoSandbox(confined.told, confined.turned_off, confined.lost)


def _argv(text: str) -> list[str]:
    return shell_argv(with_status_of_pipes(text))


class _Run:
    """A command that is about to run."""

    def __init__(
        self,
        params: RunCommand,
        call: ToolCall,
        context: ToolContext,
        cwd: Path,
        confined: Confined,
        command: Command,
    ) -> None:
        limits = context.limits
        most = limits.job_seconds if params.background else limits.command_seconds
        self.cwd = cwd
        self.seconds = min(params.timeout or most, most)
        idle = limits.job_idle_seconds if params.background else limits.command_idle_seconds
        self.idle_seconds = idle if params.timeout is None else None
        self.shown = Capture(limits.output_bytes)
        self.gets_its_time = params.timeout is not None and params.timeout <= most
        self._params = params
        self._call = call
        self._context = context
        self._confined = confined
        self._command = command
        self._reached: list[Reached] = []
        """What it wanted of which host, where its sandbox has a way to some."""

    def digest(self, confined: Confined) -> str:
        """Of all that the run depends on: the command, what confines it, the folder, environment and scripts."""
        env = json.dumps(sorted(confined.env.items())).encode("utf-8", "surrogatepass")
        parts = [*confined.covered(), str(self.cwd), hashlib.sha256(env).hexdigest()]
        rest = [*sorted(self._command.scripts.values()), *(["job"] if self._params.background else [])]
        if self._params.sandbox is not None:
            rest += [self._params.sandbox, self._params.reason or ""]
        return hashlib.sha256(json.dumps([*parts, *rest]).encode("utf-8", "surrogatepass")).hexdigest()

    def described(self) -> str:
        """The command where one line does not show it whole, and why it asks."""
        text = self._params.command
        shown = "" if is_whole_in_one_line(text) else f"The command:\n{folded(text)}\n"
        return f"{shown}{explained(self._command, self._context.rules.parts_of(self._command))}"

    @property
    def reached(self) -> Sequence[Reached]:
        """What it wanted of which host."""
        return self._reached

    @property
    def only_reads(self) -> bool:
        """Whether it is known to change nothing."""
        return self._command.only_reads

    async def start(self) -> ToolResult:
        """Start it as a job."""
        context, limits = self._context, self._context.limits
        confining = await self._confined.start()
        if isinstance(confining, SpawnProblem):
            if (broken := await self._sandbox_broke(confining)) is not None:
                return error(broken)
            return error(f"The job could not be started: {confining.message}")
        order = JobOrder(
            id=context.log.new_id("job"),
            turn_id=context.log.turn_id,
            command=self._params.command,
            argv=confining.argv,
            cwd=self.cwd,
            env=confining.environment(self._confined.env),
            sandboxed=self._confined.confinement is not None,
            launch=confining.launch,
            total_seconds=self.seconds,
            idle_seconds=self.idle_seconds,
            output_limit=limits.output_bytes,
            is_full=confining.is_full,
            way=confining.way,
        )
        context.log.record(
            JobStarted(
                job_id=order.id,
                call_id=self._call.id or None,
                command=order.command,
                cwd=str(order.cwd),
                sandboxed=order.sandboxed,
            )
        )
        if not self._command.only_reads:
            await context.workspace.on_command(self._params.command)
            context.workspace.obeyed.at_start[order.id] = await planted.look(context.workspace)
        job = await context.jobs.start(order)
        if isinstance(job, SpawnProblem):
            await confining.close()
            context.log.record(JobFinished(job_id=order.id, status="lost"))
            if (broken := await self._sandbox_broke(job)) is not None:
                return error(broken)
            return error(f"The job could not be started: {job.message}")
        return ok(
            f"Started as {job.id}. It keeps running after your turn, until the session or its server ends; undo does not cover the files it changes."
        )

    async def run(self) -> ToolResult:
        """Run it to its end."""
        await asyncio.to_thread(self._learn)
        evidence = await asyncio.to_thread(self._evidence)
        came, unsaved, changed = await self._once(self._confined)
        wrote = await asyncio.to_thread(self._sign_of_writing, came)
        if wrote is not None:
            if await self._may_write(wrote):
                self._show("\n[run again with write access]\n")
                came, unsaved, changed = await self._once(self._confined)
                changed = [*changed, f"it was run again with write access: at first {wrote}"]
            else:
                changed.append(f"it ran in a read-only sandbox, and {wrote}")
        sign = await asyncio.to_thread(self._sign_of_sandbox, came)
        if sign is not None:
            outside = self._confined.outside()
            if (refusal := await self._refusal_of_outside(outside, sign, changed)) is not None:
                changed.append(refusal)
            else:
                self._show("\n[run again outside the sandbox]\n")
                came, unsaved, again = await self._once(outside)
                changed = [*changed, *again, "it was run again outside the sandbox"]
        changed += self._hidden()
        if (broken := await self._sandbox_broke(came)) is not None:
            return error(broken)
        failures = await asyncio.to_thread(self._failures, came, evidence[0])
        notes = [*await asyncio.to_thread(self._unseen, came), *changed, *refused_hosts(self._reached)]
        return _told(came, self, unsaved, notes, evidence, failures)

    async def _sandbox_broke(self, came: CommandResult | SpawnProblem) -> str | None:
        """What to say where the command failed because its sandbox does not work any more; None where it does."""
        program = self._confined.backend_program
        failed = isinstance(came, SpawnProblem) or (
            came.status == "exited" and came.exit is not None and came.exit.code != 0
            and program and f"{program}: " in came.output[:_SAYS_FIRST]
        )  # fmt: skip
        if not failed or (why := await self._context.commands.still_confines(self._confined)) is None:
            return None
        return (
            f"The command did not run: its sandbox does not work any more ({why}). Call it again if it is needed: "
            "the user is then asked whether it may run without a sandbox, unless another kind of sandbox works."
        )

    def _hidden(self) -> list[str]:
        """A note on what of the workspace the command did not see, if there was any and the model was not told before."""
        held = self._confined.confinement
        if held is None or not held.is_reading:
            return []
        roots = [str(folder.path.resolve()) for folder in self._context.workspace.folders.folders]
        names = [
            os.path.relpath(place.path, root)
            for place in held.places
            if place.kind in {"masked", "sealed"}
            and not place.path.endswith(f"/{OWN_FOLDER}")
            and "/.git/" not in place.path  # nobody looks for a text there
            for root in roots
            if place.path.startswith(f"{root}/")
        ]
        if not names:
            return []
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        listed = f"{', '.join(names[:MOST_NAMED])}{more}"
        note = f"hidden from it as secret, or by {IGNORE_FILE}, so that they look empty: {listed}"
        return [note] if self._context.knowledge.is_news(note) else []

    def _unseen(self, came: CommandResult | SpawnProblem) -> list[str]:
        """Notes on what its exit code does not tell: that what it left running is gone, and how a check in it went."""
        if isinstance(came, SpawnProblem) or came.status != "exited":
            return []
        text, notes = self._params.command, list[str]()
        if came.left_behind:
            several = came.left_behind > 1
            notes.append(
                f"{came.left_behind} process{'es' if several else ''} it left behind {'were' if several else 'was'} ended; {KEEPS_RUNNING}"
            )
        elif self._confined.confinement is not None and leaves_running(tree_of(text.encode())):
            notes.append(f"what it left running ended with it; {KEEPS_RUNNING}")
        if (
            came.exit is not None
            and came.exit.code == 0
            and (hidden := checks.unseen_check(text, self._declared()))
        ):
            notes.append(
                f"this exit code does not show that `{in_one_line(hidden)}` passed; run it last, or join what follows with &&"
            )
        return notes

    def _evidence(self) -> tuple[CheckKind, str]:
        """What it checked, as the files beside it declare it before it runs."""
        return checks.evidence_of(self._params.command, self._declared())

    def _declared(self) -> dict[str, str]:
        declared: dict[str, str] = {}
        for name in checks.DECLARING:
            path = self.cwd / name
            with suppress(OSError):
                if path.is_file() and path.stat().st_size <= _MOST_DECLARED:
                    declared[name] = path.read_text("utf-8", "replace")
        return declared

    def _failures(self, came: CommandResult | SpawnProblem, kind: CheckKind) -> list[CheckFailure]:
        """What a check that failed says is wrong in files of the workspace. Blocks."""
        has_failed = not isinstance(came, SpawnProblem) and (came.exit is None or came.exit.code != 0)
        is_check = kind != "other" or self._context.user.demanded(self._call)
        if isinstance(came, SpawnProblem) or not has_failed or not is_check:
            return []
        line = self._command.line
        ways = folders_on_the_way(line, self.cwd, len(line.programs))
        return placed(failures_in(came.output, kind), list(dict.fromkeys([*ways, self.cwd])), self._context)

    def _learn(self) -> None:
        """Know the values in files of secrets that the command names, before it prints them."""
        for path in secret_files_named(self._command.line, self.cwd):
            with suppress(OSError):
                if path.is_file() and path.stat().st_size <= MOST_BYTES:
                    self._context.masking.learn_settings(path.read_text("utf-8", "replace"))

    async def _refusal_of_outside(self, outside: Confined, sign: str, changed: Sequence[str]) -> str | None:
        """Ask whether it may be run without walls; why it is not, None if it is.

        The run that failed could write in the workspace, its own scripts included, so it is looked at anew, and again after the yes.
        """
        context = self._context
        await self._look_again()
        asked = self.digest(outside)
        described = await asyncio.to_thread(self.described)
        action = Action(
            access=Access("execute"),
            perform=self.run,
            title=f"{RUN_OUTSIDE}: {self._params.command}",
            summary=f"Run `{in_one_line(self._params.command)}` again, outside the sandbox.",
            is_folded=not is_whole_in_one_line(self._params.command),
            detail=f"It failed in the sandbox: {sign}. Outside, it can write everywhere you can and "
            f"use the network. What it did before it failed is done twice{''.join(f'; {one}' for one in changed)}.\n"
            f"{described}".rstrip(),
            digest=asked,
            leaves_sandbox=True,
            amid_call=True,
        )
        if (await context.user.approve(self._call, action, ())).decision == "reject":
            return "it failed in the sandbox, and the user chose not to run it outside"
        await self._look_again()
        if self.digest(outside) != asked or await asyncio.to_thread(self.cwd.resolve) != self.cwd:
            return "it failed in the sandbox, and was not run outside: what it runs changed while the user was asked"
        return None

    async def _may_write(self, why: str) -> bool:
        """Whether a command that was taken for one that only reads may run where it can write; it is so confined then."""
        context = self._context
        self._command = await _looked_at(self._params.command, self.cwd, context)
        self._command = replace(
            self._command, reads=[f"{why} in a read-only sandbox"] * len(self._command.reads)
        )
        argv = await asyncio.to_thread(_argv, self._params.command)
        self._confined = await context.commands.confine(argv, self.cwd, runs_git=self._command.runs_git)
        if self._confined.refused:
            return False
        none = None if self._confined.confinement else _none(self._confined)
        access = Access("execute", command=self._command, no_sandbox=none)
        verdict = context.rules.judge("run_command", access).verdict
        if verdict != "ask":
            return verdict == "allow"
        asked = self.digest(self._confined)
        action = Action(
            access=access,
            perform=self.run,
            title=f"Run: {self._params.command}",
            summary=f"Run `{in_one_line(self._params.command)}` again, with write access.",
            is_folded=not is_whole_in_one_line(self._params.command),
            detail=f"It failed in a read-only sandbox: {why}.\n{self._confined.told}\n{self.described()}".rstrip(),
            digest=asked,
            amid_call=True,
        )
        if (await context.user.approve(self._call, action, ())).decision == "reject":
            return False
        await self._look_again()
        return self.digest(self._confined) == asked and await asyncio.to_thread(self.cwd.resolve) == self.cwd

    async def _look_again(self) -> None:
        self._command = await _looked_at(self._params.command, self.cwd, self._context)

    async def _once(self, confined: Confined) -> tuple[CommandResult | SpawnProblem, list[str], list[str]]:
        context = self._context
        workspace = context.workspace
        unsaved = [workspace.folders.display_of(uri) for uri in await workspace.overlay.unsaved()]
        obeyed = None if self._command.only_reads else await planted.look(context.workspace)
        if obeyed is not None:
            await workspace.on_command(self._params.command)
        files = await effects.before(context, self._command)
        async with effects.held(context, self._call, files):
            result, changed = await self._with_effects(confined, files, obeyed)
        return result, unsaved, changed

    async def _with_effects(
        self, confined: Confined, files: effects.Before | None, obeyed: Sight | None
    ) -> tuple[CommandResult | SpawnProblem, list[str]]:
        """Start it, see it to its end, and record what it changed."""
        context = self._context
        try:
            result = await self._started(confined)
        except asyncio.CancelledError:
            # What it did until then is there all the same.
            await effects.record(context, self._call, self._params.command, files)
            raise
        recorded = await effects.record(context, self._call, self._params.command, files)
        changed = list(recorded.notes)
        if obeyed is not None:
            await context.workspace.on_command(self._params.command)
            changed += await planted.settle(
                context,
                self._call,
                self._params.command,
                obeyed,
                confined=confined.confinement is not None,
                by_others=(lambda _: False) if files is None else files.meanwhile.wrote,
            )
        if context.rules.permission_mode == "auto":
            changed += await put_back.offer(context, self._call, self._params.command, recorded.lost)
        return result, changed

    async def _started(self, confined: Confined) -> CommandResult | SpawnProblem:
        """Start it, and see it to its end."""
        context = self._context
        confining = await confined.start()
        if isinstance(confining, SpawnProblem):
            return confining
        try:
            return await run_command(
                context.commands.supervisor,
                confining.argv,
                cwd=self.cwd,
                env=confining.environment(confined.env),
                clock=context.clock,
                total_seconds=self.seconds,
                idle_seconds=self.idle_seconds,
                output_limit=context.limits.output_bytes,
                on_output=self._show,
                launch=confining.launch,
                is_full=confining.is_full,
            )
        finally:
            await confining.close()
            if confining.way is not None:
                self._reached += confining.way.reached

    def _sign_of_writing(self, came: CommandResult | SpawnProblem) -> str | None:
        """What says that a command failed because it could only read; None where nothing does."""
        held = self._confined.confinement
        if held is None or not held.is_reading or isinstance(came, SpawnProblem):
            return None
        if came.status != "exited" or came.exit is None or came.exit.code in {0, None}:
            return None
        return sign_of_writing(
            came.output,
            cwd=str(self.cwd),
            is_readable=lambda path: held.kind_of(path) == "readable",
            command=self._params.command,
        )

    def _sign_of_sandbox(self, came: CommandResult | SpawnProblem) -> str | None:
        """Why the sandbox can have been what made the command fail; None where it cannot."""
        held = self._confined.confinement
        if held is None or not self._confined.may_leave or isinstance(came, SpawnProblem):
            return None
        if came.status != "exited" or came.exit is None or came.exit.code in {0, None}:
            return None
        if held.is_reading or self._command.only_reads:
            return None
        return sign_of_sandbox(
            came.output,
            cwd=str(self.cwd),
            network=held.network == "open",
            command=self._params.command,
            writable=held.writable,
            hidden=held.hidden,
            seen=held.seen,
        )

    def _show(self, text: str) -> None:
        self.shown.feed(text.encode("utf-8", "replace"))
        self._context.log.stream(self._call, text)


async def _looked_at(text: str, cwd: Path, context: ToolContext) -> Command:
    workspace, path = context.workspace, context.commands.search_path
    command = await asyncio.to_thread(look_at, text, workspace.folders, cwd, workspace.hidden_files, path)
    roots = [str(folder.path) for folder in workspace.folders.folders]
    return await with_objects(command, context.commands.supervisor, context.clock, path, roots)


async def _confined(
    text: str, command: Command, cwd: Path, context: ToolContext, inside: bool
) -> tuple[Command, Confined]:
    """How a command runs: in a read-only sandbox where it is known to only read, else as all others; and what it reads so."""
    argv = await asyncio.to_thread(_argv, text)
    if inside and command.reads_in_sandbox and not any(command.closed):
        reading = await context.commands.confine_to_read(argv, cwd, runs_git=command.runs_git)
        if reading is not None:
            return command.in_sandbox(), reading
    return command, await context.commands.confine(argv, cwd, runs_git=command.runs_git)


async def _why_not_undone(
    params: RunCommand, command: Command, confined: Confined, context: ToolContext
) -> str | None:
    """In mode `auto`: why what a command does could not be undone though only files of the workspace are within its reach.

    Empty where it can be undone, as the files are copied; None where the mode is another one or the command reaches more.
    """
    held = confined.confinement
    if context.rules.permission_mode != "auto" or command.only_reads or params.background or params.sandbox:
        return None
    if held is None or held.network == "open":
        return None
    return confined.why_unprotected or await context.workspace.census.keep()


def _confinement(confined: Confined) -> str:
    if confined.confinement is None:
        return "without a sandbox"
    if confined.confinement.is_reading:
        return "in a read-only sandbox"
    if confined.confinement.hosts:
        return f"sandboxed, without network but {in_one_line(', '.join(confined.confinement.hosts))}"
    return f"sandboxed, {'with the' if confined.confinement.network == 'open' else 'without'} network"


async def _saved_first(call: ToolCall, context: ToolContext) -> bool:
    """Have the agent's own unsaved buffers saved, by the client or the user; False if the command shall not run."""
    waiting = await _own_unsaved(context)
    was_tried = bool(waiting) and await saved_by_client(waiting, call, context)
    waiting = await _own_unsaved(context)
    if waiting and not was_tried and context.user.approved(call) and context.buffers.tells_saves:
        await context.buffers.saved(waiting)  # the question of the command said that they have to be
    while waiting := await _own_unsaved(context):
        names = ", ".join(context.workspace.folders.display_of(uri) for uri in waiting)
        answer = await context.user.ask(
            call,
            f"The command reads files from disk, and Outrider's changes in {names} are not saved. "
            f"“{SAVE_AND_CONTINUE}” starts it as soon as you have saved them.",
            [SAVE_AND_CONTINUE, RUN_WITHOUT_SAVING, SAVE_CANCEL],
            free_form=False,
        )
        if answer != SAVE_AND_CONTINUE:
            return answer == RUN_WITHOUT_SAVING
        await context.buffers.saved(waiting)
    return True


async def _own_unsaved(context: ToolContext) -> list[str]:
    changed = context.buffers.unsaved()
    return [uri for uri in await context.workspace.overlay.unsaved() if uri in changed] if changed else []


def _told(
    result: CommandResult | SpawnProblem,
    run: _Run,
    unsaved: list[str],
    changed: list[str],
    evidence: tuple[CheckKind, str],
    failures: Sequence[CheckFailure],
) -> ToolResult:
    if isinstance(result, SpawnProblem):
        return error(f"The command could not be started: {result.message}")
    notes: list[str] = []
    if result.status == "killed_timeout":
        notes.append(
            f"ended after {run.seconds:g} s, its time-out"
            if run.gets_its_time
            else f"ended after {run.seconds:g} s, the longest that a command may take; what takes longer is started with "
            "background, and waited for with wait"
        )
    elif result.status == "killed_idle":
        notes.append(
            f"ended after {run.idle_seconds or 0:g} s in which it neither printed nor computed. If it waits for something, give "
            "it a timeout, or start it with background and use wait. Without a pipe into tail or head its output comes as it is "
            "written. It cannot get input"
        )
    elif result.status == "killed_full":
        notes.append(f"ended, because the temporary files of this session {TOO_MANY}")
    elif result.status == "lost":
        notes.append("lost: its supervisor died, and its effect is unknown")
    elif result.exit is not None and result.exit.signal is not None:
        notes.append(f"ended by signal {result.exit.signal}")
    elif result.exit is not None:
        notes.append(f"exit code {result.exit.code}")
    if unsaved:
        notes.append(
            f"it read files on disk, without the unsaved changes of these buffers: {', '.join(unsaved)}"
        )
    notes += changed
    # What prints a file shows its signs; what runs colours words, which says nothing and costs more than they do.
    output = result.output if run.only_reads else without_colours(result.output)
    content = f"{output.rstrip()}\n[{'; '.join(notes)}]".lstrip("\n")
    code = result.exit.code if result.status == "exited" and result.exit is not None else None
    kind, checked = evidence
    ran = Ran(
        kind=kind,
        command=checked,
        exit_code=code,
        failures=list(failures) or None,
        connections=connections(run.reached),
    )
    return ToolResult("ok" if code == 0 else "error", content, ran=ran)


RUN_COMMAND = Tool(
    "run_command",
    "Run a bash command and return its output and exit code: tests, builds, git, servers. Not for reading, searching or "
    "editing files; other tools do that. Each call is a fresh shell without terminal or input, and "
    "is ended when it is silent for too long. A pipe fails if any stage fails. A server goes into the background, and a later "
    'call reaches it. Example: {"command": "npm test 2>&1 | tail -40", "timeout": 300}',
    "execute",
    RunCommand,
    plan_run,
    settle=cut_off.settle,
)
