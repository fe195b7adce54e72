"""What nodes tell each other of how far partitions reach."""

from goqueue.core.clock import Clock
from goqueue.core.cluster.remote_offsets import Ends, LedEnd, RemoteOffsets
from goqueue.core.log.log import Log
from goqueue.core.partition.leadership import Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.recent import RecentBatches
from tests.core.log.batches import WALL_MS, beginning, settings_of

TOPIC_ID = 7
_SECOND_NS = 1_000_000_000


def led(number: int, epoch: int) -> Partition:
    """An empty partition, led in an epoch by a node that waits for nobody."""
    config = settings_of()
    log = Log(f"logs/orders/{number}", config, Clock(0, WALL_MS), beginning(config))
    partition = Partition("orders", number, log, RecentBatches(1 << 20, 1 << 20))
    leadership = Leadership("n1", epoch)
    leadership.agree(1, ["n1"], ["n1"], 1)
    partition.lead(leadership)
    return partition


def told(horizon: RemoteOffsets, now: int, *partitions: Partition) -> list[LedEnd]:
    letters = horizon.tell(now, ["n2"], [(TOPIC_ID, one) for one in partitions])
    return [end for letter in letters for end in (letter.message.parts if isinstance(letter.message, Ends) else [])]


def test_a_new_leader_is_believed_though_it_has_written_nothing() -> None:
    horizon, hearer, partition = RemoteOffsets(), RemoteOffsets(), led(0, epoch=4)
    hearer.heard(Ends([LedEnd(TOPIC_ID, 0, 3, 0, 5, 9, 900)]))
    horizon.touch(0, TOPIC_ID, partition)
    hearer.heard(Ends(told(horizon, _SECOND_NS, partition)))
    known = hearer.end(TOPIC_ID, 0)
    assert known is not None
    assert (known.leader_epoch, known.end_offset) == (4, 0)


def test_a_leader_that_is_not_sure_yet_of_how_far_it_goes_says_nothing() -> None:
    horizon, partition = RemoteOffsets(), led(0, epoch=4)
    assert partition.leadership is not None
    partition.leadership.agree(2, ["n1", "n2"], ["n1", "n2"], 1)
    partition.high_watermark = -1
    horizon.touch(0, TOPIC_ID, partition)
    assert not partition.is_settled
    assert told(horizon, _SECOND_NS, partition) == []


def test_what_was_lost_is_told_again_while_something_else_changes_all_the_time() -> None:
    horizon, quiet, busy = RemoteOffsets(), led(0, epoch=1), led(1, epoch=1)
    horizon.touch(0, TOPIC_ID, quiet)
    assert [end.partition for end in told(horizon, _SECOND_NS, quiet, busy)] == [0]
    numbers: list[int] = []
    for second in range(2, 15):
        horizon.touch(second * _SECOND_NS, TOPIC_ID, busy)
        numbers += [end.partition for end in told(horizon, second * _SECOND_NS + _SECOND_NS // 2, quiet, busy)]
    assert 0 in numbers
