"""What git shows of files that a repository tracks, and that are shut: it needs no name of theirs for it."""

import subprocess
from pathlib import Path

import pytest

from outrider.permissions.decide import Access, decide
from outrider.permissions.rules import RUN, Rule
from outrider.permissions.ruling import ruling_on
from outrider.tools.git.tracked import tracked_files
from permissions.looking import looked, verdicts

ROWS = [
    ("git grep KEY", "ask", "a search through all that is tracked"),
    ("git --no-pager grep -n KEY", "ask", "the same, with an option of git itself"),
    ("git grep KEY HEAD", "ask", "a search through what was"),
    ("git grep -f src/pats", "ask", "the one path is that of the patterns"),
    ("git grep KEY src", "allow", "the search is limited to another folder"),
    ("git grep KEY -- src '*.env'", "ask", "a pattern that git looks up itself"),
    ("git grep KEY src .env", "ask", "the file is named"),
    ("git diff", "ask", "the text of whatever changed"),
    ("git diff -- .", "ask", "a folder that holds it"),
    ("git diff src/a.py", "allow", "one file that is not shut"),
    ("git diff -- src/a.py gone/.env", "ask", "a file that is tracked, but not there any more"),
    ("git diff --stat", "allow", "names and numbers alone"),
    ("git diff --stat -p", "ask", "names and numbers, and then the text"),
    ("git diff --check", "ask", "lines with blanks at their end"),
    ("git show", "ask", "a commit with its texts"),
    ("git show --name-only HEAD", "allow", "a commit with the names of its files"),
    ("git show HEAD:src/a.py", "allow", "one file as it was"),
    ("git show HEAD:.env", "ask", "the file as it was"),
    ("git show HEAD:old/id_rsa", "ask", "a file that is only in the history"),
    ("git diff HEAD:.env..HEAD:src/a.py", "ask", "two files as they were, in one word"),
    ("git diff HEAD:gone/b..HEAD:old/id_rsa src/a.py", "ask", "the second of them is shut"),
    ("git show 0123abcd -- src/a.py", "ask", "an id is that of any text, whatever path follows"),
    ("git diff 0123abcd src/a.py", "ask", "such a text beside a file"),
    ("git grep KEY 0123abcd -- src", "ask", "a search in it"),
    ("git diff HEAD~1..HEAD -- src/a.py", "allow", "two revisions, and one file"),
    ("git log --oneline -5", "allow", "a log shows no text"),
    ("git log -p", "ask", "a log with texts"),
    ("git log -U0 -1", "ask", "an option that brings the texts along"),
    ("git log -p -- src/a.py", "allow", "the texts of one file that is not shut"),
    ("git cat-file -p HEAD", "ask", "any object, by whatever name"),
    ("git stash show -p", "ask", "what was put aside"),
    ("git status --short", "allow", "names alone"),
]  # fmt: skip


