"""Recorded answers of real providers, where there are any: OUTRIDER_TRAFFIC names a folder of cases.

A case is a folder with `body.bin`, `response.json` (`status`) and `expected.json`, in a folder named by its API.
"""

import json
import os
from pathlib import Path

import pytest

from outrider.models.decode import decode

KINDS = {"anthropic-messages": "anthropic", "ollama-chat": "ollama"}
FOLDER = os.environ.get("OUTRIDER_TRAFFIC")
CASES = sorted(path.parent for path in Path(FOLDER).glob("*/*/expected.json")) if FOLDER else []


@pytest.mark.skipif(not CASES, reason="OUTRIDER_TRAFFIC names no folder of recorded answers")
@pytest.mark.parametrize("split", [None, 1, 7])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_recorded(case, split):
    expected = json.loads((case / "expected.json").read_text())
    status = json.loads((case / "response.json").read_text())["status"]
    kind = KINDS.get(case.parent.name, case.parent.name)
    got = decode(kind, (case / "body.bin").read_bytes(), status=status, split=split)
    assert got["ok"] == expected["ok"]
    if not expected["ok"]:
        assert got["error"]["message"]
        return
    for key in ("text", "reasoning", "finish_reason", "usage"):
        assert got[key] == expected[key], key
    assert len(got["tool_calls"]) == len(expected["tool_calls"])
    for call, wanted in zip(got["tool_calls"], expected["tool_calls"], strict=True):
        for key, value in wanted.items():
            if value is not None:  # None: the provider gave no id, or the arguments as an object
                assert call[key] == value, key
