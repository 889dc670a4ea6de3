"""Real language servers: an edit that breaks a caller in another file is found before it is made, and a rename changes all files."""

import json
import os
import shutil
import sys
import venv
from pathlib import Path

import pytest
from house import house

from everyday import some
from outrider.ports.language import Spot, Touched, Unknown

HERE = Path(__file__).parent
INSTALLED = HERE.parents[1] / ".editors" / "servers"
PATH = os.pathsep.join(
    [
        str(INSTALLED),
        str(HERE / "node_modules" / ".bin"),
        str(Path(sys.executable).parent),
        os.environ["PATH"],
    ]
)

PYTHON = (
    "tariff.py",
    "def price(hours: int) -> int:\n    return hours * 3\n",
    "hours: int",
    "hours: str",
    "use{n}.py",
    "from tariff import price\n\nTOTAL: int = price({n})\n",
    {},
)
SCRIPT = (
    "tariff.ts",
    "export function price(hours: number): number {\n  return hours * 3;\n}\n",
    "hours: number",
    "hours: string",
    "use{n}.ts",
    'import {{ price }} from "./tariff";\nexport const total: number = price({n});\n',
    {
        "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler", "types": []}}'
    },
)
C = (
    "tariff.h",
    "#pragma once\nint price(int hours);\n",
    "int hours",
    "int *hours",
    "use{n}.cc",
    '#include "tariff.h"\nint total{n}() {{ return price({n} + 1); }}\n',
    {},
)
GO = (
    "tariff.go",
    "package tariff\n\nfunc price(hours int) int {\n\treturn hours * 3\n}\n",
    "hours int",
    "hours string",
    "use{n}.go",
    "package tariff\n\nvar total{n} int = price({n})\n",
    {"go.mod": "module tariff\n\ngo 1.21\n"},
)
# What rust-analyzer finds by itself: types that do not fit are found by cargo alone, in files that are saved.
RUST = (
    "src/tariff.rs",
    "pub fn price(hours: i32) -> i32 {\n    hours * 3\n}\n",
    "hours: i32",
    "hours: i32, rate: i32",
    "src/use{n}.rs",
    "use crate::tariff::price;\n\npub fn total() -> i32 {{\n    price({n})\n}}\n",
    {
        "Cargo.toml": '[package]\nname = "tariff"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": "pub mod tariff;\n" + "".join(f"pub mod use{n};\n" for n in range(30)),
    },
)
SERVERS = {
    "basedpyright": ("basedpyright-langserver", PYTHON),
    "pyright": ("pyright-langserver", PYTHON),
    "ty": ("ty", PYTHON),
    "typescript-language-server": ("typescript-language-server", SCRIPT),
    "clangd": ("clangd", C),
    "gopls": ("gopls", GO),
    "rust-analyzer": ("rust-analyzer", RUST),
}
# Debian has no server of procedural macros: it dies of SIGPIPE, at its start or a little later, when it writes to that.
NO_MACROS = {"checkOnSave": False, "procMacro": {"enable": False}}
SETTINGS = {"rust-analyzer": {**NO_MACROS, "rust-analyzer": NO_MACROS}}
FILES = 30
SECONDS = 55
pytestmark = pytest.mark.timeout(180)


def needs(program):
    if shutil.which(program, path=PATH) is None:
        pytest.skip(f"there is no {program} here; .ci/run installs it")


def name(uri):
    return uri.rpartition("/project/")[2]


@pytest.mark.parametrize("server", SERVERS)
async def test_what_an_edit_breaks_is_found_and_a_rename_changes_every_file(server, tmp_path):
    tmp_path /= "project"
    tmp_path.mkdir()
    program, (file, text, old, new, other, use, besides) = SERVERS[server]
    needs(program)
    for path, content in {file: text, **besides}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    if server == "clangd":
        commands = [
            {
                "directory": str(tmp_path),
                "file": other.format(n=number),
                "command": f"c++ -c {other.format(n=number)}",
            }
            for number in range(FILES)
        ]
        (tmp_path / "compile_commands.json").write_text(json.dumps(commands))
    for number in range(FILES):
        (tmp_path / other.format(n=number)).write_text(use.format(n=number))
    given = {"enabled": True, "settings": SETTINGS.get(server, {})}
    async with house(tmp_path, {server: given}, search_path=PATH) as languages:
        uri = languages.sources.uri(file)
        users = [languages.sources.uri(other.format(n=number)) for number in range(FILES)]
        assert await languages.problems([uri, *users[:3]], SECONDS) == ([], [])
        broken = text.replace(old, new)
        line = text.split("\n").index(next(one for one in text.split("\n") if "price" in one))
        touched = [Touched(uri, text, broken, [range(line, line + 1)])]
        check = await languages.judge(touched, is_trial=True)
        found = await check.within(SECONDS, languages.clock)
        await check.end()
        assert found is not None
        assert {name(one.uri) for one in found.introduced} & {name(one) for one in users}, found
        # Taken back, it left nothing behind.
        assert await languages.problems([uri, *users[:3]], SECONDS) == ([], [])
        answers = await languages.answers_for(uri, "textDocument/rename")
        column = text.split("\n")[line].index("price")
        renamed = await answers.rename(Spot(uri, line, column), "cost")
        assert not isinstance(renamed, Unknown), renamed
        changed = {name(one.uri): one.after for one in renamed}
        assert len(changed) == FILES + 1
        assert changed[file] == text.replace("price", "cost")
        assert changed[other.format(n=0)] == use.format(n=0).replace("price", "cost")


