"""Many texts looked for at once: the same are found as by looking for each."""

from hypothesis import given
from hypothesis import strategies as st

from outrider.permissions.secrets.secret_forms import Needles


def within(needles, text):
    places = needles.places(text)
    assert all(text[start:end] == needle for start, end, needle in places)
    return sorted({needle for _, _, needle in places}, key=lambda one: (-len(one), one))


LETTERS = st.text(alphabet="ab\n é☃\U0001f680\ud800", min_size=1, max_size=12)


@given(st.lists(LETTERS, max_size=8), st.lists(LETTERS, max_size=8), st.data())
def test_what_is_found_is_what_looking_for_each_finds(wanted, around, data):
    needles = Needles()
    for needle in dict.fromkeys(wanted):
        needles.add(needle)
    some = data.draw(st.lists(st.sampled_from(wanted), max_size=3)) if wanted else []
    text = "".join(data.draw(st.permutations([*around, *some])))
    expected = sorted({one for one in wanted if one in text}, key=lambda one: (-len(one), one))
    assert within(needles, text) == expected


def test_one_is_found_wherever_it_begins_and_ends():
    for length in range(1, 20):
        needle = "abcdefghijklmnopqrstuvwxyz"[:length]
        needles = Needles()
        needles.add(needle)
        for before in range(9):
            for after in range(9):
                assert within(needles, "-" * before + needle + "-" * after) == [needle]
        assert within(needles, "-" * 9 + needle[1:] + "-" * 9) == []
