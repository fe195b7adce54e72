"""A member's commits on their way to the broker; who travels with whom is decided in `core.client.committing`.

Each caller waits for its own outcome, and one that waits no longer changes nothing for the others.
"""

from goqueue.core.client.committing import Commit, Committing
from goqueue.core.client.failure import DROPPED, Failure
from goqueue.core.client.membership import Membership, Standing
from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import CommitOffsets, PartitionOffset
from goqueue.core.requests.refusals import Code
from goqueue.proto import groups, v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError, CommitFailed, error_of
from goqueue.transports.client.loops import Parking, Task

NO_MEMBER = Failure(str(Code.UNKNOWN_MEMBER), "this consumer is no member of its group for the time being")


class Commits:
    """See the module."""

    def __init__(self, brokers: Brokers, group: str, membership: Membership) -> None:
        self._brokers = brokers
        self._group = group
        self._membership = membership
        self._committing = Committing()
        self._parkings: dict[Commit, Parking] = {}
        self._task: Task | None = None
        # How far the group has come, as far as it is known here.
        self.done: dict[Slot, int] = {}

    async def commit(self, offsets: dict[Slot, int]) -> None:
        """Commit, and wait for the outcome; raises CommitFailed."""
        commit = self._committing.add(offsets)
        if self._task is None and not commit.is_settled:
            self._task = self._brokers.loop.start(self._carry)
        while not commit.is_settled:
            parking = self._parkings.setdefault(commit, self._brokers.loop.parking())
            await parking.wait()
        if commit.failures:
            raise CommitFailed({slot: error_of(failure) for slot, failure in commit.failures.items()})

    def lose(self, slots: list[Slot]) -> None:
        """These partitions may be another's: what waits for them is not sent."""
        said = "the partition was lost before its offset was committed"
        self._committing.abandon(Failure(str(Code.FENCED_GENERATION), said), slots)
        for slot in slots:
            self.done.pop(slot, None)
        self._tell()

    def stop(self) -> None:
        """Send nothing more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None
        dropped = Failure(DROPPED, "the consumer was left before the offset was committed")
        self._committing.failed(dropped)
        self._committing.abandon(dropped)
        self._tell()

    async def _carry(self) -> None:
        """Until nothing waits."""
        committing = self._committing
        while offsets := committing.take():
            failures = await self._send(offsets)
            if isinstance(failures, Failure):
                committing.failed(failures)
            else:
                self.done.update((slot, offset) for slot, offset in offsets.items() if slot not in failures)
                committing.answered(failures)
            self._tell()
        self._task = None

    async def _send(self, offsets: dict[Slot, int]) -> dict[Slot, Failure] | Failure:
        """Make one request; what was refused of it, or why there was no answer."""
        membership = self._membership
        if membership.standing is not Standing.MEMBER:
            return NO_MEMBER
        wanted = [PartitionOffset(topic, partition, offset) for (topic, partition), offset in sorted(offsets.items())]
        request = CommitOffsets(self._group, membership.member_id, membership.generation, wanted)
        try:
            message = groups.commit_offsets_message(request)
            reply, is_in_doubt = await self._brokers.call_doubting(
                "Groups/Commit", message, v1.CommitReply, self._group
            )
        except ClientError as error:
            return Failure(error.code, str(error), error.field, outcome=error.outcome)
        failures: dict[Slot, Failure] = {}
        for each in groups.read_committed_offsets(reply).refusals:
            why = each.refusal
            failure = Failure(str(why.code), why.message, why.field, why.retry_after_ms)
            failures[each.topic, each.partition] = failure.in_doubt() if is_in_doubt else failure
        return failures

    def _tell(self) -> None:
        for commit in [commit for commit in self._parkings if commit.is_settled]:
            self._parkings.pop(commit).wake()
