"""The sessions that the tests of this run have recorded come again from their logs: so no input is missing in a log."""

import asyncio
import gzip
import json

import pytest
from suite import read, without_golden
from test_corpus import RECORDED

from outrider.replay.play import play
from outrider.testing.scenario_files.play import play as play_scenario
from outrider_protocol.export import Export
from replayed import KEPT, difference_of, keep_sessions

REPLAY_SECONDS = 60
"""Real seconds that one session may take; they take some hundredths."""
STALLED_SECONDS = 300
"""Real seconds without a finished test after which the other processes count as gone."""


@pytest.mark.timeout(3600)
async def test_every_recorded_session_comes_again(request, tmp_path):
    if len(request.session.items) == 1:
        for name in RECORDED:
            (tmp_path / name).mkdir()
            await play_scenario(without_golden(read(name)), tmp_path / name)
            await keep_sessions(tmp_path / name / "workspace.state")
    failed, seen, before, idle = [], set(), -1, 0.0
    # Once all others have finished, one more look finds all that they kept.
    while (left := others_left(request)) or set(logs()) - seen:
        for path in sorted(set(logs()) - seen):
            kept = json.loads(gzip.decompress(path.read_bytes()).decode("utf-8", "surrogatepass"))
            export = Export.from_wire(kept["export"])
            try:
                async with asyncio.timeout(REPLAY_SECONDS):
                    difference = difference_of(await play(export), export)
            except TimeoutError:
                difference = f"it does not come to its end in {REPLAY_SECONDS} s"
            if difference:
                failed.append(f"{kept['test']}: {difference}")
            seen.add(path)
        if left:
            await asyncio.sleep(0.5)  # what other processes do shows in files alone
            idle, before = 0.0 if left != before else idle + 0.5, left
            assert idle < STALLED_SECONDS, f"{left} tests of other processes do not finish"
    assert seen, "no test has recorded a session"
    assert not failed, "\n\n".join([f"{len(failed)} of {len(seen)} sessions differ", *failed[:20]])


def logs():
    return KEPT.folder.glob("*.json.gz")


def others_left(request):
    """How many of the tests that were collected before this one are not through yet, in whatever process."""
    if not hasattr(request.config, "workerinput"):
        return 0  # it is the last one
    finished = sum(path.stat().st_size for path in KEPT.folder.glob("finished-*"))
    return max(0, len(request.session.items) - 1 - finished)
