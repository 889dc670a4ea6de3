import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from outrider.workspace.text.matching.replacing import (
    MatchProblem,
    Replaced,
    Replacement,
    replace,
    replace_in_order,
)

TEXT = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"


def change(text: str, old: str, new: str, *, replace_all: bool = False) -> Replaced | MatchProblem:
    return replace(text, Replacement(old, new, replace_all))


def changed(text: str, old: str, new: str, *, replace_all: bool = False) -> tuple[str, str]:
    done = change(text, old, new, replace_all=replace_all)
    assert isinstance(done, Replaced), done
    return done.layer, done.text


def refused(text: str, old: str, new: str = "x", *, replace_all: bool = False) -> str:
    done = change(text, old, new, replace_all=replace_all)
    assert isinstance(done, MatchProblem), done
    return done.message


# --- exact ---------------------------------------------------------------------------------------------------


def test_one_match_is_replaced_literally() -> None:
    assert changed("a.b\n", "a.b", r"\1 $0 \g<0>") == ("exact", "\\1 $0 \\g<0>\n")


def test_several_matches_are_named_with_their_lines() -> None:
    assert refused(TEXT, "    return 1\n") == (
        "old matches 2 times; make it longer, so that only one place matches, or set replace_all:\n"
        "     2\t    return 1\n     6\t    return 1"
    )
    assert changed(TEXT, "return 1", "return 2", replace_all=True) == ("exact", TEXT.replace("1", "2"))


def test_of_many_matches_the_first_are_shown() -> None:
    assert refused("x\n" * 13, "x").endswith("    10\tx\n     … and 3 more")


def test_places_that_overlap_are_several() -> None:
    assert "2 times" in refused("}}}\n", "}}")


def test_an_empty_old_is_refused() -> None:
    assert refused(TEXT, "") == "old is empty; to write a whole file use write_file"


# --- line ends -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\r\n", "a\nb\n", "x\ny\nz\n", "x\r\ny\r\nz\r\n"),
        ("a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\nb\r\nc\n", "a\nb", "x\ny", "x\ny\r\nc\n"),
        ("a\nb\r\nc\n", "b\nc", "b\nx\nc", "a\nb\r\nx\r\nc\n"),
        ("a", "a", "b\n", "b\n"),
        ("a\nb", "b\n", "c\n", "a\nc"),
        ("a\nb", "a\nb\n", "", ""),
        ("a\rb\rc", "a\nb\n", "x\ny\n", "x\ry\rc"),
        ("a\x0cb\u2028c\n", "\x0cb\u2028", "-", "a-c\n"),
    ],
)
def test_line_ends_are_those_of_the_text(text: str, old: str, new: str, after: str) -> None:
    assert changed(text, old, new)[1] == after


# --- trailing space and indentation ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a  \nb\t\nc\n", "a\nb\n", "a\nx\n", "a  \nx\nc\n"),
        ("a\nb\nc\n", "a \nb  \n", "a \ny\n", "a\ny\nc\n"),
        ("a \r\nb\r\n", "a\nb\n", "a\nx\ny\n", "a \r\nx\r\ny\r\n"),
        ("a\nb  ", "a\nb\n", "a\nx\n", "a\nx"),
        ("k\na  \nb \nc\n", "a\nb", "x", "k\nx\nc\n"),
    ],
)
def test_space_at_the_ends_of_lines_does_not_count(text: str, old: str, new: str, after: str) -> None:
    assert changed(text, old, new) == ("trailing_space", after)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        (
            "class A:\n    def f(self):\n        return 1\n",
            "def f(self):\n    return 1\n",
            "def f(self):\n    if x:\n        return 2\n    return 1\n",
            "class A:\n    def f(self):\n        if x:\n            return 2\n        return 1\n",
        ),
        ("def f():\n    a()\n", "    def f():\n        a()\n", "    def f():\n        b()\n", "def f():\n    b()\n"),
        ("if x:\n\ty()\n\t\tz\n", "if x:\n    y()\n        z\n", "if x:\n    y()\n        w\n", "if x:\n\ty()\n\t\tw\n"),
        ("if x:\n    y()\n", "if x:\n\ty()\n", "if x:\n\ty()\n\t\tz\n", "if x:\n    y()\n        z\n"),
        ("\tif x:\n\t\ty()\n", "if x:\n  y()\n", "if x:\n  z()\n", "\tif x:\n\t\tz()\n"),
        ("  a()\n", "a() ", "b()\n\nc()", "  b()\n\n  c()\n"),
        ("  a()\r\n  b()\r\n", "a()\nb()\n", "a()\nc()\n", "  a()\r\n  c()\r\n"),
    ],
)  # fmt: skip
def test_another_indentation_is_taken_over(text: str, old: str, new: str, after: str) -> None:
    assert changed(text, old, new) == ("indentation", after)


def test_indentation_that_no_rule_explains_is_a_miss() -> None:
    assert "only white space differs" in refused(
        "if x:\n    a()\n  b()\n", "if x:\n  a()\n    b()\n", "if x:\n"
    )


