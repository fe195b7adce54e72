"""What of an answer belongs to the fingerprint of a world says nothing of where it lies in memory."""

from goqueue.core.records.batch import Lane
from goqueue.core.records.varint import Readable
from goqueue.core.requests.delays import DelayedMessage
from goqueue.fuzz.digestible import digestible


def shown(value: Readable) -> str:
    """A delayed message, as it goes into the fingerprint."""
    return repr(digestible(DelayedMessage("t0", 0, 1, 2, Lane.NORMAL, None, value)))  # type: ignore[arg-type]


def test_a_delayed_message_is_the_same_wherever_its_value_lies() -> None:
    assert shown(memoryview(b"value")) == shown(memoryview(bytearray(b"value"))) == shown(b"value")
