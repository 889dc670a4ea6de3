"""`outrider.permissions`: what Outrider may do without asking, and changing it."""

from collections.abc import Sequence

from outrider.agent.services import Services
from outrider.agent.session.session import Session
from outrider.permissions.policy.decide import UNSANDBOXED
from outrider.permissions.policy.ledger import LedgerProblem
from outrider.permissions.policy.rules import Rule
from outrider_protocol.commands import NewRule, PermissionsParams, PermissionsResult, RuleInfo


async def permissions(
    services: Services, sessions: Sequence[Session], params: PermissionsParams
) -> PermissionsResult | LedgerProblem:
    """List the rules, after a change if one is wanted.

    Args:
        services: The house.
        sessions: The sessions that are open, whose grants are listed too.
        params: What is wanted.
    """
    ledger = services.policy.ledger
    await ledger.refresh()
    done: object = None
    if params.rule is not None:
        folders = services.workspace.folders.folders
        if params.rule.scope == "workspace" and not folders:
            return LedgerProblem(
                "no workspace folder is open, so the rule can only apply everywhere", "invalid"
            )
        done = await ledger.add([_rule(params.rule, str(folders[0].path) if folders else None)])
    elif params.id is not None:
        done = await ledger.remove(params.id)
    elif params.action == "open":
        if not ledger.path.exists() and (problem := await ledger.create()):
            return problem
        await services.runtime.editor.show(ledger.path.as_uri(), take_focus=True)
    if isinstance(done, LedgerProblem):
        return done
    rules = [info(rule, ledger.about_nothing(rule)) for rule, _ in ledger.all_rules]
    granted = [
        _granted(key, approval)
        for session in sessions
        for key, approval in session.record.state.grants.items()
    ]
    return PermissionsResult(path=str(ledger.path), rules=[*rules, *granted], problem=ledger.problem)


def info(rule: Rule, wrong: str | None = None) -> RuleInfo:
    """A rule, for the wire; its text says what is `wrong` with it."""
    return RuleInfo.from_wire(rule.to_wire(wrong))


def _rule(given: NewRule, workspace: str | None) -> Rule:
    return Rule(
        given.decision,
        given.tool,
        given.command,
        bool(given.exact),
        given.script,
        given.path,
        given.host,
        workspace if given.scope == "workspace" else None,
        expires=given.expires,
    )


def _granted(key: str, approval: str) -> RuleInfo:
    """A grant of a session: it holds for what it names exactly, until the session ends."""
    if key == UNSANDBOXED:
        return RuleInfo(
            id=approval,
            decision="allow",
            tool="run_command",
            scope="session",
            origin="person",
            text="run commands without a sandbox for this session, in permission mode full",
        )
    kind, _, what = key.partition(":")
    shown = what.partition("\0")[2] or what
    tool = {"run": "run_command", "edit": "edit"}.get(kind.partition("-")[0], what.partition("\0")[0])
    return RuleInfo(
        id=approval,
        decision="allow",
        tool=tool,
        scope="session",
        origin="person",
        text=f"allow {tool} “{shown}” for this session",
    )