def git(folder, *arguments):
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, timeout=30)


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "gone").mkdir()
    (folder / "src/a.py").write_text("KEY = 1\n")
    (folder / "src/pats").write_text("KEY\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    return folder


def track_secrets(folder):
    (folder / ".env").write_text("KEY=hunter2\n")
    (folder / "gone/.env").write_text("KEY=hunter3\n")
    git(folder, "add", "-f", ".")
    git(folder, "commit", "-qm", "x")
    (folder / "gone/.env").unlink()


def verdict(folder, command, cwd=None):
    (found,) = verdicts(folder, command, cwd=cwd)
    return found


@pytest.mark.parametrize(("command", "expected", "why"), ROWS, ids=[row[2] for row in ROWS])
def test_git_shows_no_text_of_a_tracked_shut_file_without_a_question(repository, command, expected, why):
    track_secrets(repository)
    assert verdict(repository, command) == expected, why


def test_nothing_is_asked_where_no_shut_file_is_tracked(repository):
    git(repository, "commit", "-qm", "x")
    (repository / ".env").write_text("KEY=hunter2\n")
    for command in ("git grep KEY", "git diff", "git show", "git log -p"):
        assert verdict(repository, command) == "allow"


@pytest.mark.parametrize("mode", ["ask", "full"])
def test_a_rule_for_git_diff_does_not_cover_a_tracked_file_that_is_shut(repository, mode):
    rules = [Rule("allow", RUN, "git diff"), Rule("allow", RUN, "git log -p -1", is_exact=True)]

    def judged(command):
        (command,) = looked(repository, command)
        access = Access("execute", command=command)
        return decide(access, mode, frozenset(), ruling_on(RUN, access, rules, mode)).verdict

    assert judged("git diff") == "allow"
    track_secrets(repository)
    assert judged("git diff") == "ask"
    assert judged("git diff src") == judged("git diff --stat") == judged("git log -p -1") == "allow"


ABOVE = [
    ("git diff", "ask", "all that changed in the repository"),
    ("git -P diff", "ask", "an option that is not known"),
    ("git log -p", "ask", "its history"),
    ("git show HEAD", "ask", "a commit of it"),
    ("git grep KEY -- :/", "ask", "a search from its top"),
    ("git diff -- ':(top)other'", "ask", "a path that git reads from its top"),
    ("git show HEAD:other/plan.txt", "ask", "a file, named from the top"),
    ("git show HEAD:./../other/plan.txt", "ask", "the same, from the folder"),
    ("git cat-file -p HEAD:other/plan.txt", "ask", "the same, as an object"),
    ("git diff HEAD:other/plan.txt a.py", "ask", "one side of it lies outside"),
    ("git diff -- .", "allow", "the folder alone"),
    ("git diff -- a.py", "allow", "a file of the folder"),
    ("git show HEAD:./a.py", "allow", "a file of the folder as it was"),
    ("git show HEAD:work/a.py", "allow", "the same, named from the top"),
    ("git grep KEY", "allow", "a search begins where it runs"),
    ("git log --oneline -5", "allow", "a log without texts"),
    ("git status --short", "allow", "names alone"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected", "why"), ABOVE, ids=[row[0] for row in ABOVE])
def test_of_a_repository_that_begins_above_the_workspace_git_shows_the_workspace_alone(
    tmp_path, command, expected, why
):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/plan.txt").write_text("KEY\n")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.py").write_text("KEY\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "One")
    assert verdict(tmp_path / "work", command) == expected, why


def test_files_that_the_workspace_shuts_itself_count_too(repository):
    (repository / ".outriderignore").write_text("src/*.py\n")
    assert verdict(repository, "git diff") == "ask"
    assert verdict(repository, "git grep KEY src/pats") == "allow"


def test_a_search_in_another_folder_does_not_come_to_it_and_a_diff_there_does(repository):
    track_secrets(repository)
    assert verdict(repository, "git grep KEY", repository / "src") == "allow"
    assert verdict(repository, "git diff", repository / "src") == "ask"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_version_of_an_index_is_read(repository, version):
    track_secrets(repository)
    (repository / "new").write_text("")
    git(repository, "add", "-N", "new")  # version 3 is for such entries
    git(repository, "update-index", "--index-version", str(version))
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=repository, capture_output=True, check=True, timeout=30
    )
    expected = [f"{repository}/{name}" for name in names.stdout.decode().split("\0") if name]
    assert list(tracked_files(str(repository), secret=False) or ()) == expected
    assert [f"{repository}/.env", f"{repository}/gone/.env"] == list(
        tracked_files(str(repository), secret=True) or ()
    )


def test_the_index_of_a_work_tree_beside_is_read(repository, tmp_path):
    track_secrets(repository)
    git(repository, "worktree", "add", "-q", str(tmp_path / "beside"))
    assert tracked_files(str(tmp_path / "beside"), secret=True) == (
        f"{tmp_path}/beside/.env",
        f"{tmp_path}/beside/gone/.env",
    )


def test_with_an_index_that_cannot_be_read_it_asks(repository):
    git(repository, "update-index", "--split-index")
    assert tracked_files(str(repository), secret=True) is None
    assert verdict(repository, "git log --stat") == "allow"
    assert verdict(repository, "git diff --stat") == "ask"  # there may be repositories among what it tracks
    (repository / ".git/index").write_bytes(b"DIRC\0\0\0\x09")
    assert verdict(repository, "git grep KEY") == "ask"


def test_an_index_that_is_a_device_or_a_pipe_is_not_read(repository, monkeypatch):
    (repository / ".git/index").unlink()
    (repository / ".git/index").symlink_to("/dev/null")  # /dev/zero would never end
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    assert verdict(repository, "git grep KEY") == "ask"
