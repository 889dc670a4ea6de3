"""Programs that only tell their version, where a file of the project says which one runs."""

import pytest

from outrider.tools.command_line import look_at
from outrider.workspace.paths import folders_of


@pytest.mark.parametrize(
    ("command", "named"),
    [("cargo --version", "rust-toolchain.toml"), ("rustc -V", "rust-toolchain"), ("go version", "go.mod")],
)
def test_a_file_of_the_project_may_name_another_version(tmp_path, command, named):
    folder = tmp_path / "sub"
    folder.mkdir()

    def only_reads():
        folders = folders_of([("work", tmp_path.as_uri())])
        return look_at(command, folders, folder, search_path="/usr/bin").only_reads

    assert only_reads()
    (tmp_path / named).write_text("")
    assert not only_reads()


def test_a_shim_starts_the_version_that_the_project_names(tmp_path):
    work, shims = tmp_path / "work", tmp_path / "shims"
    work.mkdir()
    shims.mkdir()
    (shims / "python3").write_text("#!/bin/sh\n")
    (shims / "python3").chmod(0o755)
    folders = folders_of([("work", work.as_uri())])
    assert look_at("python3 --version", folders, work, search_path="/usr/bin").only_reads
    assert not look_at("python3 --version", folders, work, search_path=f"{shims}:/usr/bin").only_reads


def test_a_link_to_what_starts_another_version_is_such_a_one(tmp_path):
    """As `corepack enable` leaves them beside the others."""
    work, dist, links = tmp_path / "work", tmp_path / "corepack" / "dist", tmp_path / "bin"
    for folder in (work, dist, links):
        folder.mkdir(parents=True)
    (dist / "npm.js").write_text("#!/bin/sh\n")
    (dist / "npm.js").chmod(0o755)
    (links / "npm").symlink_to(dist / "npm.js")
    assert not look_at(
        "npm --version", folders_of([("work", work.as_uri())]), work, search_path=str(links)
    ).only_reads
