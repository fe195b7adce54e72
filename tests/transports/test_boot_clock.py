"""What a broker finds over that was suspended with its machine: time went on for everybody else."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.requests.call import Caller
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup
from goqueue.core.requests.messages import Fetch, PublishBatch
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.topics import CreateTopic
from goqueue.storage.files import FileDisk
from goqueue.transports.boot_clock import boot_ns
from goqueue.transports.runtime import Runtime
from tests.transports.clustered import clustered
from tests.transports.services.served_broker import batch
from tests.transports.serving import run, until
from tests.transports.test_clustered_brokers import create

CALLER = Caller("test")
HOUR_NS = 3_600_000_000_000
READ_CLOCK = "import time; from goqueue.transports.boot_clock import boot_ns; print(boot_ns() - time.monotonic_ns())"


def test_the_clock_goes_on_while_the_machine_is_suspended() -> None:
    """A time namespace sets the clock that counts suspensions forward, and leaves the other one as it is."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare here")
    program = ["unshare", "--time", "--boottime", "3600", sys.executable, "-c", READ_CLOCK]
    answer = subprocess.run(program, capture_output=True, text=True, check=False)
    if answer.returncode:
        pytest.skip("may make no time namespace here")
    assert int(answer.stdout) > HOUR_NS - 1_000_000_000


def test_leases_are_over_when_a_suspended_broker_wakes(tmp_path: Path) -> None:
    suspended_ns = 0

    async def leased(runtime: Runtime, wait_ns: int) -> int:
        """How many parts a new member of the group is given."""
        joined = await runtime.ask(CALLER, JoinGroup("billing", ["orders"], client_id="one", mode=GroupMode.SHARED))
        assert isinstance(joined, Joined)
        poll = PollWork("billing", joined.member_id, wait_ns=wait_ns, visibility_ms=600_000)
        polled = await runtime.ask(CALLER, poll)
        assert isinstance(polled, PolledWork)
        return len(polled.parts)

    async def scenario() -> None:
        nonlocal suspended_ns
        async with trio.open_nursery() as nursery:
            runtime = Runtime(FileDisk(str(tmp_path)), NodeOptions(), now=lambda: boot_ns() + suspended_ns)
            await nursery.start(runtime.run)
            await runtime.ask(CALLER, CreateTopic("orders", 1))
            await runtime.ask(CALLER, PublishBatch("orders", 0, bytearray(batch(b"x"))))
            assert await leased(runtime, 20_000_000_000) == 1
            assert await leased(runtime, 0) == 0
            suspended_ns = HOUR_NS
            assert await leased(runtime, 20_000_000_000) == 1
            nursery.cancel_scope.cancel()

    run(scenario)


def test_a_leader_that_was_suspended_refuses_until_the_cluster_has_heard_of_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with clustered(tmp_path, "a", "b", "c") as cluster:
            await create(cluster, "a", 3)
            found = await cluster.until("a", "/topics/orders/partitions", lambda found: bool(found["partitions"]))
            member = cluster[str(found["partitions"][0]["leader"])]
            assert member.runtime is not None
            answers: list[Reply] = []
            fetch, publish = Fetch("orders", 0, 0), PublishBatch("orders", 0, bytearray(batch(b"x")))
            assert not isinstance(await member.runtime.ask(CALLER, fetch), Refusal)
            # The next turn is the first one after the suspension.
            member.suspended_ns = HOUR_NS
            member.runtime.post(CALLER, fetch, answers.append)
            member.runtime.post(CALLER, publish, answers.append)
            await until(lambda: len(answers) == 2)
            for answer in answers:
                assert isinstance(answer, Refusal)
                assert answer.code is Code.UNAVAILABLE
                assert "lost touch with the cluster" in answer.message

    run(scenario)
