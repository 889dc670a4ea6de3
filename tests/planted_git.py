"""Repositories whose settings have git run a program when it only lists files, as they come in an archive of a stranger."""

import subprocess
from pathlib import Path


def names_a_monitor(folder: Path, program: Path) -> None:
    """Git asks the program what changed."""
    _git(folder, "init", "-q")
    _git(folder, "config", "core.fsmonitor", str(program))


def lacks_an_object(folder: Path, program: Path) -> None:
    """Git runs the program to fetch the ignore file, which a partial clone has neither on disk nor in its objects."""
    _git(folder, "init", "-q")
    (folder / ".gitignore").write_text("*.log\n")
    _git(folder, "add", ".gitignore")
    _git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    digest = _git(folder, "rev-parse", ":.gitignore")
    _git(folder, "update-index", "--skip-worktree", ".gitignore")
    (folder / ".gitignore").unlink()
    (folder / ".git" / "objects" / digest[:2] / digest[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::{program}"),
        ("protocol.ext.allow", "always"),
    ):
        _git(folder, "config", key, value)


def planted_program(folder: Path) -> tuple[Path, Path]:
    """A program, and the file that it makes when it runs."""
    program, ran = folder / "planted", folder / "ran"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\n")
    program.chmod(0o755)
    return program, ran


def git_lists(folder: Path) -> None:
    """List the files as anybody would, which runs the program."""
    _git(folder, "ls-files", "-co", "--exclude-standard")


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True
    ).stdout.strip()
