from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.workspace.paths import Folders, Located, PathProblem, folders_of, path_of


def test_one_folder_needs_no_name(desk: Any) -> None:
    located = desk.at("./src//a.py")
    assert located == Located(
        display="src/a.py",
        uri=(desk.root / "src/a.py").as_uri(),
        path=desk.root / "src/a.py",
        resolved=desk.root / "src/a.py",
        inside=True,
        own=False,
    )
    for same in (
        str(desk.root / "src/a.py"),
        (desk.root / "src/a.py").as_uri(),
        "x/../src/a.py",
        "src/a.py/",
    ):
        assert desk.at(same) == located
    assert desk.folders.display_of(located.uri) == "src/a.py"
    assert desk.at(".").display == "."
    assert desk.at("src/..").display == "."


def test_several_folders_are_named(make_desk: Callable[..., Any]) -> None:
    desk = make_desk("app", "lib", "web")
    desk.write("only.py", "")
    for folder in desk.folders.folders[1:]:
        (folder.path / "both.py").write_text("")
    assert desk.at("lib/new.py").display == "lib/new.py"
    assert desk.at("lib/new.py").path == desk.root.parent / "lib/new.py"
    assert desk.at("only.py").display == "app/only.py"
    assert desk.at("app").display == "app"
    assert desk.at(".").path is None
    for text, candidates in (
        (
            "both.py",
            "several of the workspace folders have it; specify one: lib/both.py, web/both.py",
        ),
        ("nowhere.py", "app/nowhere.py, lib/nowhere.py, web/nowhere.py"),
    ):
        problem = desk.folders.locate_now(text)
        assert isinstance(problem, PathProblem)
        assert candidates in problem.message
    for display in ("lib/both.py", "app", "web/both.py"):
        assert desk.folders.display_of(desk.at(display).uri) == display


def test_where_a_link_leads_decides_what_is_inside(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s")
    desk.write("sub/a.py", "")
    (desk.root / "out").symlink_to(tmp_path / "outside")
    (desk.root / "in").symlink_to("sub")
    (desk.root / "loop").symlink_to("loop")
    (desk.root / "own").symlink_to(".outrider")
    for text, inside in (
        ("out/secret", False),
        ("out/new", False),
        ("out/../outside/secret", False),
        ("out/..", False),
        ("sub/../../outside/secret", False),
        ("../work/sub/a.py", True),
        ("../work2/a.py", False),
        ("in/a.py", True),
        ("in/../sub/a.py", True),
        ("loop", True),
        ("/etc/passwd", False),
    ):
        assert desk.at(text).inside == inside, text
    assert desk.at("out/secret").display == "out/secret"
    assert desk.at("out/../work/sub/a.py").display == "sub/a.py"
    assert desk.at("in/a.py").resolved == desk.root / "sub/a.py"
    for text in (
        ".outrider/x",
        ".outrider",
        "sub/../.outrider/x",
        "own/x",
        "in/../.outrider/x",
        ".OUTRIDER/x",
    ):
        assert desk.at(text).own, text
    for text in (".outrider2/x", "sub/.outrider/x", "src/outrider"):
        assert not desk.at(text).own, text


def test_a_folder_that_is_itself_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    folders = folders_of([("work", (tmp_path / "link").as_uri())])
    for text in ("a.py", str(tmp_path / "real/a.py"), str(tmp_path / "link/a.py")):
        located = folders.locate_now(text)
        assert isinstance(located, Located)
        assert (located.display, located.inside, located.uri) == (
            "a.py",
            True,
            (tmp_path / "link/a.py").as_uri(),
        )
    own = folders.locate_now(str(tmp_path / "real/.outrider/task.md"))
    assert isinstance(own, Located)
    assert own.own


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "a\0b",
        "x" * 300,
        "/".join(["x" * 100] * 60),
        "\ud800",
        "http://host/a",
        "file://other-host/a.py",
    ],
)
async def test_what_is_no_path_is_said(desk: Any, text: str) -> None:
    assert isinstance(await desk.folders.locate(text), PathProblem)


def test_without_folders_only_absolute_paths_mean_something(tmp_path: Path) -> None:
    folders = Folders(())
    assert isinstance(folders.locate_now("a.py"), PathProblem)
    located = folders.locate_now(str(tmp_path / "a.py"))
    assert isinstance(located, Located)
    assert (located.display, located.inside) == (str(tmp_path / "a.py"), False)
    everything = folders.locate_now(".")
    assert isinstance(everything, Located)
    assert everything.path is None


def test_untitled_documents_have_no_path(desk: Any) -> None:
    located = desk.at("untitled:My%20Notes")
    assert (located.display, located.path, located.inside) == ("untitled:My Notes", None, True)
    assert desk.folders.display_of("untitled:My%20Notes") == "untitled:My Notes"


def test_names_of_folders_become_unique_and_odd_ones_usable(tmp_path: Path) -> None:
    folders = folders_of(
        [
            ("app", tmp_path.as_uri()),
            ("app", (tmp_path / "b").as_uri()),
            ("a/b", (tmp_path / "c").as_uri()),
            ("", (tmp_path / "d").as_uri()),
            ("..", "file:///"),
            ("remote", "vscode-remote://ssh/x"),
        ]
    )
    assert [folder.name for folder in folders.folders] == ["app", "app-2", "a-b", "d", "root"]


def test_uris_lead_to_paths_whatever_is_encoded() -> None:
    assert path_of("file:///a%20b/%C3%A9%23?x#y") == Path("/a b/é#?x#y")
    assert path_of("file:/a") == path_of("FILE://localhost/a") == Path("/a")
    for nothing in ("untitled:x", "file://host/a", "file:///%00", "http:///a", "file://[", ""):
        assert path_of(nothing) is None


@given(
    st.lists(
        st.text(min_size=1, max_size=6).filter(lambda name: not set(name) & set("/\0")),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_displayed_can_be_located_again(parts: list[str]) -> None:
    folders = folders_of([("work", "file:///nowhere/at%20all")])
    located = folders.locate_now("/".join(parts))
    if isinstance(located, Located) and located.path is not None:
        assert folders.locate_now(located.display) == located
        if located.inside:
            assert folders.display_of(located.uri) == located.display