def test_a_line_that_stands_too_far_to_the_left_is_named() -> None:
    message = refused("a()\nb()\n", "    a()\n    b()\n", "  a()\n    b()\n")
    assert message == (
        "old was found at line 1 with less indentation, and this line of new cannot be dedented as far: "
        "'  a()'"
    )


def test_two_places_with_other_indentation_are_two() -> None:
    message = refused("if x:\n    a( )\nif y:\n        a( )\n", "  a( ) \n")
    assert "old matches 2 times apart from its indentation; make it longer" in message
    assert message.endswith("     2\t    a( )\n     4\t        a( )")


def test_all_of_a_layer_can_be_replaced() -> None:
    text = "if x:\n    a()\nif y:\n        a()\n"
    after = "if x:\n    b()\nif y:\n        b()\n"
    assert changed(text, "  a() \n", "  b()\n", replace_all=True) == ("indentation", after)


# --- similarity ----------------------------------------------------------------------------------------------

FUNCTION = """\
def price(hours, day):
    # What a user pays for the hours of one day, in Euro.
    base = tariff_of(day)
    return hours * base
"""


def test_the_one_place_that_is_almost_the_same_is_taken_and_said() -> None:
    text = "import tariff\n\n\n" + FUNCTION
    old = FUNCTION.replace("in Euro", "in euros").replace("Euro.", "Euros.")
    done = change(text, old, old.replace("hours * base", "min(hours, 8) * base"))
    assert isinstance(done, Replaced)
    assert done.layer == "similarity"
    # The line that the edit does not change stays as the file has it.
    assert done.text == text.replace("hours * base", "min(hours, 8) * base")
    assert done.notes == ("old was found almost, at line 4.",)


def test_quotation_marks_and_inner_spaces_are_almost_the_same() -> None:
    assert changed("say( 'hello there' )\n", "say( ‘hello  there’ )", "shout('!')") == (
        "similarity",
        "shout('!')\n",
    )


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("limit = 10_000  # characters\n", "limit = 20_000  # characters\n"),
        ("x = 1\n", "x = y\n"),
        (FUNCTION, FUNCTION.replace("base = tariff_of(day)", "cost = 3")),
        (FUNCTION, FUNCTION.replace("    base", "    # So.\n    base")),
    ],
)
def test_numbers_short_texts_and_other_lines_are_never_almost_the_same(text: str, old: str) -> None:
    assert "was not found" in refused(text, old)


def test_two_places_that_are_almost_the_same_are_two() -> None:
    text = FUNCTION + "\n" + FUNCTION.replace("price", "prices")
    message = refused(text, FUNCTION.replace("Euro", "Euros"))
    assert message == (
        "old matches 2 times almost; make it longer, so that only one place matches:\n"
        "     1\tdef price(hours, day):\n     6\tdef prices(hours, day):"
    )


def test_what_is_almost_the_same_is_never_replaced_everywhere() -> None:
    assert "was not found" in refused(FUNCTION, FUNCTION.replace("Euro", "Euros"), replace_all=True)


def test_old_numbers_in_a_large_file_are_no_match() -> None:
    text = "".join(f"value_{n} = compute({n})\n" for n in range(20_000))
    message = refused(text, "value_15000 = compute(15000, 1)\n")
    assert " 15001\tvalue_15000 = compute(15000)" in message
    assert "-value_15000 = compute(15000, 1)\n+value_15000 = compute(15000)" in message


# --- a miss --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("def f():\n      return  1\n\n", "only white space differs"),
        ("DEF F():\n    RETURN 1\n", "only upper and lower case"),
        ("     1\tdef f():\n     2\t    return 1", "line numbers"),
        ("def g():\n    return 3\n", "-    return 3\n+    return 1"),
    ],
)
def test_a_miss_says_what_differs(old: str, hint: str) -> None:
    assert hint in refused(TEXT, old)


def test_a_miss_shows_the_nearest_lines_and_a_short_diff() -> None:
    assert refused(TEXT, "def g():\n    return 3\n") == (
        "old was not found. The nearest lines now:\n"
        "     5\tdef g():\n     6\t    return 1\n"
        "What differs (- old, + the file):\n"
        "-    return 3\n+    return 1"
    )


def test_a_miss_in_odd_texts_is_a_miss() -> None:
    for text in ("", "\n", "x" * 200_000, "😀\n" * 5000):
        assert "was not found" in refused(text, "no such text\n???\n")
        assert "was not found" in refused(text, "!!", replace_all=True)
        assert "was not found" in refused(text, "\n\n \n \n")


@pytest.mark.parametrize("line", ["    value = compute(left, right)\n", "é" * 3000 + "\n"])
def test_the_search_is_bounded(line: str) -> None:
    text = "".join(line.replace("left", "l" * (n % 7)) for n in range(20_000))[: 20_000 * 40]
    old = line.replace("compute", "komputed").replace("é", "è") * 400
    begun = time.perf_counter()
    refused(text, old)
    assert time.perf_counter() - begun < 5, "some 0.5 s are usual"


