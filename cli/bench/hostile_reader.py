"""A reader that behaves, in a process of its own: `python -m goqueue.cli.bench.hostile_reader KIND PORT SECONDS TOPIC`.

It reads a partition from its start to its end, again and again, and waits when it is told to try again later. At the
end it prints how many records a second it was given; one that is missing, or comes twice, ends it with an error.
"""

import http.client
import json
import sys
import time

import trio

from goqueue.cli.bench.workbench import BenchError
from goqueue.core.records.batch import read_header, split
from goqueue.proto import v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import Unavailable
from goqueue.transports.client.trio_loop import TrioLoop

_LIMIT = 100
_BYTES_MAX = 1 << 20
_TRY_AGAIN_S = 0.1


def read_http(port: int, seconds: float, topic: str) -> float:
    """Pages over one connection of HTTP/1.1."""
    begun, count, offset = time.monotonic(), 0, 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    while (now := time.monotonic()) < begun + seconds:
        try:
            connection.request("GET", f"/topics/{topic}/partitions/0/messages?offset={offset}&limit={_LIMIT}")
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            continue
        if response.status == 503:
            time.sleep(_TRY_AGAIN_S)
            continue
        if response.status != 200:
            raise BenchError(f"the reader is answered {response.status}: {content[:200]!r}")
        page = json.loads(content)
        messages = page["messages"]
        if [message["offset"] for message in messages] != list(range(offset, page["next_offset"])):
            raise BenchError("the reader misses messages, or has some twice")
        count += len(messages)
        offset = page["next_offset"] if messages else 0
    return count / (now - begun)


def read_grpc(port: int, seconds: float, topic: str) -> float:
    """Fetches over one connection, one after another."""
    return trio.run(_fetch_on, port, seconds, topic)


async def _fetch_on(port: int, seconds: float, topic: str) -> float:
    begun, count, offset = time.monotonic(), 0, 0
    async with TrioLoop() as loop:
        brokers = Brokers(loop, [f"127.0.0.1:{port}"])
        while (now := time.monotonic()) < begun + seconds:
            request = v1.FetchRequest(topic=topic, offset=offset, bytes_max=_BYTES_MAX)
            try:
                reply = await brokers.call("Messages/Fetch", request, v1.FetchReply)
            except Unavailable:
                await trio.sleep(_TRY_AGAIN_S)
                continue
            for batch in split(reply.batches):
                header = read_header(batch)
                if header.base_offset != offset:
                    raise BenchError("the reader misses messages, or has some twice")
                offset = header.next_offset
                count += header.record_count
            if not reply.batches:
                offset = 0
        await brokers.close()
    return count / (now - begun)


READERS = {"http": read_http, "grpc": read_grpc}

if __name__ == "__main__":
    kind, port, seconds, topic = sys.argv[1:]
    sys.stdout.write(f"{READERS[kind](int(port), float(seconds), topic)}\n")
