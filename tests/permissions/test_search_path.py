"""A program only reads where its name stands for the one that is known, and not for a file of the workspace."""

import pytest

from outrider.permissions.policy.decide import Access, decide
from outrider.tools.run_command.command_line import look_at
from outrider.workspace.paths import folders_of

ROWS = [
    ("{}:/usr/bin:/bin", "ls", "ask", "a folder of the workspace comes first"),
    ("{}/bin:/usr/bin:/bin", "ls", "ask", "one further down"),
    (".:/usr/bin:/bin", "ls", "ask", "the folder where it runs"),
    ("bin:/usr/bin:/bin", "ls", "ask", "a folder of that"),
    (":/usr/bin:/bin", "ls", "ask", "an empty part is the folder where it runs, too"),
    ("/usr/bin:/bin:", "ls", "allow", "the known one comes first"),
    ("/nowhere:", "tree", "ask", "it is only there"),
    ("{}/../beside:/usr/bin:/bin", "ls", "ask", "a link beside the workspace that leads to its file"),
    ("{}/linked:/usr/bin:/bin", "ls", "ask", "a link of the workspace that leads to another program"),
    ("{}/plain:/usr/bin:/bin", "ls", "allow", "what cannot be run is passed over"),
    ("{}:/usr/bin:/bin", "wc -l a.txt", "allow", "another program"),
    ("{}:/usr/bin:/bin", "wc -l a.txt | ls", "ask", "a part of a line"),
    ("{}:/usr/bin:/bin", "timeout 5 wc -l a.txt", "ask", "what starts it"),
    ("{}:/usr/bin:/bin", "echo x", "allow", "bash does it itself"),
    ("{}:/usr/bin:/bin", "env echo x", "ask", "here it does not"),
    ("", "ls", "allow", "no search path is known"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "command", "expected", "why"), ROWS, ids=[why for *_, why in ROWS])
@pytest.mark.parametrize("mode", ["auto-edit", "read-only"])
def test_a_file_of_the_workspace_is_no_program_that_only_reads(tmp_path, path, command, expected, why, mode):
    work = tmp_path / "work"
    for place in ("", "bin", "plain", "linked", "../beside"):
        (work / place).mkdir(parents=True, exist_ok=True)
    (work / "a.txt").write_text("")
    for place in ("", "bin", "plain"):
        for name in ("ls", "tree", "timeout", "echo"):
            (work / place / name).write_text("#!/bin/sh\ntouch made\n")
            (work / place / name).chmod(0o644 if place == "plain" else 0o755)
    (work / "linked/ls").symlink_to("/bin/sh")
    (tmp_path / "beside/ls").symlink_to("../work/ls")
    search_path = path.format(work)
    looked = look_at(command, folders_of([("work", work.as_uri())]), work, search_path=search_path)
    verdict = decide(Access("execute", command=looked), mode, frozenset()).verdict
    assert verdict == ("deny" if expected == "ask" and mode == "read-only" else expected), why
