"""A commit that was tried twice, of which the first attempt has no answer, and the second one is refused in part."""

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue import errors
from goqueue.core.client.membership import Membership, Standing
from goqueue.core.requests.groups import GroupMode, JoinGroup
from goqueue.core.requests.refusals import Outcome
from goqueue.proto import v1
from goqueue.transports.client.commits import Commits
from goqueue.transports.client.connection import connect
from goqueue.transports.grpc.service import GrpcService
from tests.transports.serving import run, serving


class Doubtful(v1.GroupsBase):
    """Leaves open what came of the first commits, and refuses the next one."""

    def __init__(self, unanswered: int) -> None:
        self._unanswered = unanswered

    async def commit(self, commit_request: v1.CommitRequest) -> v1.CommitReply:
        """See the class."""
        if self._unanswered:
            self._unanswered -= 1
            raise GRPCError(Status.UNAVAILABLE, "somebody in between has lost its broker")
        [one] = commit_request.offsets
        refusal = v1.Refusal("unavailable", "where orders-0 ends is not known here")
        return v1.CommitReply([v1.CommitRefusal(v1.TopicPartition(one.topic, one.partition), refusal)])


@pytest.mark.parametrize(("unanswered", "outcome"), [(0, Outcome.NONE), (1, Outcome.UNKNOWN)])
def test_what_may_have_been_committed_by_an_earlier_attempt_is_of_unknown_outcome(
    unanswered: int, outcome: Outcome
) -> None:
    async def test() -> None:
        async with serving(GrpcService([Doubtful(unanswered)])) as served, connect(served.target) as gq:
            with pytest.raises(errors.CommitFailed) as raised:
                await gq.groups.commit("billing", {("orders", 0): 7})
            [failure] = raised.value.failures.values()
            assert (failure.code, failure.outcome) == ("unavailable", outcome)
            assert raised.value.outcome is outcome

    run(test)


@pytest.mark.parametrize(("unanswered", "outcome"), [(0, Outcome.NONE), (1, Outcome.UNKNOWN)])
def test_the_same_of_a_member(unanswered: int, outcome: Outcome) -> None:
    async def test() -> None:
        async with serving(GrpcService([Doubtful(unanswered)])) as served, connect(served.target) as gq:
            brokers = gq._brokers
            join = JoinGroup("billing", ["orders"], session_timeout_ms=30_000, mode=GroupMode.EXCLUSIVE)
            membership = Membership(join, brokers.random)
            membership.standing = Standing.MEMBER
            with pytest.raises(errors.CommitFailed) as raised:
                await Commits(brokers, "billing", membership).commit({("orders", 0): 7})
            [failure] = raised.value.failures.values()
            assert (failure.code, failure.outcome) == ("unavailable", outcome)

    run(test)
