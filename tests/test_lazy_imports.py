"""What is imported late is imported off the path of requests: in the thread that loads it, or in one of its own."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typer
import typer.exceptions
from typer._coercion import build_runtime_param

import outrider
from outrider.cli import plain_values
from outrider.tools.all import own_tools
from outrider.tools.names import OWN_TOOLS

_SERVER = Path(outrider.__file__).parent
_PACKAGES = ("agent", "models", "permissions", "ports", "tools", "workspace")

_ELSEWHERE = {
    "agent/customization/front_matter.py": "front matter is read in threads",
    "tools/page_child.py": "only the child process reads pages",
    "models/http/provider.py": "the client of HTTP is made in a thread, which imports httpx before anything here does",
    "permissions/policy/own_file.py": "files of rules are read and written in threads",
    "permissions/policy/rules_file.py": "files of rules are read and written in threads",
    "permissions/policy/trust.py": "the file of trust is read and written in threads",
    "workspace/repository_map/tags.py": "only the child process reads languages",
    "workspace/disk/folder.py": "part of the standard library that is loaded with the process",
}
_LOADED = {"jsonschema", "pathspec", "re2", "referencing", "tree_sitter", "tree_sitter_bash"}
"""What `load_for_requests` and `client.prepare` load."""


def _late_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    found: set[str] = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    found |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found.add((node.module or "").partition(".")[0])
    return {name for name in found if name not in sys.stdlib_module_names and not name.startswith("outrider")}


def test_every_library_that_is_imported_late_has_a_thread_that_loads_it() -> None:
    late = {
        path.relative_to(_SERVER).as_posix(): found
        for package in _PACKAGES
        for path in sorted((_SERVER / package).rglob("*.py"))
        if (found := _late_imports(path) - _LOADED)
    }
    assert set(late) <= set(_ELSEWHERE)


def test_the_thread_loads_them() -> None:
    subprocess.run(
        [
            sys.executable,
            "-c",
            (
                f"import sys; from outrider import app; wanted = {_LOADED!r}; assert not wanted & sys.modules.keys();"
                "app.load_for_requests(); app.client_tools.prepare(); assert wanted <= sys.modules.keys(), wanted - sys.modules.keys()"
            ),
        ],
        check=True,
    )


def _run(script: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", script, *arguments], check=True, stdout=subprocess.DEVNULL)


def test_the_version_is_printed_without_the_command_line() -> None:
    _run(
        "import sys; from outrider.__main__ import main; main();"
        "assert not {'typer', 'pydantic', 'asyncio', 'outrider.cli'} & sys.modules.keys()",
        "--version",
    )


_MODELS, _ALL_ELSE = {"pydantic", "outrider_protocol.settings"}, {"outrider.app", "outrider.agent", "pygls"}
"""What the models of the wire and the server take to load: a tenth of a second, and more than a second."""


@pytest.mark.parametrize(
    ("line", "unwanted"),
    [
        ("--help", {"asyncio", "outrider.lsp.client", *_MODELS, *_ALL_ELSE}),
        ("run --help", {"asyncio", "outrider.lsp.client", *_MODELS, *_ALL_ELSE}),
        ("completion bash", {"asyncio", "rich", *_MODELS, *_ALL_ELSE}),
        ("run", {"tree_sitter", *_ALL_ELSE}),
        ("trust list", {"tree_sitter", *_MODELS, *_ALL_ELSE}),
        ("trust add --json", {"tree_sitter", *_MODELS, *_ALL_ELSE}),
        ("permissions list --json", {"tree_sitter", *_MODELS, *_ALL_ELSE}),
        ("permissions add deny curl", {"outrider.tools.run_command", *_MODELS, *_ALL_ELSE}),
        ("permissions remove rule_x", {"tree_sitter", *_MODELS, *_ALL_ELSE}),
        ("permissions check ls", {"outrider_protocol.events", *_ALL_ELSE}),
        ("sessions", {"tree_sitter", "pydantic", "outrider.lsp.client", *_ALL_ELSE}),
    ],
)
def test_a_command_that_needs_no_server_loads_only_what_it_needs(
    line, unwanted, tmp_path, monkeypatch
) -> None:
    """Each takes 0.4 s at most on a machine at rest, most of them half of it; the time itself says too little here."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    _run(
        "import sys; from outrider.cli.main import main; main(sys.argv[1:])\n"
        f"loaded = {unwanted!r} & sys.modules.keys()\n"
        "assert not loaded, loaded",
        *line.split(),
    )


