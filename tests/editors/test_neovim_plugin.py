"""The plugin of `editors/neovim` in a real Neovim: what a user does, by commands and keys, and what they see."""

import pytest
from neovim_plugin import AFTER, ANY_VERSION, BEFORE, DONE, EDIT, EVERY_VERSION, call, running, until


@EVERY_VERSION
def test_a_whole_task_by_commands_and_keys(plugin, version):
    nvim = plugin(
        [
            {"reasoning": "Let me see.\nIt is three.", "text": "I look first.", "tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}]},
            EDIT,
            call("run_command", command="/bin/cat tariff.py"),
            DONE,
        ],
        picks=["Save and continue"], version=version).ready()  # fmt: skip
    nvim.run().until_asked()
    assert nvim.text == BEFORE, "nothing without a yes"
    (removed, hint) = nvim.marks()
    assert removed[:2] == [2, "OutriderProposalDelete"]
    assert hint[2][0] == "    return hours * 2"
    assert "\\a accept · \\r reject · \\n why not · \\e amend" in hint[2][1]
    assert "\\d diff — Edit tariff.py (+1 −1)" in hint[2][2]
    assert "begin" in nvim.lua("return _G.progress")

    nvim.keys("\\a")
    nvim.wait("asks('Run: /bin/cat')")
    assert nvim.text == AFTER
    assert nvim.file.read_text() == BEFORE, "the edit is in the buffer only"
    assert nvim.marks() == []
    nvim.ex("silent undo")
    assert nvim.text == BEFORE, "one undo takes the whole edit back"
    nvim.ex("silent redo")

    nvim.ex("Outrider open")
    nvim.keys("a")
    # A server that knows `outrider/save` has it saved without a question.
    nvim.wait("asks('not saved') or shows('completed (')")
    nvim.keys("<CR>")
    nvim.until_done()
    assert nvim.file.read_text() == AFTER, "saved before the command ran"
    shown = nvim.shown
    assert "# fix the price" in shown
    assert "│ Let me see." in shown
    assert "✓ read_file tariff.py" in shown
    assert "✓ edit_file tariff.py" in shown
    assert "┊ +    return hours * 2" in shown
    assert "✓ run_command /bin/cat tariff.py" in shown
    assert "┊     return hours * 2" in shown
    assert "Fixed." in shown
    assert "› Edit tariff.py (+1 −1): allowed" in shown
    steps = [
        "# fix the price",
        "│ Let me see.",
        "I look first.",
        "✓ read_file tariff.py",
        "✓ edit_file tariff.py",
        "Fixed.",
    ]
    assert [line for line in shown if line in steps] == steps, "in the order in which they happened"
    nvim.wait("_G.progress[#_G.progress] == 'end'")


def test_cancel_ends_the_turn_and_its_processes(plugin):
    nvim = plugin([call("run_command", command="echo on; exec /bin/sleep 314159"), {"text": "never"}]).ready()
    nvim.run("wait").until_asked()
    nvim.ex("Outrider allow")
    nvim.wait("shows('┊ on')")
    until(lambda: running("314159"))
    nvim.ex("Outrider cancel")
    nvim.until_done("cancelled")
    assert not running("314159")
    assert nvim.lua("return session().state") == "idle"
    nvim.ex("Outrider cancel")
    nvim.wait("heard('nothing to cancel')")


def test_what_was_asked_shows_no_keys_once_its_turn_is_cancelled(plugin):
    nvim = plugin([call("run_command", command="/bin/sleep 1")]).ready()
    nvim.run("wait").until_asked()
    nvim.wait("shows('a allow once')")
    nvim.ex("Outrider cancel")
    nvim.until_done("cancelled")
    nvim.wait("shows('› Run `/bin/sleep 1` in the workspace, ')")
    assert not nvim.lua("return shows('a allow once')")


@EVERY_VERSION
def test_typing_while_an_edit_arrives_keeps_both_and_undoes_them_apart(plugin, version):
    above = "".join(f"# {number}\n" for number in range(8))
    nvim = plugin([EDIT, DONE], text=above + BEFORE, version=version).ready()
    nvim.run().until_asked()
    nvim.keys("ggO# what a price is<CR># and why")
    nvim.wait("vim.fn.getline(2) == '# and why'")
    assert nvim.marks()[0][0] == 12, "the proposal moved with its line"
    assert nvim.lua("return vim.api.nvim_get_mode().mode") == "i"
    nvim.lua("require('outrider.items').by_key('allow', { session().items[1] })")
    nvim.wait("vim.fn.getline(13) == '    return hours * 2'")
    nvim.keys(", at last<Esc>")
    nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
    assert nvim.text == "# what a price is\n# and why, at last\n" + above + AFTER
    nvim.until_done()
    nvim.keys("u")
    nvim.wait("vim.fn.getline(2) == '# and why'")
    assert nvim.text == "# what a price is\n# and why\n" + above + AFTER
    nvim.keys("u")
    nvim.wait("vim.fn.getline(13) == '    return hours * 3'")
    assert nvim.text == "# what a price is\n# and why\n" + above + BEFORE


def test_what_is_typed_beside_a_proposal_makes_it_be_asked_again_at_its_new_place(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    first = nvim.lua("return session().items[1].id")
    nvim.keys("ggO# what a price is<Esc>")
    nvim.wait("vim.fn.getline(1) == '# what a price is'")
    nvim.ex("Outrider diff")
    assert nvim.text_of_current() == ("# what a price is\n" + AFTER).rstrip("\n")
    nvim.keys("a")
    nvim.wait(f"open() == 1 and session().items[1].id ~= '{first}'")
    assert nvim.text == "# what a price is\n" + BEFORE
    assert [mark[0] for mark in nvim.marks()] == [3, 3]
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == "# what a price is\n" + AFTER


@ANY_VERSION
def test_undo_of_a_turn_keeps_what_was_typed_since(plugin, version):
    nvim = plugin([EDIT, DONE], version=version).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider allow")
    nvim.until_done()
    nvim.keys("Go# typed by the user<Esc>")
    nvim.wait("vim.fn.getline('$') == '# typed by the user'")
    nvim.ex("Outrider undo")
    nvim.wait("heard('undone: tariff.py (1)') and shows('· undone: tariff.py')")
    assert nvim.text == BEFORE + "# typed by the user\n"
    nvim.ex("Outrider redo")
    nvim.wait("shows('· redone: tariff.py')")
    nvim.wait("heard('redone: tariff.py (1)')")
    assert nvim.text == AFTER + "# typed by the user\n"


def test_the_diff_view_shows_both_texts_side_by_side_and_is_answered_there(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider diff")
    assert nvim.lua("return #vim.api.nvim_list_tabpages()") == 2
    shown = nvim.lua(
        "return vim.tbl_map(function(window) return { vim.wo[window].diff, "
        "table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, true), '\\n') } end, "
        "vim.api.nvim_tabpage_list_wins(0))"
    )
    assert shown == [[True, BEFORE.rstrip("\n")], [True, AFTER.rstrip("\n")]]
    assert nvim.lua("return vim.fn.line('.')") == 3, "the cursor is at the change"
    nvim.keys("a")
    nvim.until_done()
    assert nvim.text == AFTER
    nvim.wait("#vim.api.nvim_list_tabpages() == 1")
    assert nvim.lua("return vim.wo.diff") is False


@pytest.mark.parametrize(
    ("turn", "title", "left", "right"),
    [
        (call("write_file", path="new.py", content="x = 1\n"), "Create new.py", "", "x = 1"),
        (call("delete_file", path="tariff.py"), "Delete tariff.py", BEFORE.rstrip("\n"), ""),
    ],
    ids=["create", "delete"],
)
def test_files_that_come_and_go_have_a_diff_too(plugin, turn, title, left, right):
    nvim = plugin([turn, DONE]).ready()
    nvim.run().until_asked()
    assert nvim.lua("return asks(...)", title)
    nvim.ex("Outrider diff")
    texts = nvim.lua(
        "return vim.tbl_map(function(window) return "
        "table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, true), '\\n') end, "
        "vim.api.nvim_tabpage_list_wins(0))"
    )
    assert texts == [left, right]
    nvim.keys("r")
    nvim.until_done()
    assert nvim.file.read_text() == BEFORE
    assert not (nvim.file.parent / "new.py").exists()


def test_a_no_with_a_note_reaches_the_model(plugin):
    expects = DONE | {"expect": {"last_message_contains": "it is a holiday"}}
    nvim = plugin([EDIT, expects], texts=["it is a holiday"]).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider open")
    nvim.keys("n")
    nvim.until_done()
    assert nvim.text == BEFORE
    assert "› Edit tariff.py (+1 −1): rejected: it is a holiday" in nvim.shown


def test_leaving_a_picker_answers_nothing(plugin):
    nvim = plugin([EDIT, DONE], picks=["nothing of it", "Allow once"]).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider answer")
    nvim.wait("#_G.asked == 1 and #_G.picks == 1")
    assert nvim.lua("return _G.asked[1][2]") == [
        "Allow once",
        "Allow for this session (further edits of this file)",
        "Always allow…",
        "Reject",
        "Reject with a note…",
        "Look at it first",
    ]
    assert nvim.lua("return open()") == 1
    assert nvim.text == BEFORE
    nvim.ex("Outrider answer")
    nvim.until_done()
    assert nvim.text == AFTER


def test_always_shows_the_rule_and_asks_where_it_holds(plugin):
    picks = ["Always allow…", "nothing of it", "Always allow…", "Always in this workspace"]
    nvim = plugin([EDIT, DONE], picks=picks).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider answer")
    nvim.wait("#_G.asked == 2")
    assert nvim.lua("return _G.asked[2][1]") == "Always allow edit tariff.py? "
    assert nvim.lua("return _G.asked[2][2]") == ["Always in this workspace", "Always everywhere"]
    assert nvim.lua("return open()") == 1
    nvim.ex("Outrider answer")
    nvim.until_done()
    assert nvim.text == AFTER


def test_questions_come_up_by_themselves_where_the_person_wants_that(plugin):
    nvim = plugin(
        [EDIT, call("ask_user", question="Which rate?", options=["two", "three"]), DONE],
        picks=["Allow once", "Another answer"],
        texts=["two and a half"],
        setup={"ask": "select"},
    ).ready()
    nvim.run().until_done()
    assert nvim.text == AFTER
    assert "› Which rate?: two and a half" in nvim.shown
    assert nvim.marks() == []


def test_steering_and_a_question_answered_by_command(plugin):
    nvim = plugin(
        [
            call("ask_user", question="Which rate?"),
            DONE | {"expect": {"messages_contain": ["two", "mind the tests"]}},
        ]
    ).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider steer mind the tests")
    nvim.wait("shows('you: mind the tests')")
    nvim.ex("Outrider answer two")
    nvim.until_done()


@ANY_VERSION
def test_selection_and_problems_of_all_servers_go_with_the_task(plugin, version):
    nvim = plugin(
        [
            {"text": "Seen.", "expect": {"messages_contain": ["hours * 3", "too expensive"]}},
            {"text": "Explained.", "expect": {"messages_contain": "return hours"}},
            call("diagnostics", path="tariff.py"),
            {
                "text": "Looked.",
                "expect": {"messages_contain": "tariff.py:3:12: error: too expensive [prices]"},
            },
        ],
        version=version,
    ).ready()
    nvim.ex("Outrider fix")
    nvim.wait("heard('There is no problem here')")
    nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('prices'), 0, {{ lnum = 2, col = 11, end_lnum = 2, "
        "end_col = 20, message = 'too expensive', severity = 1, source = 'prices' }})"
    )
    nvim.ex("3Outrider fix")
    nvim.wait("shows('Seen.')")
    nvim.keys("3G^vee:Outrider explain<CR>")
    nvim.wait("shows('Explained.')")
    nvim.run("look again")
    nvim.wait("shows('Looked.')")
    started = nvim.lua(
        "return vim.tbl_filter(function(event) return event.type == 'turn.started' end, "
        "ask('outrider.events', { sessionId = session().id }).events)"
    )
    assert [event["data"]["mode"] for event in started] == ["agent", "explore", "agent"]
    assert started[0]["data"]["context"]["diagnostics"][0]["items"][0]["message"] == "too expensive"
    assert started[1]["data"]["context"]["selection"]["range"] == {
        "start": {"line": 2, "character": 4},
        "end": {"line": 2, "character": 16},
    }


def test_sessions_are_found_and_gone_on_with(plugin):
    nvim = plugin([{"text": "one"}, {"text": "two"}], picks=[]).ready()
    nvim.run("first")
    nvim.wait("shows('one')")
    first = nvim.lua("return session().id")
    nvim.ex("Outrider! run second")
    nvim.wait(f"session().id ~= '{first}' and shows('completed (')")
    nvim.ex(f"Outrider resume {first}")
    nvim.wait(f"session().id == '{first}' and vim.b.outrider_session == '{first}'")
    assert "# first" in nvim.shown
    assert "# second" not in nvim.shown
    nvim.ex("Outrider sessions")
    nvim.wait("#_G.asked == 1")
    assert {row.split("  ")[2] for row in nvim.lua("return _G.asked[1][1] and _G.asked[1][2]")} == {
        "first (1 task)",
        "second (1 task)",
    }
    assert nvim.lua("return require('outrider.commands').complete('se', 'Outrider se')") == [
        "servers",
        "sessions",
        "setup",
    ]
    assert first in nvim.lua("return vim.fn.getcompletion('Outrider resume ', 'cmdline')")
    assert nvim.lua("return vim.fn.getcompletion('Outrider mode p', 'cmdline')") == ["plan"]


def test_mode_model_and_permissions_are_chosen_by_command(plugin):
    nvim = plugin([{"text": "Read."}, EDIT, DONE]).ready()
    nvim.ex("Outrider mode explore")
    nvim.run("look").until_done()
    assert nvim.lua("return session().mode") == "explore"
    assert "explore" in nvim.lua("return require('outrider').status()")
    nvim.ex("Outrider mode agent")
    nvim.ex("Outrider permissions auto-edit")
    nvim.wait("client() ~= nil and client().id > 1 and client().initialized and session() ~= nil")
    nvim.wait("session() ~= nil and session().state == 'idle' and shows('opened again')")
    nvim.run("change it")
    nvim.wait("shows('Fixed.')")
    assert nvim.text == AFTER, "no question in this mode"
    nvim.ex("Outrider mode nonsense")
    nvim.wait("heard('There is no mode')")
    nvim.ex("Outrider nonsense")
    nvim.wait("heard('There is no `:Outrider nonsense`')")


def test_a_model_is_chosen_of_those_that_can_be_had(plugin):
    known = {
        "tiers": {"small": ["my/b"]},
        "models": {"my/b": {"contextWindow": 32_000, "price": {"input": 0.5, "output": 2}}},
        "providers": {"my": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}},
    }
    nvim = plugin([], init=known, picks=["  my/b", "  another", "  the one"], texts=["my/other"]).ready()
    nvim.ex("Outrider model")
    nvim.wait("require('outrider.status').state().model == 'my/b'")
    prompt, rows = nvim.lua("return _G.asked[1]")
    assert "provider my" in prompt, "who cannot be reached is said"
    assert rows[0] == "● the one of the settings  tiers"
    assert "  my/b  small · 32k tokens · 0.5 in, 2 out" in rows
    assert rows[-1] == "  another…"
    assert nvim.lua("return vim.fn.getcompletion('Outrider model my', 'cmdline')") == ["my/b"]
    nvim.ex("Outrider model")
    nvim.wait("require('outrider.status').state().model == 'my/other'")
    assert "● my/b  small · 32k tokens · 0.5 in, 2 out" in nvim.lua("return _G.asked[2][2]")
    nvim.ex("Outrider model")
    nvim.wait(f"require('outrider.status').state().model == 'scripted:{nvim.script}'")


def test_the_models_are_completed_before_they_were_listed(plugin):
    nvim = plugin([], init={"fallbackModels": ["my/b"]}).ready()
    # On a busy machine the answer may come after the moment that the first one waits.
    nvim.wait("vim.fn.getcompletion('Outrider model my', 'cmdline')[1] == 'my/b'")


def test_the_models_are_asked_for_once_in_a_while_however_often_they_are_completed(plugin):
    nvim = plugin([]).ready()
    nvim.lua(
        "_G.requests, _G.ahead = {}, 0\n"
        "local now = vim.uv.now\n"
        "vim.uv.now = function() return now() + _G.ahead end\n"
        "require('outrider.client').execute = function(_, _, _, done, failed)\n"
        "  table.insert(_G.requests, { done = done, failed = failed })\n"
        "end\n"
        "_G.waits = 0\n"
        "local wait = vim.wait\n"
        "vim.wait = function(most, ...) if most > 500 then _G.waits = _G.waits + 1 end return wait(50, ...) end"
    )
    complete = "return table.concat(vim.fn.getcompletion('Outrider model my', 'cmdline'), ' ')"
    assert [nvim.lua(complete), nvim.lua(complete)] == ["", ""]
    assert nvim.lua("return { #_G.requests, _G.waits }") == [1, 1]
    nvim.lua("_G.requests[1].done({ models = { { model = 'my/b' } } })")
    assert nvim.lua(complete) == "my/b"
    nvim.lua("_G.ahead = 61000")
    assert [nvim.lua(complete), nvim.lua(complete)] == ["my/b", "my/b"], "until the new list is there"
    assert nvim.lua("return #_G.requests") == 2
    nvim.lua("_G.requests[2].failed({ message = 'it is gone' })")
    assert nvim.lua("return _G.heard('it is gone')")
    assert nvim.lua(complete) == "my/b"
    assert nvim.lua("return #_G.requests") == 2


@pytest.mark.thorough
def test_the_status_line_says_what_goes_on(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    assert nvim.lua("return require('outrider').status()").startswith("Outrider ·")
    nvim.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'OutriderStatus', callback = function() _G.told = require('outrider').status() end })"
    )
    nvim.run().until_asked()
    nvim.wait("_G.told ~= nil and _G.told:find('? 1 · step 1', 1, true) ~= nil")
    assert "? 1 · step 1" in nvim.lua("return require('outrider').status()")
    nvim.ex("set statusline=%{v:lua.require'outrider'.status()}")
    assert "? 1" in nvim.lua("return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str")
    assert nvim.lua("return vim.lsp.status()") != ""
    nvim.ex("Outrider reject")
    nvim.until_done()
    assert nvim.lua("return require('outrider').state().state") == "idle"


def test_a_cost_of_which_a_part_is_unknown_is_unknown(plugin):
    nvim = plugin([DONE]).ready()
    sums = nvim.lua(
        "local one = require('outrider.session').new(1, 'ses_1')\n"
        "local sums = {}\n"
        "local function take(kind, data)\n"
        "one:take({ seq = 1, type = kind, data = data })\n"
        "sums[#sums + 1] = require('outrider.drawing').usage(one.usage)\n"
        "end\n"
        "local used = { inputTokens = 10, outputTokens = 2, cost = 0.5 }\n"
        "take('model.retried', { usage = used })\n"
        "take('model.responded', { text = '', finishReason = 'stop', usage = used })\n"
        "take('model.responded', { text = 'Half', finishReason = 'cancelled', usage = used })\n"
        "take('model.responded', { text = 'Half', finishReason = 'cancelled' })\n"
        "take('model.fellBack', { usage = used })\n"
        "one:take({ seq = 2, type = 'turn.started', data = { prompt = 'Again' } })\n"
        "take('model.failed', { usage = used })\n"
        "return sums"
    )
    assert sums == [
        "10 + 2 tokens · cost 0.5000",
        "20 + 4 tokens · cost 1.0000",
        "30 + 6 tokens · cost 1.5000",
        "30 + 6 tokens",
        "40 + 8 tokens",
        "10 + 2 tokens · cost 0.5000",
    ]


@pytest.mark.thorough
def test_buffers_of_no_known_type_are_seen_as_they_are(plugin):
    read = {"tool_calls": [{"name": "read_file", "input": {"path": path}} for path in ("notes", "more")]}
    nvim = plugin(
        [read, {"text": "Read.", "expect": {"messages_contain": ["unsaved notes", "unsaved more"]}}]
    )
    for name in ("notes", "more"):
        path = nvim.file.parent / name
        path.write_text("saved\n")
        # The first is opened before the server is there, the second after.
        nvim.ex(f"edit {path}")
        nvim.ready()
        nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) == 1")
        nvim.rpc.request("nvim_buf_set_lines", 0, 0, -1, True, [f"unsaved {name}"])
    nvim.run("read").until_done()


