"""What a real bash runs is among what was read: generated lines, in restricted mode, with recording programs."""

import os

import pytest
from hypothesis import HealthCheck, event, given, settings

from outrider.permissions.shell.reading import read_command
from permissions.shell_text import LINES, RecordingBash, is_among

EXAMPLES = int(os.environ.get("SHELL_EXAMPLES", "250"))


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    return RecordingBash(tmp_path_factory.mktemp("bash"))


@pytest.mark.timeout(0)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(LINES)
def test_nothing_runs_that_was_not_read(bash, line):
    read = read_command(line)
    known = not read.problems and all(program.unresolved is None for program in read.programs)
    event("understood" if known else "asked")
    if known:
        for call in bash.run(line):
            assert is_among(call, read.programs), (call, [program.words for program in read.programs])
