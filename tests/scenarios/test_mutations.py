"""Each promise broken on purpose: at least one scenario must turn red. The list stands in `tests/README.md`."""

import pytest
from suite import FILES, read

from outrider.agent.context import workspace_news
from outrider.agent.loop import recovery, tool_context, turn
from outrider.agent.loop.tool_context import Rules
from outrider.agent.session import session
from outrider.agent.state import state
from outrider.app import App
from outrider.lsp.features import code_actions
from outrider.permissions.policy.decide import Judgement
from outrider.permissions.secrets.masking import Masked, Masking
from outrider.ports.ids import RandomIds, SequentialIds
from outrider.store.log import Store
from outrider.testing.scenario_files import play
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider.tools.edit import changes, placeholders, stale
from outrider.tools.edit.changes import Telling
from outrider.workspace.documents.overlay import Overlay
from outrider.workspace.history import journal
from outrider.workspace.history.histories import FileHistory
from outrider.workspace.history.journal import Journal


def nothing_without_a_yes(patch):
    patch.setattr(tool_context, "decide", lambda *_: Judgement("allow", "why ask"))


def what_was_approved_happens(patch):
    patch.setattr(changes, "digest", lambda change: change.located.uri)


def agent_sees_what_person_sees(patch):
    read = Overlay.read

    async def of_disk(self, located):
        documents, self._documents = self._documents, type(self._documents)()
        try:
            return await read(self, located)
        finally:
            self._documents = documents

    patch.setattr(Overlay, "read", of_disk)


def no_lost_update(patch):
    patch.setattr(FileHistory, "catch_up", lambda *_: None)


def edits_come_back(patch):
    patch.setattr(Journal, "to_undo", lambda *_: [])


def read_only_is_read_only(patch):
    patch.setattr(Rules, "permission_mode", property(lambda _: "full"))


def one_result_for_each_call(patch):
    patch.setattr(turn.Turn, "_skip", lambda *_: None)


def log_is_the_truth(patch):
    events = Store.events

    async def but_the_third(self, session_id, from_seq=1, limit=None):
        return [event for event in await events(self, session_id, from_seq, limit) if event.seq != 3]

    patch.setattr(Store, "events", but_the_third)


def stop_stops(patch):
    patch.setattr(play, "WAIT_SECONDS", 5.0)  # for the end that does not come
    patch.setattr(turn.Turn, "cancel", lambda *_: None)
    patch.setattr(session, "CANCEL_SECONDS", 0.1)


def secrets_stay(patch):
    patch.setattr(tool_context, "command_environment", lambda env, *_: dict(env))


def secrets_are_not_shown(patch):
    patch.setattr(Masking, "_masked", lambda _, text: Masked(text, 0))


def a_secret_goes_nowhere_else(patch):
    patch.setattr(placeholders, "checked", lambda action, *_: action)


def standard_lsp_is_enough(patch):
    patch.setattr(code_actions, "_for_open_item", lambda _: iter(()))


def deterministic_under_test(patch):
    patch.setattr(SequentialIds, "new", lambda _, kind: RandomIds().new(kind))


def repository_is_data(patch):
    def widened(self, values):
        self.settings.now = self.settings.now.model_copy(
            update={"permission_mode": (values or {})["permissionMode"]}
        )
        return ()

    patch.setattr(App, "configure", widened)


def resumed_where_it_was(patch):
    patch.setattr(state, "_restored", lambda *_: None)


def a_command_at_most_once(patch):
    found = recovery._found

    async def run_again(context, services, call, registry, *, may_ask):
        if call.call.name == "run_command":
            return None
        return await found(context, services, call, registry, may_ask=may_ask)

    patch.setattr(recovery, "_found", run_again)


def told_what_others_changed(patch):
    patch.setattr(workspace_news, "telling", lambda *_: Telling("", whole=True, compared=True))


def no_edit_over_a_change(patch):
    patch.setattr(stale, "clash", lambda *_: None)


def commands_come_back(patch):
    patch.setattr(journal, "_operation", lambda _: "rename")


MUTATIONS = {
    nothing_without_a_yes: "write_file_denied",
    what_was_approved_happens: "changed_surroundings_are_asked_again",
    agent_sees_what_person_sees: "unsaved_text_is_what_is_read",
    no_lost_update: "undo_keeps_what_was_typed",
    edits_come_back: "undo_and_redo",
    read_only_is_read_only: "read_only_mode_denies_write",
    one_result_for_each_call: "cancelled_while_asked",
    log_is_the_truth: "f6_replay_from_any_seq",
    stop_stops: "cancelled_in_stream",
    secrets_stay: "provider_keys_stay_out_of_commands",
    secrets_are_not_shown: "secret_stays_at_its_place",
    a_secret_goes_nowhere_else: "secret_stays_at_its_place",
    standard_lsp_is_enough: "approval_by_code_action",
    deterministic_under_test: "f1_hello",
    repository_is_data: "configuration_cannot_widen",
    told_what_others_changed: "what_others_changed_is_told",
    no_edit_over_a_change: "edit_over_a_change_is_refused",
    commands_come_back: "command_that_changes_files_is_undone",
    resumed_where_it_was: "f5_resume_after_kill",
    a_command_at_most_once: "killed_in_a_command",
}


@pytest.mark.parametrize(("mutation", "name"), MUTATIONS.items(), ids=lambda it: getattr(it, "__name__", ""))
async def test_a_broken_promise_turns_a_scenario_red(mutation, name, tmp_path, monkeypatch):
    scenario, beside = read(name), FILES[name].parent
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    assert not await play_and_judge(scenario, whole, beside=beside)
    mutation(monkeypatch)
    assert await play_and_judge(scenario, broken, beside=beside), f"{name} does not notice"


def test_every_mutation_is_in_the_documentation(request):
    page = (request.config.rootpath / "tests" / "README.md").read_text()
    listed = [line for line in page.splitlines() if line.startswith("| ") and "`test_mutations`" not in line]
    for mutation, name in MUTATIONS.items():
        row = f"`{name}`"
        assert any(mutation.__name__.replace("_", " ") in line.lower() and row in line for line in listed), (
            name
        )
