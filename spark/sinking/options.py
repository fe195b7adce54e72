"""What a job says of its writing, as Spark hands it over: strings under names whose case does not matter.

Every option is named here with what it means and what it may be; one that is not is refused, so that a mistyped name
never goes unnoticed. What Spark itself puts among the options of a sink is passed over.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from attrs import define

from goqueue.core.records.batch import Codec
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.transports.client.channel import split_address

T = TypeVar("T")

KIB, MIB = 1 << 10, 1 << 20
CODECS = {codec.name.lower(): codec for codec in Codec}
ACKS = {"all": 0, "leader": 1}
# Spark's own, which it hands to every sink.
_SPARKS = frozenset(("path", "checkpointlocation", "queryname"))


@define
class WriteOptions:
    """The options of a write, understood."""

    addresses: list[str]
    topic: str = ""
    # The name of the work; without one, a batch write gets a name of its own, and a stream that of its query.
    job: str = ""
    # The number of the batch, for a `foreachBatch` that writes under one name again and again.
    batch: int | None = None
    batch_bytes: int = 256 * KIB
    buffer_bytes: int = 64 * MIB
    codec: Codec = Codec.NONE
    acks: int = 0
    delivery_timeout_ns: int = 120_000_000_000
    tls: bool = False
    tls_ca: str = ""
    # Rows that are due later are not numbered by anybody, so that an attempt that is made again stores them again.
    repeats_delayed: bool = False


def _addresses(text: str) -> list[str]:
    found = [each.strip() for each in text.split(",")]
    for each in found:
        split_address(each)
    return found


def _count(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise ValueError(f"it may be a whole number from {least} to {most}")
        return int(text)

    return read


def _one_of(choices: Mapping[str, T]) -> Callable[[str], T]:
    def read(text: str) -> T:
        if text.lower() not in choices:
            raise ValueError(f"it may be {', '.join(choices)}")
        return choices[text.lower()]

    return read


def _seconds(text: str) -> int:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 86_400:
        raise ValueError("it may be a number of seconds, at most a day")
    return int(seconds * 1e9)


_YES = {"true": True, "false": False}
# By the name of the option: the field, and how its text is read; a ValueError says what it may be.
_READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "bootstrap": ("addresses", _addresses),
    "topic": ("topic", str),
    "job": ("job", str),
    "batch": ("batch", _count(0, (1 << 62) - 1)),
    "batch_bytes": ("batch_bytes", _count(1, 16 * MIB)),
    "buffer_bytes": ("buffer_bytes", _count(MIB, 1 << 34)),
    "compression": ("codec", _one_of(CODECS)),
    "acks": ("acks", _one_of(ACKS)),
    "delivery_timeout": ("delivery_timeout_ns", _seconds),
    "tls": ("tls", _one_of(_YES)),
    "tls_ca": ("tls_ca", str),
    "delayed": ("repeats_delayed", _one_of({"refuse": False, "at_least_once": True})),
}
NAMES: Sequence[str] = tuple(_READERS)


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """The options of a write. Raises UnwritableError."""
    given = {name.lower(): value for name, value in options.items()}
    unknown = sorted(set(given) - set(_READERS) - _SPARKS)
    if unknown:
        raise UnwritableError(f"there is no option {unknown[0]!r} for writing; the options are {', '.join(NAMES)}")
    if "bootstrap" not in given:
        raise UnwritableError("which broker? Say option('bootstrap', 'host:port'), or several with commas between")
    found = WriteOptions([])
    for name, (field, read) in _READERS.items():
        if name in given:
            try:
                setattr(found, field, read(given[name]))
            except ValueError as error:
                raise UnwritableError(f"the option {name!r} is {given[name]!r}; {error}") from None
    if found.batch is not None and not found.job:
        raise UnwritableError("the option 'batch' numbers the batches of a job; say its name by option('job', …)")
    return found
