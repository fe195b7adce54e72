"""What a world of one node is mostly about: what its clients do, and what goes wrong, drawn by themselves.

A node that is alone lives by steps, and what goes wrong is a chance at each of them.
"""

from random import Random

from attrs import define, field

from goqueue.fuzz.drawing.cluster_profiles import Profile
from goqueue.fuzz.options import FAULT_RATES, Options

# --- what clients do


def _logs(random: Random, options: Options) -> None:
    """Messages, and nothing made of them."""
    options.producers, options.sequenced = random.choice((1, 2)), random.choice((0, 1, 2))
    options.library, options.consumers = random.choice((0, 1, 2)), random.choice((1, 2))
    options.steps = random.choice((250, 500))
    options.think_ns = random.choice((300_000, 3_000_000))


def _segments(random: Random, options: Options) -> None:
    """Logs of many segments, which lose their beginnings or are compacted."""
    _logs(random, options)
    options.topics, options.partitions_max = random.choice((1, 1, 2)), 1
    options.segment_bytes = random.choice((300, 1_000, 3_000))
    options.index_interval_bytes = random.choice((1, 200, 1_000))
    options.checkpoint_bytes = random.choice((1, 500, 64 << 20))
    options.compaction_pause_ns = 100_000_000
    options.value_bytes_max = random.choice((10, 100))
    options.steps = random.choice((500, 1_000))
    options.think_ns = random.choice((3_000_000, 20_000_000))
    options.p_topic_change = random.choice((0.0, 0.0, 0.02))
    if random.random() < 0.4:
        options.retention, options.retention_bytes = True, random.choice((1_000, 4_000))
    else:
        options.p_compact, options.p_tombstone = random.choice((0.7, 1.0)), random.choice((0.1, 0.3))
        options.keys = random.choice((3, 3, 30))


def _queues(random: Random, options: Options) -> None:
    """Work queues with all that goes with them: lanes, retries, dead letters, redrives, messages that expire."""
    options.workers, options.shared_groups = random.choice((1, 2, 4)), random.choice((1, 2, 2))
    options.visibility_ms, options.attempts_max = random.choice((200, 1_000, 5_000)), random.choice((1, 2, 2, 4))
    options.held_max, options.session_ms_max = random.choice((1, 5, 1_000)), random.choice((1_000, 3_000, 6_000))
    options.p_stray = random.choice((0.0, 0.02, 0.1))
    options.p_delay, options.p_ttl = random.choice((0.0, 0.0, 0.3)), random.choice((0.0, 0.0, 0.3))
    options.schedulers = random.choice((0, 1)) if options.p_delay else 0
    options.undertakers = random.choice((0, 1, 2))
    options.p_batch = random.choice((0.0, 0.3))
    options.lane_weights = random.choice(("", "5/4/3/2/1", "3/1/1/1/1"))
    options.starvation_ms = random.choice((0, 100, 500))
    options.producers, options.sequenced, options.consumers = random.choice((1, 2, 3)), 0, 0
    options.steps = random.choice((1_500, 4_000))
    options.think_ns = random.choice((3_000_000, 30_000_000))
    options.topics, options.partitions_max = random.choice((1, 1, 2)), random.choice((1, 2))
    options.ledger_page_bytes = random.choice((200, 2_000, 20_000))
    options.side_segment_bytes = random.choice((300, 1_000, 10_000))


def _lanes(random: Random, options: Options) -> None:
    """More comes than is worked off, so that lanes have something to share."""
    _queues(random, options)
    options.producers, options.workers, options.in_flight_max, options.p_ttl = 4, 1, 10, 0.0
    options.shared_groups, options.topics, options.partitions_max, options.think_ns = 1, 1, 1, 5_000_000
    options.lane_weights, options.starvation_ms = random.choice(
        (("5/4/3/2/1", 0), ("50/25/15/7/1", 0), ("50/25/15/7/1", 100), ("50/25/15/7/1", 100))
    )
    options.p_stray, options.p_delay, options.schedulers, options.undertakers = 0.0, 0.0, 0, 0
    options.visibility_ms, options.p_batch, options.steps = 5_000, 0.0, 1_500
    options.p_topic_change, options.value_bytes_max, options.library = 0.0, 20, 0


