"""Which servers there are: what is near comes first, what can do it is taken, and what is missing is named with how to get it."""

import json
import os
import shlex
import sys

import pytest
from house import TOY, Folder, house

from outrider.language.finding import chosen, programs_in, rows_of
from outrider.ports.language import Unknown
from outrider_protocol.settings import LanguageServerSettings

HOW_TO_TRUST = "the folder is not trusted; `outrider trust add` there says that it is"
GO = "there is no language server for go: install one of gopls (go install golang.org/x/tools/gopls@latest)"
SCRIPT = {"a.ts": "def price\nuse price\n", "tsconfig.json": "{}"}
ALL = {"*": {"enabled": True}}
DEFINITION = "textDocument/definition"


def program(path, **script):
    """A program that is the scripted server."""
    path.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-I", str(TOY), json.dumps(script)]
    path.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
    path.chmod(0o755)
    return path


def package(folder, name, version):
    """A package of node in a folder."""
    place = folder / "node_modules" / name
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps({"name": name, "version": version}))
    return place


@pytest.fixture
def project(tmp_path):
    """Makes a folder with files."""

    def make(files):
        root = tmp_path / "project"
        root.mkdir(exist_ok=True)
        for name, text in files.items():
            (root / name).write_text(text)
        return root

    return make


async def test_the_project_comes_first_then_the_path_then_the_settings(tmp_path):
    def make(place, name):
        return program(tmp_path / place / name)

    given = {"pyright": LanguageServerSettings(command=[str(make("opt", "mine"))])}
    rows = rows_of(given)

    def first():
        return [
            one.argv[0] for one in chosen(programs_in(tmp_path, rows, given, str(tmp_path / "bin")), "python")
        ]

    assert first() == [str(tmp_path / "opt" / "mine")]
    in_path = make("bin", "pyright-langserver")
    assert first() == [str(in_path)]
    own = make(".venv/bin", "ty")
    assert first() == [str(own)], "what the project has comes before what is further up in the table"
    lint = make("bin", "ruff")
    assert first() == [str(own), str(lint)]


# How npm and pnpm leave a program: a link into its package, or a script beside it; and where Debian keeps it.
LEFT = ["link", "script", "elsewhere"]


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize(("version", "serves"), [("6.0.3", False), ("5.9.0-beta", False), ("7.0.1", True)])
def test_a_program_whose_version_cannot_serve_is_not_found(project, tmp_path, version, serves, left):
    root = project(SCRIPT)
    made = package(root if left != "elsewhere" else tmp_path / "lib", "typescript", version)
    tsc = program(made / "bin" / "tsc")
    near = root / "node_modules" / ".bin" / "tsc"
    near.parent.mkdir(parents=True, exist_ok=True)
    if left == "script":
        program(near)
    else:
        near.symlink_to(tsc)
    found = chosen(programs_in(root, rows_of({}), {}, ""), "typescript")
    assert [one.row.name for one in found] == ["typescript"] * serves


@pytest.mark.parametrize(("version", "serves"), [("0.4.2", False), ("0.5.3", True), ("0.14.0", True)])
def test_so_is_one_of_a_virtual_environment(project, version, serves):
    root = project({"a.py": ""})
    program(root / ".venv" / "bin" / "ruff")
    (root / ".venv" / "lib" / "python3.12" / "site-packages" / f"ruff-{version}.dist-info").mkdir(
        parents=True
    )
    found = chosen(programs_in(root, rows_of({}), {}, ""), "python")
    assert [one.row.name for one in found] == ["ruff"] * serves


def test_one_that_does_not_tell_its_version_is_found_and_so_is_what_the_user_names(project, tmp_path):
    root = project(SCRIPT)
    program(tmp_path / "bin" / "tsc")
    (found,) = chosen(programs_in(root, rows_of({}), {}, str(tmp_path / "bin")), "typescript")
    assert found.row.name == "typescript"
    made = package(tmp_path / "lib", "typescript", "6.0.3")
    given = {"typescript": LanguageServerSettings(command=[str(program(made / "bin" / "tsc")), "--mine"])}
    (found,) = chosen(programs_in(root, rows_of(given), given, ""), "typescript")
    assert found.argv[1:] == ("--mine",)


