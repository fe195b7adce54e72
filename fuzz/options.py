"""What differs between two worlds: sizes, habits of clients, and which faults there are.

A rate of zero switches a fault off. Not here: how a seed draws them (`drawing/`).
"""

import attrs

from goqueue.core.groups.bounds import GroupBounds
from goqueue.core.log.config import SEGMENT_BYTES_MAX
from goqueue.core.log.thresholds import Thresholds

CALAMITIES = (
    "kill", "crash", "stop", "pause", "isolate", "partition", "rift", "deafen", "storm", "full", "slow", "syncs",
    "writes", "clock", "rolling", "blackout", "wipe", "refuse", "last",
    "aimed", "amid", "reads", "others", "outpace", "address", "empty",
)  # fmt: skip
"""All kinds of calamities that befall clusters."""


@attrs.define
class Options:
    """One world's settings; rates are chances for each step."""

    steps: int = 150
    # What the world is mostly about.
    profile: str = ""
    # A cluster lives by the clock: that many seconds of trouble instead of that many steps.
    nodes: int = 1
    seconds: int = 0
    founders: int = 0
    # Whether an operator spreads partitions over nodes that join, and later lets nodes leave for good.
    grows: bool = False
    replicas_max: int = 1
    min_insync: int = 1
    patience_ns: int = 60_000_000
    calamities: tuple[str, ...] = ()
    calamity_ns: int = 5_000_000_000
    calamity_lasts_s: tuple[float, ...] = (0.2, 1.0, 4.0, 8.0)
    # Those that do not happen, by their numbers.
    spared: tuple[int, ...] = ()
    # Strikes of chance that do not happen, by their numbers, and clients that are not there, by their names.
    spared_strikes: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
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
    # Whether a node that is stopped has others lead first.
    leaves: bool = False
    # Who adds partitions, and forgets dead nodes that come back.
    meddlers: int = 0
    adds_partitions: bool = False
    forgets: bool = False
    # Lets replicas lead that may lack messages, where nobody else leads.
    unclean: bool = False
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
    # Whether every one of these sends dead letters back.
    bold: bool = False
    p_stray: float = 0.0
    # Clients whose batches nobody could read.
    hostiles: int = 0
    # Who asks for what is refused.
    petitioners: int = 0
    # Programs that use the client library: they publish, read as a group, work in shared groups.
    publishers: int = 0
    readers: int = 0
    laborers: int = 0
    # How often a connection of theirs comes to grief, on average; 0 for never.
    wire_trouble_ns: int = 0
    # How much a node keeps for them: answers, publishes without an answer, those of one stream.
    answer_bytes_max: int = 64 << 20
    publish_bytes_max: int = 64 << 20
    stream_bytes_max: int = 8 << 20
    # Whether topics differ in how they choose partitions, how large messages are and when segments end.
    varied: bool = False
    # How many groups and offsets are kept.
    groups_max: int = 10_000
    offsets_max: int = 1_000_000
    topics: int = 2
    partitions_max: int = 2
    value_bytes_max: int = 100
    in_flight_max: int = 3
    think_ns: int = 1_000_000
    wait_ns_max: int = 20_000_000
    fsyncs: tuple[str, ...] = ("every",)
    small_segments: bool = False
    retention: bool = False
    retention_bytes: int = 100_000
    alters_fsync: bool = False
    p_compact: float = 0.0
    p_tombstone: float = 0.0
    # How many keys messages have, beside none.
    keys: int = 3
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
    # Whether a node is told that its disk is full, and refuses messages before it tries to write them.
    watches_room: bool = False
    p_crash: float = 0.0
    p_kill: float = 0.0
    p_cut_inside: float = 0.0
    p_aimed: float = 0.0
    p_stop: float = 0.0
    p_sync_error: float = 0.0
    p_write_error: float = 0.0
    p_read_error: float = 0.0
    p_other_error: float = 0.0
    p_full: float = 0.0
    p_clock_jump: float = 0.0
    # What clients speak to nodes, as bytes: nothing, "grpc" or "rest".
    wire: str = ""
    # Whether what nodes write to each other goes as bytes through the connections of peers.
    peer_bytes: bool = False
    # What a server lets a call send that it has not read, 0 for as much as a broker does; and how likely a delivery of
    # what nodes write has a byte changed.
    window_bytes: int = 0
    p_damage: float = 0.0
    # The thresholds of the nodes (`core/log/thresholds.py`), small ones and those of brokers that serve.
    metadata_entries: int = 1000
    metadata_entries_a_topic: int = 4
    quorum_piece_bytes: int = 256 << 10
    ledger_page_bytes: int = 1 << 20
    summary_bytes: int = 64 << 20
    summary_bytes_a_message: int = 256
    summary_part_messages: int = 2_048
    side_segment_bytes: int = 16 << 20
    compaction_pause_ns: int = 15_000_000_000
    segment_bytes: int = SEGMENT_BYTES_MAX
    index_interval_bytes: int = 1 << 24
    metadata_segment_bytes: int = 1 << 30
    checkpoint_bytes: int = 64 << 20
    # Sizes that all nodes have alike (`knobs.py`): offsets of a page of what queues and dead letters keep, as a power.
    page_bits: int = 10

    def thresholds(self) -> Thresholds:
        """Those of the nodes of this world."""
        return Thresholds(**{each.name: getattr(self, each.name) for each in attrs.fields(Thresholds)})

    def bounds(self) -> GroupBounds:
        """How much nodes of this world keep of groups."""
        return GroupBounds(self.groups_max, self.offsets_max)

    @property
    def is_calm(self) -> bool:
        """Whether nothing ever fails."""
        has_others = self.calamities or self.wire_trouble_ns or self.grows
        return not has_others and not any(getattr(self, rate) for rate in FAULT_RATES)

    def text(self) -> str:
        """What is not the default, for people."""
        plain = Options()
        differing = (name for name in attrs.asdict(self) if getattr(self, name) != getattr(plain, name))
        return " ".join(f"{name}={getattr(self, name)}" for name in differing)


FAULT_RATES = (
    "p_letter_loss", "p_damage", "p_slow", "p_split", "p_pause", "p_rot", "p_cut", "p_half_open", "p_stall",
    "p_crash", "p_kill", "p_cut_inside", "p_aimed", "p_stop", "p_sync_error", "p_write_error", "p_read_error",
    "p_other_error", "p_full", "p_clock_jump",
)  # fmt: skip
"""The rates of what a node may suffer from."""
