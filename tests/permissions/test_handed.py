"""Names of files that one program hands to another: looked at before it runs, in a real folder."""

import pytest

from permissions.looking import SECRET, assert_harmless, decision, looked_without_git
from sandboxes import in_both_worlds

ROWS = [
    ("find . -name '*.py' -exec wc -l {} +", "sandbox", "files of the workspace"),
    ("find . -name '*.py' -exec grep -l x {} \\;", "sandbox", "one after the other"),
    ("find . -name '*.py' | xargs wc -l", "sandbox", "through a pipe"),
    ("find src -print0 | xargs -0 grep x", "sandbox", "with what no name holds between them"),
    ("find . -name '*.py' | sort | head -5 | grep -v a | xargs -I{} cat {}", "sandbox", "some of the lines"),
    ("git ls-files '*.py' | xargs wc -l", "sandbox", "what git tracks"),
    ("grep -rl x src | xargs cat", "sandbox", "what a search finds"),
    ("ls *.py | xargs cat", "sandbox", "what a list shows"),
    ("find . -exec cat {} +", "ask", "a file that may hold keys is among them"),
    ("find ../links -exec cat {} +", "ask", "a link that leads out is among them"),
    ("find ../links -type f -exec cat {} +", "sandbox", "it hands over no links"),
    ("find ../links -name '*.txt' -exec cat {} +", "ask", "the link has that name"),
    ("find . -name '*.py' -o -name '.e*' -exec cat {} +", "ask", "the name is not what all have"),
    ("find ../links ! -name '*.py' -exec cat {} +", "ask", "nor is this one"),
    ("find ../.. -name '*.py' -exec cat {} +", "ask", "outside"),
    ("find src $x -name '*.py' -exec cat {} +", "ask", "a folder that is not known"),
    ("find . -name '*.py' -execdir cat {} +", "ask", "elsewhere"),
    ("find . -name '*.py' -exec sort -o {} +", "ask", "it writes"),
    ("find . -name '*.py' -exec uniq {} +", "ask", "the second one is written"),
    ("find . -name '*.py' -exec {} +", "ask", "it runs them"),
    ("find . -name '*.py' | xargs sh", "ask", "it runs them"),
    ("find ../odd | xargs cat", "ask", "a name with a blank is two to xargs"),
    ("find ../odd -print0 | xargs -0 cat", "sandbox", "here it is one"),
    ("find ../odd -print0 | xargs cat", "ask", "the one does not split as the other joins"),
    ("find '../odd/a b' | xargs cat", "ask", "the blank is in the folder's name"),
    ("cd ../dash && git ls-files | xargs sort", "ask", "a file whose name looks like an option"),
    ("cd ../dash && find . | xargs sort", "sandbox", "here its name has a folder before it"),
    ("echo /etc/passwd | xargs cat", "ask", "any words"),
    ("cat src/a.py | xargs cat", "ask", "what a file names"),
    ("grep -rh x src | xargs cat", "ask", "lines, and not names"),
    ("rg -rl x src | xargs cat", "ask", "lines, in which l stands for x"),
    ("grep -rl x src /etc | xargs cat", "ask", "outside"),
    ("ls -a src | xargs grep -r x", "ask", "the folder above is among them"),
    ("ls /etc/* | xargs cat", "ask", "outside"),
    ("find src | sed s,src,/etc, | xargs cat", "ask", "other names"),
    ("find src | head 5 | xargs cat", "ask", "the lines of a file called 5"),
    ("find src | sort list | xargs cat", "ask", "the lines of another file"),
    ("find src | sort <<< /etc/passwd | xargs cat", "ask", "the line of a here-string"),
    ("find src | xargs cat <<< /etc/passwd", "ask", "its input is another one"),
    ("find src | xargs cat < list", "ask", "its input is another one"),
    ("find src -printf /etc/passwd | xargs cat", "ask", "what it prints is no name"),
    ("find src |& xargs cat", "ask", "errors are among them"),
    ("find src 2>&1 | xargs cat", "ask", "errors are among them"),
    ("find src | xargs -d r cat", "ask", "it splits elsewhere"),
    ("find src | xargs -a list cat", "ask", "another file names them"),
    ("find src | xargs -I{} cat ../{}", "ask", "a part of a name"),
    ("find src/.. -name hidden -exec cat {} +", "ask", ".outriderignore shuts it, by another way"),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outer") / "work"
    for name in ("here/src/a.py", "here/a.py", "odd/a b/c", "dash/-o", "dash/x", "here/hidden", "links/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n")
    (folder / "links" / "out.txt").symlink_to("/etc/passwd")
    (folder / "here" / ".env").write_text(f"KEY={SECRET}\n")
    (folder / "here" / "hidden").write_text(f"{SECRET}\n")
    (folder / ".outriderignore").write_text("/here/hidden\n")
    return folder


@pytest.mark.parametrize(("command", "expected", "why"), ROWS, ids=[repr(command) for command, _, _ in ROWS])
def test_what_is_handed_over(workspace, command, expected, why):
    looked = looked_without_git(command, workspace, workspace / "here")
    assert decision(looked).verdict == ("allow" if expected == "allow" else "ask"), why
    assert expected == "ask" or decision(looked, sandbox=True).verdict == "allow", why


@in_both_worlds
def test_what_is_handed_over_in_a_read_only_sandbox_does_no_harm(workspace, tmp_path, world):
    here = workspace / "here"
    lines = [
        command
        for command, _, _ in ROWS
        if decision(looked_without_git(command, workspace, here), sandbox=True).verdict == "allow"
    ]
    assert "find . -exec cat {} +" in lines
    assert_harmless(workspace, tmp_path, world, [(line, here) for line in lines])
