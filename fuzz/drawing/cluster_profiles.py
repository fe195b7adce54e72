"""What a world of several nodes is mostly about: what its clients do, and what befalls its nodes, drawn by themselves.

Each is dense in what it is about, so that states which are rare in life occur in every other world of it. Since work
and trouble are drawn apart, each kind of work meets each kind of trouble.
"""

from collections.abc import Callable
from random import Random

from goqueue.fuzz.options import Options

Profile = Callable[[Random, Options], None]
"""Makes a world be about something."""


# --- what clients do


def _logs(random: Random, options: Options) -> None:
    """Messages, and nothing made of them."""
    options.producers = random.choice((1, 2, 3))
    options.sequenced = random.choice((1, 1, 2))
    options.library = random.choice((0, 1, 2))
    options.consumers = random.choice((0, 1, 2))
    options.think_ns = random.choice((20_000_000, 50_000_000, 200_000_000))
    options.p_resends = random.choice((0.0, 0.5))


def _segments(random: Random, options: Options) -> None:
    """Logs of many segments, which lose their beginnings or are compacted."""
    _logs(random, options)
    options.topics, options.partitions_max = random.choice((1, 1, 2)), random.choice((1, 1, 2))
    options.segment_bytes = random.choice((300, 1_000, 3_000))
    options.index_interval_bytes = random.choice((1, 200, 1_000))
    options.checkpoint_bytes = random.choice((1, 500, 64 << 20))
    options.compaction_pause_ns = random.choice((100_000_000, 100_000_000, 2_000_000_000))
    options.think_ns = random.choice((20_000_000, 50_000_000))
    options.value_bytes_max = random.choice((10, 100))
    if random.random() < 0.4:
        options.retention, options.retention_bytes = True, random.choice((1_000, 4_000))
    else:
        options.p_compact, options.p_tombstone = random.choice((0.7, 1.0)), random.choice((0.1, 0.3))


def _queues(random: Random, options: Options) -> None:
    """Work queues with all that goes with them: lanes, retries, dead letters, messages that expire."""
    options.workers, options.shared_groups = random.choice((1, 2, 3)), random.choice((1, 2, 2))
    options.visibility_ms = random.choice((1_000, 1_000, 5_000))
    options.attempts_max = random.choice((1, 2, 2, 4))
    options.session_ms_max = random.choice((3_000, 6_000))
    options.held_max = random.choice((5, 1_000))
    options.p_stray = random.choice((0.0, 0.02, 0.05))
    options.p_delay = random.choice((0.0, 0.0, 0.3))
    options.schedulers = random.choice((0, 1)) if options.p_delay else 0
    options.lane_weights = random.choice(("", "5/4/3/2/1", "3/1/1/1/1"))
    options.starvation_ms = random.choice((0, 200, 500))
    options.producers, options.sequenced, options.consumers = random.choice((1, 2)), 0, 0
    options.think_ns = random.choice((30_000_000, 100_000_000))
    options.topics, options.partitions_max = random.choice((1, 1, 2)), random.choice((1, 2, 2))
    options.ledger_page_bytes = random.choice((200, 2_000, 20_000))
    # Of what was drawn here there is nothing any more, and all that is drawn after it stays as it was.
    random.choice((50, 500, 5_000))
    random.choice((50, 500))
    options.side_segment_bytes = random.choice((300, 1_000, 10_000))


def _groups(random: Random, options: Options) -> None:
    """Consumer groups that come and go, and who looks after them."""
    options.members, options.eager_members = random.choice(((2, 0), (2, 1), (3, 0), (1, 2)))
    options.groups = random.choice((1, 1, 2))
    options.polls = random.random() < 0.5
    options.session_ms_max = random.choice((6_000, 6_000, 18_000))
    options.producers, options.sequenced, options.consumers = 1, 0, 0
    options.operators = random.choice((0, 1))
    options.p_stray = random.choice((0.0, 0.03))
    options.partitions_max = random.choice((2, 3, 4))
    options.think_ns = random.choice((100_000_000, 200_000_000, 500_000_000))
    # The journal of the groups is compacted as well.
    options.segment_bytes = random.choice((500, 3_000, 1 << 30))
    options.compaction_pause_ns = random.choice((100_000_000, 2_000_000_000))


def _delays(random: Random, options: Options) -> None:
    """Messages that come later, and who changes their mind about them."""
    options.p_delay, options.schedulers = random.choice((0.3, 0.7, 1.0)), random.choice((0, 1, 2))
    options.producers, options.sequenced, options.consumers = random.choice((1, 2)), 0, random.choice((0, 1))
    options.library = random.choice((0, 1, 2))
    options.think_ns = random.choice((30_000_000, 100_000_000))
    options.summary_bytes = random.choice((200, 1_000, 5_000))
    options.summary_bytes_a_message = random.choice((0, 0, 20))
    options.summary_part_messages = random.choice((1, 3, 20))
    options.side_segment_bytes = random.choice((300, 1_000, 10_000))


# --- what befalls nodes


def _anything(random: Random, options: Options) -> None:
    """Whatever was drawn."""


def _elections(random: Random, options: Options) -> None:
    """Leaders and controllers that are replaced all the time."""
    options.calamities = random.choice((
        ("kill", "isolate"), ("kill", "pause", "refuse"), ("isolate", "partition", "deafen"), ("stop", "kill", "pause"),
    ))  # fmt: skip
    options.calamities += ("outpace",) * random.choice((0, 0, 1))
    options.calamity_ns = random.choice((1_000_000_000, 2_000_000_000))
    options.calamity_lasts_s = random.choice(((0.2, 1.0), (0.5, 2.0, 3.0)))
    options.replicas_max = random.choice((2, 3, 3))