def test_live_text_that_is_ahead_of_the_log_is_put_behind_what_came_before_it(plugin):
    nvim = plugin([{"text": "Hello."}]).ready()
    nvim.run("greet").until_done()
    nvim.lua(
        "local view, here = require('outrider.view'), session()\n"
        "view.frame(here, { kind = 'text', messageId = 'm', offset = 0, text = 'and the' })\n"
        "view.event(here, { type = 'error', data = { message = 'before' } })\n"
        "view.event(here, { type = 'model.requested', data = { messageId = 'm', purpose = 'main' } })\n"
        "view.frame(here, { kind = 'text', messageId = 'm', offset = 7, text = ' text' })"
    )
    assert nvim.shown[-2:] == ["· error: before", "and the text"]


def test_a_float_and_windows_that_are_left_alone(plugin):
    nvim = plugin([{"text": "Hello."}], setup={"view": {"layout": "float"}}).ready()
    window = nvim.lua("return vim.api.nvim_get_current_win()")
    nvim.run("greet").until_done()
    nvim.wait("#vim.api.nvim_list_wins() == 2")
    assert nvim.lua("return vim.api.nvim_get_current_win()") == window, "the cursor stays with the user"
    nvim.ex("Outrider open")
    assert nvim.lua("return vim.api.nvim_win_get_config(0).relative") == "editor"
    nvim.keys("g?")
    nvim.wait("heard('`:checkhealth outrider` says what to do')")
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1")


