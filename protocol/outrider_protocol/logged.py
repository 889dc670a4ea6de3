"""Types of the data of events, for those who read it.

`logged.pyi` has them, made from the models by `python -m outrider_protocol.stub`. At run time the data is a plain dict,
so that a type costs a reader nothing, not even its import.
"""


def __getattr__(name: str) -> type[dict[str, object]]:
    if name.startswith("_"):
        raise AttributeError(name)
    return dict[str, object]
