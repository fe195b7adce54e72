"""What a mark is: a call in the product, and what has to be so at it."""

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define


@define
class Mark:
    """A state of the product by its name, and the call that shows that it is reached.

    `looks` is asked with the arguments of the call before it is made, or where `is_after`, with its result and these.
    """

    name: str
    owner: object
    attribute: str
    looks: Callable[..., bool]
    is_after: bool = False


@contextmanager
def counting(marks: tuple[Mark, ...]) -> Iterator[Counter[str]]:
    """Count in this process how often each mark is reached, until the block ends; nothing else changes."""
    seen: Counter[str] = Counter()
    before: list[tuple[object, str, object]] = []
    try:
        for mark in marks:
            real = vars(mark.owner)[mark.attribute]
            before.append((mark.owner, mark.attribute, real))
            setattr(mark.owner, mark.attribute, _watched(mark, real, seen))
        yield seen
    finally:
        for owner, attribute, real in reversed(before):
            setattr(owner, attribute, real)


def _watched(mark: Mark, real: Callable[..., Any], seen: Counter[str]) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the call that is watched takes and gives
        if not mark.is_after and mark.looks(*args, **named):
            seen[mark.name] += 1
        result = real(*args, **named)
        if mark.is_after and mark.looks(result, *args, **named):
            seen[mark.name] += 1
        return result

    return call