@pytest.mark.parametrize(("layout", "split"), [("right", "row"), ("below", "col")])
def test_the_session_stands_where_it_is_wanted(plugin, layout, split):
    nvim = plugin([{"text": "Hello."}], setup={"view": {"layout": layout}}).ready()
    nvim.run("greet").until_done()
    nvim.wait("#vim.api.nvim_list_wins() == 2")
    kind, (text, session) = nvim.lua("return vim.fn.winlayout()")
    assert kind == split
    buffers = [nvim.lua(f"return vim.api.nvim_win_get_buf({window})") for _, window in (text, session)]
    assert buffers == [nvim.buffer, nvim.lua("return require('outrider.view').buffer(session())")]


def test_changes_are_listed_by_hunk_and_taken_back_one_by_one(plugin):
    nvim = plugin(
        [EDIT, DONE], picks=["Allow once", "tariff.py:3 applied", "Undo", "tariff.py:3 undone", "Redo"]
    ).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider answer")
    nvim.until_done()
    nvim.ex("Outrider changes")
    nvim.wait("heard('undone: tariff.py (1)')")
    assert nvim.text == BEFORE
    nvim.lua("require('outrider.sessions').use(client(), nil)")  # as after a restart: it is the latest one
    nvim.ex("Outrider changes")
    nvim.wait("heard('redone: tariff.py (1)')")
    assert nvim.text == AFTER


