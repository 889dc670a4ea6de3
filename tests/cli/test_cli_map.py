"""`outrider map`: the repository map for some files."""

import io
from pathlib import Path

from rich.console import Console

from outrider.cli.prompt import show_map, within


async def printed(workspace, **at_hand):
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    options = {"stateDir": str(workspace.parent / f"{workspace.name}.state")}
    assert await show_map(workspace, options, at_hand, console) == 0
    return console.file.getvalue()


async def test_it_prints_the_names_of_the_files(workspace):
    text = await printed(workspace, files=["tests/test_tariff.py"], tokens=500)
    assert "tariff.py\n  function price(hours) 1\n" in text
    assert "  class PriceTest 6: test_two_hours() 7\n" in text
    assert await printed(workspace, tokens=1) == "no file in this folder defines names for the map\n"


def test_a_file_is_meant_from_where_one_is(tmp_path, monkeypatch):
    (tmp_path / "work" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "deep")
    assert within("a.py", tmp_path / "work") == "deep/a.py"
    assert within(str(tmp_path / "work" / "b.py"), tmp_path / "work") == "b.py"
    assert within("/elsewhere/c.py", Path("/work")) == "/elsewhere/c.py"
