"""The metadata log is summed up when it has grown long, and a start reads what it adds up to."""

from goqueue.core.requests.topics import AlterTopic, DescribeTopic, TopicReply
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import DrivenBroker


def hours(broker: DrivenBroker) -> object:
    reply = broker.answer(DescribeTopic("orders"))
    assert isinstance(reply, TopicReply)
    return reply.config["retention_hours"]


def metadata_bytes(disk: SimulatedDisk) -> int:
    return sum(len(disk.durable_bytes(path)) for path in disk.paths() if path.startswith("meta/") and ".log" in path)


def test_a_long_history_is_summed_up_and_its_beginning_removed() -> None:
    disk = SimulatedDisk()
    broker = DrivenBroker(disk)
    broker.create("orders")
    sizes = []
    for number in range(2_200):
        broker.await_answer(AlterTopic("orders", {"retention_hours": number + 1}))
        sizes.append(metadata_bytes(disk))
    assert max(sizes) < 2 * max(sizes[:1_000])
    assert sizes[-1] < max(sizes[:1_000])
    assert hours(broker) == 2_200
    broker.close()
    again = DrivenBroker(disk)
    again.settle()
    assert hours(again) == 2_200
    again.create("more")
    assert again.reports == []


def test_a_crash_around_the_summary_loses_nothing() -> None:
    for crash_at in range(994, 1_006):
        disk = SimulatedDisk(crash_at)
        broker = DrivenBroker(disk)
        broker.create("orders")
        for number in range(crash_at):
            broker.await_answer(AlterTopic("orders", {"retention_hours": number + 1}))
        disk.crash(0.5)
        again = DrivenBroker(disk)
        again.settle()
        assert hours(again) == crash_at
