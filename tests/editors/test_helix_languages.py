"""A stock Helix and real language servers: a name that 30 files use is renamed at once, and a question says what its edit breaks elsewhere."""

import json
from pathlib import Path

import pytest
from code_projects import FILES, PROJECTS, breaking, fill, rename, used, uses
from neovim_driver import INSTALLED
from terminal_editor import call, starting
from test_helix import NEXT, RETURN, Helix

SECONDS = 90
"""How long a language server may read the project on a busy machine."""

pytestmark = pytest.mark.timeout(240)


def in_project(name):
    """A fixture that starts a Helix in a project."""
    server, command, file, *_ = PROJECTS[name]

    def make(folder, given):
        program = INSTALLED / "hx"
        if not program.exists():
            pytest.skip("Helix is not installed: .ci/install-terminal-editors does that, on Debian")
        if not Path(command[0]).exists():
            pytest.skip(f"there is no {command[0]}; .ci/run installs it")
        servers = f'"*" = {{ enabled = false }}, {server} = {{ command = {json.dumps(command)} }}'
        more = f", trusted = true, languageServers = {{ {servers} }}"
        (folder / "workspace").mkdir()
        fill(folder / "workspace", PROJECTS[name])
        return Helix(program, folder, given, file=file, language=name, more=more)

    return starting(make)


python = in_project("python")
typescript = in_project("typescript")


@pytest.mark.parametrize("name", ["python", "typescript"])
def test_one_call_renames_in_thirty_files_with_one_question_and_one_undo(name, request):
    project = PROJECTS[name]
    text = project[3]
    editor = request.getfixturevalue(name)(*rename(project, call))
    place = editor.file.parent
    editor.keys(':lsp-workspace-command outrider.run {"prompt": "rename it"}' + RETURN)
    editor.wait("Reject", SECONDS)
    editor.read(lambda: f"Rename price to cost (in {FILES + 1} files)" in editor.text)
    editor.keys(NEXT + RETURN)
    editor.wait("Outrider, completed: Renamed.")
    editor.wait_for_buffer(text.replace("price", "cost"))
    assert uses(place, project) == used(project, "cost")
    editor.take("Outrider: undo turn")
    editor.wait_for_buffer(text)
    editor.wait(lambda: uses(place, project) == used(project, "price"))


@pytest.mark.parametrize("name", ["python", "typescript"])
def test_a_question_says_what_its_edit_breaks_in_other_files(name, request):
    project = PROJECTS[name]
    text, other = project[3], project[5]
    editor = request.getfixturevalue(name)(*breaking(project, call))
    editor.keys(':lsp-workspace-command outrider.run {"prompt": "break it"}' + RETURN)
    editor.wait("Reject", SECONDS)
    editor.read(lambda: "Introduces " in editor.text)
    assert f"{other.format(n=0)}:" in editor.text.partition("Introduces ")[2]
    assert editor.buffer == text, "nothing has changed yet"