def test_renames_creations_and_deletions_are_listed_and_taken_back_one_by_one(plugin):
    calls = [
        {"name": "rename_file", "input": {"from": "tariff.py", "to": "rates.py"}},
        {"name": "write_file", "input": {"path": "empty.txt", "content": ""}},
    ]
    nvim = plugin(
        [{"tool_calls": calls}, DONE],
        picks=[
            "tariff.py → rates.py: rename applied", "Undo",
            "empty.txt:1 create applied: ", "Undo",
            "tariff.py → rates.py: rename undone", "Redo",
        ],
        init={"permissionMode": "full"},
    ).ready()  # fmt: skip
    nvim.run().until_done()
    for said in ("undone: tariff.py (1)", "undone: empty.txt (1)", "redone: tariff.py (1)"):
        nvim.ex("Outrider changes")
        nvim.wait(f"heard('{said}')")


def test_an_undo_of_another_turn_than_the_latest_asks_with_its_task(plugin):
    nvim = plugin([EDIT, DONE, DONE]).ready()
    nvim.run().until_asked()
    nvim.keys("\\a")
    nvim.until_done()
    nvim.lua(
        "_G.asked = {}\nvim.ui.select = function(list, how, done) _G.asked[#_G.asked + 1] = how.prompt; done(_G.choose) end"
    )
    nvim.run("only look").until_done()
    nvim.ex("Outrider undo")
    nvim.wait("#_G.asked == 1")
    assert "Undo “fix the price”?" in nvim.lua("return _G.asked[1]")
    assert nvim.text == AFTER
    nvim.lua("_G.choose = 'Undo it'")
    nvim.ex("Outrider undo")
    nvim.wait("heard('undone: tariff.py (1)')")
    assert nvim.text == BEFORE