async def test_an_old_compiler_of_the_project_gives_way_to_a_server_in_the_path(project, tmp_path):
    root = project(SCRIPT)
    made = package(root, "typescript", "6.0.3")
    program(made / "bin" / "tsc", crash="initialize")
    (root / "node_modules" / ".bin").mkdir()
    (root / "node_modules" / ".bin" / "tsc").symlink_to("../typescript/bin/tsc")
    program(tmp_path / "bin" / "typescript-language-server")
    async with house(root, ALL, search_path=f"{tmp_path / 'bin'}:{os.environ['PATH']}") as languages:
        assert not isinstance(await languages.answers_for(languages.sources.uri("a.ts"), DEFINITION), Unknown)
        (status,) = await languages.status()
        assert (status.name, status.state) == ("typescript-language-server", "running")


@pytest.mark.parametrize("next_one", ["vtsls", "typescript-language-server"])
async def test_where_a_server_has_failed_for_good_the_next_one_takes_its_place(project, tmp_path, next_one):
    root = project(SCRIPT)
    program(root / "node_modules" / ".bin" / "typescript-language-server", crash="initialize")
    program(tmp_path / "bin" / next_one)  # the same one elsewhere, too
    async with house(root, ALL, search_path=f"{tmp_path / 'bin'}:{os.environ['PATH']}") as languages:
        uri = languages.sources.uri("a.ts")
        said = [await languages.answers_for(uri, DEFINITION) for _ in range(5)]
        assert [isinstance(one, Unknown) for one in said] == [True, True, True, False, False]
        states = [(one.name, one.state) for one in await languages.status()]
        assert states == [(next_one, "running"), ("typescript-language-server", "failed")]
        (server,) = await languages.servers_for(uri)
        assert server.is_up


async def test_without_another_one_the_server_that_failed_is_named(project):
    root = project(SCRIPT)
    program(root / "node_modules" / ".bin" / "vtsls", crash="initialize")
    async with house(root, ALL) as languages:
        for _ in range(6):
            said = await languages.answers_for(languages.sources.uri("a.ts"), DEFINITION)
        assert said.message.startswith("vtsls has failed: ")
        assert [(one.name, one.state) for one in await languages.status()] == [("vtsls", "failed")]


# --- what is missing -------------------------------------------------------------------------------------------


async def test_a_missing_server_is_told_of_with_how_to_get_it(project):
    root = project({"main.go": "", "go.mod": ""})
    async with house(root, ALL, search_path="/nonexistent") as languages:
        assert await languages.lacking() == [GO]
        said = await languages.answers_for(languages.sources.uri("main.go"), "textDocument/hover")
        assert said.message == (
            "no language server for go was found; install one of gopls (go install golang.org/x/tools/gopls@latest)"
        )
        said = await languages.answers_for(languages.sources.uri("go.mod"), "textDocument/hover")
        assert said.message == "no language server is known for files of this kind"


@pytest.mark.parametrize(
    ("files", "settings"),
    [
        ({"go.mod": ""}, ALL),
        ({"deploy.sh": "", "README.md": ""}, ALL),
        ({"main.go": "", "go.mod": ""}, {"gopls": {"enabled": False}}),
    ],
    ids=["no files", "no project", "not wanted"],
)
async def test_none_is_missed_where_there_are_no_files_no_project_or_it_is_not_wanted(
    project, files, settings
):
    async with house(project(files), settings, search_path="/nonexistent") as languages:
        assert await languages.lacking() == []


async def test_files_beside_a_project_miss_one_when_somebody_asks(project):
    root = project({"deploy.sh": ""})
    async with house(root, ALL, search_path="/nonexistent") as languages:
        await languages.servers_for(languages.sources.uri("deploy.sh"))
        assert [one.partition(":")[0] for one in await languages.lacking()] == [
            "there is no language server for shellscript"
        ]


@pytest.mark.parametrize(("trust", "told"), [("undecided", True), ("refused", False)])
async def test_a_folder_that_is_not_trusted_is_named_unless_that_was_decided(project, trust, told):
    root = project({"a.py": "", "pyproject.toml": ""})

    class Distrusted(Folder):
        folders = ()

    sources = Distrusted(root)
    sources.untrusted = {root: trust}
    async with house(root, ALL, sources=sources) as languages:
        line = f"no language server runs in {root}: {HOW_TO_TRUST}"
        assert await languages.undecided() == [line] * told
        assert await languages.lacking() == []
        assert await languages.withheld() == [line]
