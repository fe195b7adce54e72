"""Bugs of `core/log`: what is acknowledged, what a log knows when it is opened, and what it takes on."""

from goqueue.core.log.config import LogConfig
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.producers import Producers
from goqueue.core.records.batch import read_header
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters, lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _acknowledged_before_the_sync(replace: Replace) -> None:
    replace(Log, "acknowledged_offset", property(lambda log: log.next_offset))


def _settings_that_change_nothing(replace: Replace) -> None:
    """A topic that is to be synced from here on goes on without."""
    real_configure = Log.configure

    def configure(log: Log, config: LogConfig) -> None:
        config.fsync = log.config.fsync
        real_configure(log, config)

    replace(Log, "configure", configure)


def _producers_that_a_restart_forgets(replace: Replace) -> None:
    real_adopt = Log._adopt

    def adopt(log: Log, state: LogState) -> None:
        state.producers = Producers()
        real_adopt(log, state)

    replace(Log, "_adopt", adopt)


def _written_twice(replace: Replace) -> None:
    real_append = Log.append

    def append(log: Log, now: int, batch: bytearray, leader_epoch: int = 0) -> int:
        if log.stream.startswith("logs/") and not read_header(batch).has_producer and log.next_offset % 7 == 3:
            real_append(log, now, bytearray(batch), leader_epoch)
        return real_append(log, now, batch, leader_epoch)

    replace(Log, "append", append)


def _epochs_forgotten(replace: Replace) -> None:
    """A log that is opened knows of its latest leader alone: others cannot tell where their logs part from it."""
    adopt = Log._adopt

    def forgetful(log: Log, state: LogState) -> None:
        state.epochs = EpochCache(state.epochs.entries()[-1:])
        adopt(log, state)

    replace(Log, "_adopt", forgetful)


PLANTS = (
    Plant(
        "acknowledged-before-the-sync",
        "What is acknowledged under `fsync: every` survives a power cut.",
        _acknowledged_before_the_sync,
        worlds=lone.crashing,
        said="durable",
    ),
    Plant(
        "acknowledge-before-sync",
        "What is acknowledged under `fsync: every` survives a power cut.",
        _acknowledged_before_the_sync,
        nodes=3,
        worlds=lambda: clusters.short_worlds("crash"),
        within=5,
    ),
    Plant(
        "settings-that-change-nothing",
        "From the moment a topic is altered to `fsync: every`, what it acknowledges survives a power cut.",
        _settings_that_change_nothing,
        worlds=lambda: Options(
            fsyncs=("none",), alters_fsync=True, p_topic_change=0.1, p_crash=0.02, think_ns=3_000_000, steps=300
        ),
    ),
    Plant(
        "producers-that-a-restart-forgets",
        "A numbered record is stored once, also where the broker restarts before it is sent again.",
        _producers_that_a_restart_forgets,
        worlds=lone.numbered,
        tags=("lost_answer",),
    ),
    Plant(
        "written-twice",
        "No message is there twice that was sent once.",
        _written_twice,
        worlds=lone.quiet,
        said="as well",
    ),
    Plant(
        "epochs-forgotten",
        "A log that is opened knows where each epoch of its leaders began.",
        _epochs_forgotten,
        nodes=3,
        worlds=lambda: clusters.short_worlds("kill", consumers=0, think_ns=300_000_000),
        within=20,
        seed=5,
        finder="Lineage",
    ),
)
"""All bugs of logs."""
