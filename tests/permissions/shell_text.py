"""Shell text for tests: generated lines, and a real bash that tells which programs it ran."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from hypothesis import strategies as st

STUBS = ("git", "ls", "rm", "cat", "make", "wc", "tee", "curl", "a", "b", "x", "EOF", "y", "go")
"""Programs that only write down what they were called with."""
REAL = ("env", "nohup", "timeout", "nice", "stdbuf", "xargs")
"""Programs that are what they are: they start others."""

NAMES = (*STUBS, "echo", "true", "printf %s", "command rm", "env rm", "nohup rm", "time rm", "xargs rm", "! rm", "sh -c", "bash -c")  # fmt: skip
GOOD = (
        "a", "-f", "'q r'", '"q r"', '"a $x"', "$x", "${x}", "$(rm a)", '"$(rm b)"', "`rm c`", '"`rm d`"', "a\\ b", "\\;", "[ab]",
        "$'a\\'b'", "$'\\x72m'", "*", "?", "{a,b}", "a{,b}c", "{3..1}", "-{f,g}", "{a,b}{c,d}", "a{1..2", "{a,$x}", "{,}", "~", "a#b", "\\\n", "a\\\nb", "'a\nb'", '"a\nb"', "<(rm e)", "$((1+2))", "${x:-rm}",
        "${#x}", "a=b", "FOO=rm", "2>&1", ">/dev/null", "<<<rm", "<<<'a b'", "'rm'", '"r"m', "r''m", "\\rm", "--", "-c", "'rm h'",
        "\"rm i\"", "'rm j; ls'", "=", "$", '"$"', "[", "]", "then", "do", "in", "time", "function", "eval", "{}", "1>y", "a2>y", ">y",
)  # fmt: skip
ODD = (
        "x y", '$"rm"', "{rm,b}", "#a", ">(rm f)", "$((x))", "$[1]", "${x:-$(rm g)}", "${!x}", "${x@P}", "'", '"', "`", "(", ")", "{",
        "}", "[[", "]]", "if", "fi", "done", "!", "é", "\u00a0", "\r", "\t", "\v", "$(", "$((", "${", "((", "))", "\\", "esac", "case",
        ";;", "<<EOF", "<<'EOF'", "<<-EOF", "EOF", "{x}>y", "3<>y", "&>y", ">|y", "12>y", "<y", ">&y", "coproc", "x()", "select",
)  # fmt: skip
JOINTS = (
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    "|&",
    " ; ",
    "\n\n",
    " # c\n",
    "; ",
    "&& \n",
    "| \n",
    "\\\n",
    "#c\n",
)
AROUND = (
    "({})", "( {} )", "{{ {}; }}", "$({})", 'a "$({})"', "`{}`", "if {}; then rm 1; fi", "while {}; do rm 2; break; done",
    "for i in a $({}); do rm $i; done", "case a in a) {};; esac", "case $({}) in b|a) rm 3;; *) ls;; esac", "f() {{ {}; }}; f",
    "! {}", "time {}", "[[ a == a ]] && {}", "[ a = a ] && {}", "x=$({}) rm 4", "x=$({})", "cat <({})", "sh -c '{}'",
    'bash -c "{}"', "eval '{}'", "env A=1 {}", "nohup {}", "timeout 5 {}", "{} >y", "{} 2>&1", "{} <<<a", "echo a | xargs -n1 {}",
    "echo a | xargs -I{{}} {} {{}}", "coproc {}", "git() {{ {}; }}; git", "cd . && {}", "until ! {}; do rm 5; break; done",
    "for ((i=0;i<1;i++)); do {}; done", "(({}))", "command {}", "exec {}", "timeout 5$v {}", "env A=$v {}", 'env A="$v" {}', "nice -n $v {}", "env A=1$(echo a) {}", "cd a && command {}", "builtin {}", "set -e; {}", "x=1; {}", "select i in a; do {}; done",
    "for x in a 'q r' -f; do {}; done", 'for x in a b; do {} $x "${x}c"; done', "for x in * rm; do {}; done", "for x in {a,rm} {2..1}; do {}; done",
    'for x in rm ls; do "$x" 7; for v in 8 9; do {} "$v"; done; done', "cd a; {}", "(cd a && ls) && {}",
    "if true; then {}; else rm 6; fi", "function g {{ {}; }}; g", "cat <<EOF\n$({})\nEOF", "cat <<'EOF'\n{}\nEOF",
)  # fmt: skip
END = "the-end-of-a-call"
MARKS = ("<<EOF", "<<'EOF'", '<<"EOF"', "<<-EOF", "<<\\EOF", "<< EOF", "<<EOF <<x")
RESTS = ("", "", "| wc", "&& rm k", "; rm l", ">y", "a b", "| wc; rm m", "|| rm n | wc", "# c", "&", "\\")
BODIES = (
    "a",
    "$x",
    "$(rm o)",
    "`rm p`",
    "\\$(rm q)",
    "'$(rm r)'",
    "\tEOF",
    "EOF ",
    "x\\",
    "rm s",
    "${x:-$(rm t)}",
)
ENDS = ("EOF", "EOF", "EOF", "\tEOF", "EOF\nrm u", "EOF; rm v", "")
SIGNS = "'\"`$(){}[];&|<>\\ \t\n#=*?~!arm-x"


def line(random):
    """One line, as it may be written, or meant to deceive."""
    odd = random.choice((0, 0, 0, 0.1, 0.3))
    text = _some(random, odd, random.choice((0, 1, 1, 2, 2, 3)))
    for _ in range(random.choice((0, 0, 0, 0, 1, 2))):
        at = random.randint(0, len(text))
        text = text[:at] + random.choice(SIGNS) + text[at + random.choice((0, 1, 0, 2)) :]
    return text


def _some(random, odd, depth):
    kind = random.random()
    if depth <= 0 or kind < 0.15:
        return _heredoc(random) if kind < 0.03 else _simple(random, odd)
    if kind < 0.5:
        return _some(random, odd, depth - 1) + random.choice(JOINTS) + _some(random, odd, depth - 1)
    inner = _some(random, odd, depth - 1)
    form = random.choice(AROUND).replace("{{", "\1").replace("}}", "\2")
    return form.replace("{}", inner).replace("\1", "{").replace("\2", "}")


def _simple(random, odd):
    def piece():
        return random.choice(ODD if random.random() < odd else GOOD)

    name = piece() if random.random() < 0.1 else random.choice(NAMES)
    return " ".join([name, *(piece() for _ in range(random.choice((0, 1, 1, 2, 3))))])


def _heredoc(random):
    lines = [random.choice(BODIES) for _ in range(random.choice((0, 1, 2)))]
    first = f"{random.choice(('cat', 'tee', 'rm'))} {random.choice(MARKS)} {random.choice(RESTS)}"
    return "\n".join([first, *lines, random.choice(ENDS)])


LINES = st.builds(line, st.randoms(use_true_random=False))


class RecordingBash:
    """A restricted bash in an empty folder, with programs that write down their arguments."""

    def __init__(self, folder: Path, programs=STUBS) -> None:
        self._folder = folder
        self._bin = folder / "bin"
        self._bin.mkdir()
        self._runs = 0
        for name in programs:
            self._script(name, f'#!/bin/sh\nprintf "%s\\0" {name} "$@" {END} >>"$WRITTEN"\n')
        for name in REAL:
            (self._bin / name).symlink_to(f"/usr/bin/{name}")
        self._script("sudo", '#!/bin/sh\nexec "$@"\n')
        for name, options in (("bash", ""), ("sh", "--posix")):
            self._script(name, f'#!/bin/sh\nexec /bin/bash {options} -r "$@"\n')

    def _script(self, name, text):
        path = self._bin / name
        path.write_text(text)
        path.chmod(0o755)

    def run(self, line: str) -> list[list[str]]:
        """Run a line to the end of all that it started; gives what each program was called with, its name first."""
        self._runs += 1
        written, empty = self._folder / f"written-{self._runs}", self._folder / f"empty-{self._runs}"
        written.touch()
        empty.mkdir()
        with subprocess.Popen(
            ["/bin/bash", "--noprofile", "--norc", "-r", "-c", line],
            cwd=empty,
            env={
                "PATH": str(self._bin),
                "x": "rm w",
                "v": "1 rm",
                "LC_ALL": "C.UTF-8",
                "HOME": "/home",
                "WRITTEN": str(written),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=2)  # all that it started holds its output open
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        calls: list[list[str]] = [[]]
        for part in written.read_bytes().decode("utf-8", "surrogateescape").split("\0"):
            if part == END:
                calls.append([])
            else:
                calls[-1].append(part)
        shutil.rmtree(empty)
        written.unlink()
        return [call for call in calls if call and call != [""]]


def is_among(call, programs) -> bool:
    """Whether a call is one that the line was read to make; a word that is not known stands for any words."""
    return any(_fits(call, [(word.text, word.prefix) for word in program.argv]) for program in programs)


def _fits(call, words) -> bool:
    if not words:
        return not call
    text, prefix = words[0][0], words[0][1].partition("~")[0]
    if text is not None:
        return bool(call) and call[0] == text and _fits(call[1:], words[1:])
    if _fits(call, words[1:]) and not prefix:
        return True
    return (
        bool(call)
        and call[0].startswith(prefix)
        and any(_fits(call[n:], words[1:]) for n in range(1, len(call) + 1))
    )
