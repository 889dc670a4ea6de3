from pathlib import Path

from outrider.workspace.disk.file_stat import mark_of
from outrider.workspace.documents.overlay import FilesBelow
from outrider.workspace.text.encoding import Decoded


def test_a_file_that_came_while_it_was_looked_at_is_not_there_when_it_is_gone(tmp_path: Path) -> None:
    file, files = tmp_path / "a.py", FilesBelow()
    before, _ = files.get(file)
    file.write_text("for a moment\n")
    files.put(file, before, Decoded("for a moment\n", "utf-8"))
    file.unlink()
    assert files.get(file) == (mark_of(file), None)
