"""What a fuzz target is: a check that holds for any bytes, seeds to begin from, and a mutation that knows the format.

A check is pure and takes the bytes as a file would hold them, checksums included, so that a finding can be replayed,
read and kept as it is. Putting checksums right is the business of the mutation: where it does so, changes reach what
lies behind them; where it does not, the checksum itself is tried.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import TypeAlias, TypeVar

from attrs import define

from goqueue.fuzz.bytes.shrinking import without_runs

Havoc: TypeAlias = Callable[[bytes, int, Random], bytes]
"""Changes bytes knowing nothing of them, to at most that size: libFuzzer's way, or `mutation.havoc`."""

Answer = TypeVar("Answer")
Refusal = TypeVar("Refusal", bound=Exception)


@define
class Target:
    """One parser under fuzzing.

    `check` returns, or raises anything at all, which is a finding. `seeds` are inputs that it accepts. `mutate` takes
    an input, the largest size of the answer, a generator and the havoc to use. `smaller` are inputs like a given one
    with something left out, to be tried in place of it when it was found to fail.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    mutate: Callable[[bytes, int, Random, Havoc], bytes]
    smaller: Callable[[bytes], Iterator[bytes]] = without_runs
    size_max: int = 4096


def attempt(refusal: type[Refusal], call: Callable[[], Answer]) -> Answer | Refusal:
    """What `call` answers, or the error of that very class that it raises; any other passes through, as a finding."""
    try:
        return call()
    except refusal as error:
        assert type(error) is refusal, f"{type(error).__name__} is not the error that was promised"
        assert str(error), "an error without a sentence"
        return error
