"""What differs between two worlds: sizes, habits of clients, and which faults there are, all drawn from a seed.

Every world draws its own subset of faults (a swarm): where everything fails all the time, nothing gets far enough to be
broken in an interesting way. A rate of zero switches a fault off.
"""

from random import Random

import attrs

from goqueue.core.thresholds import Thresholds

CALAMITIES = (
    "kill", "crash", "stop", "pause", "isolate", "partition", "rift", "deafen", "storm", "full", "slow", "syncs",
    "writes", "clock", "rolling", "blackout", "wipe", "refuse", "last",
)  # fmt: skip
"""All kinds of calamities that befall clusters."""


@attrs.define
class Options:
    """One world's settings; rates are chances for each step."""

    steps: int = 150
    # A cluster lives by the clock: that many seconds of trouble instead of that many steps.
    nodes: int = 1
    seconds: int = 0
    founders: int = 0
    replicas_max: int = 1
    min_insync: int = 1
    patience_ns: int = 60_000_000
    calamities: tuple[str, ...] = ()
    calamity_ns: int = 5_000_000_000
    calamity_lasts_s: tuple[float, ...] = (0.2, 1.0, 4.0, 8.0)
    # Those that do not happen, by their numbers.
    spared: tuple[int, ...] = ()
    letter_ns_max: int = 1_000_000
    p_letter_loss: float = 0.0
    p_letter_double: float = 0.0
    letters_overtake: bool = False
    encodes: bool = False
    skew_ms_max: int = 0
    replica_lag_ns: int = 10_000_000_000
    drift_ppm_max: int = 0
    p_acks_leader: float = 0.0
    stewards: int = 0
    producers: int = 2
    consumers: int = 1
    sequenced: int = 0
    # Producers as the client library has them.
    library: int = 0
    # Members of consumer groups, of either kind, and who looks after the groups.
    groups: int = 1
    members: int = 0
    eager_members: int = 0
    polls: bool = False
    operators: int = 0
    session_ms_max: int = 6_000
    # Who comes back to groups of their own, and for how long those are kept.
    visitors: int = 0
    visit_ms: int = 0
    # Members of shared groups, how long they may keep what they were given, and how often it is tried.
    shared_groups: int = 1
    workers: int = 0
    visibility_ms: int = 1_000
    attempts_max: int = 3
    held_max: int = 1_000
    # The shares of the lanes and how long one may starve, where they are not as a topic has them by itself.
    lane_weights: str = ""
    starvation_ms: int = 0
    # Messages that are to come later, or not for ever; who changes their mind about them, and about dead letters.
    p_delay: float = 0.0
    p_ttl: float = 0.0
    schedulers: int = 0
    undertakers: int = 0
    p_stray: float = 0.0
    # Clients whose batches nobody could read.
    hostiles: int = 0
    topics: int = 2
    partitions_max: int = 2
    value_bytes_max: int = 100
    in_flight_max: int = 3
    think_ns: int = 1_000_000
    wait_ns_max: int = 20_000_000
    fsyncs: tuple[str, ...] = ("every",)
    small_segments: bool = False
    retention: bool = False
    alters_fsync: bool = False
    p_compact: float = 0.0
    p_tombstone: float = 0.0
    p_resends: float = 0.0
    p_acks_none: float = 0.0
    delay_ns_max: int = 50_000
    p_split: float = 0.0
    p_pause: float = 0.0
    p_rot: float = 0.0
    p_cut: float = 0.0
    p_half_open: float = 0.0
    p_stall: float = 0.0
    p_hang_up: float = 0.0
    recent_bytes: int = 0
    p_batch: float = 0.3
    p_topic_change: float = 0.02
    p_cold: float = 0.0
    p_slow: float = 0.0
    reserves: bool = False
    p_crash: float = 0.0
    p_kill: float = 0.0
    p_cut_inside: float = 0.0
    p_stop: float = 0.0
    p_sync_error: float = 0.0
    p_write_error: float = 0.0
    p_read_error: float = 0.0
    p_other_error: float = 0.0
    p_full: float = 0.0
    p_clock_jump: float = 0.0
    # The thresholds of the nodes (`core/thresholds.py`), small ones and those of brokers that serve.
    metadata_entries: int = 1000
    metadata_entries_a_topic: int = 4
    quorum_piece_bytes: int = 256 << 10
    queue_snapshot_bytes: int = 64 << 10
    moves_snapshot_bytes: int = 64 << 10
    ledger_page_bytes: int = 1 << 20
    summary_bytes: int = 64 << 20
    summary_bytes_a_message: int = 256
    summary_part_messages: int = 2_048
    side_segment_bytes: int = 16 << 20
    compaction_pause_ns: int = 15_000_000_000

    def thresholds(self) -> Thresholds:
        """Those of the nodes of this world."""
        return Thresholds(**{each.name: getattr(self, each.name) for each in attrs.fields(Thresholds)})

    @property
    def is_calm(self) -> bool:
        """Whether nothing ever fails."""
        return not self.calamities and not any(getattr(self, rate) for rate in _FAULTS)

    def text(self) -> str:
        """What is not the default, for people."""
        plain = Options()
        differing = (name for name in attrs.asdict(self) if getattr(self, name) != getattr(plain, name))
        return " ".join(f"{name}={getattr(self, name)}" for name in differing)


