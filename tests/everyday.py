"""Which tests the everyday run leaves to `--hypothesis-profile=search`, the thorough one.

A test of a session takes a third of a second, one of a process or of an editor some seconds, and there are thousands. So of a test
that is written as a product (two `parametrize` or more) every value of each factor is met, but not every combination; of some tables
`some` rows are taken; and what bears the marker `thorough` waits, because quicker tests beside it show the same promise.
"""

from collections import defaultdict

from hypothesis import settings

THINNED = (
    "acp",
    "agent",
    "bad_input",
    "cli",
    "crash",
    "editors",
    "language",
    "lsp",
    "scenarios",
    "testing",
    "workspace",
)
"""The folders whose tests take long enough for it to matter."""


def is_thorough():
    """Whether this run leaves nothing out."""
    return settings.get_current_profile_name() == "search"


def some(rows, count):
    """`count` of the rows of a table that take long each, spread over it; all of them in the thorough run."""
    rows = list(rows)
    if is_thorough() or count >= len(rows):
        return rows
    return [rows[number * len(rows) // count] for number in range(count)]


def left_to_the_thorough_run(items):
    """The tests of `items` that an everyday run does without."""
    left = [item for item in items if item.get_closest_marker("thorough")]
    tables = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.nodeid.split("/")[1] in THINNED:
            tables[item.nodeid.partition("[")[0]].append(item)
    for rows in tables.values():
        left += _not_needed([(item, _values(item)) for item in rows])
    return left


def _not_needed(rows):
    """The rows of a product without which each value of each factor is still met: first those stay that bring only new ones."""
    met, needed = set(), set()
    for enough in (all, any):
        for item, values in rows:
            if enough(value not in met for value in values):
                met.update(values)
                needed.add(item)
    return [item for item, _ in rows if item not in needed]


def _values(item):
    """What each factor is in a row. The names of one `parametrize` are one factor."""
    given = item.callspec.params
    factors = [
        names.replace(" ", "").split(",") if isinstance(names := mark.args[0], str) else list(names)
        for mark in item.iter_markers("parametrize")
    ]
    named = {name for names in factors for name in names}
    factors += [[name] for name in given if name not in named]
    # A value stands in the source once, so each row has the same object.
    return [tuple((name, id(given[name])) for name in names if name in given) for names in factors]
