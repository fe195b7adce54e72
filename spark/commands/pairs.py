"""Options of the form NAME=VALUE that may be repeated: settings of Spark, settings to try, columns."""

from collections.abc import Iterable

from goqueue.cli.endings import WRONG, Ending


def named_values(pairs: Iterable[str], noun: str, example: str) -> dict[str, str]:
    """Values by name. Raises Ending for what is no pair, and for a name that comes twice."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not equals or not name:
            raise Ending(f"{pair!r} is no {noun}; write it like {example}", WRONG)
        if name in found:
            raise Ending(f"the {noun} {name} is given twice", WRONG)
        found[name] = value
    return found
