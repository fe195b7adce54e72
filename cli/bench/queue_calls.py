"""Figures of work queues by single gRPC calls, as a program without the client library would make them."""

import time
from functools import partial

import trio

from goqueue.cli.bench.broker_fetch import fill
from goqueue.cli.bench.cores import cpu_seconds
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.grpc_load import channel, codec
from goqueue.cli.bench.queue_load import crew
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench, quantile
from goqueue.proto import v1
from goqueue.proto.work import receipt_of
from goqueue.transports.client.channel import Channel

_JOIN = "/goqueue.v1.Groups/Join"
_POLL = "/goqueue.v1.Groups/Poll"
_ACK = "/goqueue.v1.Groups/Ack"
_BATCH = 100
_TOPIC = "calls"
_IN_FLIGHT = 16
_POLLED_MAX = 1000
# Long enough that no lease ends on a machine that is busy.
_LEASE_MS = 600_000
_WAIT_MS = 1_000


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.worked_batches * _BATCH * 1100
    return [
        Entry(
            "poll_ack_100", "poll 100 and acknowledge 100, a call each, one after the other, fsync interval",
            poll_ack, [Bar("value", least=40_000)], disk_bytes=room,
        ),
        Entry(
            "ack_one", "one acknowledgement a call, 16 in flight, fsync interval", ack_one,
            [Bar("value", least=8_000)], disk_bytes=room,
        ),
    ]  # fmt: skip


def poll_ack(workbench: Workbench) -> Figure:
    """One connection that waits for each answer; each round is by a group of its own."""
    count, best, cpu = workbench.sizes.called_batches * _BATCH, float("inf"), float("inf")
    with workbench.folder() as folder, served(folder) as broker:
        fill(broker, _TOPIC, workbench.sizes.called_batches, "interval")
        for done in range(workbench.sizes.broker_rounds):
            begun = cpu_seconds(broker.pid)
            best = min(best, trio.run(partial(_poll_ack, broker.grpc_address, f"round-{done}", count)))
            cpu = min(cpu, cpu_seconds(broker.pid) - begun)
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    note = f"{cpu / count * _BATCH * 1e6:.0f} us of the broker's CPU for a poll and an ack of {_BATCH}"
    return Figure(count / best, "msg/s", note=note)


async def _poll_ack(address: str, group: str, count: int) -> float:
    async with channel(address) as connection:
        poll = _poll_request(group, await _joined(connection, group), _BATCH)
        begun, left = time.perf_counter(), count
        while left:
            leases = await _polled(connection, poll)
            ranges = [
                v1.ReceiptRange(stem=each.stem, first_offset=each.first_offset, count=each.count) for each in leases
            ]
            left -= await _acked(connection, v1.AckRequest(ranges=ranges))
        return time.perf_counter() - begun


def _range(lease: v1.Lease) -> v1.ReceiptRange:
    return v1.ReceiptRange(stem=lease.stem, first_offset=lease.first_offset, count=lease.count)


def ack_one(workbench: Workbench) -> Figure:
    """Polled ahead of time; what is timed is the acknowledgements alone."""
    taken: list[int] = []
    best = float("inf")
    count = workbench.sizes.called_batches * _BATCH // workbench.sizes.broker_rounds
    with workbench.folder() as folder, served(folder) as broker:
        fill(broker, _TOPIC, workbench.sizes.called_batches, "interval")
        for done in range(workbench.sizes.broker_rounds):
            seconds, each = trio.run(partial(_ack_one_by_one, broker.grpc_address, f"round-{done}", count))
            if seconds < best:
                best, taken = seconds, each
            workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    p50, p99 = quantile(sorted(taken), 0.5) / 1e6, quantile(sorted(taken), 0.99) / 1e6
    return Figure(count / best, "calls/s", p50_ms=p50, p99_ms=p99, note=f"{_IN_FLIGHT} in flight on one connection")


async def _ack_one_by_one(address: str, group: str, count: int) -> tuple[float, list[int]]:
    """So many acknowledgements; the seconds they took in all, and how long each was, in nanoseconds."""
    taken: list[int] = []
    seconds = 0.0
    async with channel(address) as connection:
        member = await _joined(connection, group)
        while len(taken) < count:
            leases = await _polled(connection, _poll_request(group, member, min(_POLLED_MAX, count - len(taken))))
            receipts = [receipt_of(each.stem, each.first_offset + at) for each in leases for at in range(each.count)]
            receipts.reverse()
            begun = time.perf_counter()
            async with crew() as nursery:
                for _ in range(_IN_FLIGHT):
                    nursery.start_soon(_ack_all, connection, receipts, taken)
            seconds += time.perf_counter() - begun
    return seconds, taken


async def _ack_all(connection: Channel, receipts: list[str], taken: list[int]) -> None:
    while receipts:
        begun = time.perf_counter_ns()
        await _acked(connection, v1.AckRequest(receipts=[receipts.pop()]))
        taken.append(time.perf_counter_ns() - begun)


async def _joined(connection: Channel, group: str) -> str:
    """The id of a member of a shared group that reads from the topic's start."""
    request = v1.JoinRequest(
        group=group, topics=[_TOPIC], client_id="bench", session_timeout_ms=60_000, mode=v1.GroupMode(2)
    )
    reply = codec.decode(v1.JoinReply, await connection.call(_JOIN, codec.encode(request), None))
    return str(reply.member_id)


def _poll_request(group: str, member: str, count: int) -> bytes:
    return codec.encode(
        v1.PollRequest(
            group=group, member_id=member, messages_max=count, wait_ms=_WAIT_MS, visibility_timeout_ms=_LEASE_MS
        )
    )


async def _polled(connection: Channel, request: bytes) -> list[v1.Lease]:
    reply = codec.decode(v1.PollReply, await connection.call(_POLL, request, None))
    leases = [lease for part in reply.parts for lease in part.leases]
    if not leases:
        raise BenchError("a poll brought nothing while there were messages left")
    return leases


async def _acked(connection: Channel, request: v1.AckRequest) -> int:
    reply = codec.decode(v1.AckReply, await connection.call(_ACK, codec.encode(request), None))
    for each in reply.refusals:
        raise BenchError(f"offset {each.offset} could not be acknowledged: {each.refusal}")
    return int(reply.done)
