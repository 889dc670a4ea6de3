"""The plan document: what is written comes back, what the user makes of it counts, and nonsense is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.agent.interaction.plan_document import (
    MOST_CHARACTERS,
    Plan,
    PlanProblem,
    Step,
    drafted,
    read,
    task,
    ticked,
    with_steps,
    written,
)
from outrider_protocol.events import PlanItem

PATH = ".outrider/plans/export.md"
PLAN = Plan(
    "Add an export.\nIt writes CSV.",
    ("Which separator? Semicolon",),
    (Step("Write `src/export.py`"), Step("Test it", done=True)),
    ("`src/export.py`: new",),
    ("pytest -q", "ruff check ."),
    "# not a heading\n## Steps\n- no step",
)


def test_what_is_written_is_read_again():
    assert read(written(PLAN, PATH)) == PLAN
    assert PATH in written(PLAN, PATH)


words = st.text(alphabet="abc #->`[]x*.:éß中", max_size=20).map(lambda text: " ".join(text.split()))
lines = st.lists(words, max_size=4).map(lambda parts: "\n".join(parts).strip())


@given(lines, st.lists(words.filter(bool), min_size=1, max_size=4), lines)
def test_any_words_come_back(goal, steps, notes):
    plan = Plan(goal, (), tuple(Step(one) for one in steps), (), ("pytest -q",), notes)
    found = read(written(plan, PATH))
    assert isinstance(found, Plan)
    assert found.goal == goal
    assert found.notes == notes
    assert found.checks == ("pytest -q",)
    assert len(found.steps) <= len(steps)


def test_the_user_may_write_it_in_other_ways():
    found = read(
        "# Plan: x\r\n\r\nSome words.\r\n\r\n## steps:\r\n1. First\r\n   with a second line\r\n2. [x] Second\r\n* Third\r\n"
        "\r\n### Checks\r\n```sh\r\npytest -q\r\nmake\r\n```\r\n## Risks\r\nIt may rain.\r\n"
    )
    assert found == Plan(
        "",
        (),
        (Step("First with a second line"), Step("Second", done=True), Step("Third")),
        (),
        ("pytest -q", "make"),
        "## Risks\nIt may rain.",
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no heading “## Steps”"),
        ("asdf jkl\n\0\x1b[31m", "no heading “## Steps”"),
        ("## Steps\n\n## Checks\n- `pytest`\n", "no step under “## Steps”"),
        ("## Steps\njust words\n", "no step under “## Steps”"),
        ("## Steps\n- [ ]\n- \n", "no step under “## Steps”"),
        ("## Steps\n- a\n## Checks\n- run `pytest` and look\n", "is not clear"),
        ("## Steps\n" + "- a\n" * 101, "101 steps"),
        ("x" * (MOST_CHARACTERS + 1), "more than 200,000 characters"),
    ],
)
def test_what_is_no_plan_is_named(text, said):
    found = read(text)
    assert isinstance(found, PlanProblem)
    assert said in found.message


@given(st.text(alphabet="#- \n`[]xSteps:Chk1.>~é\x00\x1b", max_size=300))
def test_any_text_is_read(text):
    assert isinstance(read(text), Plan | PlanProblem)


def test_the_task_says_all_of_it_and_hides_nothing():
    told = task(PLAN, PATH)
    for part in (
        "Add an export.",
        "It writes CSV.",
        "Semicolon",
        "1. Write `src/export.py`",
        "2. Test it (done)",
        "- pytest -q",
    ):
        assert part in told
    hidden = read("## Goal\nx\u202ey\n## Steps\n- a\u200b\n")
    assert isinstance(hidden, Plan)
    assert "\u202e" not in task(hidden, PATH)
    assert "\\u200b" in task(hidden, PATH)


def test_a_plan_that_stands_in_an_answer_is_read_by_its_headings():
    plan = drafted(
        "# The plan\n\n## Steps\n- [ ] Change it\n- Test it\n\n## Files\n- tariff.py\n\n## Checks\n- `pytest -q`\n"
    )
    assert [one.text for one in plan.steps] == ["Change it", "Test it"]
    assert (plan.files, plan.checks) == (("tariff.py",), ("pytest -q",))


def test_the_points_of_an_answer_are_steps():
    answer = "I would do this:\n\n1. Look at `a.py`\n2. Change it\n   - in two places\n\nThen test."
    assert [one.text for one in drafted(answer).steps] == [
        "Look at `a.py`",
        "Change it - in two places",
    ]
    assert drafted("Nothing.").steps == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("## Steps\n- [ ] a\n- [ ] b\n", "## Steps\n- [x] a\n- [ ] b\n"),
        ("## Steps\r\n- [ ] A \r\n* b\r\n", "## Steps\r\n- [x] A \r\n* b\r\n"),
        ("## Steps\n- a\n1. c  c\n+ [x] a\n", "## Steps\n- [x] a\n1. [x] c  c\n+ [x] a\n"),
        ("## Steps\n- [ ] long\n  step\n\nwords\n", "## Steps\n- [x] long\n  step\n\nwords\n"),
        ("- [ ] a\n## Files\n- [ ] a\n", "- [ ] a\n## Files\n- [ ] a\n"),
        ("## Steps\n```\na\n- [ ] a\n```\n", "## Steps\n```\na\n- [ ] a\n```\n"),
        ("## Steps\n- [ ] not a\n- [ ]\n", "## Steps\n- [ ] not a\n- [ ]\n"),
        ("asdf", "asdf"),
    ],
)
def test_what_is_done_is_ticked_off_and_nothing_else_changes(before, after):
    assert ticked(before, ["a", "c c", "long step"]) == after
    assert ticked(after, ["a", "c c", "long step"]) == after


def test_steps_that_a_plan_leaves_out_stand_behind_those_that_they_follow():
    def items(*texts):
        return [PlanItem(text=text) for text in texts]

    result, missing = with_steps(items("b", "x", "A"), items("a", "p", "B", "q"))
    assert [one.text for one in result] == ["b", "q", "x", "A", "p"]
    assert [one.text for one in missing] == ["q", "p"]
    again, missing_again = with_steps(items("b", "x", "A"), result)
    assert (again, missing_again) == (result, missing)
