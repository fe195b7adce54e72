"""Reading as a member of a group, as a user sees it, on every loop."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from goqueue import errors
from goqueue.proto import v1
from goqueue.transports.client.connection import Connection
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.client.messages import Message
from tests.transports.client.connected import connected, on_every_loop
from tests.transports.client.grouped import (
    COUNT,
    NEVER,
    QUICK,
    Slots,
    assigned,
    beside,
    committed,
    crash,
    every,
    fill,
    places,
    publish,
    take,
)
from tests.transports.client_loops.on_loops import until

# --- one member


@on_every_loop
def test_a_group_goes_on_where_it_was_left(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        async with gq.group_consumer("billing", "orders", commit_interval=NEVER) as consumer:
            first = await take(consumer, 50)
        async with gq.group_consumer("billing", "orders") as consumer:
            rest = await take(consumer, 30)
        assert places([*first, *rest]) == every(range(4))

    connected(kind, test)


@on_every_loop
def test_who_fails_at_a_message_gets_that_one_again_and_no_other(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq)
        first: list[Message] = []
        with suppress(ZeroDivisionError):
            async with gq.group_consumer("billing", "orders", commit_interval=NEVER) as consumer:
                first += await take(consumer, 50)
                _ = 1 / (len(first) - 50)
        async with gq.group_consumer("billing", "orders") as consumer:
            rest = await take(consumer, 31)
        assert places([*first[:-1], *rest]) == every(range(4))
        assert places(rest)[0] >= (first[-1].partition, first[-1].offset)

    connected(kind, test)


@on_every_loop
def test_batches_in_hand_are_not_committed_and_those_before_are(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        async with gq.group_consumer("billing", "orders", commit_interval=QUICK) as consumer:
            batches = consumer.batches()
            sizes = [len(await anext(batches)) for _ in range(3)]
            assert sizes == [5, 5, 5]
            while await committed(gq) != [10]:
                await loop.pause(SECOND_NS // 100)
            assert consumer.position("orders", 0) == 15
        assert await committed(gq) == [15]

    connected(kind, test)


@on_every_loop
def test_what_is_committed_by_hand_is_what_the_group_goes_on_from(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=2)
        async with gq.group_consumer("billing", ["orders"], commit="manual") as consumer:
            messages = await take(consumer, 2 * COUNT)
            assert await committed(gq) == [None, None]
            await consumer.commit(next(message for message in messages if message.offset == 6))
            assert sorted(await committed(gq), key=str) == [7, None]
            await consumer.commit({("orders", 0): 9, ("orders", 1): 3})
            assert sorted(await committed(gq), key=str) in ([3, 9], [7, 9])
            await consumer.commit()
            assert await committed(gq) == [COUNT, COUNT]
            await consumer.commit()
        assert await committed(gq) == [COUNT, COUNT]

    connected(kind, test)


@on_every_loop
def test_without_a_commit_everything_comes_again(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=1)
        for _ in range(2):
            async with gq.group_consumer("billing", "orders", commit="manual") as consumer:
                assert places(await take(consumer, COUNT)) == every(range(1))

    connected(kind, test)


@on_every_loop
def test_a_group_that_begins_at_the_end_misses_nothing_that_comes_after(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=2)
        async with gq.group_consumer("billing", "orders", start="latest", session_timeout=SHORT) as consumer:
            await assigned(loop, consumer, 2)
            assert await committed(gq) == [COUNT, COUNT]
            crash(consumer)
        await publish(gq, range(2), COUNT, COUNT + 5)
        async with gq.group_consumer("billing", "orders", start="earliest") as consumer:
            assert places(await take(consumer, 10)) == every(range(2), COUNT, COUNT + 5)

    connected(kind, test)


@on_every_loop
def test_a_group_that_begins_at_a_moment_begins_with_the_first_message_of_then(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        begin = datetime.now(UTC) - timedelta(days=2)
        await gq.topics.create("orders", partitions=2)
        async with gq.producer() as producer:
            for hour in range(COUNT):
                await producer.send("orders", b"x", partition=0, timestamp=begin + timedelta(hours=hour))
        start = (begin + timedelta(hours=5.5)).isoformat()
        # Nothing is committed, so whoever comes next begins there as well.
        for _ in range(2):
            async with gq.group_consumer("billing", "orders", start=start, commit="manual") as consumer:
                assert places(await take(consumer, COUNT - 6)) == every(range(1), 6, COUNT)

    connected(kind, test)


@on_every_loop
def test_a_paused_partition_stays_and_hands_out_nothing_until_it_is_resumed(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=2)
        async with gq.group_consumer("billing", "orders") as consumer:
            found = await take(consumer, 3)
            paused = ("orders", found[-1].partition)
            consumer.pause(paused)
            other = 1 - paused[1]
            found += await take(consumer, COUNT)
            assert places(found[3:]) == every(range(other, other + 1))
            assert consumer.assignment == [("orders", 0), ("orders", 1)]
            assert consumer.position(*paused) == 3
            assert await consumer.lag() == {paused: COUNT - 3, ("orders", other): 0}
            consumer.resume(paused)
            found += await take(consumer, COUNT - 3)
            assert places(found) == every(range(2))

    connected(kind, test)


@on_every_loop
def test_a_paused_partition_takes_no_room_from_the_others(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await gq.topics.create("orders", partitions=2)
        async with gq.producer() as producer:
            for number in range(400):
                for partition in range(2):
                    await producer.send("orders", b"%d" % number + bytes(20_000), partition=partition)
        async with gq.group_consumer("billing", "orders") as consumer:
            found = await take(consumer, 1)
            paused = ("orders", found[0].partition)
            consumer.pause(paused)
            found += await take(consumer, 400)
            cursor = consumer._holding(*paused).cursor
            assert sum(len(each.batches) for each in consumer._fetching._paused[cursor]) < 8 << 20
            consumer.resume(paused)
            found += await take(consumer, 399)
            assert places(found) == every(range(2), 0, 400)

    connected(kind, test)


@on_every_loop
def test_seek_goes_on_elsewhere_in_one_partition(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=1)
        async with gq.group_consumer("billing", "orders") as consumer:
            (first,) = await take(consumer, 1)
            await consumer.seek("orders", 0, offset=17)
            assert [message.offset for message in await take(consumer, 3)] == [17, 18, 19]
            await consumer.seek("orders", 0, time=first.timestamp)
            assert (await anext(consumer)).offset == 0
            with pytest.raises(TypeError, match="either an offset or a time"):
                await consumer.seek("orders", 0)
            with pytest.raises(ValueError, match="offset is from 0 on"):
                await consumer.seek("orders", 0, offset=-1)
            with pytest.raises(ValueError, match="partition 7 of orders is not this member's"):
                consumer.position("orders", 7)

    connected(kind, test)


# --- several members


@on_every_loop
def test_members_share_the_partitions_and_every_message_comes_once(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq)
        found: list[Message] = []
        async with gq.group_consumer("billing", "orders") as one:
            found += await take(one, 30)
            async with gq.group_consumer("billing", "orders") as two:
                ends = [beside(loop, one, found), beside(loop, two, found)]
                await until(loop, lambda: len(one.assignment) == len(two.assignment) == 2)
                await publish(gq, range(4), COUNT, 2 * COUNT)
                await until(loop, lambda: len(found) >= 8 * COUNT)
                assert {one.generation, two.generation} == {2}
                assert one.member_id != two.member_id
                assert sorted([*one.assignment, *two.assignment]) == [("orders", each) for each in range(4)]
                for end in ends:
                    end()
        assert places(found) == every(range(4), 0, 2 * COUNT)
        assert await committed(gq) == [2 * COUNT] * 4

    connected(kind, test)


@on_every_loop
def test_the_application_is_told_what_comes_and_goes_by_plain_functions_and_by_async_ones(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=2)
        told: list[tuple[str, Slots]] = []

        async def revoked(slots: Slots) -> None:
            await loop.pause(0)
            told.append(("revoked", slots))
            assert [one.position(*slot) for slot in slots] == [0] * len(slots)

        one = gq.group_consumer(
            "billing", "orders", on_assigned=lambda slots: told.append(("assigned", slots)), on_revoked=revoked
        )
        async with one:
            await assigned(loop, one, 2)
            async with gq.group_consumer("billing", "orders") as two:
                await assigned(loop, two, 1)
            await assigned(loop, one, 2)
        both: Slots = [("orders", 0), ("orders", 1)]
        (gone,) = told[1][1]
        assert told == [("assigned", both), ("revoked", [gone]), ("assigned", [gone]), ("revoked", both)]

    connected(kind, test)


@on_every_loop
def test_a_partition_in_hand_is_let_go_of_when_the_next_message_is_asked_for(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        async with gq.group_consumer("billing", "orders", instance_id="b") as one:
            found = await take(one, 3)
            # Of two members with one partition it is the first in the order of instances that gets it.
            async with gq.group_consumer("billing", "orders", instance_id="a", assignor="range") as two:
                await until(loop, lambda: not one.assignment)
                group = await gq.groups.describe("billing")
                assert [member.assigned for member in group.members if member.instance_id == "a"] == [[]]
                assert await committed(gq) == [None]
                ends = beside(loop, one, found)
                await assigned(loop, two, 1)
                assert await committed(gq) == [3]
                ends()
                found += await take(two, COUNT - 3)
        assert places(found) == every(range(1))

    connected(kind, test)


@on_every_loop
def test_a_commit_for_a_partition_of_another_names_it_and_the_others_are_taken(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=2)
        async with gq.group_consumer("billing", "orders") as one, gq.group_consumer("billing", "orders") as two:
            await until(loop, lambda: len(one.assignment) == len(two.assignment) == 1)
            (mine,), (other,) = one.assignment, two.assignment
            with pytest.raises(
                errors.CommitFailed, match=f"partition {other[1]} of orders .*fenced_generation"
            ) as said:
                await one.commit({mine: 5, other: 6})
            assert said.value.code == "fenced_generation"
            assert list(said.value.failures) == [other]
            assert isinstance(said.value.failures[other], errors.FencedGeneration)
            with pytest.raises(errors.CommitFailed, match="offset_out_of_range"):
                await one.commit({mine: 500})
            offsets = await committed(gq)
            assert (offsets[mine[1]], offsets[other[1]]) == (5, None)

    connected(kind, test)


@on_every_loop
def test_commits_that_come_together_travel_together_and_have_their_own_outcomes(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=2)
        async with gq.group_consumer("billing", "orders", commit="manual") as consumer:
            await assigned(loop, consumer, 2)
            outcomes: dict[int, str] = {}

            async def commit(number: int, offset: int) -> None:
                try:
                    await consumer.commit({("orders", number % 2): offset})
                    outcomes[number] = "taken"
                except errors.CommitFailed as error:
                    outcomes[number] = error.code

            requests, call = [], consumer._brokers.call

            async def counted(method: str, *rest: object) -> object:
                requests.append(method)
                return await call(method, *rest)  # type: ignore[arg-type]

            consumer._brokers.call = counted  # type: ignore[method-assign,assignment]
            tasks = [
                loop.start(lambda number=number, offset=offset: commit(number, offset))  # type: ignore[misc]
                for number, offset in enumerate([3, 4, 999, 6, 7, 8])
            ]
            for task in tasks:
                await task.wait()
        assert outcomes == {0: "taken", 1: "taken", 2: "offset_out_of_range", 3: "taken", 4: "taken", 5: "taken"}
        assert requests.count("Groups/Commit") <= 3
        assert await committed(gq) == [7, 8]

    connected(kind, test)


# --- what goes wrong

SHORT = timedelta(seconds=1)


@on_every_loop
def test_a_member_that_dies_is_missed_after_its_session(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=2)
        one = gq.group_consumer("billing", "orders", session_timeout=SHORT, commit_interval=QUICK)
        async with one, gq.group_consumer("billing", "orders") as two:
            await until(loop, lambda: len(one.assignment) == len(two.assignment) == 1)
            crash(one)
            await assigned(loop, two, 2)
            assert places(await take(two, 2 * COUNT)) == every(range(2))

    connected(kind, test)


@on_every_loop
def test_a_member_lives_however_long_it_works_on_a_message(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        async with gq.group_consumer("billing", "orders", session_timeout=SHORT) as consumer:
            await take(consumer, 1)
            member_id = consumer.member_id
            await loop.pause(3 * SECOND_NS // 2)
            assert [message.offset for message in await take(consumer, 2)] == [1, 2]
            assert consumer.member_id == member_id
            assert consumer.generation == 1

    connected(kind, test)


@on_every_loop
def test_a_member_that_the_group_forgot_loses_its_partitions_and_joins_again(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=2)
        lost: list[Slots] = []
        consumer = gq.group_consumer("billing", "orders", on_lost=lost.append, commit="manual")
        async with consumer:
            found = await take(consumer, 7)
            await consumer.commit(found[-1])
            await gq._brokers.call("Groups/Leave", v1.LeaveRequest("billing", consumer.member_id), v1.LeaveReply)
            await until(loop, lambda: bool(lost))
            rest = await take(consumer, 2 * COUNT - found[-1].offset - 1)
        assert lost == [[("orders", 0), ("orders", 1)]]
        assert (found[-1].partition, found[-1].offset) not in places(rest)
        assert {*places(found), *places(rest)} == {*every(range(2))}

    connected(kind, test)


@on_every_loop
def test_who_is_replaced_under_its_instance_id_is_told_so(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await fill(gq, partitions=1)
        lost: list[Slots] = []
        one = gq.group_consumer("billing", "orders", instance_id="till 3", on_lost=lost.append)
        async with one:
            await take(one, 1)
            async with gq.group_consumer("billing", "orders", instance_id="till 3") as two:
                assert len(await take(two, COUNT)) == COUNT
            await until(loop, lambda: bool(lost))
            for _ in range(2):
                with pytest.raises(errors.FencedInstance, match="till 3"):
                    await anext(one)
        assert lost == [[("orders", 0)]]

    connected(kind, test)


@on_every_loop
def test_what_a_function_of_the_application_raises_it_gets_back(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=1)

        def refuse(slots: Slots) -> None:
            raise LookupError(f"no room for {slots}")

        async with gq.group_consumer("billing", "orders", on_assigned=refuse) as consumer:
            with pytest.raises(LookupError, match=r"no room for .*'orders', 0"):
                await anext(consumer)
            assert (await anext(consumer)).offset == 0

    connected(kind, test)


@on_every_loop
def test_a_topic_may_be_made_after_its_readers_came_and_go_before_them(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        async with gq.group_consumer("billing", "orders", "refunds") as consumer:
            assert consumer.assignment == []
            await fill(gq, partitions=2)
            assert places(await take(consumer, 2 * COUNT)) == every(range(2))
            await gq.topics.delete("orders")
            await until(loop, lambda: not consumer.assignment)
            await gq.topics.create("refunds", partitions=1)
            await assigned(loop, consumer, 1)

    connected(kind, test)


@on_every_loop
def test_a_group_of_the_other_mode_cannot_be_joined(kind: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=1)
        request = v1.JoinRequest("billing", topics=["orders"], mode=v1.GroupMode(v1.GroupMode.SHARED))
        await gq._brokers.call("Groups/Join", request, v1.JoinReply)
        with pytest.raises(errors.WrongMode, match="billing"):
            await gq.group_consumer("billing", "orders").__aenter__()

    connected(kind, test)


@pytest.mark.parametrize(
    ("topics", "options", "said"),
    [
        ((), {}, "at least one"),
        (([],), {}, "at least one"),
        (("orders", 3), {}, "by their names"),
        (
            ("orders",),
            {"start": "middle"},
            "start says where a group begins that is new: expected earliest, latest, a time",
        ),
        (("orders",), {"commit": "never"}, "commit is 'auto' or 'manual'"),
        (("orders",), {"session_timeout": timedelta(milliseconds=999)}, "session_timeout is from 0:00:01 to 0:30:00"),
        (("orders",), {"commit_interval": timedelta(0)}, "commit_interval is at least"),
    ],
)
def test_options_that_make_no_sense_are_refused(topics: tuple[str, ...], options: dict[str, str], said: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        with pytest.raises((ValueError, TypeError), match=said):
            gq.group_consumer("billing", *topics, **options)  # type: ignore[arg-type]

    connected("trio", test)


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ({"orders": 3}, "by .topic, partition."),
        ({("orders", "0"): 3}, "by .topic, partition."),
        ({("orders", 0): True}, "is a number, not True"),
        ({("orders", 0): -1}, "from 0 on, not -1"),
    ],
)
def test_offsets_that_make_no_sense_are_refused(offsets: dict[tuple[str, int], int], said: str) -> None:
    async def test(gq: Connection, _loop: Loop) -> None:
        await fill(gq, partitions=1, count=0)
        async with gq.group_consumer("billing", "orders") as consumer:
            with pytest.raises((ValueError, TypeError), match=said):
                await consumer.commit(offsets)

    connected("trio", test)


@on_every_loop
def test_what_retention_took_is_passed_over(kind: str) -> None:
    async def test(gq: Connection, loop: Loop) -> None:
        await gq.topics.create("orders", partitions=1, config={"segment_bytes": 1 << 16, "retention_bytes": 1 << 16})
        async with gq.group_consumer("billing", "orders", commit="manual") as consumer, gq.producer() as producer:
            await producer.publish("orders", bytes(40_000))
            await take(consumer, 1)
            consumer.pause(("orders", 0))
            for _ in range(40):
                await producer.publish("orders", bytes(40_000))
            await consumer.commit({("orders", 0): 1})
            while not (start := (await gq.topics.partitions("orders"))[0].start_offset) > 1:
                await loop.pause(SECOND_NS // 100)
            # One that reads on from there is refused, and goes on at the start.
            await consumer.seek("orders", 0, offset=1)
            consumer.resume(("orders", 0))
            assert (await anext(consumer)).offset >= start
        async with gq.group_consumer("billing", "orders") as consumer:
            assert (await anext(consumer)).offset >= start

    connected(kind, test)
