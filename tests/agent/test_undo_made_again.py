"""A file that somebody deleted since: an undo that makes it again makes it as it was."""

import pytest
from scripting import DONE, call, step

FULL = {"permissionMode": "full"}
TAKE = {"Take the undo", "Take the redo"}


def taking(question):
    return next(title for title in question.titles if title in TAKE)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_an_edited_file_in_utf_16_is_made_again_in_it(encoding, begin, workspace):
    raw = "\ufeffGrüße\nzwei\n".encode(encoding)
    (workspace / "wide.txt").write_bytes(raw)
    edit = call("edit_file", path="wide.txt", old="zwei", new="drei")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=taking)
    await editor.run("Go.")
    (workspace / "wide.txt").unlink()
    assert (await editor.command("outrider.undo", {}))["conflicts"] == []
    assert (workspace / "wide.txt").read_bytes() == raw


@pytest.mark.parametrize("how", ["edit", "chmod"])
async def test_an_edited_program_is_made_again_as_one(how, begin, workspace):
    program = workspace / "run.sh"
    program.write_text("echo 1\necho 2\n")
    program.chmod(0o755)
    edit = call("edit_file", path="run.sh", old="echo 2", new="echo 3")
    if how == "chmod":
        edit = call("run_command", command="sed -i s/2/3/ run.sh; chmod 700 run.sh")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=taking)
    await editor.run("Go.")
    assert program.read_text() == "echo 1\necho 3\n"
    program.unlink()
    await editor.command("outrider.undo", {})
    assert (program.read_text(), program.stat().st_mode & 0o777) == ("echo 1\necho 2\n", 0o755)
    program.unlink()
    await editor.command("outrider.redo", {})
    assert program.stat().st_mode & 0o777 == (0o755 if how == "edit" else 0o700)
