"""What a repository's own settings would have git run is no reading: the repository may have come with them."""

import os
import shutil
import subprocess

import pytest

from outrider.tools.command_line import look_at
from outrider.tools.git.nested import why_git_runs_more
from outrider.workspace.paths import folders_of
from permissions.looking import verdicts

RUNS = [
    ('[core]\n\tfsmonitor = touch {ran}; false\n', "status --short", "a monitor is asked what changed"),
    ('[core] fsmonitor = "touch {ran}; false"\n', "ls-files -m", "the same in one line"),
    ("[diff]\n\texternal = touch {ran} #\n", "diff", "another program shows the difference"),
    ('[diff "x"]\n\ttextconv = touch {ran}; cat\n', "diff", "a file is converted before it is shown"),
    ('[DIFF "x"]\n\tCommand = touch {ran} #\n', "diff", "letters do not count"),
    ('[filter "f"]\n\tclean = touch {ran}; cat\n', "diff", "a file is filtered before it is compared"),
    ("[include]\n\tpath = more\n", "status --short", "settings elsewhere"),
    ("[core]\n\thooksPath = more.d\n", "status --short", "hooks elsewhere"),
]  # fmt: skip
EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
HARMLESS = (
    '[remote "origin"]\n\turl = git@example.org:x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\n\tremote = origin\n'
    "\tmerge = refs/heads/main\n[user]\n\tname = Ada\n; a comment\n[core]\n\tautocrlf = input\n\tfsmonitor = false\n[alias]\n\tst = status\n"
    '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n[diff]\n\talgorithm = histogram\n'
)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a").write_text("one\n")
    (folder / ".gitattributes").write_text("a diff=x filter=f\n")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "x")
    (folder / "a").write_text("two\n")
    ran = folder / "ran"
    (folder / ".git" / "more").write_text(f"[core]\n\tfsmonitor = touch {ran}; false\n")
    (folder / "more.d").mkdir()
    hook(folder / "more.d", ran)
    return folder


def hook(folder, ran):
    (folder / "post-index-change").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (folder / "post-index-change").chmod(0o755)


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=False, capture_output=True, timeout=30)


def ran(folder, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=False, capture_output=True, timeout=30
    ).stdout


def verdict(folder, command, cwd=None):
    (found,) = verdicts(folder, command, mode="read-only", cwd=cwd)
    return found


SHOWS_MORE = [
    ("[log]\n\tshowSignature = true\n", "log", "gpg looks at signatures"),
    ("[format]\n\tpretty = %GG\n", "log", "the same by the format of a log"),
    ("[stash]\n\tshowPatch = true\n", "stash show", "a patch though none is asked for"),
    ("[diff]\n\tsubmodule = diff\n", "diff", "what another repository holds"),
    ("[log]\n\tfollow = true\n", "log -p -- a", "what a file was called before"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "command", "why"), SHOWS_MORE, ids=[why for *_, why in SHOWS_MORE])
def test_git_that_would_do_more_than_its_arguments_say_does_not_only_read(repository, settings, command, why):
    assert verdict(repository, f"git {command}") == "allow"
    with (repository / ".git" / "config").open("a") as config:
        config.write(settings)
    assert verdict(repository, f"git {command}") == "deny", why


@pytest.mark.parametrize(("settings", "command", "why"), RUNS, ids=[why for *_, why in RUNS])
def test_git_that_would_run_a_program_does_not_only_read(repository, settings, command, why):
    assert verdict(repository, f"git {command}") == "allow"
    with (repository / ".git" / "config").open("a") as config:
        config.write(settings.format(ran=repository / "ran"))
    assert verdict(repository, f"git {command}") == "deny", why
    os.utime(repository / "a", (1, 1))  # so that git looks at it
    git(repository, *command.split())
    assert (repository / "ran").exists(), "the row shows nothing: git ran nothing"


def test_a_hook_that_is_there_is_no_reading(repository):
    (repository / ".git" / "hooks").mkdir(exist_ok=True)
    hook(repository / ".git" / "hooks", repository / "ran")
    assert verdict(repository, "git status") == "deny"


def test_settings_that_start_nothing_leave_it_reading(repository):
    with (repository / ".git" / "config").open("a") as config:
        config.write(HARMLESS)
    assert why_git_runs_more(str(repository)) is None


def test_a_repository_within_the_files_counts_where_git_is_asked(repository):
    """A bare repository can be committed like any folder, and git takes it for one."""
    git(repository, "init", "-q", "--bare", "sub")
    with (repository / "sub" / "config").open("a") as config:
        config.write("[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = x\n")
    assert verdict(repository, "git status") == "allow"
    assert verdict(repository, "cd sub && git status") == "deny"
    assert verdict(repository, "git status", repository / "sub") == "deny"


