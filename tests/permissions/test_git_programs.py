"""Which files of a work tree git's settings name: programs that it runs, and further settings."""

import subprocess
import time

import pytest

from outrider.tools.run_command.git import Entry, entries, named_by_git, user_settings_of_git


@pytest.fixture
def tree(tmp_path):
    top = tmp_path.resolve() / "tree"
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    return top


def names(top, *of_the_user, home=None):
    return {
        path.removeprefix(f"{top}/")
        for path in named_by_git(top, of_the_user, home)
        if path.startswith(f"{top}/")
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[a]\nb = c # no\n", "c"),
        ('[a]\nb = "c # d" ; no\n', "c # d"),
        ("[a]\nb = c\\\n d\n", "c d"),
        ("[a]\nb = c\\\r\n d\r\n", "c d"),
        ('[a]\nb = "\\"c\\" \\\\ \\t"\n', '"c" \\'),
        ("[a] b = c\n", "c"),
        ("\ufeff[A]\n\tB=c", "c"),
        ("[a]\nb\n", ""),
    ],
)
def test_settings_are_read_as_git_reads_them(text, value):
    assert list(entries(text)) == [Entry("a", None, "b", value)]


def test_sections_have_names():
    text = '[diff "a \\"b] "]\ncommand = x\n[Filter.Lfs]\nclean = y\n'
    assert [(one.section, one.name) for one in entries(text)] == [("diff", 'a "b] '), ("filter", "lfs")]


def test_git_agrees(tree, tmp_path):
    path = tmp_path / "config"
    path.write_text(
        '[core]\n\thooksPath = "a b"\\\n/c # x\n[alias]\n\td = "!f() { \\"$1\\"; }; f"\n;x\n[diff "q"] textconv=z;y\n'
    )
    said = subprocess.run(
        ["git", "config", "-z", "--list", "--file", str(path)], check=True, capture_output=True, text=True
    ).stdout
    ours = [
        f"{one.section}{f'.{one.name}' if one.name else ''}.{one.key}\n{one.value}"
        for one in entries(path.read_text())
    ]
    assert ours == said.split("\0")[:-1]


def test_the_users_own_settings_count_in_each_repository(tree, tmp_path):
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".gitconfig").write_text("[core]\n\thooksPath = hooks\n")
    (home / ".config" / "git" / "config").write_text("[diff]\n\texternal = tools/diff\n")
    of_the_user = user_settings_of_git({"HOME": str(home)})
    assert [str(path) for path in of_the_user] == [
        "/etc/gitconfig",
        f"{home}/.config/git/config",
        f"{home}/.gitconfig",
    ]
    assert names(tree, *of_the_user[1:], home=home) == {"hooks", "tools/diff"}


def test_a_program_of_the_search_path_is_no_file_of_the_tree(tree):
    for key, value in (
        ("credential.helper", "store.sh"),
        ("core.pager", "less -R x"),
        ("filter.a.clean", "npx b"),
    ):
        subprocess.run(["git", "-C", str(tree), "config", key, value], check=True)
    assert names(tree) == {"x", "b"}


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("cd tools && ./watch", "tools/watch"),
        ("cd tools; cd deep; sh watch.sh", "tools/deep/watch.sh"),
        ("!cd $PWD/tools && ./watch", "tools/watch"),
        ("sh -c 'pushd tools >/dev/null && exec ./watch'", "tools/watch"),
        ("env -C tools ./watch", "tools/watch"),
        ("python -m mymod --fast", "mymod.py"),
        ("!python3 -m tools.mymod", "tools/mymod/__main__.py"),
        ("!python3 -m tools.mymod", "tools/__init__.py"),
        ("cd src && ../.venv/bin/python3.12 -m mymod", "src/mymod.py"),
        ("PYTHONPATH=lib python -m mymod", "lib/mymod/__main__.py"),
    ],
)
def test_a_program_is_found_from_where_its_line_goes(tree, value, named):
    subprocess.run(["git", "-C", str(tree), "config", "core.fsmonitor", value], check=True)
    assert named in names(tree)


def test_hooks_at_the_top_are_named_one_by_one(tree):
    subprocess.run(["git", "-C", str(tree), "config", "core.hooksPath", "."], check=True)
    assert "pre-commit" in names(tree)
    assert "README.md" not in names(tree)


def test_settings_that_run_nothing_name_nothing(tree):
    with (tree / ".git" / "config").open("a") as file:
        file.write(
            '[remote "origin"]\nurl = ../other\nfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\nmerge = refs/heads/main\n'
            '[submodule "lib"]\nurl = ../lib\nactive = true\n[alias]\nst = status src\n[user]\nname = docs\n[core]\nexcludesFile = ignored\n'
        )
    assert names(tree) == set()


def test_files_that_include_each_other_come_to_an_end(tree):
    with (tree / ".git" / "config").open("a") as file:
        file.write("[include]\npath = config\npath = ../a\n")
    (tree / "a").write_text("[include]\npath = .git/config\npath = a\n[core]\npager = ./p\n")
    assert names(tree) == {".git/config", "a", "p"}


def test_what_is_no_file_is_not_read(tree):
    with (tree / ".git" / "config").open("a") as file:
        file.write("[include]\npath = /dev/zero\npath = /no/such\n[core]\npager = \0x\n")
    assert names(tree) == set()


def test_a_long_file_is_read_in_time_proportional_to_its_length(tree):
    for text in (
        '[a "' * 40_000,
        "[alias]\n" + "x = !" + "(a " * 60_000,
        "b = c\\\n" * 25_000,
        '"' * 190_000,
    ):
        (tree / ".git" / "config").write_text(text)
        begun = time.process_time()
        names(tree)
        assert time.process_time() - begun < 2
