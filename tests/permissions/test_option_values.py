"""The tables of options against the programs themselves: what is taken for a value must be one to the program.

Where it is none, the next word is an option or a file, which nobody would look at.
"""

import shutil
import subprocess

import pytest

from outrider.permissions.programs import git, readers

UNKNOWN = "--zzz-unknown"
SAID = (
    "unrecognized option",
    "unknown option",
    "invalid option",
    "unrecognized argument",
    "unknown argument",
)

TABLES = {
    **{(name,): options for name, options in readers._TABLE.items()},
    **{("git", name): options for name, options in (git._SUB | git._LISTS).items()},
    **{
        ("git", name, verb): options
        for name, verbs in git._VERBS.items()
        for verb, options in verbs.items()
        if name != "submodule"  # a script of git's
    },
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", folder], check=True)
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *name, "commit", "-q", "--allow-empty", "-m", "a"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize(
    "program", [one for one, of in TABLES.items() if of.valued or of.long_valued], ids=" ".join
)
def test_what_is_taken_for_a_value_is_one(repository, program):
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    options, refused = TABLES[program], []
    dash = "-" if options.single_dash else "--"
    for option in [*(f"-{one}" for one in options.valued), *(dash + one for one in options.long_valued)]:
        ran = subprocess.run(
            [*program, option, UNKNOWN], check=False, cwd=repository, stdin=subprocess.DEVNULL, capture_output=True,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GIT_PAGER": "cat"}, timeout=20,
        )  # fmt: skip
        said = (ran.stdout + ran.stderr).decode(errors="replace")
        if UNKNOWN in said and any(one in said for one in SAID):
            refused.append(option)
    assert not refused, f"{' '.join(program)} takes the word behind these for something else"