def _letters(random: Random, options: Options) -> None:
    """Messages that nobody is done with, and people who send them back, purge them, and look what is left."""
    _queues(random, options)
    options.attempts_max, options.undertakers, options.bold = 1, 3, True
    options.topics, options.partitions_max, options.producers = 1, random.choice((1, 1, 2)), 3
    options.visibility_ms, options.p_stray, options.held_max = 200, 0.05, 1_000
    options.ledger_page_bytes, options.think_ns = random.choice((200, 200, 2_000)), 10_000_000
    options.p_ttl, options.p_delay, options.schedulers, options.steps = 0.0, 0.0, 0, 2_500
    options.p_topic_change, options.value_bytes_max, options.library = 0.0, 20, 0
    options.workers, options.shared_groups = random.choice((2, 3)), random.choice((1, 1, 2))


def _groups(random: Random, options: Options) -> None:
    """Consumer groups that come and go, and who looks after them."""
    options.groups, options.topics = random.choice((1, 1, 2, 3)), random.choice((1, 1, 2, 3))
    options.members, options.eager_members = random.choice(((2, 0), (3, 1), (1, 2), (3, 0), (3, 2)))
    options.polls = random.random() < 0.5
    options.operators = random.choice((0, 1, 2))
    options.session_ms_max = random.choice((1_000, 3_000, 6_000))
    options.p_stray = random.choice((0.0, 0.01, 0.02, 0.05, 0.15))
    options.producers, options.sequenced, options.consumers = 1, 0, 0
    options.partitions_max = random.choice((2, 3, 4))
    options.steps = random.choice((2_000, 3_500))
    options.think_ns = random.choice((30_000_000, 100_000_000))
    options.segment_bytes = random.choice((500, 3_000, 1 << 30))
    options.compaction_pause_ns = random.choice((100_000_000, 2_000_000_000))


def _visits(random: Random, options: Options) -> None:
    """Groups that are used for longer than they are kept, and forgotten when nobody comes back."""
    options.visitors, options.visit_ms = random.choice((2, 4, 6)), random.choice((1_500, 4_000))
    options.producers, options.sequenced, options.consumers = random.choice((0, 1)), 0, 0
    options.think_ns = random.choice((100_000_000, 300_000_000))
    options.steps = random.choice((500, 1_500))


def _delays(random: Random, options: Options) -> None:
    """Messages that come later, and who changes their mind about them."""
    options.p_delay, options.schedulers = random.choice((0.3, 0.7, 1.0)), random.choice((0, 1, 2))
    options.producers, options.sequenced, options.consumers = random.choice((1, 2, 3)), 0, random.choice((0, 1))
    options.library = random.choice((0, 1, 2))
    options.steps = random.choice((1_000, 2_500))
    options.think_ns = random.choice((3_000_000, 30_000_000))
    options.summary_bytes = random.choice((200, 1_000, 5_000))
    options.summary_bytes_a_message = random.choice((0, 0, 20))
    options.summary_part_messages = random.choice((1, 3, 20))
    options.side_segment_bytes = random.choice((300, 1_000, 10_000))


def _programs(random: Random, options: Options) -> None:
    """Programs that use the client library: more readers than is good, or work that takes longer than a lease."""
    options.producers, options.sequenced, options.consumers, options.library = 0, 0, 0, 0
    options.publishers, options.readers, options.laborers = random.choice(
        ((2, 3, 0), (3, 3, 0), (1, 0, 3), (1, 0, 2), (2, 1, 1))
    )
    options.topics, options.partitions_max = 1, random.choice((1, 3))
    options.value_bytes_max, options.session_ms_max = random.choice((20, 20, 3_000)), 3_000
    options.visibility_ms, options.attempts_max = random.choice((500, 500, 1_000)), random.choice((2, 4))
    options.steps, options.think_ns = random.choice((500, 800)), random.choice((60_000_000, 200_000_000))
    options.p_topic_change, options.p_stray = random.choice((0.0, 0.0, 0.02)), random.choice((0.02, 0.05))
    options.wire_trouble_ns = random.choice((0, 0, 300_000_000))


