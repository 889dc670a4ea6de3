"""Git in a read-only sandbox: it shows no text of a file that is shut, whatever it is asked and whatever a repository has it do.

Without a sandbox git asks, always: what its settings, hooks and index hold is not worked out.
"""

import os
import subprocess

import pytest

from outrider.permissions.policy.protected_files import Guarded, attributes
from outrider.permissions.policy.rules import RUN, Rule
from outrider.permissions.secrets.secret_files import is_secret_file
from permissions.looking import SECRET, Readers, assert_harmless, decision, everything_in, looked, verdicts
from sandboxes import in_both_worlds, needs_bubblewrap


def git(folder, *arguments, check=True):
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=check, capture_output=True, timeout=30)
    return done.stdout.decode(errors="replace").strip()


def commit(folder, path, text=None):
    if text is None:
        git(folder, "rm", "-q", path)
    else:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
        git(folder, "add", "-f", path)
    git(folder, "commit", "-qm", path)


@pytest.fixture
def repository(tmp_path):
    """Files of secrets are tracked, changed, gone, and known to the history alone."""
    folder = tmp_path / "around" / "work"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    commit(folder, "src/a.py", "KEY = 1\n")
    commit(folder, "src/.env", f"KEY={SECRET}\n")
    commit(folder, "src/.env")
    commit(folder, "keys/id_rsa", f"KEY {SECRET}\n")
    commit(folder, "gone/.ENV", f"KEY={SECRET}\n")
    commit(folder, ".env", f"KEY={SECRET}\n")
    commit(folder, "src/a.py", "KEY = 2\n")
    (folder / "gone/.ENV").unlink()
    (folder / "main").write_text("a file that is called like the branch\n")
    (folder / "pats").write_text("KEY\n")
    (folder / "src/a.py").write_text("KEY = 3\n")
    git(folder, "stash", "-q")
    (folder / "src/a.py").write_text("KEY = 4\n")
    return folder


