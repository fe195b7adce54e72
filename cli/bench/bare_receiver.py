"""What nobody can avoid when batches come in: receive them, sum them, write them, and say so.

`python -m goqueue.cli.bench.bare_receiver FILE` prints a port, takes one connection, and ends with it. A frame is its
length in four bytes and that many bytes of batch. All that one read brought is summed batch by batch and written with
one system call; one answer of eight bytes a batch goes back with one more. It is the limit that publishing over the
network is held against: no broker can do less than this.
"""

import os
import socket
import struct
import sys

from crc32c import crc32c

from goqueue.core.records.batch import CRC_COVERS_FROM

FRAME = struct.Struct(">I")
ANSWER_BYTES = 8
_BUFFER_BYTES = 4 << 20
_READ_BYTES = 256 << 10


def receive(connection: socket.socket, file: int) -> None:
    """Take frames until the other side has no more."""
    buffer = bytearray(_BUFFER_BYTES)
    view = memoryview(buffer)
    begin = end = 0
    while True:
        if _BUFFER_BYTES - end < _READ_BYTES:
            view[: end - begin] = view[begin:end]
            begin, end = 0, end - begin
        count = connection.recv_into(view[end : end + _READ_BYTES])
        if not count:
            return
        end += count
        batches = []
        while end - begin >= FRAME.size:
            size = FRAME.unpack_from(buffer, begin)[0]
            if end - begin < FRAME.size + size:
                break
            batch = view[begin + FRAME.size : begin + FRAME.size + size]
            crc32c(batch[CRC_COVERS_FROM:])
            batches.append(batch)
            begin += FRAME.size + size
        if batches:
            os.writev(file, batches)
            connection.sendall(bytes(ANSWER_BYTES * len(batches)))
        if begin == end:
            begin = end = 0


def main() -> None:
    """Serve one connection."""
    file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        receive(connection, file)
    os.close(file)


if __name__ == "__main__":
    main()