_FAULTS = (
    "p_letter_loss", "p_slow", "p_split", "p_pause", "p_rot", "p_cut", "p_half_open", "p_stall", "p_crash", "p_kill",
    "p_cut_inside", "p_stop", "p_sync_error", "p_write_error", "p_read_error", "p_other_error", "p_full",
    "p_clock_jump",
)  # fmt: skip
"""The rates of what a node may suffer from."""


def draw_options(random: Random) -> Options:
    """One world's settings."""

    def rate(most: float, share: float = 0.4) -> float:
        return round(random.uniform(0.1 * most, most), 4) if random.random() < share else 0.0

    options = Options(
        steps=random.choice((100, 100, 150, 250)),
        producers=random.randint(1, 3),
        sequenced=random.choice((0, 0, 1, 2)),
        consumers=random.randint(0, 2),
        topics=random.randint(1, 3),
        partitions_max=random.choice((1, 1, 2, 3)),
        value_bytes_max=random.choice((10, 100, 3_000, 20_000)),
        in_flight_max=random.choice((1, 3, 10)),
        think_ns=random.choice((0, 300_000, 3_000_000)),
        wait_ns_max=random.choice((0, 5_000_000, 100_000_000)),
        fsyncs=random.choice((("every",), ("every",), ("every", "interval", "none"), ("interval",), ("none",))),
        small_segments=random.random() < 0.5,
        retention=random.random() < 0.3,
        p_batch=random.choice((0.0, 0.3, 1.0)),
        p_topic_change=rate(0.1, 0.6),
        p_cold=rate(1.0),
        p_slow=rate(0.2),
        reserves=random.random() < 0.1,
        p_crash=rate(0.02),
        p_kill=rate(0.02),
        p_cut_inside=rate(0.02),
        p_stop=rate(0.01),
        p_sync_error=rate(0.02),
        p_write_error=rate(0.02),
        p_read_error=rate(0.02, 0.2),
        p_other_error=rate(0.02, 0.2),
        p_full=rate(0.01, 0.3),
        p_clock_jump=rate(0.02, 0.3),
        p_compact=random.choice((0.0, 0.0, 0.0, 0.7)),
        p_tombstone=random.choice((0.0, 0.2)),
        alters_fsync=random.random() < 0.2,
        delay_ns_max=random.choice((1_000, 100_000, 5_000_000)),
        p_resends=random.choice((0.0, 0.0, 0.5)),
        p_split=random.choice((0.0, 0.0, 0.0, 0.0, 0.2, 1.0)),
        p_pause=rate(0.02, 0.3),
        p_rot=rate(0.1, 0.3),
        p_acks_none=random.choice((0.0, 0.0, 0.1)),
        p_cut=rate(0.03, 0.3),
        p_half_open=rate(0.02, 0.3),
        p_stall=rate(0.02, 0.3),
        p_hang_up=rate(0.03, 0.3),
        recent_bytes=random.choice((0, 2_000, 1 << 20)),
    )
    drawn = random.random()
    if drawn < 0.25:
        _draw_groups(random, options)
    elif drawn < 0.5:
        _draw_work(random, options)
    _draw_library(random, options)
    options.hostiles = random.choice((0, 0, 0, 0, 1))
    _draw_visitors(random, options)
    _draw_thresholds(random, options)
    return options