def test_a_chat_leaves_the_application_to_its_server() -> None:
    _run(
        "import sys, outrider.cli.chat.chat, outrider.cli.chat.screen\n"
        "loaded = {'outrider.app', 'outrider.agent.session.session', 'pygls'} & sys.modules.keys()\n"
        "assert not loaded, loaded",
    )


def test_the_names_of_tools_that_quick_commands_know_are_those_of_the_tools() -> None:
    assert set(own_tools().names) == OWN_TOOLS


def test_a_value_that_is_taken_as_it_is_is_what_typer_would_make_of_it(monkeypatch) -> None:
    """Values that were typed and those that were not, and slips."""
    got: list[object] = []
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def command(
        text: str,
        kind: Annotated[Literal["a", "b"], typer.Option()] = "a",
        path: Path = Path(),
        file: Annotated[Path | None, typer.Option(exists=True)] = None,
        many: Annotated[list[str] | None, typer.Option()] = None,
        number: Annotated[int, typer.Option(min=1)] = 1,
    ) -> None:
        got.append((text, kind, path, file, many, number))

    def played() -> list[object]:
        got.clear()
        for line in (
            ["x"],
            ["", "--kind", "b", "--path", "none", "--many", "1", "--many", "", "--number", "7"],
            ["x", "--path", __file__, "--file", __file__],
            ["x", "--path", "s" * 300],
            ["x", "--kind", "c"],
            ["x", "--file", "none"],
            ["x", "--number", "0"],
            ["x", "--number", "y"],
        ):
            try:
                app(line, standalone_mode=False)
            except typer.exceptions.TyperException as slip:
                got.append(slip.format_message())
        return list(got)

    monkeypatch.setattr("typer.core.build_runtime_param", build_runtime_param)
    own_way = played()
    plain_values.take_plain_values()
    assert played() == own_way
    assert [isinstance(one, str) for one in own_way] == [False] * 4 + [True] * 4


def test_a_class_of_lsprotocol_is_made_when_it_is_used_and_is_as_ever() -> None:
    _run(
        "from outrider.lsp.late_types import import_pygls; import_pygls()\n"
        "import attrs\n"
        "from lsprotocol import types\n"
        "from pygls.protocol import default_converter\n"
        "converter = default_converter()\n"
        "made = lambda: sum('__match_args__' in vars(one) for one in vars(types).values() if isinstance(one, type))\n"
        "assert made() <= 1, made()\n"  # one by the converter itself
        "edit = {'range': {'start': {'line': 1, 'character': 2}, 'end': {'line': 3, 'character': 4}}, 'newText': 'x'}\n"
        "given = {'textDocument': {'uri': 'file:///a', 'version': 2}, 'edits': [edit]}\n"
        "value = converter.structure(given, types.TextDocumentEdit)\n"
        "assert isinstance(value.edits[0], types.TextEdit), value\n"
        "assert value.edits[0].range.end.line == 3\n"
        "assert converter.unstructure(value) == given, converter.unstructure(value)\n"
        "assert types.Position(1, 2) < types.Position(1, 3) and types.Position(1, 2) == types.Position(1, 2)\n"
        "assert [one.name for one in attrs.fields(types.Range)] == ['start', 'end']\n"
        "assert 1 < made() < 20, made()\n"
    )


