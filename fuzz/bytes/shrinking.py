"""Making an input that fails smaller, as long as it fails in the same place."""

from collections.abc import Callable, Iterator
from traceback import extract_tb
from typing import TypeAlias

Failure: TypeAlias = tuple[type[BaseException], str, int | None]
"""The class of an error and the file and line that raised it."""

_TRIES_MAX = 3000


def failure(check: Callable[[bytes], None], content: bytes) -> Failure | None:
    """How the check fails for an input; None when it does not."""
    try:
        check(content)
    except Exception as error:  # noqa: BLE001 - any error is the failure that was asked for
        innermost = extract_tb(error.__traceback__)[-1]
        return type(error), innermost.filename, innermost.lineno
    return None


def shrink(
    check: Callable[[bytes], None],
    content: bytes,
    smaller: Callable[[bytes], Iterator[bytes]],
    tries_max: int = _TRIES_MAX,
) -> bytes:
    """The smallest input that was found to fail as `content` does, which must fail."""
    expected = failure(check, content)
    assert expected is not None
    better: bytes | None = content
    while better is not None:
        content, better = better, None
        for candidate in smaller(content):
            if tries_max == 0:
                return content
            tries_max -= 1
            if len(candidate) < len(content) and failure(check, candidate) == expected:
                better = candidate
                break
    return content


def without_runs(content: bytes) -> Iterator[bytes]:
    """The bytes without a run of them, the longest runs first."""
    size = len(content)
    while size:
        for at in range(0, len(content), size):
            yield content[:at] + content[at + size :]
        size //= 2