@pytest.mark.parametrize(
    "server", some((one for one in SERVERS if one not in {"clangd", "rust-analyzer"}), 3)
)
async def test_what_others_do_to_files_on_disk_is_in_the_next_answer(server, tmp_path):
    """Files of which nobody here knows get other lines, come and go; clangd and rust-analyzer have each new file named in another one."""
    program, (file, text, _, _, other, use, besides) = SERVERS[server]
    needs(program)
    root = tmp_path / "project"
    root.mkdir()
    contents = {file: text, other.format(n=0): use.format(n=0), other.format(n=1): use.format(n=1), **besides}
    for path, content in contents.items():
        (root / path).write_text(content)
    async with house(root, {server: {"enabled": True}}, search_path=PATH) as languages:
        uri = languages.sources.uri(file)
        line = next(number for number, one in enumerate(text.split("\n")) if "price" in one)
        spot = Spot(uri, line, text.split("\n")[line].index("price"), "price")

        async def used():
            answers = await languages.answers_for(uri, "textDocument/references")
            found = await answers.places("textDocument/references", spot)
            assert not isinstance(found, Unknown), found
            assert all("price" in one.line for one in found), found
            return {name(one.spot.uri) for one in found}

        assert await used() == {file, other.format(n=0), other.format(n=1)}
        (root / other.format(n=0)).write_text(use.format(n=0).replace("\n", "\n\n\n", 1))
        (root / other.format(n=1)).unlink()
        (root / other.format(n=2)).write_text(use.format(n=2))
        assert await used() == {file, other.format(n=0), other.format(n=2)}


async def test_a_linter_judges_formats_and_mends_beside_the_server_that_knows_the_code(tmp_path):
    needs("ruff")
    needs("ty")
    (tmp_path / "a.py").write_text("import os\nx = 1 \n")
    async with house(
        tmp_path, {"ruff": {"enabled": True}, "ty": {"enabled": True}}, search_path=PATH
    ) as languages:
        uri = languages.sources.uri("a.py")
        problems, late = await languages.problems([uri], SECONDS)
        assert late == []
        assert ("Ruff", "F401") in {(one.source, one.code) for one in problems}
        answers = await languages.answers_for(uri, "textDocument/formatting")
        (formatted,) = await answers.format(uri, None)
        assert formatted.after == "import os\n\nx = 1\n"
        offered = await languages.offered(uri, (0, 0), None)
        offer, item = next(
            (offer, item) for offer, one, item in offered if "Remove unused import" in one.title
        )
        (mended,) = await languages.resolved(offer, item)
        assert mended.after == "x = 1 \n"


@pytest.mark.parametrize(
    ("server", "place"),
    [
        ("pyright", ".venv"),
        ("pyright", "venv"),
        ("basedpyright", ".venv"),
        ("basedpyright", "venv"),
        ("ty", ".venv"),
    ],
)
async def test_what_is_installed_in_the_environment_of_the_project_is_known(server, place, tmp_path):
    needs(SERVERS[server][0])
    venv.create(tmp_path / place, with_pip=False)
    (packages,) = (tmp_path / place / "lib").glob("python*/site-packages")
    (packages / "tariff.py").write_text("def price(hours: int) -> int: return hours\n")
    (tmp_path / "a.py").write_text("from tariff import price\n\nTOTAL: int = price(3)\nODD: str = price(3)\n")
    async with house(tmp_path, {server: {"enabled": True}}, search_path=PATH) as languages:
        found, late = await languages.problems([languages.sources.uri("a.py")], SECONDS)
        assert late == []
        assert [(one.severity, one.start.line) for one in found if one.severity == "error"] == [("error", 3)]


async def test_an_interpreter_that_the_user_names_stays(tmp_path):
    needs("pyright-langserver")
    venv.create(tmp_path / ".venv", with_pip=False)
    given = {"pyright": {"enabled": True, "settings": {"python": {"pythonPath": "/opt/mine"}}}}
    async with house(tmp_path, given, search_path=PATH) as languages:
        (server,) = await languages.servers_for(languages.sources.uri("a.py"))
        assert server.row.settings["python"] == {"pythonPath": "/opt/mine"}
