"""The manifest says which scenarios there are, and what of the reference lists they show or will show later."""

import json
from collections import Counter

import pytest
from suite import FOLDER, MANIFEST, ROWS, scenario_files

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


def test_every_name_of_the_lists_is_shown_or_comes_later():
    listed = Counter(name for each in LISTS for name in MANIFEST[each])
    shown = {name for row in ROWS for name in row["covers"]}
    later = set(MANIFEST["later"])
    assert [name for name, times in listed.items() if times > 1] == [], "in two lists"
    assert shown & later == set(), "shown, and yet to come"
    assert (shown | later) - set(listed) == set(), "in none of the lists"
    assert set(listed) - shown - later == set(), "neither shown nor to come"
    assert all(MANIFEST["later"].values()), "no reason"
