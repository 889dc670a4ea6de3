"""Ways around what goes without a question in loops, pipes and small languages: each with the folder where it runs, and its why.

The mode is `auto-edit`, without a rule.
"""

import pytest

from outrider.permissions.policy.rules import RUN, Rule
from permissions.looking import SECRET, assert_harmless, decision, looked_without_git
from sandboxes import in_both_worlds

ROWS = [
    # loops that run more often than they are written
    ("deep/er", "for f in *; do cd ..; cat x; done", "ask", "a pattern is many words: it goes up once for each of its files"),
    ("deep/er", "for f in a; do cd ..; ls; done", "allow", "one word, so once"),
    ("deep/er", "for f in *; do cat \"$f\"; done", "allow", "it stays where it is"),
    # options behind --, and programs that see none behind an operand
    (".", "jq -R . -- --arg /etc/passwd x", "ask", "behind -- it is a file, and no value of --arg"),
    (".", "jq --arg a b . a.py", "sandbox", "here it is one"),
    (".", "jq '..env' a.py", "ask", "behind two dots it is no key"),
    (".", "jq .env a.py", "sandbox", "a key"),
    (".", "sed 'w x' -e p", "ask", "the sed of other systems takes the first operand for the script: it writes"),
    (".", "sed -n -e p a.py", "allow", "the script stands first"),
    (".", "fmt -p /etc/passwd", "ask", "the fmt of other systems takes no value there: it shows the file"),
    (".", "ls -T /etc", "ask", "the same with the ls of other systems"),
    (".", "ls -w 80 -I '*.pyc'", "allow", "values that lead nowhere"),
    # a pattern that brings an option with a value of its own
    ("odd", "git for-each-ref --format=*", "ask", "a file is called --format=%(raw), which shows an object as it is"),
    ("odd", "git branch --format=*", "ask", "the same"),
    # versions
    (".", "go env GOPATH", "ask", "it tells"),
    (".", "go env -w GOFLAGS=x", "ask", "it writes"),
    (".", "go run x", "ask", "it runs"),
    (".", "node -e", "ask", "no option that tells"),
    # where git goes by -C
    ("deep/er", "git -C .. -C .. log", "sandbox", "the workspace"),
    ("deep/er", "git -C .. -C .. -C .. log", "ask", "each is inside, and all of them lead out"),
    # what find hands over
    ("here", "find . -printf -name -name x -exec cat {} +", "ask", "the first -name is a text to print, and the file may be a shut one"),
    ("here", "find . -name '*.en?' -exec cat {} +", "ask", "a shut file has that name"),
    ("here", "find . -maxdepth 1 -type f -name '*.py' -exec cat {} +", "sandbox", "files that are open"),
    ("hid", "find . -name .hid -exec rg x {} +", "ask", "rg looks into a hidden folder that it is given, where a key lies"),
    (".", "find a.py -exec date +{} + -s -name \\;", "ask", "it sets the clock: behind +{} nothing ends"),
    ("deep/er", "find ../.. -maxdepth 1 -execdir cat ../x \\;", "ask", "it runs in the folder above, from which the path leads out"),
    # what else is piped into xargs
    ("ls1", "ls sub | xargs rg x", "ask", "a file in the folder is called --pre=sh"),
    ("ls1", "ls | xargs cat", "sandbox", "of this folder alone, where none is called so"),
    ("ls1/sub", "ls | xargs cat", "ask", "here one is"),
    ("ls2", "ls *.py | xargs cat", "ask", "of the folder d.py it says the names in it, and a link has such a name here"),
    ("sub", "git ls-files :/ | xargs cat", "ask", "from the top of the repository, which may lie outside"),
    ("sub", "git ls-files ':(top)*' | xargs cat", "ask", "the same, written out"),
    ("sub", "git ls-files | xargs cat", "sandbox", "what is tracked below"),
]  # fmt: skip


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outer") / "work"
    for name in (
        *("a.py", "deep/er/a", "deep/er/b", "deep/er/c", "odd/--format=%(raw)", "here/a.py", "here/.env", "here/x"),
        *("hid/.hid/x.pem", "ls1/sub/--pre=sh", "ls2/d.py/out", "sub/a"),
    ):  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"x {SECRET}\n" if name.endswith((".env", ".pem")) else "x\n")
    (folder / "ls2" / "out").symlink_to("/etc/passwd")
    (folder / "here" / "link").symlink_to("/etc/passwd")
    return folder


def decided(command, workspace, cwd=".", mode="auto-edit", rules=(), *, sandbox=False):
    looked = looked_without_git(command, workspace, (workspace / cwd).resolve())
    return decision(looked, mode, rules, sandbox=sandbox)


