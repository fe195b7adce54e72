"""Small pieces travel together, and large ones as they are: whoever sends much copies little."""

import pytest

from goqueue.transports.http2.request import Request
from goqueue.transports.http2.stream import LARGE_BYTES
from tests.transports.http2.wire import START_NS, Pair, arrived


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [
        ([10, 20, 30], [60]),
        ([10, LARGE_BYTES, 20, 30], [10, LARGE_BYTES, 50]),
        ([LARGE_BYTES - 1, 5], [LARGE_BYTES + 4]),
        ([LARGE_BYTES, LARGE_BYTES + 1], [LARGE_BYTES, LARGE_BYTES + 1]),
    ],
)
def test_pieces_leave_in_order_and_large_ones_uncopied(sizes: list[int], lengths: list[int]) -> None:
    pair = Pair()
    stream = pair.client.open(Request(b"POST", b"/x", b"http", b"here", []))
    pair.settle()
    (served,) = arrived(pair.server)
    content = [bytes([number]) * size for number, size in enumerate(sizes)]
    for piece in content:
        stream.send(piece)
    frames = pair.client.take_pieces(START_NS)
    bodies = frames[1::2]
    assert [len(body) for body in bodies] == lengths
    for piece in content:
        assert len(piece) < LARGE_BYTES or any(body is piece for body in bodies)
    pair.server.receive(START_NS, b"".join(frames))
    assert served.read() == b"".join(content)
