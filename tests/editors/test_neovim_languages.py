"""A stock Neovim and real language servers: a name that 30 files use is renamed at once, and an approval says what its edit breaks elsewhere."""

import sys
from pathlib import Path

import neovim_driver
import pace
import pytest
from test_neovim import RECIPE, SETUP, Neovim, call

HERE = Path(__file__).parents[1] / "language" / "node_modules" / ".bin"
BIN = Path(sys.executable).parent
FILES = 30

pytestmark = [
    pytest.mark.skipif(
        neovim_driver.program("0.11") is None, reason="Neovim's wheel is not installed on this platform"
    ),
    pytest.mark.timeout(240),
]

PROJECTS = {
    "python": (
        "ty",
        [str(BIN / "ty"), "server"],
        "tariff.py",
        "def price(hours: int) -> int:\n    return hours * 3\n",
        ("hours: int", "hours: str"),
        "use{n}.py",
        "from tariff import price\n\nTOTAL: int = price({n})\n",
        {},
    ),
    "typescript": (
        "typescript-language-server",
        [str(HERE / "typescript-language-server"), "--stdio"],
        "tariff.ts",
        "export function price(hours: number): number {\n  return hours * 3;\n}\n",
        ("hours: number", "hours: string"),
        "use{n}.ts",
        'import {{ price }} from "./tariff";\nexport const total: number = price({n});\n',
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler", "types": []}}'
        },
    ),
}


class InProject(Neovim):
    """An instance as it comes, in a project that uses a name in many files."""

    session = None

    def __init__(self, folder, project, turns):
        name, command, file, text, _, other, use, besides = project
        script = folder / "script.json"
        script.write_text(pace.script(turns))
        self.place = folder / "workspace"
        self.place.mkdir()
        for path, content in {"tariff.py": "", **besides, file: text}.items():
            (self.place / path).write_text(content)
        for number in range(FILES):
            (self.place / other.format(n=number)).write_text(use.format(n=number))
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
    _, command, file, text, (old, new), other, use, _ = project
    if not Path(command[0]).exists():
        pytest.skip(f"there is no {command[0]}; .ci/run installs it")
    edit = call("edit_file", path=file, old=old, new=new)
    turns = [
        call("diagnostics", path=file),
        call("rename_symbol", symbol="price", new_name="cost"),
        {"text": "Renamed."},
        edit,
        edit,
        {"text": "Broken."},
    ]
    nvim = InProject(tmp_path, project, turns)
    try:
        assert nvim.run("Rename it.")["outcome"] == "completed"
        (asked,) = nvim.lua("return _G.asked")
        assert asked[0].startswith(f"Rename price to cost (in {FILES + 1} files)")
        assert nvim.text == text.replace("price", "cost")
        assert all(
            (nvim.place / other.format(n=number)).read_text() == use.format(n=number).replace("price", "cost")
            for number in range(FILES)
        )
        undone = nvim.command("outrider.undo", {"scope": "turn"})["result"]
        assert len(undone["undone"]) == FILES + 1
        assert nvim.text == text
        assert all((nvim.place / other.format(n=n)).read_text() == use.format(n=n) for n in range(FILES))
        nvim.run("Break it.")
        (broken,) = nvim.lua("return _G.asked")[1:]
        head = broken[0].partition("--- ")[0]
        assert "Introduces 2" in head
        assert f"{other.format(n=0)}:" in head
    finally:
        nvim.quit()
