"""A stretch of work through the core, for watching from outside: batches in every codec, a log that rolls and forgets.

It answers with a digest of everything that came out, so that two runs can be compared. It says nothing about whether
what came out is right; the tests of the core do.
"""

import hashlib

from goqueue.core.clock import Clock
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Append, Sync
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import Codec, Lane, validate
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate

SECOND_NS = 1_000_000_000
START_MS = 1_700_000_000_000


def exercise() -> str:
    """Do the work; the digest of its outcome."""
    seen = hashlib.sha256()
    log = _empty_log()
    for turn in range(50):
        now = turn * SECOND_NS
        batch = _batch(turn)
        for record in iterate(batch):
            seen.update(b"".join((record.key or b"", record.value or b"")))
        seen.update(repr(validate(batch)).encode())
        log.append(now, batch, leader_epoch=turn // 10)
        for effect in log.take(now):
            if isinstance(effect, Append):
                seen.update(b"".join(effect.buffers))
            else:
                seen.update(repr(effect).encode())
            if isinstance(effect, Sync):
                log.synced(now, effect.token)
        log.wake(now)
        seen.update(repr(log.read(log.start_offset, 1 << 20)).encode())
    seen.update(repr((log.segments, log.checkpoint(), log.find_time(START_MS), log.deadline())).encode())
    return seen.hexdigest()


def _empty_log() -> Log:
    config = LogConfig(segment_bytes=2048, index_interval_bytes=256, batch_bytes_max=1024, retention_bytes=8192)
    tail = SegmentTail(Segment(0, 0, 0, 0, NO_TIMESTAMP, START_MS), config.index_interval_bytes)
    return Log("orders-0", config, Clock(0, START_MS), LogState([], tail))


def _batch(turn: int) -> bytearray:
    entries = [
        (START_MS + turn * 1000 + at, b"key-%d" % (at % 3), b"value-%d" % at, [("turn", b"%d" % turn)])
        for at in range(1 + turn % 7)
    ]
    return encode(entries, codec=list(Codec)[turn % len(Codec)], lane=list(Lane)[turn % len(Lane)])
