"""What waits to go out to a peer: bounded, in order, and never half a frame."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.varint import Readable
from goqueue.transports.peers.outbox import Outbox


def drained(outbox: Outbox, bytes_max: int = 1000) -> list[Readable]:
    pieces: list[Readable] = []
    while taken := outbox.take(bytes_max):
        pieces += taken
    return pieces


def test_frames_go_out_in_order_and_together() -> None:
    outbox = Outbox(1000)
    assert outbox.put([b"a", b"b"], 1) == 0
    assert outbox.put([b"c"], 1) == 0
    assert outbox.take(1000) == [b"a", b"b", b"c"]
    assert not outbox


def test_one_frame_goes_out_however_large_it_is() -> None:
    outbox = Outbox(1000)
    outbox.put([bytes(100)], 1)
    outbox.put([b"x"], 1)
    assert outbox.take(10) == [bytes(100)]
    assert outbox.take(10) == [b"x"]


def test_the_oldest_give_way_and_their_letters_are_counted() -> None:
    outbox = Outbox(10)
    outbox.put([b"aaaaa"], 2)
    outbox.put([b"bbbbb"], 1)
    assert outbox.put([b"c"], 1) == 2
    assert drained(outbox) == [b"bbbbb", b"c"]


def test_what_has_begun_to_go_out_stays() -> None:
    outbox = Outbox(10)
    outbox.put([b"rest of one"], 1, is_begun=True)
    assert outbox.put([b"bb"], 1) == 1
    assert drained(outbox) == [b"rest of one"]


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=30), st.booleans()), max_size=30), st.integers(1, 60))
def test_what_it_holds_is_bounded_and_no_letter_is_lost_uncounted(
    frames: list[tuple[bytes, bool]], bytes_max: int
) -> None:
    outbox, out, dropped = Outbox(bytes_max), 0, 0
    for content, is_taken in frames:
        dropped += outbox.put([content], 1)
        assert outbox.held_bytes <= bytes_max
        if is_taken:
            out += len(outbox.take(1))
    assert out + dropped + len(drained(outbox)) == len(frames)
    assert outbox.held_bytes == 0
