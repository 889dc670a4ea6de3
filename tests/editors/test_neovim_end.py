"""How the plugin shows the end of a turn, and what stands in the place of a question that was not asked."""

from neovim_plugin import DONE, call

END = {
    "outcome": "completed",
    "reason": "checked",
    "summary": "",
    "usage": {"inputTokens": 0, "outputTokens": 0},
}


def test_only_an_end_that_is_shown_to_be_done_has_the_tick(plugin):
    nvim = plugin([DONE]).ready()

    def end(state, line, **done):
        data = {**END, "reason": state, "done": {"state": state, "line": line, **done}}
        failures = {"pytest": [{"path": "a.py", "line": 3, "message": "no"}]}
        return nvim.lua("return require('outrider.drawing').finished(...)", data, failures)

    assert end("checked", "checked: tests (`pytest`)")[0].startswith("✓ completed (checked: ")
    assert end("no_changes", "")[0].startswith("✓ completed (")
    assert end("no_changes", "nothing was changed, so its checks did not run")[0].startswith("• completed (")
    assert end("unverified", "unverified: no check was run")[0].startswith("• completed (unverified")
    assert end("checked", "checked", openItems=["Look"])[0].startswith("• completed (")
    assert end("checked", "checked", diagnostics={"introduced": 1, "fixed": 0})[0].startswith("• completed (")
    check = {"kind": "test", "command": "pytest", "ok": False, "stale": False, "seconds": 1}
    assert end("check_failed", "check failed: `pytest` (exit code 1)", checks=[check]) == [
        "✗ check failed (`pytest` (exit code 1)) · 0 + 0 tokens",
        "  a.py:3: no",
        "  `:Outrider continue` lets the model correct what failed",
    ]


def test_a_question_that_was_not_asked_shows_what_counts(plugin):
    question = {"question": "Which?", "options": [{"label": "One", "description": "The first."}, "Two"]}
    again = call("ask_user", question="Which?")
    nvim = plugin([call("ask_user", **question), again, DONE]).ready()
    nvim.run().until_asked()
    shown = nvim.shown
    assert shown[shown.index("  • One") :][:3] == ["  • One", "    The first.", "  • Two"]
    nvim.lua("require('outrider.items').answer(session().items[1], { answer = 'One' })")
    nvim.until_done()
    assert "› Which?: answered as before: One" in nvim.shown
    assert not any(
        line.startswith("✓ ask_user Which?") for line in nvim.shown[nvim.shown.index("› Which?: One") + 1 :]
    )
    said = nvim.lua(
        "return require('outrider.drawing').not_asked(...)",
        {
            "name": "ask_user",
            "status": "error",
            "content": "Not asked: this turn has asked the user 3 questions.",
        },
    )
    assert said == "› not asked: the limit of questions is reached"


def test_a_plan_that_is_started_is_told_by_its_title(plugin):
    nvim = plugin([DONE]).ready()
    path = ".outrider/plans/price.md"
    prompt = f"Carry out the plan in {path}: Fix the price\n\nThe steps, which the user has approved."
    data = {"prompt": prompt, "planDocument": path, "mode": "agent", "model": "m"}
    lines = nvim.lua("return require('outrider.drawing').task(...)", data)
    assert lines == ["", "# Start plan: Fix the price", path, "agent · m", ""]