@pytest.fixture
def state(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


GOES = [
    "git log -p", "git log -p | grep KEY", "git log --cc", "git log -p --follow -- src/a.py", "git log -p -- src", "git log -p -- src/.env", "git log -U0 -1", "git log -g -p",
    "git log -p -S KEY", "git log -p -M90% -U5 -- src/a.py", "git log -p --word-diff", "git log -p --submodule=diff", "git log -p main --", "git log --oneline -5 --stat",
    "git log -L1,1:src/a.py", "git log -p --all", "git whatchanged -p", "git reflog -p", "git reflog", "git stash show -p", "git stash list -p",
    "git show", "git show HEAD~1", "git show HEAD~5 --stat -p", "git show -3", "git show -n 9 HEAD", "git show HEAD~3..HEAD", "git show ^HEAD~6 HEAD", "git show --all",
    "git show HEAD:src/a.py", "git show {commit}", "git show {short}", "git show main --", "git show --oneline HEAD -- src",
    "git diff", "git diff HEAD~2", "git diff HEAD~6..HEAD", "git diff ..HEAD~4", "git diff HEAD~5 HEAD~1 --", "git diff HEAD~2...HEAD", "git diff HEAD~5^!", "git diff --cached HEAD~6",
    "git diff --staged", "git diff --stat", "git diff --check", "git diff -- .", "git diff --color-words HEAD~6", "git diff -- gone", "git diff $(git merge-base HEAD~6 HEAD) HEAD",
    "git grep KEY", "git grep KEY HEAD", "git grep -f pats", "git grep KEY HEAD~5", "git grep -c KEY", "git grep --untracked KEY", "git grep KEY -- src '*.env'", "git grep --cached KEY",
    "git diff-index -p HEAD~6", "git diff-tree -p HEAD~5 HEAD", "git blame src/a.py", "git status -v", "git status -s", "git ls-files -s", "git for-each-ref", "git branch -a -v",
    "git cat-file -t HEAD", "git ls-tree -r HEAD", "git rev-parse HEAD~1", "git tag -l", "git remote -v", "git config --list", "git shortlog -s HEAD", "git worktree list", "git submodule status",
]  # fmt: skip

ASKS = [
    ("git show HEAD:.env", "the file as it was"),
    ("git show HEAD:keys/id_rsa", "the same"),
    ("git show HEAD~4:src/.env", "a file that only the history holds"),
    ("git show --format=%GG", "a program that checks signatures"),
    ("git log -L1,1:.env", "its lines"),
    ("git blame .env", "the same"),
    ("git diff HEAD:.env..HEAD:src/a.py", "two files as they were, in one word"),
    ("git diff HEAD:.env HEAD:src/a.py", "the same in two"),
    ("git show {blob}", "the text of a file by its id"),
    ("git show {cut}", "an id cut short"),
    ("git show HEAD {blob}", "beside a commit"),
    ("git show blob --", "a tag that names such a text"),
    ("git diff {blob} HEAD:src/a.py", "the same compared"),
    ("git diff {blob}..{blob}", "the same"),
    ("git grep KEY {blob}", "a search in it"),
    ("git grep KEY HEAD:keys", "a search in a folder, of which git does not know the name there"),
    ("git diff HEAD~6: HEAD:", "two folders, likewise"),
    ("git cat-file -p {blob}", "any object"),
    ("git cat-file blob {blob}", "the same"),
    ("git cat-file --textconv HEAD:src/a.py", "a program converts it"),
    ("git cat-file --batch", "what its input names"),
    ("git show $x", "a word that is known only at run time"),
    ('git diff H"$x"', "the same"),
    ("x=--text; git log -p $x", "an option that is known only at run time"),
    ("git log -p --text", "every file as text"),
    ("git log -p -a", "the same"),
    ("git log -p --tex", "the same, cut short"),
    ("git show --binary", "the same, packed"),
    ("git grep -a KEY", "the same in a search"),
    ("git grep -na KEY HEAD", "the same beside other letters"),
    ("git -c core.attributesFile=x log -p", "other settings"),
    ("git --git-dir=x log -p", "another repository"),
    ("GIT_CONFIG_PARAMETERS= git log -p", "other settings by a variable"),
    ("env GIT_CONFIG_COUNT=0 git log -p", "the same"),
    ("git for-each-ref --format='%(raw)'", "an object as it is"),
    ("git diff --output=x", "it writes"),
    ("git grep -O KEY", "it runs a pager"),
    ("git log --ext-diff", "it runs another program"),
    ("git archive HEAD", "all texts"),
    ("git fetch", "it reaches out"),
    ("git checkout -- .", "it writes"),
]  # fmt: skip


def names_of(folder):
    blob = git(folder, "rev-parse", "HEAD:.env")
    head = git(folder, "rev-parse", "HEAD~3")
    return {"blob": blob, "cut": blob[:8], "commit": head, "short": head[:8]}


@in_both_worlds
def test_git_shows_no_text_of_a_file_that_is_shut(repository, state, world):
    lines = [line.format(**names_of(repository)) if "{" in line else line for line in GOES]
    for line, found in zip(lines, verdicts(repository, *lines, mode="ask", sandbox=True), strict=True):
        assert found == "allow", line
    assert_harmless(repository, state, world, [(line, repository) for line in lines])
    whole, last, search = Readers(repository, state, world).run(
        "git log -p HEAD", "git show {commit}".format(**names_of(repository)), "git grep KEY HEAD"
    )
    assert "+KEY = 1" in whole and "Binary files" in whole
    assert "Binary files /dev/null and b/keys/id_rsa differ" in last
    assert "HEAD:src/a.py:KEY = 2" in search


@needs_bubblewrap
def test_a_tracked_file_that_is_hidden_does_not_stop_a_diff(repository, state):
    (shown,) = Readers(repository, state, "bubblewrap").run("git diff")
    assert "+KEY = 4" in shown
    assert SECRET not in shown


@pytest.mark.parametrize(("line", "why"), ASKS, ids=[line for line, _ in ASKS])
def test_what_may_show_any_text_asks_in_both_worlds(repository, line, why):
    git(repository, "tag", "blob", names_of(repository)["blob"])
    line = line.format(**names_of(repository)) if "{" in line else line
    assert verdicts(repository, line, sandbox=True) == ["ask"], why
    assert verdicts(repository, line) == ["ask"], why


@pytest.mark.parametrize(
    "line", ["git show {blob}", "git show HEAD:.env", "git log -p --text", "git show $x"]
)
def test_a_text_that_may_be_shut_wants_a_yes_in_every_mode(repository, line):
    line = line.format(**names_of(repository)) if "{" in line else line
    (command,) = looked(repository, line)
    rules = [Rule("allow", RUN, "git show"), Rule("allow", RUN, "git log")]
    assert decision(command, "full").verdict == decision(command, "ask", rules).verdict == "ask"
    exact = [Rule("allow", RUN, line, is_exact=True)]
    assert "$" in line or decision(command, "ask", exact).verdict == "allow"


def test_without_a_sandbox_git_asks(repository):
    for line in ("git status", "git log --oneline", "git log -p", "git branch -a", "git stash list"):
        assert verdicts(repository, line, mode="read-only") == ["deny"], line
        assert verdicts(repository, line) == ["ask"], line


@pytest.mark.parametrize(
    ("place", "says"),
    [(".gitattributes", "*.env diff\n"), ("src/.gitattributes", ".env diff=python\n"), (".git/info/attributes", "* !diff\n"), (".gitattributes", "[attr]text2 diff\n")],
)  # fmt: skip
def test_where_a_repository_says_what_is_a_text_git_asks(repository, place, says):
    (repository / place).parent.mkdir(exist_ok=True)
    (repository / place).write_text("*.png -diff\n*.txt text eol=lf\n")
    assert verdicts(repository, "git log -p", sandbox=True) == ["allow"]
    (repository / place).write_text(says)
    assert verdicts(repository, "git log -p", "git log --oneline; git diff", "git branch", sandbox=True) == [
        "ask",
        "ask",
        "allow",
    ]


def test_a_repository_that_begins_above_the_workspace_is_another_one(repository):
    (below := repository / "src").mkdir(exist_ok=True)
    assert verdicts(below, "git log -p", "git diff", "git show HEAD:keys/x", sandbox=True) == ["ask"] * 3
    assert verdicts(below, "git -C .. status", sandbox=True) == ["ask"]


IGNORED = [
    "plan.txt",
    "/top.txt",
    "a/b.txt",
    "private/",
    "deep/*.md",
    "*.log",
    "!keep.log",
    "sp ace.txt",
    "**/every.txt",
    "x/**/y.txt",
]


def test_what_an_ignore_file_shuts_git_takes_for_binary_too(repository, state):
    paths = [
        "plan.txt", "sub/plan.txt", "top.txt", "sub/top.txt", "a/b.txt", "sub/a/b.txt", "private/x/y", "sub/private/x", "deep/a.md", "deep/er/a.md",
        "some.log", "keep.log", "sub/keep.log", "sp ace.txt", "q/every.txt", "every.txt", "x/y.txt", "x/1/2/y.txt", "free.txt",
    ]  # fmt: skip
    (repository / ".outriderignore").write_text("".join(f"{line}\n" for line in IGNORED))
    guarded = Guarded([repository])
    guarded.refresh_now()
    expected = {path for path in paths if guarded.why_ignored(str(repository / path))}
    assert binary_to_git(repository, state, paths) == expected
    assert "keep.log" not in expected and "free.txt" not in expected and "sub/private/x" in expected


def test_what_holds_secrets_by_its_name_git_takes_for_binary_too(repository, state):
    names = [
        ".env", "x/.ENV.local", "prod.env", ".env.example", ".Env-Sample", "a/id_rsa", "id_rsa.pub", "b.PEM", "c.key.template", ".docker/config.json",
        "x/.AWS/config", "config", "config.json", ".ssh/known_hosts", ".ssh/deep/x", "sub/.gnupg/a/b", "auth.json", "gcloud/access_tokens.db", "secrets.py",
        "service-account-1.json", "appsettings.Prod.json", "appsettings.json", "src/a.py", "README.md", "environment.ts", "x.envrc", ".bash_history", "history",
        "id_rsa.bak", "KEY.pem~", ".npmrc.old", "..env.swp", "#a.key#", ".docker/config.json.orig", "x/.secrets.py.swp", "a.py~", "notes.bak", ".a.py.swp", "config.json.bak",
    ]  # fmt: skip
    shut = binary_to_git(repository, state, names)
    # More is hidden where only the end of a name in a folder of keys says that it is public.
    assert shut == {name for name in names if is_secret_file(name)} | {".ssh/known_hosts"}


def binary_to_git(folder, state, paths):
    (state / "texts").write_text(attributes([folder]))
    done = subprocess.run(
        ["git", "-c", f"core.attributesFile={state / 'texts'}", "check-attr", "-z", "--stdin", "diff"],
        cwd=folder, input="\0".join(paths).encode(), check=True, capture_output=True, timeout=30,
    )  # fmt: skip
    fields = done.stdout.decode().split("\0")
    return {path for path, value in zip(fields[::3], fields[2::3], strict=False) if value == "unset"}


def test_an_ignore_file_counts_for_the_repository_that_it_lies_in(repository):
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    assert verdicts(repository, "git log -p", "cd inner && git log -p", sandbox=True) == ["allow", "allow"]
    (repository / ".outriderignore").write_text("/inner/plan.txt\n")
    assert verdicts(repository, "git log -p", "cd inner && git log -p", sandbox=True) == ["allow", "ask"]


RUNS = [
    ("[core]\n\tfsmonitor = touch {ran}; false\n", "status --short", "a monitor is asked what changed"),
    ("[diff]\n\texternal = touch {ran} #\n", "diff", "another program shows the difference"),
    ('[filter "f"]\n\tclean = touch {ran}; cat\n', "diff", "a file is filtered before it is compared"),
    ("[include]\n\tpath = more\n", "status --short", "settings elsewhere"),
    ("[core]\n\thooksPath = more.d\n", "status", "hooks elsewhere"),
    ("[alias]\n\tdiff = !touch {ran}\n", "diff", "an alias that git does not heed"),
]  # fmt: skip


@in_both_worlds
@pytest.mark.parametrize(("settings", "line", "why"), RUNS, ids=[why for *_, why in RUNS])
def test_what_a_repository_has_git_run_can_change_nothing(repository, state, settings, line, why, world):
    outside = repository.parent / "ran"
    (repository / ".gitattributes").write_text("* filter=f\n")
    (repository / ".git" / "more").write_text(f"[core]\n\tfsmonitor = touch {outside}; false\n")
    (repository / "more.d").mkdir()
    for folder in (repository / "more.d", repository / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        (folder / "post-index-change").write_text(f"#!/bin/sh\ntouch {outside}\n")
        (folder / "post-index-change").chmod(0o755)
    with (repository / ".git" / "config").open("a") as config:
        config.write(settings.format(ran=outside))
    os.utime(repository / "src/a.py", (1, 1))  # so that git looks at it
    assert verdicts(repository, f"git {line}", mode="read-only", sandbox=True) == ["allow"]
    assert verdicts(repository, f"git {line}", mode="read-only") == ["deny"]
    before = everything_in(repository.parent)
    Readers(repository, state, world).run(f"git {line}")
    assert everything_in(repository.parent) == before, why
    if "alias" not in settings:
        git(repository, *line.split(), check=False)
        assert outside.exists(), "the row shows nothing: git ran nothing"


@in_both_worlds
@pytest.mark.parametrize("by", ["a file", "a link", "commondir", "links in it", "a work tree elsewhere"])
def test_another_repository_of_the_machine_is_not_seen(repository, state, by, world):
    """Whoever brings a folder can have git look into any repository of the machine, by its place."""
    other = repository.parent.parent / "other"
    git(repository, "clone", "-q", ".", str(other))
    commit(other, "diary", f"{SECRET}\n")
    place = repository / ".git"
    if by == "commondir":
        (place / "commondir").write_text("../../../other/.git\n")
    elif by == "links in it":
        for name in ("objects", "refs"):
            git(repository, "pack-refs", "--all")
            place.joinpath(name).rename(place / f"{name}.old")
            (place / name).symlink_to(f"../../../other/.git/{name}")
    elif by == "a work tree elsewhere":
        git(repository, "config", "core.worktree", str(other))
    else:
        place.rename(repository.parent.parent / "old")
        if by == "a file":
            place.write_text("gitdir: ../../other/.git\n")
        else:
            place.symlink_to("../../other/.git")
    lines = ["git log -p --all", "git status", "git diff", "git grep -h -e .", "git show"]
    for output in Readers(repository, state, world).run(*lines):
        assert SECRET not in output
        assert "diary" not in output
