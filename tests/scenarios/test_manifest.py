"""The manifest says which scenarios there are, and what of the reference lists they show, or why not."""

import json
import re
from collections import Counter

import pytest
from suite import FILES, FOLDER, MANIFEST, ROWS, read, scenario_files

LISTS = ("loader", "fixtures", "outcomes")


def test_the_manifest_and_the_files_are_the_same_set():
    assert sorted(row["file"] for row in ROWS) == sorted(
        path.relative_to(FOLDER).as_posix() for path in scenario_files()
    )


def test_names_are_unique():
    assert [name for name, times in Counter(row["name"] for row in ROWS).items() if times > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_row_says_what_its_file_says(row):
    data = json.loads((FOLDER / row["file"]).read_text())
    assert (data["name"], data.get("covers", [])) == (row["name"], row["covers"])
    assert row["file"] == f"{row['category']}/{row['name']}.json"


def test_every_name_of_the_lists_is_shown_or_says_why_not():
    listed = Counter(name for each in LISTS for name in MANIFEST[each])
    shown = {name for row in ROWS for name in row["covers"]}
    left_out = set(MANIFEST["left_out"])
    assert [name for name, times in listed.items() if times > 1] == [], "in two lists"
    assert shown & left_out == set(), "shown, and left out"
    assert (shown | left_out) - set(listed) == set(), "in none of the lists"
    assert set(listed) - shown - left_out == set(), "neither shown nor left out"


def test_a_reason_for_leaving_one_out_names_the_scenario_of_what_is_done_instead():
    for name, reason in MANIFEST["left_out"].items():
        assert re.search(r"\((\w+)\)", reason)[1] in FILES, name


def test_calls_as_text_are_held_to_the_trace_of_native_ones():
    """The same scenario twice, so that neither can change alone; only the ids of the calls are not the same."""

    def course(name):
        scenario = read(name)
        events = [
            (event, {}) if isinstance(event, str) else (event.type, {**event.data, "callId": None})
            for event in scenario.expect.events
        ]
        return [(kind, {key: of for key, of in data.items() if of is not None}) for kind, data in events]

    assert course("native_and_raw_tool_paths_share_executor_trace") == course(
        "native_calls_share_executor_trace"
    )