# --- several -------------------------------------------------------------------------------------------------


def in_order(text: str, *wishes: tuple[str, str]) -> str:
    done = replace_in_order(text, [Replacement(old, new) for old, new in wishes])
    return done.text if isinstance(done, Replaced) else done.message


def test_each_replacement_sees_what_the_one_before_left() -> None:
    assert in_order("a\nb\nc\n", ("a\n", ""), ("b", "x\ny"), ("c", "z")) == "x\ny\nz\n"
    assert in_order("a b c", ("c", "d"), ("a", "aa"), ("b", "bb")) == "aa bb d"


def test_one_that_does_not_fit_refuses_all() -> None:
    assert in_order("a\nb\n", ("a", "x"), ("q", "y")).startswith("edits[1]: old was not found. The nearest")
    assert in_order("a\nb\n", ("a", "x\nx"), ("x", "y")).startswith("edits[1]: old matches 2 times")


@pytest.mark.parametrize(
    ("wishes", "where"),
    [
        ((("a", "x"), ("x", "y")), "edits[0] inserts at line 1"),
        ((("b", "x"), ("a", "1\n2"), ("x\nc", "y")), "edits[0] inserts at line 3"),
        ((("b\n", ""), ("a\nc", "y")), "edits[0] inserts at line 2"),
    ],
)
def test_what_an_earlier_one_put_in_is_not_touched(wishes: tuple[tuple[str, str], ...], where: str) -> None:
    message = in_order("a\nb\nc\n", *wishes)
    assert message.startswith(f"edits[{len(wishes) - 1}]: old overlaps what {where}; combine the two edits")


# --- properties ----------------------------------------------------------------------------------------------

LINES = st.lists(
    st.sampled_from(["a", "b", "  a", "\tb", "a ", "", "ab cd ef gh ij", "ab cd ef gh ik"]), max_size=8
)


@given(LINES, LINES.filter(any), LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_only_the_named_regions_change(
    text_lines: list[str], old_lines: list[str], new_lines: list[str], end: str, everywhere: bool
) -> None:
    text, old, new = end.join(text_lines), "\n".join(old_lines), "\n".join(new_lines)
    assume(old)
    done = change(text, old, new, replace_all=everywhere)
    if not isinstance(done, Replaced):
        return
    assert everywhere or len(done.spans) == 1
    position = new_position = 0
    for span in done.spans:
        assert text[position : span.start] == done.text[new_position : span.new_start]
        position, new_position = span.end, span.new_end
    assert text[position:] == done.text[new_position:]


@given(st.text(alphabet="ab \n\t", min_size=1), st.text(alphabet="ab \n"), st.data())
def test_an_exact_unique_match_is_always_preferred(text: str, new: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    old = text[start : data.draw(st.integers(start + 1, len(text)))]
    assume(text.find(old) == text.rfind(old))
    assert changed(text, old, new) == ("exact", text.replace(old, new))


@given(LINES.filter(lambda lines: any(line.strip() for line in lines)), LINES, LINES, LINES, st.data())
def test_of_two_equal_candidates_none_is_taken(
    block: list[str], before: list[str], between: list[str], after: list[str], data: st.DataObject
) -> None:
    one, two, three, four = (
        "".join(f"{line}\n" for line in lines) for lines in (before, block, between, after)
    )
    text = one + two + three + two + four
    way = data.draw(
        st.sampled_from([lambda line: line, lambda line: line.strip(), lambda line: f"  {line} "])
    )
    old = "".join(f"{way(line)}\n" for line in block)
    done = change(text, old, "new\n")
    if isinstance(done, Replaced):
        # A third place was nearer to how it is written than the two.
        (span,) = done.spans
        assert (span.start, span.end) not in {
            (start, start + len(two)) for start in (len(one), len(one + two + three))
        }


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6),
    st.integers(0, 3),
    st.sampled_from(["    ", "\t", "  "]),
    st.sampled_from(["    ", "\t", "  "]),
)
def test_what_is_indented_anew_keeps_its_shape(
    levels: list[int], deeper: int, unit: str, wanted_unit: str
) -> None:
    levels = [0, 1, *levels]
    there = "".join(f"{unit * (level + deeper)}old_{n}\n" for n, level in enumerate(levels))
    old = "".join(f"{wanted_unit * level}old_{n}\n" for n, level in enumerate(levels))
    new = "".join(f"{wanted_unit * level}new_{n}\n" for n, level in enumerate(levels))
    after = "".join(f"{unit * (level + deeper)}new_{n}\n" for n, level in enumerate(levels))
    if len(unit.strip("\t")) and len(wanted_unit.strip("\t")) and unit != wanted_unit:
        return  # other steps of the same character are no constant shift
    assert changed(f"first\n{there}last\n", old, new)[1] == f"first\n{after}last\n"
