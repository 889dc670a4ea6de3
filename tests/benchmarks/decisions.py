"""What a decision about a command costs: reading the line, looking its paths up, and going through the rules.

    python tests/benchmarks/decisions.py          # exits with 1 where a bound does not hold

The best of many is counted, in processor time: whatever else runs on the machine makes a figure worse and never better.
"""

import sys
import tempfile
import time
from pathlib import Path

from outrider.permissions.policy.decide import Access, decide
from outrider.permissions.policy.rules import RUN, Rule
from outrider.permissions.policy.ruling import ruling_on
from outrider.tools.run_command.command_line import look_at
from outrider.workspace.paths import folders_of

RULES = [*(Rule("allow", RUN, f"tool{n} verb") for n in range(50)), Rule("deny", RUN, "git push")]
SCRIPT = "set -euo pipefail\n" + "".join(
    f'echo "building part {n} of $total"\npython -m build --outdir dist/{n} packages/{n} 2>&1 | tee logs/build-{n}.log\n'
    f"if [ -f dist/{n}/ok ]; then grep -n 'error' logs/build-{n}.log | sort -u > /dev/null; fi\n"
    for n in range(30)
)
SETTINGS = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
    '[remote "origin"]\n\turl = git@example.org:x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
    '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n'
)
"""Of the repository, which are looked at where git would only read."""
LONG = SCRIPT[:4096].rpartition("\nif")[0]
CASES = [
    ("an ordinary command", "cd sub && python -m pytest -q tests/x | tail -5", 1.0),
    ("one program", "git diff HEAD~1 -- src/a.py", 1.0),
    ("a search below a folder", "grep -rn 'def main' src tests", 1.0),
    ("a script of 4 kB", LONG, 5.0),
]


def milliseconds(command: str, workspace: Path, *, again: bool = False) -> float:
    """The best of many decisions about `command`, each as the first one about it unless it is one `again`."""
    folders, best = folders_of([("work", workspace.as_uri())]), float("inf")
    for number in range(200):
        spaces = " " * (0 if again else number)  # a line that was not read before
        began = time.process_time()
        access = Access("execute", command=look_at(command + spaces, folders, workspace))
        decide(access, "auto-edit", frozenset(), ruling_on(RUN, access, RULES, "auto-edit"))
        best = min(best, (time.process_time() - began) * 1000)
    return best


def main() -> int:
    """Measure, print, and give the exit code."""
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / ".git"
        place.mkdir()
        (place / "config").write_text(SETTINGS)
        for name, command, bound in CASES:
            took = milliseconds(command, Path(folder))
            holds = holds and took <= bound
            again = milliseconds(command, Path(folder), again=True)
            print(f"{name} ({len(command)} characters): {took:.2f} ms, ≤ {bound:g}; again {again:.2f} ms")
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
