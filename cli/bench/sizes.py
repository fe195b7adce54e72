"""How much is measured: the full run, and one that only shows that everything works."""

from attrs import define

MB = 1_000_000
GB = 1_000_000_000

# Every record in every figure: a value of this size, no key, no headers.
RECORD_BYTES = 1000


@define
class CrowdSize:
    """How many partitions, groups, producers and leases the crowded node holds during a measurement."""

    partitions: int
    groups: int
    producers: int
    leases: int

    def __str__(self) -> str:
        held = f"{self.partitions:,} partitions, {self.groups:,} groups, {self.producers:,} producers"
        return f"{held}, {self.leases:,} leases"


@define
class Sizes:
    """Amounts of one run; `shared_bytes` is the size of a shared log by its records a batch."""

    rounds: int
    long_rounds: int
    append_bytes: int
    append_turns: int
    codec_batches: int
    shared_bytes: dict[int, int]
    lookups: int
    checkpoint_bytes: int
    commit_seconds: float
    memory_bytes: int
    memory_step_bytes: int
    broker_rounds: int
    load_seconds: float
    publish_batches: int
    passed_batches: int
    singles: int
    paced: int
    start_log_bytes: int
    # Of work queues: batches of a hundred that are worked on, by the client library and by single calls.
    worked_batches: int
    called_batches: int
    timers: int
    scattered: int
    pending: int
    late: int
    late_ms: int
    burst: int
    burst_ahead_ms: int
    # Of clusters: how often a broker is killed, how many storms a figure of outages has,
    # what is replicated, and how much a follower misses.
    failovers: int
    storms: int
    replicated_batches: int
    behind_bytes: int
    # Of attacks: how long one lasts, and a reader that is alone.
    attack_seconds: float
    # Of single turns: publishes a block, blocks, and what a crowded node holds.
    turns: int
    turn_blocks: int
    crowd: CrowdSize
    # Of Spark: records of 1 KB.
    spark_records: int


FULL = Sizes(
    rounds=15,
    long_rounds=5,
    append_bytes=96 * MB,
    append_turns=10_000,
    codec_batches=500,
    shared_bytes={100: GB, 1: 256 * MB},
    lookups=1_000,
    checkpoint_bytes=64 << 20,
    commit_seconds=1.0,
    memory_bytes=2048 * MB,
    memory_step_bytes=256 * MB,
    broker_rounds=5,
    load_seconds=2.0,
    publish_batches=6_000,
    passed_batches=10_000,
    singles=4_000,
    paced=5_000,
    start_log_bytes=GB,
    worked_batches=3_000,
    called_batches=1_000,
    timers=1_000_000,
    scattered=1_000_000,
    pending=1_000_000,
    late=10_000,
    late_ms=60_000,
    burst=100_000,
    burst_ahead_ms=10_000,
    failovers=20,
    storms=10,
    replicated_batches=3_000,
    behind_bytes=GB,
    attack_seconds=15.0,
    turns=3_000,
    turn_blocks=15,
    crowd=CrowdSize(partitions=10_000, groups=1_000, producers=100_000, leases=100_000),
    spark_records=1_000_000,
)
QUICK = Sizes(
    rounds=2,
    long_rounds=2,
    append_bytes=8 * MB,
    append_turns=500,
    codec_batches=50,
    shared_bytes={100: 16 * MB, 1: 4 * MB},
    lookups=200,
    checkpoint_bytes=2 << 20,
    commit_seconds=0.05,
    memory_bytes=16 * MB,
    memory_step_bytes=4 * MB,
    broker_rounds=1,
    load_seconds=0.2,
    publish_batches=200,
    passed_batches=80,
    singles=40,
    paced=100,
    start_log_bytes=4 * MB,
    worked_batches=20,
    called_batches=10,
    timers=20_000,
    scattered=20_000,
    pending=2_000,
    late=100,
    late_ms=1_000,
    burst=1_000,
    burst_ahead_ms=2_000,
    failovers=1,
    storms=1,
    replicated_batches=100,
    behind_bytes=8 * MB,
    attack_seconds=1.5,
    turns=100,
    turn_blocks=3,
    crowd=CrowdSize(partitions=120, groups=10, producers=300, leases=1_500),
    spark_records=10_000,
)
