"""Test agents without a model or an editor: a fake editor, client profiles, scenarios.

A scenario is a script for the model, an editor, and what the person says:

    model = scripted(workspace, [{"text": "Done."}])
    async with start_session("neovim-0.11", workspace, model, answers=["Allow once"]) as editor:
        editor.open("a.py")
        assert (await editor.run("Tidy up"))["outcome"] == "completed"

`profiles` holds the editors, the hostile ones too; `answers` what a question can get; `fake_editor` what an editor
can do and what it records. Every message is held against LSP and the wire contract (`checks`), and `start_session`
raises at its end what was broken.
"""
