"""`run_scenario`: a whole test of an agent in one call."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from outrider.testing.editor.answers import Answers, Dismiss, Late, Never, ToolAnswers
from outrider.testing.editor.profiles import PROFILES, Profile
from outrider.testing.editor.wire_client import WAIT_SECONDS
from outrider.testing.open_items import OnConfirmation, OnUserQuestion
from outrider.testing.scenario import CONNECTIONS
from outrider.testing.scenario_run import Mode, ScenarioRun, Setup
from outrider.testing.script import Call, ScriptedModel, Turn

HELD_SECONDS: Final = 0.2
"""`limits.askSeconds` in an editor that never says that a question was closed: after it the turn parks."""


def run_scenario(
    prompt: str,
    script: ScriptedModel | Sequence[Turn | Call],
    *,
    settings: Mapping[str, Any] | None = None,
    workspace: Path | str | Mapping[str, str] | None = None,
    on_confirmation: OnConfirmation | None = None,
    on_user_question: OnUserQuestion | None = None,
    answers: Answers | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    tool_answers: ToolAnswers | None = None,
    profile: Profile | str = "stock",
    connection: Literal["in-process", "stdio"] = "in-process",
    mode: Mode = "agent",
    open: Sequence[str] = (),  # noqa: A002 - as the user says it
    context: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    keep_in: Path | None = None,
    wait: bool = True,
    allow_exhausted: bool = False,
    allow_ignored: bool = False,
    allow_left_over: bool = False,
    seconds: float = WAIT_SECONDS,
) -> ScenarioRun:
    """Play a task against a scripted model, in a fake editor, with a fixed clock and counted ids.

    Await the result for one turn, after which the server is ended; or enter it with `async with`, to go on.

    Args:
        prompt: The task.
        script: What the model answers.
        settings: Changes of the `initializationOptions`, merged key by key; None leaves a key out.
        workspace: A folder, or the texts of the files of a temporary one by their path; absent, that is empty.
        on_confirmation: Decides approvals and the server's own questions; absent, all are left open, so that
            nothing is allowed and the turn ends as `needs_input`. May be async.
        on_user_question: Answers the model's questions, with an option or any other text. May be async.
        answers: In place of the two: titles of buttons and ways not to answer, in the order of the dialogs.
        tools: Tools that the editor registers, as they stand on the wire; `client_tool` makes one.
        tool_answers: What they give, in the order of the calls, or a function that decides; absent, the editor
            knows no `outrider/tool`.
        profile: Which editor, or its name; none that stops reading.
        connection: Whether the server runs in this process or as a child process over its standard streams.
        mode: `agent`, or `plan` and `explore`, which change nothing.
        open: Documents that are open before the task is given.
        context: What the user is looking at, as in `outrider.run`.
        limits: Limits of the turn, as in `outrider.run`.
        configuration: The section `outrider` of the editor's configuration.
        keep_in: An empty folder for the script, the log and the temporary workspace, which then stay; absent, they
            lie in a temporary folder.
        wait: Whether the first turn is waited for; only with `async with`.
        allow_exhausted: Whether the script may run out.
        allow_ignored: Whether the server may find something wrong in `settings` or `tools` and go on without it.
        allow_left_over: Whether answers of the script, of `answers` or of `tool_answers` may be left over.
        seconds: Real seconds that a turn may take, and each command; not what the server imports until its first answer.

    Raises:
        ValueError: The script, the profile, the connection, the workspace or a document is none.
    """
    if answers is not None and (on_confirmation or on_user_question):
        raise ValueError(
            "`answers` and the functions `on_confirmation` and `on_user_question` exclude each other"
        )
    if isinstance(profile, str) and profile not in PROFILES:
        raise ValueError(f"there is no profile {profile!r}; there are {', '.join(PROFILES)}")
    if connection not in CONNECTIONS:
        raise ValueError(f"there is no connection {connection!r}; there are {', '.join(CONNECTIONS)}")
    if isinstance(open, str):
        raise ValueError(f"`open` takes a list of documents: [{open!r}]")
    editor = PROFILES[profile] if isinstance(profile, str) else profile
    if editor.stops_reading:
        raise ValueError(
            f"{editor} reads no result of a scenario: use `start_session` and `FakeEditor.read_on`"
        )
    given = dict(settings or {})
    if given.get("events", True) is not True:
        raise ValueError("a scenario is told by its events: leave the setting `events` as it is")
    setup = Setup(
        script=script if isinstance(script, ScriptedModel) else ScriptedModel(script),
        settings=_with_patience(given, editor),
        workspace=dict(workspace or {}) if isinstance(workspace, Mapping | None) else Path(workspace),
        on_confirmation=on_confirmation,
        on_user_question=on_user_question,
        answers=answers if answers is None or callable(answers) else list(answers),
        tools=tuple(tools),
        tool_answers=tool_answers if tool_answers is None or callable(tool_answers) else list(tool_answers),
        profile=editor,
        connection=connection,
        open=tuple(open),
        configuration=configuration,
        keep_in=keep_in,
        allowed_reasons=frozenset({"script_exhausted"} if allow_exhausted else ()),
        allow_ignored=allow_ignored,
        allow_left_over=allow_left_over,
        seconds=seconds,
    )
    first = {"mode": mode, "context": context, "limits": limits, "wait": wait}
    return ScenarioRun(setup, prompt, first)


def run_explore_scenario(
    prompt: str, script: ScriptedModel | Sequence[Turn | Call], **how: Any
) -> ScenarioRun:
    """Ask a question about the workspace (`outrider.explore`); `how` is as in `run_scenario`."""
    return run_scenario(prompt, script, mode="explore", **how)


def _with_patience(settings: Mapping[str, Any], profile: Profile) -> Mapping[str, Any]:
    """The settings, with the limit without which a question that nobody answers would hold a test for minutes."""
    closes = profile.dismissal if profile.forced_answer in (None, Dismiss()) else profile.forced_answer
    if not isinstance(closes, Never | Late):
        return settings
    return {**settings, "limits": {"askSeconds": HELD_SECONDS, **(settings.get("limits") or {})}}
