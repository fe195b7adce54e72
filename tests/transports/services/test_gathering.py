"""Acknowledgements by many calls at once: asked together, answered one by one, and whoever goes holds up nobody."""

from pathlib import Path

import pytest
import trio

from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup
from goqueue.core.requests.queues import AckWork, PolledWork, PollWork, ReceiptRun, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.transports.services.gathering import AckGathering
from tests.transports.services.group_member import publish
from tests.transports.services.served_broker import CALLER, ServedBroker, with_broker


async def leases(broker: ServedBroker, count: int) -> list[ReceiptRun]:
    """So many messages of orders, leased to a member of mail; the receipts one by one."""
    await broker.calls(lambda client: publish(client, 0, *(b"%d" % number for number in range(count))))
    member = await broker.ask(JoinGroup("mail", ["orders"], mode=GroupMode.SHARED))
    assert isinstance(member, Joined)
    found: list[ReceiptRun] = []
    while len(found) < count:
        polled = await broker.ask(PollWork("mail", member.member_id, wait_ns=10_000_000_000))
        assert isinstance(polled, PolledWork)
        runs = [run for part in polled.parts for run in part.leases]
        found += [ReceiptRun(run.stem, run.first_offset + at) for run in runs for at in range(run.count)]
    return found


class Asked:
    """A broker whose acknowledgements are looked at on their way."""

    def __init__(self, broker: ServedBroker) -> None:
        self._runtime = broker.runtime
        self.asked: list[tuple[Caller, AckWork]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._runtime, name)

    def post(self, caller: Caller, request: AckWork, receive: object) -> int:
        """Pass one on."""
        self.asked.append((caller, request))
        return self._runtime.post(caller, request, receive)  # type: ignore[arg-type]


async def acknowledged(
    gathering: AckGathering, told: list[WorkDone | Refusal], request: AckWork, caller: Caller = CALLER
) -> None:
    """One call."""
    told.append(await gathering.ask(caller, request))


def test_calls_of_one_moment_are_asked_as_one_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        receipts, looked, told = await leases(broker, 10), Asked(broker), list[WorkDone | Refusal]()
        gathering = AckGathering(looked)  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            for receipt in receipts:
                nursery.start_soon(acknowledged, gathering, told, AckWork([receipt]))
            nursery.start_soon(acknowledged, gathering, told, AckWork([ReceiptRun("no receipt", 0)]))
        assert len(looked.asked) == 1
        assert sum(isinstance(each, WorkDone) and each.done == 1 for each in told) == 10
        refused = [each.refusals for each in told if isinstance(each, WorkDone) and not each.done]
        assert [[one.refusal.code for one in each] for each in refused] == [[Code.RECEIPT_INVALID]]

    with_broker(tmp_path, scenario)


def test_what_is_asked_for_different_groups_or_callers_is_not_asked_together(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        receipts, looked, told = await leases(broker, 3), Asked(broker), list[WorkDone | Refusal]()
        gathering, other = AckGathering(looked), Caller("other")  # type: ignore[arg-type]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(acknowledged, gathering, told, AckWork(receipts[:1]))
            nursery.start_soon(acknowledged, gathering, told, AckWork(receipts[1:2], "audit"))
            nursery.start_soon(acknowledged, gathering, told, AckWork(receipts[2:]), other)
        assert sorted((caller.client_id, request.group) for caller, request in looked.asked) == [
            ("other", ""),
            ("test", ""),
            ("test", "audit"),
        ]
        assert sorted(each.done for each in told if isinstance(each, WorkDone)) == [0, 1, 1]

    with_broker(tmp_path, scenario)


@pytest.mark.parametrize("gone", [0, 1])
def test_a_call_that_is_cancelled_takes_no_other_with_it(tmp_path: Path, gone: int) -> None:
    async def scenario(broker: ServedBroker) -> None:
        receipts, told = await leases(broker, 3), list[WorkDone | Refusal]()
        gathering = AckGathering(broker.runtime)
        scopes = [trio.CancelScope() for _ in receipts]

        async def call(scope: trio.CancelScope, receipt: ReceiptRun) -> None:
            with scope:
                await acknowledged(gathering, told, AckWork([receipt]))

        async with trio.open_nursery() as nursery:
            for scope, receipt in zip(scopes, receipts, strict=True):
                nursery.start_soon(call, scope, receipt)
            scopes[gone].cancel()
        assert [each.done for each in told if isinstance(each, WorkDone)] == [1, 1]

    with_broker(tmp_path, scenario)


def test_a_broker_that_stops_refuses_all_of_them(tmp_path: Path) -> None:
    told: list[WorkDone | Refusal] = []
    gatherings: list[AckGathering] = []
    kept: list[ReceiptRun] = []

    async def scenario(broker: ServedBroker) -> None:
        kept.extend(await leases(broker, 2))
        gatherings.append(AckGathering(broker.runtime))

    async def afterwards() -> None:
        async with trio.open_nursery() as nursery:
            for receipt in kept:
                nursery.start_soon(acknowledged, gatherings[0], told, AckWork([receipt]))

    with_broker(tmp_path, scenario)
    trio.run(afterwards)
    assert [each.code for each in told if isinstance(each, Refusal)] == [Code.SHUTTING_DOWN] * 2
