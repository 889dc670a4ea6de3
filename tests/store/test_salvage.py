"""Reading what is left of a damaged log."""

import sqlite3

from outrider.store import salvage


class Unreadable:
    """A log whose index says that it has more rows than any disk could hold, none of which can be read."""

    def __init__(self, last):
        self.last = last
        self.asked = 0

    def execute(self, query, values=()):
        if "max(id)" in query:
            return self
        self.asked += 1
        raise sqlite3.DatabaseError("database disk image is malformed")

    def fetchone(self):
        return (self.last,)


def test_a_log_of_nothing_but_damage_is_given_up_soon():
    source = Unreadable(2**62)
    assert list(salvage._rows(source, "events", ("id", "data"))) == []
    assert source.asked < 5000


def test_a_damaged_page_is_stepped_over_row_by_row():
    with sqlite3.connect(":memory:") as source:
        source.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, data TEXT)")
        source.executemany("INSERT INTO events VALUES (?, ?)", [(number, "x") for number in range(1, 400)])

        class Damaged:
            def execute(self, query, values=()):
                if values and any(
                    100 <= one <= 160 for one in range(values[0] + 1, values[0] + values[1] + 1)
                ):
                    raise sqlite3.DatabaseError("database disk image is malformed")
                return source.execute(query, values)

        found = [row[0] for row in salvage._rows(Damaged(), "events", ("id", "data"))]
    assert found == [*range(1, 100), *range(161, 400)]
    source.close()
