"""A stock Neovim and real language servers: a name that 30 files use is renamed at once, and an approval says what its edit breaks elsewhere."""

import sys
from pathlib import Path

import neovim_driver
import pace
import pytest
from code_projects import FILES, PROJECTS, breaking, fill, rename, used, uses
from test_neovim import RECIPE, SETUP, Neovim, call

pytestmark = [
    pytest.mark.skipif(
        neovim_driver.program("0.11") is None, reason="Neovim's wheel is not installed on this platform"
    ),
    pytest.mark.timeout(240),
]


class InProject(Neovim):
    """An instance as it comes, in a project that uses a name in many files."""

    session = None

    def __init__(self, folder, project, turns):
        name, command, file, *_ = project
        script = folder / "script.json"
        script.write_text(pace.script(turns))
        self.place = folder / "workspace"
        self.place.mkdir()
        fill(self.place, project)
        self.file = self.place / file
        neovim_driver.Neovim.__init__(self, folder)
        servers = {"*": {"enabled": False}, name: {"command": command}}
        init = {
            "model": f"scripted:{script}",
            "stateDir": str(folder / "state"),
            "trusted": True,
            "languageServers": servers,
        }
        self.lua(
            f"local options, picks, reading = ...\n{RECIPE}{SETUP}",
            {"cmd": [sys.executable, "-m", "outrider", "serve"], "init": init},
            ["Allow once"],
            pace.READING * 1000,
        )
        self.lua("vim.lsp.config.outrider.filetypes = nil")
        self.ex(f"edit {self.file}")
        self.wait("#vim.lsp.get_clients({ name = 'outrider' }) == 1 and vim.lsp.get_clients()[1].initialized")

    def run(self, prompt):
        """Give a task, and wait for its end."""
        given = {"prompt": prompt, **({"sessionId": self.session} if self.session else {})}
        started = self.command("outrider.run", given)["result"]
        self.session = started["sessionId"]
        while True:
            ended = self.command("outrider.wait", {"turnId": started["turnId"], "timeout": 15})["result"]
            if "outcome" in ended:
                return ended


@pytest.mark.parametrize("name", PROJECTS)
def test_one_call_renames_in_thirty_files_and_an_approval_says_what_its_edit_breaks(tmp_path, name):
    project = PROJECTS[name]
    _, command, _, text, _, other, *_ = project
    if not Path(command[0]).exists():
        pytest.skip(f"there is no {command[0]}; .ci/run installs it")
    nvim = InProject(tmp_path, project, [*rename(project, call), *breaking(project, call)])
    try:
        assert nvim.run("Rename it.")["outcome"] == "completed"
        (asked,) = nvim.lua("return _G.asked")
        assert asked[0].startswith(f"Rename price to cost (in {FILES + 1} files)")
        assert nvim.text == text.replace("price", "cost")
        assert uses(nvim.place, project) == used(project, "cost")
        undone = nvim.command("outrider.undo", {"scope": "turn"})["result"]
        assert len(undone["undone"]) == FILES + 1
        assert nvim.text == text
        assert uses(nvim.place, project) == used(project, "price")
        nvim.run("Break it.")
        (broken,) = nvim.lua("return _G.asked")[1:]
        head = broken[0].partition("--- ")[0]
        assert "Introduces 2" in head
        assert f"{other.format(n=0)}:" in head
    finally:
        nvim.quit()
