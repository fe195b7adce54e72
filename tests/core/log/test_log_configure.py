"""A log that goes on under other settings."""

from goqueue.core.log.config import Fsync
from goqueue.core.log.effects import Sync
from tests.core.log.batches import batch, empty_log, settings_of

INTERVAL_NS = 1_000


def test_an_interval_that_a_sync_overtook_does_not_stay_due() -> None:
    """Whoever asks for the deadline must not be told again and again of an interval that has nothing left to do.

    A batch waits for its interval; then the topic syncs every batch, and the next one's sync covers both.
    """
    log = empty_log(settings_of(fsync=Fsync.INTERVAL, fsync_interval_ns=INTERVAL_NS))
    log.append(0, batch())
    log.take(0)
    assert log.deadline() == INTERVAL_NS
    log.configure(settings_of(fsync=Fsync.EVERY))
    log.append(1, batch())
    [asked] = [effect for effect in log.take(1) if isinstance(effect, Sync)]
    log.synced(2, asked.token)
    log.wake(INTERVAL_NS)
    assert log.take(INTERVAL_NS) == []
    assert log.deadline() is None
