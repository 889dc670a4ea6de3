"""How much memory a process and all it started have, as far as the system tells."""

from pathlib import Path

_PAGE = 4096


def resident(pid: int) -> int | None:
    """The bytes in memory of a process and its descendants; None where the system does not tell (proc(5)). Blocks."""
    total, waiting, seen = 0, [pid], set[int]()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        try:
            total += int(Path(f"/proc/{one}/statm").read_text().split()[1]) * _PAGE
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        except (OSError, ValueError, IndexError):
            if one == pid:
                return None
    return total