def test_linked_work_trees_and_submodules_are_looked_at_where_their_settings_lie(repository):
    git(repository, "worktree", "add", "-q", "../linked")
    linked = repository.parent / "linked"
    assert verdict(linked, "git status") == "allow"
    module = repository / ".git" / "modules" / "deep" / "one"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    (module / "config").write_text("[core]\n\tworktree = ../../../../deep/one\n")
    assert verdict(repository, "git status") == "allow"
    (module / "config").write_text("[core]\n\tfsmonitor = x\n")
    assert verdict(repository, "git status") == "deny"
    assert verdict(linked, "git status") == "deny"


@pytest.mark.parametrize("where", ["..", "../..", "/"])
def test_files_that_lie_above_the_repository_are_not_its_work_tree(repository, where):
    """They would be shown as what changed: an index can name any file, with an empty text."""
    (repository.parent / "diary").write_text("private\n")
    git(repository, "update-index", "--add", "--cacheinfo", f"100644,{EMPTY},diary")
    git(repository, "config", "core.worktree", where)
    assert verdict(repository, "git diff") == ("allow" if where == ".." else "deny")


@pytest.mark.parametrize("by", ["a file", "a link", "commondir", "links in it"])
def test_another_repository_does_not_count_as_reading_the_workspace(repository, by):
    """Whoever brings a folder can have git look into any repository of the machine, by its place."""
    other = repository.parent / "other"
    git(repository, "clone", "-q", ".", str(other))
    place = repository / ".git"
    if by == "commondir":
        (place / "commondir").write_text("../../other/.git\n")
    elif by == "links in it":
        shutil.rmtree(place / "objects")
        (place / "objects").symlink_to("../../other/.git/objects")
    else:
        shutil.rmtree(place)
        if by == "a file":
            place.write_text("gitdir: ../other/.git\n")
        else:
            place.symlink_to("../other/.git")
    assert b"diff --git" in ran(repository, "log", "-p"), "the row shows nothing: git found nothing"
    assert verdict(repository, "git log -p") == "deny"
    assert verdict(repository, "git status") == "deny"


def test_a_repository_beside_its_files_in_the_workspace_is_its_own(repository):
    git(repository, "init", "-q", "--separate-git-dir", ".bare")
    assert (repository / ".git").is_file()
    assert verdict(repository, "git log -p") == "allow"


def test_a_real_submodule_is_its_own_too(repository):
    git(repository.parent, "init", "-q", "whole")
    git(
        repository.parent / "whole",
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        str(repository),
        "part",
    )
    assert (repository.parent / "whole/part/.git").is_file()
    assert verdict(repository.parent / "whole" / "part", "git log -p") == "allow"
    assert verdict(repository.parent / "whole", "git status") == "allow"


@pytest.mark.parametrize("by", ["a folder", "a file", "deeper", "a hook"])
def test_a_repository_that_is_tracked_is_looked_at_where_it_lies(repository, by):
    """Git asks it for its state, and there its own settings hold: they need not lie below `.git/modules`."""
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    inner = repository / "inner"
    for folder in [inner / "er", inner] if by == "deeper" else [inner]:
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", *(["--separate-git-dir", ".bare"] if by == "a file" else []))
        (folder / "b").write_text("one\n")
        git(folder, "add", ".")
        git(folder, *who, "commit", "-qm", "x")
    git(repository, "add", "inner")
    assert verdict(repository, "git status") == "allow"
    ran_file = repository / "ran"
    if by == "a hook":
        (inner / ".git" / "hooks").mkdir(exist_ok=True)
        hook(inner / ".git" / "hooks", ran_file)
    else:
        git(inner / "er" if by == "deeper" else inner, "config", "core.fsmonitor", f"touch {ran_file}; false")
    lines = ("git status", "git diff", "git log", "git log -p --submodule=log", "git show --submodule=log")
    assert [verdict(repository, one) for one in lines] == ["deny", "deny", "allow", "deny", "deny"]
    os.utime(inner / "b", (1, 1))
    git(repository, "status")
    assert ran_file.exists(), "the row shows nothing: git ran nothing"


def test_nor_that_of_a_submodule(repository):
    module = repository / ".git" / "modules" / "one"
    module.mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    (module / "config").write_text("[core]\n\tworktree = ../../../..\n")
    assert verdict(repository, "git diff --submodule=diff") == "deny"


def test_a_rule_of_the_person_for_git_holds_all_the_same(repository):
    (repository / ".git" / "config").write_text("[core]\n\tfsmonitor = x\n")
    looked = look_at("git status", folders_of([("work", repository.as_uri())]), repository)
    assert [pattern.text for pattern in looked.patterns] == ["git status"]
    assert "core.fsmonitor" in (looked.reads[0] or "")
