"""What waits for news is answered when the server begins to go, so that it holds up nobody's end."""

from pathlib import Path

import trio
from trio.testing import wait_all_tasks_blocked

from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import Joined, JoinGroup, WatchGroup
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic
from goqueue.transports.trio_patience import PatientBroker
from tests.transports.running import running_broker

CALLER = Caller("test")
FIVE_MINUTES_NS = 300_000_000_000


async def left_while_waiting(patient: PatientBroker, request: Request) -> Reply:
    """The answer to a request that waits when the server begins to go."""
    answers: list[Reply] = []

    async def ask() -> None:
        answers.append(await patient.ask(CALLER, request))

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await wait_all_tasks_blocked(0.05)
            assert not answers
            patient.leave()
    return answers[0]


def test_a_member_that_watches_is_told_that_the_broker_stops(tmp_path: Path) -> None:
    async def test() -> None:
        async with running_broker(tmp_path) as broker:
            patient = PatientBroker(broker)
            await patient.ask(CALLER, CreateTopic("orders"))
            joined = await patient.ask(CALLER, JoinGroup("billing", ["orders"], session_timeout_ms=1_000_000))
            assert isinstance(joined, Joined)
            watch = WatchGroup("billing", joined.member_id, joined.seen, FIVE_MINUTES_NS)
            answer = await left_while_waiting(patient, watch)
            assert isinstance(answer, Refusal)
            assert answer.code is Code.SHUTTING_DOWN
            again = await patient.ask(CALLER, watch)
            assert isinstance(again, Refusal)

    trio.run(test)


def test_a_fetch_that_waits_is_answered_with_what_there_is(tmp_path: Path) -> None:
    async def test() -> None:
        async with running_broker(tmp_path) as broker:
            patient = PatientBroker(broker)
            await patient.ask(CALLER, CreateTopic("orders"))
            answer = await left_while_waiting(patient, Fetch("orders", 0, 0, wait_ns=FIVE_MINUTES_NS))
            assert isinstance(answer, Fetched)
            assert not answer.batches

    trio.run(test)
