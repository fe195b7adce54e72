"""The metadata log: one change after another, durable before it counts, and what remains when the disk fails."""

from goqueue.core.clock import Clock
from goqueue.core.cluster.records import METADATA_CODEC, MetadataRecord, TopicCreated, TopicDeleted, TopicRemoved
from goqueue.core.log.config import UNLIMITED, LogConfig
from goqueue.core.log.effects import Append, Effect, Sync, SyncToken
from goqueue.core.log.log import Log, LogState
from goqueue.core.metadata import METADATA_STREAM, Agreed, Answer, FinishDelete, Metadata
from goqueue.core.verbs import AlterTopic, Code, CreateTopic, DeleteTopic, Refusal
from tests.core.driven_node import opened_empty, stored
from tests.core.log.batches import FIRST, WALL_MS, beginning

ORDERS = TopicCreated("orders", 1, 2, "{}", WALL_MS)


def empty_metadata(*records: MetadataRecord) -> Metadata:
    """Metadata whose log begins empty, with a state of these records."""
    clock = Clock(0, WALL_MS)
    metadata = Metadata(Log(METADATA_STREAM, LogConfig(retention_ms=UNLIMITED), clock, opened_empty()), clock, 2)
    metadata.replay([METADATA_CODEC.encode(record) for record in records])
    return metadata


def written(record: MetadataRecord, offset: int, position: int) -> list[Effect]:
    """What appending one record asks of the disk."""
    batch = stored(offset, (WALL_MS, None, METADATA_CODEC.encode(record), ()))
    end = position + len(batch)
    token = SyncToken(0, offset + 1, FIRST, end)
    return [Append(METADATA_STREAM, FIRST, position, [batch]), Sync(METADATA_STREAM, token)]


def token_in(effects: list[Effect]) -> SyncToken:
    """The sync among some effects."""
    assert isinstance(effects[-1], Sync)
    return effects[-1].token


def codes(answers: list[Answer]) -> list[tuple[int | None, Code]]:
    """Whom, and why, where nobody was granted anything."""
    refused = [(to, answer.code) for to, answer in answers if isinstance(answer, Refusal)]
    assert len(refused) == len(answers)
    return refused


def test_a_change_counts_when_it_is_durable_and_not_before() -> None:
    metadata = empty_metadata()
    metadata.ask(0, 5, CreateTopic("orders"))
    assert metadata.plan_next(0) == []
    effects = metadata.log.take(0)
    assert effects == written(ORDERS, 0, 0)
    assert metadata.agreed(0) is None
    assert metadata.state.topics == {}
    metadata.log.synced(0, token_in(effects))
    assert metadata.agreed(0) == Agreed(5, CreateTopic("orders"))
    assert list(metadata.state.topics) == ["orders"]
    assert metadata.agreed(0) is None
    metadata.check()


def test_the_next_change_is_planned_when_the_one_before_it_counts() -> None:
    metadata = empty_metadata()
    metadata.ask(0, 1, CreateTopic("orders"))
    metadata.ask(0, 2, CreateTopic("orders"))
    metadata.ask(0, 3, AlterTopic("orders", {"fsync": "often"}))
    metadata.ask(0, 4, DeleteTopic("orders"))
    assert metadata.plan_next(0) == []
    first = metadata.log.take(0)
    assert first == written(ORDERS, 0, 0)
    metadata.log.synced(0, token_in(first))
    metadata.agreed(0)
    assert codes(metadata.plan_next(0)) == [(2, Code.TOPIC_EXISTS), (3, Code.INVALID)]
    second = metadata.log.take(0)
    assert second == written(TopicDeleted("orders", 1), 1, token_in(first).position)
    metadata.log.synced(0, token_in(second))
    assert metadata.agreed(0) == Agreed(4, DeleteTopic("orders"))


def test_a_name_is_free_again_when_its_folder_is_gone_for_certain() -> None:
    metadata = empty_metadata(ORDERS, TopicDeleted("orders", 1))
    metadata.ask(0, 1, CreateTopic("orders"))
    assert codes(metadata.plan_next(0)) == [(1, Code.UNAVAILABLE)]
    metadata.ask(0, None, FinishDelete("orders"))
    assert metadata.plan_next(0) == []
    effects = metadata.log.take(0)
    assert effects == written(TopicRemoved("orders", 1), 0, 0)
    metadata.log.synced(0, token_in(effects))
    assert metadata.agreed(0) == Agreed(None, FinishDelete("orders"))
    assert metadata.state.removing == {}


def test_a_thousand_changes_may_wait_and_no_more() -> None:
    metadata = empty_metadata()
    for to in range(1_003):
        metadata.ask(0, to, DeleteTopic("x") if to else CreateTopic("orders"))
    assert codes(metadata.plan_next(0)) == [(1_002, Code.UNAVAILABLE), (1_001, Code.UNAVAILABLE)]


def test_whoever_waits_when_the_disk_fails_is_told_once() -> None:
    metadata = empty_metadata()
    for to in (1, 2, 3):
        metadata.ask(0, to, CreateTopic(f"t{to}"))
    metadata.plan_next(0)
    effects = metadata.log.take(0)
    assert codes(metadata.disk_failed(0, "EIO")) == [(to, Code.UNAVAILABLE) for to in (1, 2, 3)]
    assert metadata.disk_failed(0, "EIO") == []
    metadata.log.synced(0, token_in(effects))
    assert metadata.agreed(0) is None
    metadata.ask(0, 4, CreateTopic("t4"))
    assert codes(metadata.plan_next(0)) == [(4, Code.UNAVAILABLE)]


def test_what_was_refused_for_the_disks_sake_may_have_come_to_be() -> None:
    metadata = empty_metadata()
    metadata.ask(0, 1, CreateTopic("orders"))
    metadata.plan_next(0)
    metadata.log.take(0)
    metadata.disk_failed(0, "EIO")
    metadata.reopened(0, recovered(1), [METADATA_CODEC.encode(ORDERS)])
    assert list(metadata.state.topics) == ["orders"]
    metadata.ask(0, 2, CreateTopic("orders"))
    assert codes(metadata.plan_next(0)) == [(2, Code.TOPIC_EXISTS)]
    metadata.check()


def recovered(next_offset: int) -> LogState:
    """A log found to end at an offset."""
    return beginning(LogConfig(), next_offset)
