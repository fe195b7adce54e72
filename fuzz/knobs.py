"""Sizes that are constants of the product, and small ones in some worlds: so few messages never get beyond the others.

What a node may have as it likes is a threshold (`core/log/thresholds.py`). What is here all nodes have alike: it is
part of what they write, and no broker has any other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from goqueue.core.queues import gone, window
from goqueue.fuzz.options import Options


@contextmanager
def turned(options: Options) -> Iterator[None]:
    """The product with the sizes of a world, until the block ends."""
    before: list[tuple[ModuleType, str, object]] = []
    try:
        for module, sizes in _sizes(options):
            for name, value in sizes.items():
                before.append((module, name, getattr(module, name)))
                setattr(module, name, value)
        yield
    finally:
        for module, name, value in reversed(before):
            setattr(module, name, value)


def _sizes(options: Options) -> Iterator[tuple[ModuleType, dict[str, object]]]:
    """What a module is to have, by names."""
    bits = options.page_bits
    if bits == window.PAGE_BITS:
        return
    page = 1 << bits
    filled = tuple(mark * page for mark in window._MARKS)
    yield window, {"PAGE_BITS": bits, "PAGE": page, "_FILLED": filled, "_UNTOUCHED": filled[window.SETTLED]}
    yield gone, {"PAGE_BITS": bits, "PAGE": page, "_FULL": b"\x01" * page, "_EMPTY": bytes(page)}
