"""`:Outrider setup`: the steps are the server's; leaving a question ends it, and nothing was written."""

from neovim_plugin import DONE

KEY = "sk-local-0123456789"
ANSWERS = """
_G.canned = {
  list = { providers = { { name = 'my', title = 'Mine', needsKey = true } }, keeps = { 'file', 'env' }, file = 'f' },
  models = { models = { { name = 'big', contextWindow = 65536 }, { name = 'small' } } },
  try = { trial = { ok = true, detail = 'calls tools', seconds = 1 } },
  save = { model = 'my/big', file = '/home/settings.toml', written = '' },
}
vim.fn.inputsecret = function() return '%s' end
vim.ui.select = function(choices, how, done) done(choices[1]) end
"""
CANNED = (
    """
_G.steps = {}
require('outrider.client').execute = function(_, name, params, done)
  _G.steps[#_G.steps + 1] = params
  vim.schedule(function() done(_G.canned[params.action]) end)
end
"""
    + ANSWERS
)


def test_a_user_comes_to_a_model(plugin):
    nvim = plugin([DONE]).ready()
    nvim.lua(CANNED % KEY)
    nvim.ex("Outrider setup")
    nvim.wait("heard('my/big is used from the next task on')")
    steps = nvim.lua("return _G.steps")
    assert [one["action"] for one in steps] == ["list", "models", "try", "save"]
    assert steps[-1] == {"action": "save", "provider": "my", "key": KEY, "model": "big", "keep": "file"}
    assert KEY not in nvim.lua("return vim.fn.execute('messages')")


def test_what_does_not_answer_is_said_and_saved_nowhere(plugin):
    nvim = plugin([DONE]).ready()
    nvim.lua(CANNED % KEY)
    nvim.lua("_G.canned.try.trial = { ok = false, detail = 'the key of my does not work', seconds = 1 }")
    nvim.ex("Outrider setup")
    nvim.wait("heard('the key of my does not work. Nothing was written')")
    assert [one["action"] for one in nvim.lua("return _G.steps")] == ["list", "models", "try"]


def test_who_leaves_is_asked_no_more(plugin):
    nvim = plugin([DONE]).ready()
    nvim.lua("vim.ui.select = function(choices, how, done) _G.offered = choices; done(nil) end")
    nvim.ex("Outrider setup")
    nvim.wait("_G.offered ~= nil")
    assert "openai" in [one["name"] for one in nvim.lua("return _G.offered")]


LED = """
local client_of = require('outrider.client')
local real = client_of.execute
client_of.execute = function(client, name, params, ...)
  local done = ...
  if name == 'outrider.setup' then
    _G.saved = params.action == 'save'
    return vim.schedule(function() done(_G.canned[params.action]) end)
  end
  if name == 'outrider.run' and _G.saved then
    _G.sent = vim.deepcopy(params)
    params.model = 'scripted:%s'
  end
  return real(client, name, params, ...)
end
vim.ui.select = function(choices, how, done)
  _G.led = _G.led or { how.prompt, choices }
  done(choices[1])
end
"""


def test_a_task_without_a_model_leads_to_one_by_one_key_and_is_done_as_it_was(plugin):
    nvim = plugin([DONE], init={"model": ""}).ready()
    nvim.lua(ANSWERS % KEY)
    nvim.lua(LED % nvim.script)
    nvim.ex("2,3Outrider! plan Two an hour")
    nvim.until_done()
    prompt, choices = nvim.lua("return _G.led")
    assert prompt.startswith("Outrider: no model is set in ")
    assert prompt.endswith("settings.toml, which is not there ")
    assert choices == ["Set up a model", "Not now"]
    sent = nvim.lua("return _G.sent")
    assert (sent["prompt"], sent["mode"]) == ("Two an hour", "plan")
    assert sent["context"]["selection"]["uri"] == nvim.file.as_uri()


def test_who_wants_no_set_up_now_is_told_where_it_is_and_the_task_is_kept(plugin):
    nvim = plugin([DONE], init={"model": ""}, picks=["Not now"], texts=["x"]).ready()
    nvim.run("Two an hour")
    nvim.wait(
        "heard('settings.toml, which is not there. `:Outrider run` without a task has what you wrote.')"
    )
    nvim.ex("Outrider run")
    nvim.wait("#_G.asked > 1")
    assert nvim.lua("return _G.asked[2]") == ["Task: ", "Two an hour"]


def test_what_goes_on_after_a_check_that_failed_is_a_task_in_words(plugin):
    nvim = plugin([DONE]).ready()
    nvim.run("Two an hour").until_done()
    nvim.lua("session().last.failed = { 'pytest -q' }")
    nvim.ex("Outrider continue")
    nvim.wait("shows('# `pytest -q` failed. Correct what is wrong')")
