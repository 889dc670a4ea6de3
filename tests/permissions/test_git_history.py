"""What git shows of files that only earlier commits hold, and that are shut."""

import subprocess

import pytest

from outrider.permissions.decide import Access, decide
from outrider.permissions.rules import RUN, Rule
from outrider.permissions.ruling import ruling_on
from permissions.looking import looked, verdicts


def git(folder, *arguments):
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, timeout=30)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, "src/a.py", "KEY = 1\n")
    return folder


def commit(folder, path, text=None):
    if text is None:
        git(folder, "rm", "-q", path)
    else:
        (folder / path).write_text(text)
        git(folder, "add", path)
    git(folder, "commit", "-qm", path)


@pytest.fixture
def forgetful(repository):
    """A file of secrets was committed, and taken away again."""
    commit(repository, "src/.env", "KEY=hunter2\n")
    commit(repository, "src/.env")
    commit(repository, "src/a.py", "KEY = 2\n")
    return repository


ROWS = [
    ("git log -p", "ask", "the file's text when it came and went"),
    ("git log -p | grep KEY", "ask", "the same, with nothing left that names it"),
    ("git show HEAD~2", "ask", "the commit it came with"),
    ("git show HEAD~1", "ask", "the commit it went with"),
    ("git show --stat -p HEAD~1", "ask", "the same, with more options"),
    ("git show HEAD~1^{{commit}}", "ask", "the same, written in another way"),
    ("git show", "allow", "the last commit, and the one before it, which do not hold it"),
    ("git show --oneline HEAD -- src", "allow", "the same"),
    ("git show -3", "ask", "a number has it go on to earlier ones"),
    ("git show -n 3 HEAD", "ask", "the same"),
    ("git show --max-count=3", "ask", "the same"),
    ("git show HEAD~3..HEAD", "ask", "all that lie between"),
    ("git show ^HEAD~3 HEAD", "ask", "the same"),
    ("git show --all", "ask", "more than are named"),
    ("git show HEAD HEAD~2", "ask", "one of two holds it"),
    ("git diff HEAD~2", "ask", "what is not there now"),
    ("git diff HEAD~2..HEAD", "ask", "the same between commits"),
    ("git diff ..HEAD~2", "ask", "the same from the last one on"),
    ("git diff HEAD~3 HEAD~2 --", "ask", "the same"),
    ("git diff HEAD~2...HEAD", "ask", "from where they part, which nobody looked up"),
    ("git diff HEAD~1^!", "ask", "a commit against the one before it"),
    ("git diff HEAD~3", "allow", "neither that commit nor what is there holds it"),
    ("git diff HEAD~3 HEAD~1 --", "allow", "neither of them"),
    ("git diff HEAD~3..", "allow", "neither of them"),
    ("git diff --cached", "allow", "nor the last commit or the index"),
    ("git diff --cached HEAD~2", "ask", "an earlier one against the index"),
    ("git grep KEY HEAD~2", "ask", "a search in a commit"),
    ("git log -p -- src/.env", "ask", "its text by its name, which is not there any more"),
    ("git log -p -- src", "ask", "a folder that held it"),
    ("git log -p --follow -- src/a.py", "ask", "what the file was called before"),
    ("git log --cc", "ask", "merges with their texts"),
    ("git diff-index -p HEAD~2", "ask", "what is not there now"),
    ("git reflog -p", "ask", "the texts of what was the last commit"),
    ("git reflog", "allow", "no texts"),
    ("git stash show -p", "ask", "what was put aside"),
    ("git status -v", "ask", "a status with texts"),
    ("git cat-file blob {blob}", "ask", "an object by its id alone"),
    ("git cat-file -p {blob}", "ask", "the same"),
    ("git show {short}", "ask", "an id cut short"),
    ("git show HEAD:src/a.py HEAD~2", "ask", "one file, and a whole commit beside it"),
    ("git log -p main --", "ask", "a branch, though there is a file of that name"),
    ("git log -p -- src/a.py", "allow", "one file that is not shut"),
    ("git show HEAD:src/a.py", "allow", "one file as it was"),
    ("git diff", "allow", "what changed since the index, which holds nothing shut"),
    ("git grep KEY", "allow", "a search in what is there now"),
    ("git grep -A 3 KEY src", "allow", "a value of an option is no commit"),
    ("git log --oneline -5", "allow", "no texts"),
    ("git log --format=%h%GS", "ask", "a program that looks at signatures"),
    ("git for-each-ref --format='%(raw)'", "ask", "an object as it is"),
    ("git tag -l --format '%(signature:grade)'", "ask", "signatures again"),
    ("git log --format='%h %G'", "ask", "what may become one"),
    ("git log --format='%h %s %gd'", "allow", "no such thing"),
    ("git status", "allow", "no texts"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected", "why"), ROWS, ids=[row[0] for row in ROWS])
def test_what_only_earlier_commits_hold_is_shut_too(forgetful, command, expected, why):
    (forgetful / "main").write_text("a file that is called like the branch\n")
    blob = git(forgetful, "rev-parse", "HEAD~2:src/.env")
    line = command.format(blob=blob, short=blob[:8])
    assert verdicts(forgetful, line) == [expected], why


def test_a_commit_that_is_known_only_when_it_runs_may_be_any(forgetful):
    rules = [Rule("allow", RUN, "git diff"), Rule("allow", RUN, "git show")]
    for line, expected in [("git show", "allow"), ('git diff H"$x"', "ask"), ('git show H"$x"', "ask")]:
        (looked_up,) = looked(forgetful, f"git diff HEAD~3; {line}")
        access = Access("execute", command=looked_up)
        assert decide(access, "full", frozenset(), ruling_on(RUN, access, rules, "full")).verdict == expected


MOVES = [
    "git checkout -q HEAD~2; git show",
    "git switch -q --detach HEAD~2 && git show",
    "git reset --soft HEAD~2 && git show HEAD",
    "git pull -q && git show",
    "make x; git show",
    "bash -c 'git checkout -q HEAD~2'; git show",
    "git checkout --detach HEAD~2 && git diff --cached HEAD~1",
    "cd src && make x; git show",
    "git show & make x",
]


@pytest.mark.parametrize("command", MOVES)
def test_the_last_commit_may_be_another_one_when_something_runs_before(forgetful, command):
    names = ["checkout", "switch", "reset", "pull", "show", "diff"]
    rules = [Rule("allow", RUN, "make x"), *(Rule("allow", RUN, f"git {name}") for name in names)]

    def judged(line):
        (looked_up,) = looked(forgetful, line)
        access = Access("execute", command=looked_up)
        return decide(access, "full", frozenset(), ruling_on(RUN, access, rules, "full"))

    assert judged(command).verdict == "ask"
    assert judged("git status && git show").verdict == "allow"
    assert judged("cd src && git show | head -5").verdict == "allow"


def test_nothing_is_asked_in_a_repository_that_never_held_one(repository):
    commit(repository, "src/b.py", "x = 1\n")
    (repository / ".env").write_text("KEY=hunter2\n")
    lines = [
        "git log -p",
        "git show HEAD~1",
        "git diff main~1 -- .",
        "git log -p -n 5 -S x",
        "git diff --staged",
        "git stash show -p",
    ]
    assert set(verdicts(repository, *lines)) == {"allow"}


def test_what_is_committed_later_is_seen_by_the_same_server(repository):
    import asyncio
    import os

    from outrider.ports.clock import SystemClock
    from outrider.processes import Supervisor
    from outrider.tools.git.history import GitHistory

    async def scenario():
        clock = SystemClock()
        supervisor = Supervisor(clock)
        history = GitHistory(supervisor, clock)
        path = os.environ["PATH"]
        try:
            before = await history.of(repository, [], path)
            await asyncio.to_thread(commit, repository, "src/.env", "KEY=hunter2\n")
            await asyncio.to_thread(commit, repository, "src/.env")
            return before, await history.of(repository, [], path)
        finally:
            await supervisor.close()

    before, after = asyncio.run(scenario())
    assert before is not None and before.secret == ()
    assert after is not None and after.secret == ("src/.env",)


@pytest.mark.parametrize("mode", ["ask", "full"])
def test_it_is_asked_in_every_mode(forgetful, mode):
    assert verdicts(forgetful, "git log -p", mode=mode) == ["ask"]


def test_what_no_branch_leads_to_any_more_counts(repository):
    commit(repository, ".env", "KEY=hunter2\n")
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    assert verdicts(repository, "git log -g -p", "git show main@{1}") == ["ask", "ask"]


def test_a_commit_that_nothing_leads_to_is_looked_at_by_its_id(repository):
    commit(repository, ".env", "KEY=hunter2\n")
    lost = git(repository, "rev-parse", "HEAD")
    git(repository, "reset", "-q", "--hard", "HEAD~1")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    (repository / ".git/ORIG_HEAD").unlink(missing_ok=True)
    assert verdicts(repository, "git log -p", f"git show {lost}", f"git show {lost[:9]}", "git log -p") == [
        "allow",
        "ask",
        "ask",
        "ask",
    ]


def test_what_outriderignore_names_is_shut_in_the_history_too(repository):
    commit(repository, "src/plan.txt", "secret\n")
    commit(repository, "src/plan.txt")
    assert verdicts(repository, "git log -p") == ["allow"]
    (repository / ".outriderignore").write_text("plan.txt\n")
    assert verdicts(repository, "git log -p", "git log -p -- src/a.py") == ["ask", "allow"]


def test_where_git_does_not_tell_it_is_asked(repository):
    objects = repository / ".git" / "objects"
    for path in objects.glob("??/*"):
        path.unlink()
    assert verdicts(repository, "git log -p", "git log --oneline") == ["ask", "allow"]
    assert verdicts(repository, "git log -p", mode="full") == ["allow"]


def test_a_search_through_files_that_git_does_not_track_is_asked_for(repository):
    (repository / ".env").write_text("KEY=hunter2\n")
    assert verdicts(
        repository, "git grep --untracked KEY", "git diff --submodule=diff", "git diff --submodule=log"
    ) == ["ask", "ask", "allow"]
