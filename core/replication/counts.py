"""What replication has done since the node began, and how far followers are behind."""

from attrs import define, field


@define
class ReplicationCounts:
    """Plain counters; `lag` tells by topic and partition how many records the last follower is behind."""

    batches_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    truncations: int = 0
    restarts: int = 0
    refused_batches: int = 0
    isr_shrinks: int = 0
    isr_expands: int = 0
    lag: dict[tuple[str, int], int] = field(factory=dict)