def _quiet(random: Random, options: Options) -> None:
    """Little comes, and everybody waits for it as long as he has said."""
    options.producers, options.sequenced, options.consumers, options.library = 1, 0, 2, 0
    options.topics, options.partitions_max, options.p_topic_change = 1, 1, 0.0
    options.think_ns, options.wait_ns_max = 6_000_000_000, random.choice((100_000_000, 2_000_000_000))
    options.patience_ns, options.steps = 20_000_000_000, 100
    options.members, options.workers = random.choice((0, 1)), random.choice((0, 1))


def _streams(random: Random, options: Options) -> None:
    """More than a window goes through each stream of a connection, as fast as it can."""
    options.producers, options.consumers, options.sequenced, options.library = 2, random.choice((1, 2)), 0, 0
    options.topics, options.partitions_max, options.p_topic_change = 1, 1, 0.0
    options.value_bytes_max, options.p_batch, options.in_flight_max = 20_000, 1.0, 10
    options.think_ns, options.delay_ns_max, options.steps = 200_000, 100_000, random.choice((400, 2_000))


# --- what goes wrong


def _anything(random: Random, options: Options) -> None:
    """Whatever was drawn."""


def _nothing(_: Random, options: Options) -> None:
    """Nothing: every promise holds exactly."""
    for rate in FAULT_RATES:
        setattr(options, rate, 0.0)


def _power(random: Random, options: Options) -> None:
    """Machines that lose their power at any moment, also amid an operation of the disk."""
    _nothing(random, options)
    options.p_crash, options.p_cut_inside = random.choice(((0.01, 0.0), (0.0, 0.02), (0.02, 0.02)))
    options.p_kill, options.p_stop = random.choice((0.0, 0.01)), random.choice((0.0, 0.01))
    options.p_aimed = random.choice((0.0, 0.02, 0.05))
    options.p_split = random.choice((0.0, 0.2, 1.0))


def _disks(random: Random, options: Options) -> None:
    """Disks that fail one operation after another, and processes that begin again on them."""
    _nothing(random, options)
    options.p_sync_error, options.p_write_error = random.choice(((0.03, 0.0), (0.0, 0.03), (0.03, 0.03)))
    options.p_kill, options.p_crash = random.choice((0.01, 0.03)), random.choice((0.01, 0.03))
    options.p_full, options.p_other_error = random.choice((0.0, 0.02)), random.choice((0.0, 0.02))
    options.p_read_error = random.choice((0.0, 0.02))


def _rot(random: Random, options: Options) -> None:
    """Bits that rot, of one copy or of all that there is."""
    _nothing(random, options)
    options.p_rot = random.choice((0.02, 0.1))
    options.p_kill, options.p_pause = random.choice((0.0, 0.01)), random.choice((0.0, 0.01))
    options.p_full = random.choice((0.0, 0.02))
    options.fsyncs = random.choice((("every",), ("interval", "none")))
    options.consumers = max(options.consumers, 1)
    if options.retention and random.random() < 0.7:
        options.retention, options.p_compact = False, 1.0
    if options.p_compact:
        # A bit of a value, of which only the checksum of its batch knows: what is left of the batch is sealed anew.
        options.p_batch, options.p_tombstone, options.keys = 1.0, 0.0, 6
        options.value_bytes_max, options.segment_bytes = 3_000, random.choice((5_000, 20_000))
        options.topics, options.partitions_max, options.p_rot = 2, 3, random.choice((0.01, 0.03))


def _settings(random: Random, options: Options) -> None:
    """Topics whose settings change while they are used, and machines that lose their power then."""
    _nothing(random, options)
    options.alters_fsync, options.p_topic_change = True, 0.08
    options.fsyncs = random.choice((("none",), ("interval",), ("every", "interval", "none")))
    options.p_crash, options.p_kill = random.choice((0.01, 0.02)), random.choice((0.0, 0.01))


