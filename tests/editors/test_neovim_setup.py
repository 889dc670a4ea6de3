"""`:Outrider setup`: the steps are the server's; leaving a question ends it, and nothing was written."""

from neovim_plugin import DONE

KEY = "sk-local-0123456789"
CANNED = """
_G.steps = {}
require('outrider.client').execute = function(_, name, params, done)
  _G.steps[#_G.steps + 1] = params
  vim.schedule(function() done(_G.canned[params.action]) end)
end
_G.canned = {
  list = { providers = { { name = 'my', title = 'Mine', needsKey = true } }, keeps = { 'file', 'env' }, file = 'f' },
  models = { models = { { name = 'big', contextWindow = 65536 }, { name = 'small' } } },
  try = { trial = { ok = true, detail = 'calls tools', seconds = 1 } },
  save = { model = 'my/big', file = '/home/settings.toml', written = '' },
}
vim.fn.inputsecret = function() return '%s' end
vim.ui.select = function(choices, how, done) done(choices[1]) end
"""


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
