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
    # A topic that is made again under the same name has another one.
    "topic_id": (pa.int64(), "bigint"),
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
    "producer_epoch": (pa.int32(), "int"),
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
    "of the file in its run, cause why it ended early (tail, truncated, damaged, foreign, version, no_snapshot, "
    "unreadable, diverged, died) or null, detail that in words.",
    "clock_stepped": "The wall clock moved by value milliseconds against the node's own clock.",
    "known": "At the beginning of a file: a partition that the node holds, first and end of its log, value its high "
    "watermark, epoch its leader epoch, cause leads or follows; and with group and member, an ownership as then known "
    "(epoch the generation), cause taken_over where that is because another node has coordinated before.",
    # --- messages on their way in
    "asked": "A client's publish came: topic, partition if one was named, count, bytes, client, "
    "detail the acks asked for.",
    "keyed": "Messages that clients published by key, as far as the capture has their bytes, summed up over a file; of "
    "some thousand keys those that came most often: topic, key_hash, count, bytes since the key was counted, value by "
    "how much count may be too high, detail the key as text if it is a short one.",
    "looked": "Of how many messages the capture has the keys, summed up over a file: topic, count, value how many "
    "clients asked to publish in all.",
    "appended": "The leader took a batch into its log: side, first, end, count, bytes, epoch, lane, producer, "
    "producer_epoch, sequence, value the batch's CRC, since its request came, client if it is of one.",
    "copied": "A follower took a batch into its log: as for appended, peer the leader.",
    "durable": "A sync ended, or a log was opened again: side (metadata, without a topic, for what nodes agree on), "
    "end up to where everything is on the disk, first up to where it was before, since it was asked for, bytes it "
    "covered.",
    "visible": "Readers may see what lies from first to end: side, epoch; of the leader alone, of a new one when "
    "it knows how far the one before it has come. Where first is end, they see less than before.",
    "cut": "The node took back everything from first on; end is where its log ended; cause diverged (another leader's "
    "log is another), restart (its leader has nothing of it any more, so all of it went) or lost (the disk failed).",
    "diverges": "A leader told a follower that their logs differ: topic, partition, side, peer the leader, epoch its "
    "epoch, first and end of the follower's log when it had heard that, cause diverged or restart. A cut follows, or "
    "the log is shorter already.",
    "answered": "A publish was answered: topic, partition, side (data or schedule), first, end, count, since it was "
    "asked, client, epoch where this node leads it, cause the code of a refusal or null, detail the acks asked for.",
    # --- messages on their way out
    "fetched": "Batches went to a reader: topic, partition, first, end, bytes, since it asked, client.",
    "polled": "Batches went to a member of an exclusive group: group, member, first, end, count, bytes, since.",
    "committed": "A member was answered that its group has come to end in a partition, or further: group, member, "
    "epoch the generation, since; cause a refusal's code, detail reset (by ResetOffsets) or outside (by one who is no "
    "member) or null; sequence up to where the journal of the groups holds for sure, value its leader epoch.",
    "offset_known": "What a coordinator has as the offset of a group: group, topic, partition, end; cause known (at "
    "the beginning of a file), taken_over (it begins with that) or told (to whoever asked); sequence and value as of "
    "committed, but of known and taken_over sequence is where the journal ends.",
    "rewound": "The journal takes an offset back: group, topic, partition, end, sequence where that lies in the "
    "journal, value its leader epoch; cause ended (no offset is left), unsure (a node copies the first that it sees of "
    "an offset, and cannot know), unasked (nobody asked for a reset since the process began) or null.",
    "coordinates": "The node begins to coordinate the groups: sequence the end of its journal, value its leader epoch, "
    "cause taken_over, or known at the beginning of a file. What it begins with follows as known and offset_known.",
    # --- work queues; epoch is that of the ledger in all of them
    "leased": "Messages went to a member under a lease: group, member, topic, partition, first, end, attempt, lane, "
    "lease, due when it ends, since the poll came, sequence the event in which it was written, value how often the "
    "group gives a message; cause pending where the answer was under way when the file ended, else null.",
    "acked": "A member was answered that these are done: group, member, first, end, attempt, lane, lease, since it was "
    "asked; cause unheard where it was done and nobody waited for the answer, pending as for leased, unwritten where "
    "the ledger has nothing of it, rejected where the member had rejected them, else null.",
    "returned": "Messages are to be delivered again: lease, attempt, lane, due when, detail a member's own words, "
    "cause nacked, released, expired (the lease), lost (the member, without a word), left (the member), unheard "
    "(nobody waited for the answer to the poll), reset, cut (the partition lost its end) or ended (the group); "
    "value by how many milliseconds a lease expired before its time, where that was half of it or more.",
    "extended": "A lease was made to end at due: group, member, first, end, attempt, lane, lease, since, cause as for "
    "acked.",
    "doomed": "Messages are not delivered again: cause attempts, rejected, expired (ttl), gone (by retention) or "
    "deleted (the topic was), group, member, lease, attempt, lane, detail what the last attempt failed of, or the "
    "reason in words.",
    "restarted": "A work queue began, or forgot what it knew of its messages: group, topic, partition, first from "
    "which on; cause began (the group had none there), reset (somebody asked for it), gone (retention removed all it "
    "knew of), cut (the partition lost its end) or ended (the group).",
    "buried": "A dead letter was stored: topic, partition, first, end of where it came from, group, attempt, detail "
    "where it is as topic/partition/offset, cause why.",
    "redriven": "Dead letters were sent back: topic the dead letters' one, partition, first, end, count, detail the "
    "target; cause purged where they were dropped.",
    # --- delays
    "scheduled": "A message is kept back: side schedule, first, end there, due.",
    "moved": "A delayed message came to be due and was appended: first, end in the data, sequence its offset in the "
    "schedule, due.",
    "cancelled": "A delayed message will not come: first, end in the schedule.",
    "rescheduled": "A delayed message comes at another time: first its offset, due.",
    # --- groups
    "group": "A group changed: group, epoch its generation, count its members, cause its state (empty, assigning, "
    "reconciling, stable) or deleted, detail its own settings as JSON.",
    "rebalanced": "A generation of a group began: group, epoch, count the partitions that are to change hands, since "
    "it was wanted, cause why (member_joined, member_left, session_expired, topics_changed, subscription_changed, "
    "assignor_changed, coordinator_started), or began where nobody had anything before.",
    "joined": "A member came: group, member, epoch, client, detail its instance id.",
    "left": "A member went: group, member, cause left, expired or replaced.",
    "owned": "A member may read a partition from here on: group, member, topic, partition, epoch the generation.",
    "disowned": "It may no longer: cause revoked (it said so), cut_off, left, lost (without a word) or replaced.",
    "told": "A member was told that it has a partition: group, member, topic, partition, epoch the generation, since.",
    # --- nodes among others
    "started": "A process began; value 1 where the capture began with it, 0 where it began later.",
    "closed": "A process was told to end, and had time for it.",
    "topic": "A topic as agreed: topic_id, count its partitions, cause known (before the capture, or agreed before the "
    "process began), created, altered or deleted, detail its settings as JSON.",
    "leads": "The node began to lead a partition: topic, partition, side, epoch, end of its log, value its high "
    "watermark.",
    "follows": "The node began to follow a leader, or nobody: topic, partition, side, epoch, peer; end and value as of "
    "leads.",
    "dropped": "The node has a partition no more: topic, partition, side.",
    "placed": "It was agreed where a partition is: topic, partition, epoch, peer the leader or null, value the "
    "version, detail the replicas and in-sync replicas as 'replicas a,b,c isr a,b', and adding and removing "
    "where it moves. Every node notes it when it learns of it: the first of them says when.",
    "standing": "It was agreed how a node stands: peer the node, cause live, draining, stopping, dead, removed or "
    "readmitted, value its incarnation where it has begun anew.",
    "voted": "A vote was given to be kept: epoch the term, peer for whom, detail the disk that it is kept on.",
    "vote_kept": "A vote is on the disk, and the node may tell of it: epoch the term, peer for whom, detail the disk.",
    "recalled": "The node opened the log of what nodes agree on: epoch and peer of the vote that it found there, "
    "detail the disk. A node whose disk was replaced votes as another voter.",
    "elected": "The node became controller: epoch the term.",
    "deposed": "It is controller no longer: epoch the term.",
    "met": "A link to a peer is up.",
    "lost": "A link to a peer is down; cause gone where its process certainly is.",
    # --- what went wrong
    "refused": "A request was refused, but for publishes: cause the code, detail the request's name, group or topic "
    "where it has one, since, client.",
    "disk_failed": "The disk failed: side and topic of the stream, cause write or open, detail in words.",
    "died": "The node died: detail in words.",
    # --- load, summed up over a second of the node's own clock
    "load": "A second is over, which began at since: count events, bytes handed to the disk, value turns. It is noted "
    "at the end of the next turn, however late that is.",
}