def test_an_unknown_scope_is_told_with_the_known_ones(plugin):
    nvim = plugin([DONE]).ready()
    nvim.run().until_done()
    for command in ("undo", "redo"):
        nvim.ex(f"Outrider {command} bogus")
    nvim.wait("heard('There is no scope “bogus”: say one of turn, step, hunk, session.')")


def test_a_question_that_waited_too_long_parks_and_is_answered_all_the_same(plugin):
    nvim = plugin([EDIT, DONE], init={"limits": {"askSeconds": 0.3}}).ready()
    nvim.run().until_asked()
    nvim.wait("session().state == 'parked' and shows('waits for you')")
    assert len(nvim.marks()) == 2, "it stays where it is"
    assert "‖ · ? 1" in nvim.lua("return require('outrider').status()")
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == AFTER
    assert nvim.marks() == []


PLAN = call(
    "write_plan",
    goal="Fix the price",
    steps=["Change the factor", "Tell everybody"],
    checks=["python3 -B -c \"import ast; ast.parse(open('tariff.py').read(), 'tariff.py')\""],
)
BREAK = call("edit_file", path="tariff.py", old="hours * 3", new="hours * (")
FOUND = "vim.tbl_map(function(one) return { one.lnum, one.message } end, vim.diagnostic.get(vim.fn.bufnr('tariff.py')))"


def test_a_plan_is_changed_and_started_and_what_its_check_says_is_shown_at_the_line(plugin):
    mend = call("edit_file", path="tariff.py", old="hours * (", new="hours * 2")
    turns = [PLAN, {"text": "There it is."}, BREAK, DONE, mend, DONE]
    nvim = plugin(turns, init={"permissionMode": "full"}).ready()
    nvim.ex("Outrider plan fix the price")
    nvim.until_done()
    nvim.wait("heard('Outrider wrote the plan .outrider/plans/fix-the-price.md.')")
    nvim.ex(f"edit {nvim.file.parent / '.outrider/plans/fix-the-price.md'}")
    nvim.ex("g/Tell everybody/d")
    nvim.ex("silent write")
    nvim.ex("Outrider start")
    nvim.wait(f"#{FOUND} == 1")
    ((line, message),) = nvim.lua(f"return {FOUND}")
    assert line == 2
    assert message.startswith("SyntaxError")
    nvim.wait("shows('checked: ')")
    nvim.wait(f"#{FOUND} == 0")
    assert nvim.file.read_text() == AFTER
    assert "Tell everybody" not in "\n".join(nvim.shown[-40:])
