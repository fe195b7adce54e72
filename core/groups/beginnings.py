"""Where a group begins in a partition in which it has committed nothing: at its start, its end, or at a moment.

A moment stands for the first message at or after it, which whoever leads the partition looks up when a member comes to
read it. As long as nothing is committed, it is looked up anew.
"""

from goqueue.core.cluster.moments import parse_moment_ms

EARLIEST, LATEST = "earliest", "latest"
_MOMENT_MAX_MS = (1 << 63) - 1


def start_problem(start: object) -> str:
    """Why a group cannot begin there; empty when it can."""
    if isinstance(start, int) and not isinstance(start, bool) and 0 <= start < _MOMENT_MAX_MS:
        return ""
    places = "earliest, latest, a time such as 2026-01-31T12:00:00Z or milliseconds since 1970"
    problem = f"expected {places}, found {start!r}"
    if not isinstance(start, str):
        return problem
    try:
        moment_ms(start)
    except ValueError:
        return problem
    return ""


def moment_ms(start: object) -> int | None:
    """The moment that a group begins at, in milliseconds since 1970; None where it begins at the start or the end."""
    if isinstance(start, int):
        return start
    return None if start in (EARLIEST, LATEST) else parse_moment_ms(str(start))