@pytest.mark.parametrize(
    ("cwd", "command", "expected", "why"), ROWS, ids=[repr(command) for _, command, _, _ in ROWS]
)
def test_bypass(workspace, cwd, command, expected, why):
    assert decided(command, workspace, cwd).verdict == ("ask" if expected == "sandbox" else expected), why
    in_read_only = decided(command, workspace, cwd, "read-only").verdict
    assert in_read_only == ("allow" if expected == "allow" else "deny"), why
    if expected in {"allow", "sandbox"}:
        assert decided(command, workspace, cwd, "read-only", sandbox=True).verdict == "allow", why


@in_both_worlds
def test_what_goes_in_a_read_only_sandbox_does_no_harm(workspace, tmp_path, world):
    lines = [
        (command, workspace / cwd)
        for cwd, command, _, _ in ROWS
        if decided(command, workspace, cwd, sandbox=True).verdict == "allow"
    ]
    assert len(lines) > len(ROWS) / 2
    assert_harmless(workspace, tmp_path, world, lines)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("find . -exec cat {} +", "ask"), ("find . -type f -exec grep x {} \\;", "ask"), ("find . -print0 | xargs -0 cat", "ask"), ("find . -name '.e*' | xargs cat", "ask"),
        ("find . -name '*.py' -exec cat {} +", "allow"), ("find . -name '*.py' | xargs cat", "allow"), ("find . ! -name '.en?' | xargs cat", "allow"), ("find . -type f | grep -v '[.]env' | xargs cat", "allow"),
    ],
)  # fmt: skip
def test_a_shut_file_that_find_hands_over_wants_a_yes_in_every_mode(workspace, command, expected):
    """Where it certainly is among what is handed over; where it may be, only the narrower modes ask."""
    judgement = decided(command, workspace, "here", "full")
    assert judgement.verdict == expected
    if expected == "ask":
        assert "which is a secret file" in judgement.reason
        rules = [Rule("allow", RUN, "find"), Rule("allow", RUN, "cat"), Rule("allow", RUN, "grep")]
        assert decided(command, workspace, "here", "ask", rules).verdict == "ask"


@pytest.mark.parametrize(
    ("rule", "does", "does_more"),
    [
        ("tar", "tar cf x --checkpoint=9 a", "tar xf x --us=y"), ("tar", "tar cf x a*", "tar xf x --inf=y"), ("tar", "tar cf x ./*", "tar cf x *"), ("tar", "tar tf x", "tar cf x a --checkpoint-=exec=y"), ("tar", "tar tf x", "y=--to-command=z; tar xf x $y"),
        ("tar", "tar cf x src/*", "ls | xargs tar cf x"), ("zip", "zip -r x a", "zip -rTT y x a"), ("zip", "zip x a", "zip x a --unz y"), ("wget", "wget -q x", "wget --use-a=y x"), ("wget", "wget x", "wget --exe=y x"),
        ("man", "man ls", "man --ht=y ls"), ("man", "man ls", "man --conf=y ls"), ("scp", "scp -r a b:", "scp -D y a b:"), ("ssh", "ssh -v a", "ssh -I y a"), ("make test", "make test -j2", "make test --f=y"), ("make test", "make test", "make test --in=y"),
        ("make test", "make test A=\"$y\"", "make test \"$y\""), ("git rebase", "git rebase -i x", "git rebase -ix y x"), ("git rebase", "git rebase x", "git rebase --ex y x"), ("git fetch", "git fetch --all", "git fetch --upl=y x"), ("git push", "git push x", "git push --rece=y x"),
        ("git push", "git push x HEAD:\"$y\"", "git push x $y"), ("git clone", "git clone x", "git clone -c core.sshCommand=y x"), ("git clone", "git clone x", "git clone --conf=a.b=y x"), ("git clone", "git clone --depth=1 x", "git clone -u y x"),
        ("git commit", "git commit -m \"$y\" *.py", None), ("npm test", "npm test -- -u", "npm test --script-sh=y"), ("pip install", "pip install --pre x", "pip install --index-u=y x"), ("go test", "go test -race ./...", "go test --exec=y"),
        ("cargo test", "cargo test --all", "cargo test -qZ x"), ("gcc", "gcc -O2 a.c", "gcc @y"), ("gcc", "gcc a.c", "gcc -specs=y a.c"), ("gcc", "gcc -Wl,--as-needed a.c", "gcc -Wl,-plugin,y a.c"),
    ],
)  # fmt: skip
def test_a_rule_does_not_allow_an_option_that_is_cut_short_or_comes_when_it_runs(
    workspace, rule, does, does_more
):
    """Where it has another program run; one that the rule names is another matter (`test_bypasses`)."""
    rules = [Rule("allow", RUN, rule)]
    assert decided(does, workspace, mode="ask", rules=rules).verdict == "allow"
    assert does_more is None or decided(does_more, workspace, mode="ask", rules=rules).verdict == "ask"
