"""What a message about replication cannot say, whoever sends it: offsets and epochs that no log has.

Such a message is refused as a whole, before anything is made of it. Batches are checked one by one when they are
appended (`Replica.replicate`).
"""

from goqueue.core.errors import ProtocolError
from goqueue.core.replication.messages import LEFT, Pull, Pulled, PulledPart, PullPart, ReplicationMessage

# Far beyond any log, and far enough from where a number of 64 bits ends.
OFFSET_MAX = 1 << 62
_EPOCH_MAX = (1 << 31) - 1


def demand_sane(message: ReplicationMessage) -> None:
    """Refuse a message that cannot be meant. Raises ProtocolError."""
    if isinstance(message, Pulled):
        for answered in message.parts:
            _pulled(answered)
    elif isinstance(message, Pull):
        for named in message.parts:
            _named(named)
    else:
        for kept in message.parts:
            _offset(kept.kept_offset)


def _pulled(part: PulledPart) -> None:
    for offset in (part.high_watermark, part.start_offset, part.end_offset, part.at):
        _offset(offset)
    _epoch(part.epoch)


def _named(part: PullPart) -> None:
    if part.leader_epoch != LEFT:
        _offset(part.offset)
        _epoch(part.last_epoch)
        # An empty disk says -1 of what it keeps.
        _offset(part.kept_offset + 1)


def _offset(offset: int) -> None:
    if not 0 <= offset <= OFFSET_MAX:
        raise ProtocolError(f"no log reaches to the offset {offset}")


def _epoch(epoch: int) -> None:
    if not -1 <= epoch <= _EPOCH_MAX:
        raise ProtocolError(f"no batch is of the leader epoch {epoch}")
