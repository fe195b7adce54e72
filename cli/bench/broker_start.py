"""How long a broker takes from its command to its first good answer."""

from goqueue.cli.bench.broker_publish import ring
from goqueue.cli.bench.driven_log import DrivenLog
from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench
from goqueue.core.log.config import Fsync, LogConfig

_LOGS = 10


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [
        Entry("start_empty", "from the command to ready, in an empty folder", empty, [Bar("value", below=1)]),
        Entry(
            "start_full", "the same with ten logs of 1 GB", full, [Bar("value", below=3)],
            disk_bytes=_LOGS * sizes.start_log_bytes,
        ),
    ]  # fmt: skip


def empty(workbench: Workbench) -> Figure:
    """The best of some starts, each in a folder of its own."""
    best = float("inf")
    for done in range(workbench.sizes.broker_rounds):
        with workbench.folder() as folder, served(folder) as broker:
            best = min(best, broker.ready_s)
        workbench.advanced((done + 1) / workbench.sizes.broker_rounds)
    return Figure(best, "s")


def full(workbench: Workbench) -> Figure:
    """A broker that finds its topics' logs as a clean stop left them."""
    content = ring()
    count = workbench.sizes.start_log_bytes // len(content[0])
    with workbench.folder() as folder:
        with served(folder) as broker:
            for number in range(_LOGS):
                broker.create(f"full-{number}", retention_hours=-1)
        for number in range(_LOGS):
            config = LogConfig(fsync=Fsync.NONE)
            with DrivenLog(folder / "data", config, f"logs/full-{number}/0") as driven:
                for begin in range(0, count, 10):
                    turn = range(begin, min(begin + 10, count))
                    driven.turn([bytearray(content[at % len(content)]) for at in turn])
                driven.settle()
                driven.close()
            workbench.advanced((number + 1) / _LOGS)
        with served(folder) as broker:
            status, topic = broker.get(f"/topics/full-{_LOGS - 1}")
            assert status == 200
            assert isinstance(topic, dict)
            assert topic["total_messages"] == count * 100, topic
            return Figure(broker.ready_s, "s", note=f"{_LOGS} logs of {count * len(content[0]) / 1e9:.1f} GB")
