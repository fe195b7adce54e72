"""What a producer is asked to be, in the words of a user, and checked before anything is sent."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

from attrs import define

from goqueue.core.client.terms import Terms
from goqueue.core.records.batch import Codec
from goqueue.transports.client.times import nanoseconds_of

T = TypeVar("T")
MIB = 1 << 20
ACKS = {"all": 0, "leader": 1, "none": 2}
CODECS = {codec.name.lower(): codec for codec in Codec}


@define
class ProducerTerms:
    """What a producer was asked to be, checked."""

    acks: int
    buffer_bytes: int
    session: Terms


def producer_terms(
    acks: str, linger: timedelta, batch_bytes: int, compression: str, idempotent: bool, delivery_timeout: timedelta,
    buffer_bytes: int,
) -> ProducerTerms:  # fmt: skip
    """The terms of a producer out of what a user said; raises ValueError or TypeError."""
    if not 1 <= batch_bytes <= 16 * MIB:
        raise ValueError(f"batch_bytes is from 1 to {16 * MIB}, not {batch_bytes}")
    if buffer_bytes < batch_bytes:
        raise ValueError(f"buffer_bytes is at least batch_bytes, {batch_bytes}, not {buffer_bytes}")
    session = Terms(
        batch_bytes=batch_bytes,
        linger_ns=nanoseconds_of(linger, "linger"),
        codec=one_of(CODECS, compression, "compression"),
        is_idempotent=idempotent,
        delivery_timeout_ns=nanoseconds_of(delivery_timeout, "delivery_timeout", least=timedelta(milliseconds=1)),
    )
    return ProducerTerms(one_of(ACKS, acks, "acks"), buffer_bytes, session)


def one_of(choices: Mapping[str, T], word: str, name: str) -> T:
    """What a word stands for; raises ValueError for one that is none of them."""
    if word not in choices:
        raise ValueError(f"{name} is one of {', '.join(choices)}, not {word!r}")
    return choices[word]