def draw_cluster(random: Random, nodes: int) -> Options:
    """The settings of a world of several nodes: less of everything, for longer, and calamities instead of bad luck."""
    options = Options(
        steps=0,
        nodes=nodes,
        seconds=random.choice((20, 30, 40)),
        founders=random.choice((0, 0, 0, 1)),
        replicas_max=random.choice((1, 2, 3, 3, 3)),
        min_insync=random.choice((1, 1, 2)),
        patience_ns=random.choice((1_000_000_000, 5_000_000_000, 35_000_000_000)),
        calamities=tuple(kind for kind in CALAMITIES[:-1] if random.random() < 0.4),
        calamity_ns=random.choice((2_000_000_000, 5_000_000_000, 10_000_000_000)),
        letter_ns_max=random.choice((200_000, 2_000_000, 20_000_000)),
        p_letter_loss=random.choice((0.0, 0.0, 0.0, 0.01, 0.05)),
        p_letter_double=random.choice((0.0, 0.0, 0.02)),
        letters_overtake=random.random() < 0.3,
        encodes=random.random() < 0.3,
        replica_lag_ns=random.choice((1_000_000_000, 3_000_000_000, 10_000_000_000)),
        skew_ms_max=random.choice((0, 0, 1_000, 100_000)),
        drift_ppm_max=random.choice((0, 0, 100)),
        p_acks_leader=random.choice((0.0, 0.0, 0.2)),
        stewards=random.choice((0, 0, 1)),
        producers=random.randint(1, 2),
        sequenced=random.choice((0, 1, 1)),
        consumers=random.choice((0, 1, 1)),
        topics=random.choice((1, 2)),
        partitions_max=random.choice((1, 2, 3)),
        value_bytes_max=random.choice((10, 100, 1_000)),
        in_flight_max=random.choice((1, 3)),
        think_ns=random.choice((50_000_000, 200_000_000, 500_000_000)),
        wait_ns_max=random.choice((100_000_000, 500_000_000)),
        fsyncs=random.choice((("every",), ("every",), ("every",), ("every", "interval", "none"), ("interval", "none"))),
        p_batch=random.choice((0.0, 0.3, 1.0)),
        p_resends=random.choice((0.0, 0.0, 0.5)),
        p_acks_none=random.choice((0.0, 0.0, 0.1)),
        delay_ns_max=random.choice((100_000, 5_000_000)),
        p_split=random.choice((0.0, 0.0, 0.0, 0.2)),
        recent_bytes=random.choice((0, 2_000, 1 << 20)),
    )
    drawn = random.random()
    if drawn < 0.2:
        _draw_members(random, options)
    elif drawn < 0.4:
        _draw_workers(random, options)
    options.p_topic_change = random.choice((0.0, 0.0, 0.01))
    if not options.workers and random.random() < 0.2:
        _draw_upkeep(random, options)
    _draw_library(random, options)
    options.hostiles = random.choice((0, 0, 0, 0, 1))
    if random.random() < 0.3:
        options.calamities += CALAMITIES[-1:]
    _draw_visitors(random, options)
    _draw_thresholds(random, options)
    return options


def _draw_thresholds(random: Random, options: Options) -> None:
    """What only large brokers do, in most worlds."""
    options.metadata_entries = random.choice((3, 10, 30, 1000))
    options.metadata_entries_a_topic = random.choice((0, 1, 4))
    options.quorum_piece_bytes = random.choice((50, 500, 256 << 10))
    options.queue_snapshot_bytes = random.choice((50, 500, 5_000, 64 << 10))
    options.moves_snapshot_bytes = random.choice((50, 500, 64 << 10))
    options.ledger_page_bytes = random.choice((200, 2_000, 20_000, 1 << 20))
    options.summary_bytes = random.choice((200, 2_000, 20_000, 64 << 20))
    options.summary_bytes_a_message = random.choice((0, 0, 256))
    options.summary_part_messages = random.choice((1, 3, 20, 2_048))
    options.side_segment_bytes = random.choice((1_000, 10_000, 16 << 20))
    options.compaction_pause_ns = random.choice((100_000_000, 2_000_000_000, 15_000_000_000))


def _draw_library(random: Random, options: Options) -> None:
    """Producers of the library, some of whose messages come later."""
    options.library = random.choice((0, 0, 1, 1, 2))
    if options.library and not options.p_delay:
        options.p_delay = random.choice((0.0, 0.0, 0.3))


