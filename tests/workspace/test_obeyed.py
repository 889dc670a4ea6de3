"""Which files that other programs obey a workspace has, and what became of them between two looks."""

import os
from pathlib import Path

import pytest

from outrider.permissions.policy.protected_files import may_lead_to_obeyed, meaning_in_commands
from outrider.workspace.watch import obeyed_files
from outrider.workspace.watch.obeyed_files import ObeyedFiles, planted


@pytest.fixture
def looks(tmp_path):
    files = ObeyedFiles(meaning_in_commands)
    return lambda: files.look([tmp_path])


def put(root, name, text="x"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(root, found):
    return {os.path.relpath(path, root) for path in found}


def test_they_are_found_where_git_ignores_them_and_further_down(looks, tmp_path):
    for name in (
        ".gitignore",
        ".vscode/a/b.json",
        "target/x/AGENTS.md",
        "a/b/c/d/.envrc",
        "src/main.py",
        "pkg/.git/config",
        "pkg/.git/hooks/x",
        "pkg/.git/index",
    ):
        put(tmp_path, name, "*\n")
    seen = looks()
    there = {
        ".vscode/a/b.json",
        "target/x/AGENTS.md",
        "a/b/c/d/.envrc",
        "pkg/.git",
        "pkg/.git/config",
        "pkg/.git/hooks/x",
    }
    assert names(tmp_path, seen.files) == there
    assert names(tmp_path, seen.repositories) == {"pkg"}
    assert names(tmp_path, seen.protected) == {".vscode/a/b.json", "target/x/AGENTS.md", "a/b/c/d/.envrc"}


def test_what_is_installed_is_known_as_a_whole(looks, tmp_path):
    put(tmp_path, "node_modules/x/AGENTS.md")
    put(tmp_path, ".venv/lib/python3/site-packages/x/CLAUDE.md")
    tool = put(tmp_path, ".venv/bin/tool")
    before = looks()
    assert names(tmp_path, before.files) == {"node_modules", ".venv"}
    assert planted(before, looks()) == []
    tool.write_text("other words")
    put(tmp_path, "node_modules/.bin/new")
    assert [(Path(one.path).name, one.meaning) for one in planted(before, looks())] == [
        (".venv", "named"),
        ("node_modules", "named"),
    ]


def old(root):
    """Let so much time have passed that the clock tells changes apart."""
    for path in root.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.mark.parametrize(
    ("how", "change"),
    [
        ("changed", lambda root: put(root, "sub/AGENTS.md", "y")),
        ("changed", lambda root: (root / "sub/AGENTS.md").chmod(0o755)),
        (
            "changed",
            lambda root: ((root / "sub/AGENTS.md").unlink(), (root / "sub/AGENTS.md").symlink_to("x")),
        ),
        ("deleted", lambda root: (root / "sub/AGENTS.md").unlink()),
        ("deleted", lambda root: (root / "sub").rename(root / "gone.d")),
    ],
)
def test_what_became_of_a_file_is_told_even_where_its_times_were_put_back(looks, tmp_path, how, change):
    put(tmp_path, "sub/AGENTS.md", "x")
    old(tmp_path)
    before = looks()
    change(tmp_path)
    if how == "changed":
        os.utime(tmp_path / "sub/AGENTS.md", (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    found = {os.path.relpath(one.path, tmp_path): one.how for one in planted(before, looks())}
    assert found.pop("sub/AGENTS.md") == how
    assert set(found) <= {"gone.d/AGENTS.md"}


def test_a_repository_that_is_replaced_is_another_one(looks, tmp_path):
    put(tmp_path, "pkg/.git/config", "same")
    before = looks()
    (tmp_path / "pkg").rename(tmp_path / "old")
    put(tmp_path, "pkg/.git/config", "same")
    found = {os.path.relpath(one.path, tmp_path): one.how for one in planted(before, looks())}
    assert found == {"old/.git": "created", "old/.git/config": "created", "pkg/.git": "changed"}


def test_links_are_not_followed(looks, tmp_path):
    outside = tmp_path / "outside"
    put(outside, "AGENTS.md")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / ".vscode").symlink_to(outside)
    (inside / "CLAUDE.md").symlink_to("/dev/zero")
    seen = ObeyedFiles(meaning_in_commands).look([inside])
    assert {name: found.kind for name, found in seen.files.items()} == {
        str(inside / ".vscode"): "link",
        str(inside / "CLAUDE.md"): "link",
    }


def test_a_look_is_bounded_and_begins_at_the_top(tmp_path, monkeypatch):
    monkeypatch.setattr(obeyed_files, "MOST_FOLDERS", 40)
    for number in range(100):
        put(tmp_path, f"{number:03}/deep/AGENTS.md")
    put(tmp_path, "zzz.d/../AGENTS.md")
    put(tmp_path, ".vscode/tasks.json")
    seen = ObeyedFiles(meaning_in_commands).look([tmp_path])
    assert str(tmp_path / "AGENTS.md") in seen.files
    assert len(seen.files) < 45
    big = put(tmp_path, "CLAUDE.md", "x" * (obeyed_files.MOST_BYTES + 1))
    seen = ObeyedFiles(meaning_in_commands).look([tmp_path])
    assert seen.files[str(big)].content is None


def test_what_comes_where_nothing_was_left_out_is_found_though_both_looks_are_cut_short(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(obeyed_files, "MOST_FOLDERS", 40)
    for number in range(100):  # a command can make as many as it likes
        put(tmp_path, f".a{number:03}/deep/empty.txt")
    files = ObeyedFiles(meaning_in_commands, may_lead_to_obeyed)
    before = files.look([tmp_path])
    put(tmp_path, ".vscode/tasks.json")
    put(tmp_path, ".cargo/config.toml")
    unseen = min(before.left_out or ())
    put(tmp_path, f"{unseen}/.vscode/tasks.json")
    after = files.look([tmp_path])
    assert (before.is_cut, after.is_cut) == (True, True)
    assert sorted((one.path, one.how) for one in planted(before, after)) == [
        (str(tmp_path / ".cargo" / "config.toml"), "created"),
        (str(tmp_path / ".vscode" / "tasks.json"), "created"),
    ]


def test_a_look_that_is_cut_short_says_so_and_blames_nobody(looks, tmp_path, monkeypatch):
    monkeypatch.setattr(obeyed_files, "MOST_FOLDERS", 40)
    put(tmp_path, "zz/deep/.vscode/settings.json")
    before = looks()
    for number in range(100):  # they push the user's own file out of sight
        put(tmp_path, f"aa/{number:03}/empty.txt")
        put(tmp_path, f"{number:03}/empty.txt")
    put(tmp_path, ".vscode/tasks.json")
    after = looks()
    assert (before.is_cut, after.is_cut) == (False, True)
    assert [(one.path, one.how) for one in planted(before, after)] == [
        (str(tmp_path / ".vscode/tasks.json"), "created")
    ]
    assert [one.how for one in planted(after, before)] == ["deleted"]


def test_a_second_look_reads_no_folder_that_did_not_change(looks, tmp_path, monkeypatch):
    for number in range(50):
        put(tmp_path, f"{number}/a.py")
    before = looks()
    monkeypatch.setattr(obeyed_files, "GRANULARITY", 0)  # so that a young folder is believed as well
    looks()
    read = []
    scan = os.scandir
    monkeypatch.setattr(obeyed_files.os, "scandir", lambda path: read.append(path) or scan(path))
    put(tmp_path, "7/AGENTS.md")
    after = looks()
    assert read == [str(tmp_path / "7")]
    assert [one.how for one in planted(before, after)] == ["created"]


def test_an_edit_after_a_command_goes_by_the_links_that_it_made(tmp_path, monkeypatch):
    monkeypatch.setattr(obeyed_files, "_REST", 1e9)  # as if a look took long
    told = []
    files = ObeyedFiles(meaning_in_commands, may_lead_to_obeyed, on_other_names=told.append)
    (tmp_path / "h").mkdir()
    before = files.look([tmp_path])
    (tmp_path / ".cargo").symlink_to("h")
    files.look([tmp_path], before)
    files.look_for_other_names([tmp_path])
    assert str(tmp_path / "h") in told[-1]