def test_a_type_of_acp_is_built_when_it_is_used_and_its_source_is_not_read_for_that() -> None:
    _run(
        "import linecache\n"
        "from outrider.acp.late_schema import import_sdk; import_sdk()\n"
        "import acp, pydantic\n"
        "from acp import schema\n"
        "types = [one for one in vars(schema).values() if isinstance(one, type) and issubclass(one, pydantic.BaseModel)]\n"
        "built = lambda: sum(one.__pydantic_complete__ for one in types if one.__module__ == schema.__name__)\n"
        "assert len(types) > 200 and built() < 10, (len(types), built())\n"
        "assert schema.__file__ not in linecache.cache\n"
        "given = {'sessionId': 's', 'prompt': [{'type': 'text', 'text': 'x'}], '_meta': {'a': 1}}\n"
        "value = schema.PromptRequest.model_validate(given)\n"
        "assert isinstance(value.prompt[0], schema.TextContentBlock), value\n"
        "assert value.model_dump(by_alias=True, exclude_none=True) == given\n"
        "assert schema.PromptRequest(session_id='s', prompt=[]).session_id == 's'\n"
        "assert built() < 20, built()\n"
        "class Own(pydantic.BaseModel):\n"
        "    model_config = pydantic.ConfigDict(use_attribute_docstrings=True)\n"
        "assert Own.model_config['use_attribute_docstrings'] and Own.__pydantic_complete__\n"
    )


def test_an_agent_of_acp_starts_without_the_methods_of_its_dataclasses() -> None:
    _run(
        "import dataclasses\n"
        "late = '_create_fn' in vars(dataclasses)\n"
        "from outrider.acp.serve import _load; _load({}, None)\n"
        "from outrider.agent.services import Services\n"
        "assert (vars(Services)['__init__'].__code__.co_filename != '<string>') is late\n"
    )


def test_a_client_of_http_comes_without_the_command_line_of_httpx() -> None:
    _run(
        "import sys; from outrider.models.http import provider; client = provider._new_client(None, None)\n"
        "assert not isinstance(client, str), client\n"
        "assert not {'click', 'pygments', 'rich'} & sys.modules.keys()"
    )


def test_only_a_client_that_needs_certificates_reads_them() -> None:
    _run(
        "from outrider.models.http import provider\n"
        "def authorities(**how):\n"
        "    client = provider._new_client(None, None, **how)\n"
        "    return client._transport._pool._ssl_context.cert_store_stats()['x509_ca']\n"
        "assert authorities() > 0 == authorities(is_plain=True)\n"
    )


def test_a_method_of_a_dataclass_is_compiled_when_it_is_called_and_does_as_ever() -> None:
    _run(
        "from outrider.late_dataclasses import compile_methods_late; compile_methods_late()\n"
        "import dataclasses, types, typing\n"
        "late = '_create_fn' in vars(dataclasses)\n"
        "T = typing.TypeVar('T')\n"
        "@dataclasses.dataclass(frozen=True, slots=True)\n"
        "class Base:\n"
        "    'One.'\n"
        "    number: int\n"
        "    names: list[str] = dataclasses.field(default_factory=list)\n"
        "@dataclasses.dataclass(frozen=True, slots=True, order=True)\n"
        "class More(Base, typing.Generic[T]):\n"
        "    'Another.'\n"
        "    other: str = dataclasses.field(default='x', kw_only=True)\n"
        "    def __post_init__(self):\n"
        "        assert self.number >= 0\n"
        "def compiled(cls, name):\n"
        "    return vars(cls)[name].__code__.co_filename == '<string>'\n"
        "assert compiled(Base, '__init__') is not late\n"
        "one, same, bigger = More(1, ['a']), More(1, ['a'], other='x'), More(2)\n"
        "assert compiled(More, '__init__') and compiled(Base, '__init__') is not late\n"
        "assert one == same and one != bigger and one < bigger and one != Base(1, ['a'])\n"
        "assert repr(one) == \"More(number=1, names=['a'], other='x')\", repr(one)\n"
        "assert hash(Base(1, ())) == hash(Base(1, ())) and {Base(1, ()): 2}[Base(1, ())] == 2\n"
        "assert dataclasses.replace(one, number=3) == More(3, ['a'])\n"
        "assert dataclasses.asdict(one) == {'number': 1, 'names': ['a'], 'other': 'x'}\n"
        "def refused(error, change):\n"
        "    try:\n"
        "        change()\n"
        "    except error:\n"
        "        return True\n"
        "assert refused(dataclasses.FrozenInstanceError, lambda: setattr(one, 'number', 4))\n"
        "assert refused(dataclasses.FrozenInstanceError, lambda: delattr(one, 'number'))\n"
        "assert refused(TypeError, lambda: More()) and refused(TypeError, lambda: More(1, more=2))\n"
        "assert compiled(More, '__eq__')\n"
    )
