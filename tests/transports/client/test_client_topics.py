"""Topics and connections, as a user sees them."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trio

import goqueue
from goqueue import errors
from goqueue.transports.client.connection import Connection, connect
from goqueue.transports.client.loops import Loop
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client_loops.on_loops import unused_address


@on_every_loop
def test_a_topic_from_its_beginning_to_its_end(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        created = await gq.topics.create("orders", partitions=2, config={"fsync_interval": timedelta(seconds=2)})
        assert (created.name, created.partitions, created.offsets) == ("orders", 2, [(0, 0), (0, 0)])
        assert abs(datetime.now(UTC) - created.created) < timedelta(hours=1)
        assert (created.config["fsync_interval"], created.config["partitioner"]) == ("2s", "murmur3")
        async with gq.producer() as producer:
            await producer.publish("orders", b"x", partition=1)
        partitions = await gq.topics.partitions("orders")
        assert [(each.partition, each.start_offset, each.high_watermark) for each in partitions] == [
            (0, 0, 0),
            (1, 0, 1),
        ]
        altered = await gq.topics.alter("orders", {"fsync_interval": None, "dirty_ratio": 0.25, "retention_hours": 2})
        assert [altered.config[key] for key in ("fsync_interval", "dirty_ratio", "retention_hours")] == ["1s", 0.25, 2]
        assert (await gq.topics.describe("orders")).config == altered.config
        await gq.topics.create("alpha")
        assert [topic.name for topic in await gq.topics.list()] == ["alpha", "orders"]
        await gq.topics.delete("orders")
        assert [topic.name for topic in await gq.topics.list()] == ["alpha"]
        again = await gq.topics.create("orders")
        assert len({"", created.id, again.id}) == 3
        assert created.id == altered.id
        assert again.id == (await gq.topics.describe("orders")).id

    connected(kind, test)


def test_refusals_are_exceptions_with_a_code_and_a_field() -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders")
        with pytest.raises(errors.TopicExists, match="orders") as exists:
            await gq.topics.create("orders")
        assert exists.value.code == "topic_exists"
        with pytest.raises(errors.InvalidRequest, match=r"orders: .*fsync") as invalid:
            await gq.topics.alter("orders", {"fsync": "never"})
        assert invalid.value.field == "config.fsync"
        with pytest.raises(errors.TopicNotFound):
            await gq.topics.delete("ordres")
        with pytest.raises(TypeError, match="the setting fsync is text"):
            await gq.topics.alter("orders", {"fsync": b"every"})  # type: ignore[dict-item]

    connected("trio", test)


def test_nobody_at_an_address_is_said_on_entering() -> None:
    async def enter() -> None:
        async with goqueue.connect(unused_address()):
            pass

    with pytest.raises(errors.ConnectionLost, match=r"127\.0\.0\.1:[0-9]+: Connection refused"):
        trio.run(enter)


def test_of_several_addresses_one_that_answers_will_do() -> None:
    with goqueue.testing.Broker() as broker, goqueue.connect(f"{unused_address()}, {broker.address}") as gq:
        assert gq.topics.list() == []


@pytest.mark.parametrize("address", ["localhost", "localhost:x", ":9000", "a:1,b"])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        connect(address)


def test_the_names_of_the_face_are_there_and_cost_nothing_until_used() -> None:
    assert all(getattr(goqueue, name) is not None for name in goqueue.__all__)
    assert set(goqueue.__all__) <= set(dir(goqueue))
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        getattr(goqueue, "conect")  # noqa: B009 - what a typing error comes to
    asked = "import sys, goqueue; sys.exit('trio' in sys.modules or 'betterproto' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], cwd=Path(__file__).parents[3], check=False).returncode == 0