def _lagging(random: Random, options: Options) -> None:
    """Followers that are far behind their leaders and lead themselves next: logs are cut."""
    options.calamities = random.choice((
        ("isolate", "rift"), ("rift", "pause", "deafen", "kill"), ("isolate", "slow", "kill"), ("deafen", "isolate"),
    ))  # fmt: skip
    if random.random() < 0.7:
        options.calamities += ("outpace",) * random.choice((1, 2, 4))
    options.calamity_ns = random.choice((2_000_000_000, 3_000_000_000))
    options.calamity_lasts_s = random.choice(((1.0, 3.0), (3.0, 6.0)))
    options.replica_lag_ns = random.choice((500_000_000, 1_000_000_000, 3_000_000_000))
    options.letter_ns_max = random.choice((20_000_000, 100_000_000, 300_000_000))
    options.replicas_max, options.min_insync = random.choice((2, 3, 3)), random.choice((1, 2, 2))
    options.seconds = random.choice((30, 40, 50))


def _power(random: Random, options: Options) -> None:
    """Machines that lose their power, and disks that fail."""
    options.calamities = random.choice((
        ("crash",), ("crash", "blackout"), ("crash", "syncs", "writes"), ("crash", "full", "slow"), ("kill", "crash"),
    ))  # fmt: skip
    options.calamities += ("last",) * random.choice((0, 1, 3))
    options.calamity_ns = random.choice((1_500_000_000, 3_000_000_000))
    options.calamity_lasts_s = random.choice(((0.1, 1.0), (0.2, 2.0, 4.0)))
    options.fsyncs = random.choice((("every",), ("every", "interval", "none"), ("interval", "none"), ("none",)))
    options.p_slow = random.choice((0.0, 0.3, 0.7))
    options.replicas_max = random.choice((1, 2, 2, 3, 3))
    if "last" in options.calamities:
        # The last one in sync goes on alone, and loses what its disk has not synced.
        options.replicas_max, options.min_insync = random.choice((2, 2, 3)), 1
        options.fsyncs = random.choice((options.fsyncs, ("interval", "none"), ("none",)))
        if random.random() < 0.6:
            # There is time for the others to be dropped from those in sync, and back, before the next of it.
            options.calamities, options.calamity_lasts_s = ("last", "last", "kill"), (4.0,)
            options.calamity_ns, options.replicas_max = 5_000_000_000, 2
            options.think_ns = min(options.think_ns, 100_000_000)


def _metadata(random: Random, options: Options) -> None:
    """Metadata that changes and is summed up all the time, while nodes are away and lose their disks."""
    options.calamities = random.choice((
        ("wipe", "wipe", "kill"), ("kill", "isolate", "rolling"), ("wipe", "crash", "isolate"),
        ("kill", "storm", "pause"), ("wipe",),
    ))  # fmt: skip
    if "wipe" in options.calamities:
        # The only replica of a partition keeps its disk.
        options.replicas_max, options.replica_lag_ns = random.choice((2, 3)), 1_000_000_000
    options.calamity_ns = random.choice((2_000_000_000, 4_000_000_000))
    options.calamity_lasts_s = (1.0, 4.0, 6.0)
    options.metadata_entries = random.choice((3, 5, 10))
    options.metadata_entries_a_topic = random.choice((0, 1))
    options.quorum_piece_bytes = random.choice((50, 200, 500))
    options.metadata_segment_bytes = random.choice((300, 2_000, 1 << 30))
    options.stewards = random.choice((1, 2))
    if not options.visitors:
        options.p_topic_change = random.choice((0.01, 0.03, 0.06))
    options.founders = random.choice((0, 0, 1))


def _clocks(random: Random, options: Options) -> None:
    """Clocks that jump and drift, and machines that stand still."""
    options.calamities = ("clock", *random.choice((("pause",), ("pause", "kill"), ("isolate",), ("crash",))))
    options.calamity_ns = random.choice((1_000_000_000, 2_000_000_000))
    options.skew_ms_max = random.choice((0, 1_000, 100_000))
    options.drift_ppm_max = random.choice((0, 100, 1_000))


WORK: dict[str, Profile] = {
    "logs": _logs, "segments": _segments, "queues": _queues, "groups": _groups, "delays": _delays,
}  # fmt: skip
"""What clients do."""

TROUBLE: dict[str, Profile] = {
    "anything": _anything, "elections": _elections, "lagging": _lagging, "power": _power, "metadata": _metadata,
    "clocks": _clocks,
}  # fmt: skip
"""What befalls nodes."""

_SHARES = {"elections": 2, "lagging": 3, "power": 3, "metadata": 3}
"""Of what needs several things at once there is more; all else has a share of one."""


def draw_profile(random: Random, options: Options) -> None:
    """Make a world be about some work and some trouble."""
    work = random.choice([*WORK])
    (trouble,) = random.choices([*TROUBLE], [_SHARES.get(trouble, 1) for trouble in TROUBLE])
    options.members = options.eager_members = options.workers = options.operators = 0
    options.small_segments = options.retention = False
    if random.random() < 0.7:
        # What a weak topic promises is little.
        options.fsyncs = ("every",)
    options.p_delay, options.schedulers, options.p_compact = 0.0, 0, 0.0
    WORK[work](random, options)
    TROUBLE[trouble](random, options)
    options.profile = f"{work} {trouble}"
