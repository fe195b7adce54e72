"""What a fact is: one row, the same columns for all kinds, most of them null for any one kind.

A fact is something that happened on one node at one of its events. `at` is the node's own clock: it never jumps, and
means nothing on another node or after another start (`run`). `time` is what the wall clock of that node said. So what
happened on one node is compared by `at`, and what happened on several by `time`, with its errors in mind.

Facts about messages speak of ranges `[first, end)` of offsets in one stream, never of single messages. `since` is the
`at` of what the fact is the end of (the request that is answered, the sync that was asked for), null where that is not
known, as behind the beginning of a capture. A kind says what its other columns mean (`KINDS`).
"""

from typing import Final

import pyarrow as pa

_TIME = pa.timestamp("us", tz="UTC")

# name -> Arrow's type, and Spark's word for it.
COLUMNS: Final[dict[str, tuple[pa.DataType, str]]] = {
    "node": (pa.string(), "string"),
    # The start of the node's process that is captured: milliseconds since 1970, and unique for a node.
    "run": (pa.int64(), "bigint"),
    # Which event of the run, and which fact of the event.
    "event": (pa.int64(), "bigint"),
    "part": (pa.int32(), "int"),
    "at": (pa.int64(), "bigint"),
    "time": (_TIME, "timestamp"),
    "kind": (pa.string(), "string"),
    "topic": (pa.string(), "string"),
    "partition": (pa.int32(), "int"),
    # data, schedule or ledger.
    "side": (pa.string(), "string"),
    "first": (pa.int64(), "bigint"),
    "end": (pa.int64(), "bigint"),
    "count": (pa.int64(), "bigint"),
    "bytes": (pa.int64(), "bigint"),
    # A leader epoch, a generation or a term.
    "epoch": (pa.int64(), "bigint"),
    "group": (pa.string(), "string"),
    "member": (pa.string(), "string"),
    # Another node.
    "peer": (pa.string(), "string"),
    "client": (pa.string(), "string"),
    "lane": (pa.int32(), "int"),
    "attempt": (pa.int32(), "int"),
    "lease": (pa.int64(), "bigint"),
    "producer": (pa.int64(), "bigint"),
    "sequence": (pa.int64(), "bigint"),
    # When something is to be or to end, on the wall clock.
    "due": (_TIME, "timestamp"),
    "since": (pa.int64(), "bigint"),
    "key_hash": (pa.int64(), "bigint"),
    # A number that the kind gives a meaning to.
    "value": (pa.int64(), "bigint"),
    # A cause, a code or a name, from a small set of words that the kind lists; free words only where it says so.
    "cause": (pa.string(), "string"),
    "detail": (pa.string(), "string"),
}

ARROW_SCHEMA: Final = pa.schema([(name, kind) for name, (kind, _) in COLUMNS.items()])
SCHEMA_DDL: Final = ", ".join(f"`{name}` {word}" for name, (_, word) in COLUMNS.items())

# What may happen; what each of them fills in beyond who and when.
KINDS: Final[dict[str, str]] = {
    # --- the capture itself
    "file": "A file was read: first and end are its events, count how many were read, bytes its size, value the number "
    "of the file in its run, cause why it ended early (tail, truncated, damaged, foreign, version, no_snapshot, gap, "
    "diverged, died) or null, detail that in words.",
    "clock_stepped": "The wall clock moved by value milliseconds against the node's own clock.",
    "known": "At the beginning of a file: a partition that the node holds, first and end of its log, value its high "
    "watermark, epoch its leader epoch, cause leads or follows; and with group and member, an ownership as then known "
    "(epoch the generation).",
    # --- messages on their way in
    "asked": "A client's publish came: topic, partition if one was named, count, bytes, client.",
    "keyed": "Publishes by key, summed up over a file: topic, partition, key_hash, count, bytes, detail "
    "the key as text.",
    "appended": "The leader took a batch into its log: side, first, end, count, bytes, epoch, lane, producer, "
    "sequence, since its request came, client.",
    "copied": "A follower took a batch into its log: as for appended, peer the leader.",
    "durable": "A sync ended: side, end up to where everything is on the disk, since it was asked for, bytes it "
    "covered.",
    "visible": "The high watermark went from first to end, under epoch.",
    "cut": "The node took back everything from first on; end is where its log ended.",
    "answered": "A publish was answered: topic, partition, first, end, count, since it was asked, client, cause the "
    "code of a refusal or null.",
    # --- messages on their way out
    "fetched": "Batches went to a reader: topic, partition, first, end, bytes, since it asked, client; cause stream.",
    "polled": "Batches went to a member of an exclusive group: group, member, first, end, count, bytes, since.",
    "committed": "A group has come to end in a partition: group, member, epoch the generation; cause a refusal's code.",
    # --- work queues
    "leased": "Messages went to a member under a lease: group, member, topic, partition, first, end, attempt, lease, "
    "due when it ends.",
    "acked": "A member was answered that these are done: group, member, first, end, attempt, lease.",
    "returned": "Messages are to be delivered again: cause nacked, released, expired, failed_over or reset, lease, "
    "attempt, due when, detail a member's own words.",
    "extended": "A lease was made to end at due: group, member, first, end, lease.",
    "doomed": "Messages are not delivered again: cause attempts, rejected, expired (ttl), group, lease, attempt, "
    "detail the reason in words.",
    "buried": "A dead letter was stored: topic, partition, first, end of where it came from, group, attempt, detail "
    "where it is as topic/partition/offset, cause why.",
    "redriven": "Dead letters were sent back: topic the dead letters' one, count, detail the target.",
    # --- delays
    "scheduled": "A message is kept back: side schedule, first, end there, due.",
    "moved": "A delayed message came to be due and was appended: first, end in the data, sequence its offset in the "
    "schedule, due.",
    "cancelled": "A delayed message will not come: first, end in the schedule.",
    "rescheduled": "A delayed message comes at another time: first its offset, due.",
    # --- groups
    "group": "A group changed: group, epoch its generation, count its members, cause its state (empty, assigning, "
    "reconciling, stable).",
    "joined": "A member came: group, member, epoch, client.",
    "left": "A member went: group, member, cause left, expired or replaced.",
    "owned": "A member may read a partition from here on: group, member, topic, partition, epoch the generation.",
    "disowned": "It may no longer: cause revoked, lost or left.",
    "told": "A member was told that it has a partition: group, member, topic, partition, epoch the generation.",
    # --- nodes among others
    "started": "A process began; value 1 where the capture began with it.",
    "leads": "The node began to lead a partition: topic, partition, epoch, end of its log, value its high watermark.",
    "follows": "The node began to follow a leader, or nobody: topic, partition, epoch, peer.",
    "placed": "It was agreed where a partition is: topic, partition, epoch, peer the leader or null, value the "
    "version, detail the replicas and in-sync replicas as 'replicas a,b,c isr a,b'.",
    "standing": "It was agreed how a node stands: peer the node, cause live, draining, stopping, dead or removed.",
    "voted": "A vote was given to be kept: epoch the term, peer for whom.",
    "elected": "The node became controller: epoch the term.",
    "deposed": "It is controller no longer: epoch the term.",
    "met": "A link to a peer is up.",
    "lost": "A link to a peer is down.",
    # --- what went wrong
    "refused": "A request was refused: cause the code, detail the request's name, group or topic where it has one.",
    "disk_failed": "The disk failed: side and topic of the stream, detail in words.",
    "died": "The node died: detail in words.",
    # --- load, summed up over a second of the node's own clock
    "load": "count events, bytes appended; value turns.",
}
