"""Documents for the user are written into `.outrider/` and nowhere else, whatever a command puts in its place meanwhile."""

import asyncio
import sys
from itertools import count

import pytest

from outrider.agent.interaction import shown_documents
from outrider.workspace.paths import folders_of

EXCHANGE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = (name.encode() for name in sys.argv[1:])
if libc.renameat2(-100, one, -100, other, 2):
    sys.exit(7)
print("swaps", flush=True)
while True:
    libc.renameat2(-100, one, -100, other, 2)
"""
"""Puts a link in the place of a folder and takes it away again, as fast as it can (rename(2), RENAME_EXCHANGE)."""
SECONDS = 3.0


def folders(workspace):
    return folders_of([("work", workspace.as_uri())])


@pytest.mark.skipif(sys.platform != "linux", reason="two names are exchanged at once on Linux alone")
async def test_a_folder_that_is_swapped_for_a_link_leads_nowhere(tmp_path):
    workspace, outside = tmp_path / "work", tmp_path / "outside"
    own, link = workspace / ".outrider", workspace / "link"
    for folder in (own, outside):
        folder.mkdir(parents=True)
    link.symlink_to(outside)
    program = [sys.executable, "-I", "-c", EXCHANGE, str(own), str(link)]
    swapping = await asyncio.create_subprocess_exec(*program, stdout=asyncio.subprocess.PIPE)
    try:
        assert swapping.stdout is not None
        if await swapping.stdout.readline() != b"swaps\n":
            pytest.skip("this file system does not exchange names")
        end = asyncio.get_running_loop().time() + SECONDS
        for number in count():
            await shown_documents.note_conversation(folders(workspace), f"ses_{number}")
            await shown_documents.task_paper(folders(workspace))
            if asyncio.get_running_loop().time() > end:
                break
    finally:
        swapping.kill()
        await swapping.wait()
    assert number > 20
    assert list(outside.iterdir()) == []
    written = own if not own.is_symlink() else link
    assert {path.name for path in written.iterdir()} >= {".gitignore"}


@pytest.mark.parametrize("kind", ["folder", "document", "note"])
async def test_a_link_is_not_followed_and_that_is_said(tmp_path, kind):
    workspace, outside = tmp_path / "work", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (outside / "task.md").write_text("theirs")
    if kind == "folder":
        (workspace / ".outrider").symlink_to(outside)
    else:
        (workspace / ".outrider").mkdir()
        (workspace / ".outrider" / "task.md").symlink_to(
            outside / "task.md" if kind == "document" else outside / "new"
        )
    said = await shown_documents.task_paper(folders(workspace))
    assert isinstance(said, str)
    assert str(workspace / ".outrider") in said
    assert [path.name for path in outside.iterdir()] == ["task.md"]
    assert (outside / "task.md").read_text() == "theirs"


async def test_a_workspace_that_is_reached_by_a_link_has_its_documents(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to("real")
    path = await shown_documents.task_paper(folders(tmp_path / "work"))
    assert path == tmp_path / "work" / ".outrider" / "task.md"
    assert "A task for Outrider" in (tmp_path / "real" / ".outrider" / "task.md").read_text()
    assert (
        (tmp_path / "real" / ".outrider" / ".gitignore")
        .read_text()
        .endswith("*\n!/settings.toml\n!/rules.toml\n!/commands/\n!/commands/**\n!/plans/\n!/plans/**\n")
    )


async def test_what_a_user_wrote_stays(tmp_path):
    path = await shown_documents.task_paper(folders(tmp_path))
    assert not isinstance(path, str)
    path.write_text("mine")
    assert await shown_documents.task_paper(folders(tmp_path)) == path
    assert path.read_text() == "mine"


async def test_versions_of_a_file_do_not_overwrite_what_was_written_in_others(tmp_path):
    first = await shown_documents.both_papers(
        folders(tmp_path), "chg_1#2", "a.py", "mine\n", "undo", "theirs\n"
    )
    assert not isinstance(first, str)
    first[0].write_text("the user wrote here")
    second = await shown_documents.both_papers(
        folders(tmp_path), "chg_1#2", "a.py", "mine\n", "undo", "theirs\n"
    )
    assert not isinstance(second, str)
    assert [path.name for path in second] == ["mine-chg_1-2-2.py", "undo-chg_1-2.py"]
    assert first[0].read_text() == "the user wrote here"
