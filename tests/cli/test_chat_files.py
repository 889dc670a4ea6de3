"""The files that `@` completes in a chat are found without running what a repository names."""

import pytest

from outrider.cli.chat.completion import files_of
from planted_git import git_lists, lacks_an_object, names_a_monitor, planted_program


@pytest.mark.parametrize("plant", [names_a_monitor, lacks_an_object])
async def test_listing_files_runs_no_program_of_the_repository(tmp_path, plant):
    (workspace := tmp_path / "work").mkdir()
    program, ran = planted_program(tmp_path)
    plant(workspace, program)
    (workspace / "a.py").write_text("")
    assert "a.py" in await files_of(workspace)
    assert not ran.exists()
    git_lists(workspace)
    assert ran.exists(), "git by itself would have run it"