def _draw_visitors(random: Random, options: Options) -> None:
    """Groups that are forgotten while the world goes on; the topics stay, as offsets go with them."""
    if random.random() < 0.15:
        options.visitors = random.choice((1, 2))
        options.visit_ms = random.choice((1_000, 4_000))
        options.p_topic_change = 0.0
        options.think_ns = max(options.think_ns, 30_000_000)


def _draw_members(random: Random, options: Options) -> None:
    """Consumer groups in a cluster."""
    options.members, options.eager_members = random.choice(((2, 0), (1, 1), (3, 0), (0, 2)))
    options.polls = random.random() < 0.5
    options.session_ms_max = random.choice((6_000, 18_000))
    options.producers, options.sequenced, options.consumers = 1, 0, 0
    options.operators = random.choice((0, 0, 1))
    options.p_stray = random.choice((0.0, 0.03))
    options.partitions_max = random.choice((2, 3, 4))
    options.think_ns = random.choice((200_000_000, 1_000_000_000))


def _draw_workers(random: Random, options: Options) -> None:
    """Work queues and delays in a cluster."""
    options.workers = random.choice((1, 2, 3))
    options.shared_groups = random.choice((1, 2))
    options.visibility_ms = random.choice((1_000, 5_000))
    options.attempts_max = random.choice((1, 2, 4))
    options.session_ms_max = random.choice((3_000, 6_000))
    options.p_stray = random.choice((0.0, 0.02))
    options.p_delay = random.choice((0.0, 0.0, 0.3))
    options.schedulers = random.choice((0, 1)) if options.p_delay else 0
    options.producers, options.sequenced, options.consumers = 1, 0, 0
    options.think_ns = random.choice((100_000_000, 300_000_000))


def _draw_upkeep(random: Random, options: Options) -> None:
    """Logs in a cluster that are compacted or lose their beginnings: for that they must have some segments."""
    options.small_segments = True
    options.value_bytes_max = random.choice((10_000, 20_000))
    if random.random() < 0.5:
        options.retention = True
    else:
        options.p_compact, options.p_tombstone = 0.7, random.choice((0.0, 0.2))


def _draw_work(random: Random, options: Options) -> None:
    """Work queues live by the second as well, and nothing of theirs is about compaction."""
    options.shared_groups = random.choice((1, 2, 2))
    options.workers = random.choice((0, 1, 2, 4))
    options.visibility_ms = random.choice((200, 1_000, 5_000))
    options.attempts_max = random.choice((1, 2, 4))
    options.held_max = random.choice((1, 5, 1_000))
    options.session_ms_max = random.choice((1_000, 3_000, 6_000))
    options.p_stray = random.choice((0.0, 0.02, 0.1))
    options.p_delay = random.choice((0.0, 0.0, 0.3, 1.0)) if options.workers else random.choice((0.3, 1.0))
    options.p_ttl = random.choice((0.0, 0.0, 0.3))
    options.schedulers = random.choice((0, 1)) if options.p_delay else 0
    options.undertakers = random.choice((0, 0, 1)) if options.workers else 0
    options.producers = random.choice((1, 1, 2))
    options.sequenced = random.choice((0, 0, 1))
    options.consumers = random.choice((0, 1))
    options.p_compact = options.p_tombstone = 0.0
    options.steps = random.choice((150, 250, 400))
    options.think_ns = random.choice((3_000_000, 30_000_000, 200_000_000))
    options.lane_weights = random.choice(("", "5/4/3/2/1", "3/1/1/1/1"))
    options.starvation_ms = random.choice((0, 500))


def _draw_groups(random: Random, options: Options) -> None:
    """Groups live by the second: such a world is longer, slower and has less of everything else."""
    options.groups = random.choice((1, 1, 2))
    options.members = random.randint(0, 3)
    options.eager_members = random.randint(0 if options.members > 1 else 1, 2)
    options.polls = random.random() < 0.5
    options.operators = random.choice((0, 1))
    options.session_ms_max = random.choice((1_000, 3_000, 6_000, 18_000))
    options.p_stray = random.choice((0.0, 0.03, 0.1))
    options.producers = 1
    options.partitions_max = random.choice((2, 3, 4))
    options.sequenced = min(options.sequenced, 1)
    options.consumers = 0
    options.steps = random.choice((250, 400))
    options.think_ns = random.choice((30_000_000, 200_000_000, 1_000_000_000, 5_000_000_000))