def _links(random: Random, options: Options) -> None:
    """Answers that are lost, and requests that are sent again."""
    _nothing(random, options)
    options.p_cut, options.p_hang_up = random.choice((0.0, 0.03)), random.choice((0.02, 0.05))
    options.p_half_open, options.p_stall = random.choice((0.0, 0.02)), random.choice((0.0, 0.02))
    options.p_kill = random.choice((0.0, 0.01))
    options.p_resends = random.choice((0.0, 0.5))
    options.in_flight_max = random.choice((3, 10))
    options.delay_ns_max = random.choice((100_000, 5_000_000))


def _clocks(random: Random, options: Options) -> None:
    """Clocks that jump, and a machine that stands still."""
    _nothing(random, options)
    options.p_clock_jump, options.p_pause = random.choice((0.01, 0.03)), random.choice((0.0, 0.01))
    options.p_kill = random.choice((0.0, 0.01))


@define
class Work:
    """What clients do, how much of it there is among all, and which trouble it meets more often than once, or never."""

    draw: Profile
    share: int = 1
    troubles: dict[str, int] = field(factory=dict)


WORK: dict[str, Work] = {
    "logs": Work(_logs),
    "segments": Work(_segments, 2, {"rot": 5}),
    "queues": Work(_queues, 2),
    "lanes": Work(_lanes, 1, {"nothing": 9, "power": 0, "disks": 0, "rot": 0, "clocks": 0, "settings": 0}),
    "letters": Work(_letters, 2, {"rot": 0, "disks": 0, "nothing": 3, "links": 2, "clocks": 2}),
    "groups": Work(_groups, 2),
    "delays": Work(_delays),
    "visits": Work(_visits, 2),
    "programs": Work(_programs, 3, {"nothing": 4, "links": 2}),
    "streams": Work(_streams, 1, {"nothing": 4}),
    "quiet": Work(_quiet, 1, {"nothing": 3}),
}
"""What clients do."""

TROUBLE: dict[str, Profile] = {
    "anything": _anything, "nothing": _nothing, "power": _power, "links": _links, "clocks": _clocks,
    "disks": _disks, "rot": _rot, "settings": _settings,
}  # fmt: skip
"""What goes wrong."""


def _begun_anew(random: Random, options: Options) -> None:
    _nothing(random, options)
    options.p_cold, options.p_kill = 0.0, 0.05
    options.visitors, options.visit_ms, options.steps = 6, 1_500, 1_500


def _set_back_and_forth(random: Random, options: Options) -> None:
    _nothing(random, options)
    options.p_clock_jump = 0.05


_VISITED: tuple[Profile, ...] = (_begun_anew, _set_back_and_forth, _anything)
"""What befalls a node whose groups are forgotten."""


def draw_profile(random: Random, options: Options) -> None:
    """Make a world be about some work and some trouble."""
    (work,) = random.choices([*WORK], [one.share for one in WORK.values()])
    (trouble,) = random.choices([*TROUBLE], [WORK[work].troubles.get(one, 1) for one in TROUBLE])
    options.members = options.eager_members = options.workers = options.operators = options.undertakers = 0
    options.small_segments = options.retention = False
    options.p_delay, options.p_ttl, options.schedulers, options.p_compact = 0.0, 0.0, 0, 0.0
    if random.random() < 0.7:
        # What a weak topic promises is little.
        options.fsyncs = ("every",)
    options.reserves = False
    WORK[work].draw(random, options)
    TROUBLE[trouble](random, options)
    # Where a process dies every thirty steps, nothing gets as far as what takes a hundred.
    pace, p_rot = random.choice((1, 5, 20)), options.p_rot
    for rate in FAULT_RATES:
        setattr(options, rate, getattr(options, rate) / pace)
    options.p_rot = p_rot
    if work == "visits":
        # Groups are kept for seconds: either no process lives that long, or the clock says so of every span.
        random.choice(_VISITED)(random, options)
    if options.visitors:
        options.p_topic_change = 0.0
    options.profile = f"{work} {trouble}"
