"""Resets to a moment: the offsets of that moment are looked up before the coordinator hears of the reset.

Each reset asks one question a partition; the first that is refused refuses the reset.

Invariant: a number that is asked under belongs to one reset, and a reset has questions open until it is done.
"""

from attrs import define, field

from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import ResetOffsets, ResetTo
from goqueue.core.requests.messages import FindOffset, FoundOffset
from goqueue.core.requests.refusals import Refusal
from goqueue.core.services.internal_requests import InternalRequests


@define
class MomentReset:
    """A reset whose offsets are being looked up."""

    call: Call
    request: ResetOffsets
    # The partition that each open question is about.
    open: dict[int, int] = field(factory=dict)
    refusal: Refusal | None = None


@define
class Moments:
    """All resets that are being looked up."""

    _wishes: InternalRequests
    _resets: dict[Call, MomentReset] = field(factory=dict)
    _by_question: dict[int, MomentReset] = field(factory=dict)

    def begin(self, call: Call, request: ResetOffsets, partitions: int) -> bool:
        """Look up where a reset leads, in a topic of so many partitions; False if there is nothing to look up."""
        numbers = request.partitions or [*range(partitions)]
        if request.to is not ResetTo.TIME or request.found or any(not 0 <= each < partitions for each in numbers):
            return False
        reset = MomentReset(call, request)
        for partition in dict.fromkeys(numbers):
            question = self._wishes.ask(FindOffset(request.topic, partition, request.at_ms))
            reset.open[question] = partition
            self._by_question[question] = reset
        if reset.open:
            self._resets[call] = reset
        return bool(reset.open)

    def answered(self, question: int, reply: FoundOffset | Refusal) -> MomentReset | None:
        """An answer to a question; the reset that is done with it, if one is."""
        reset = self._by_question.pop(question, None)
        if reset is None:
            return None
        partition = reset.open.pop(question)
        if isinstance(reply, Refusal):
            reset.refusal = reset.refusal or reply
        else:
            reset.request.found[partition] = reply.offset
        if reset.open:
            return None
        del self._resets[reset.call]
        return reset

    def forget(self, call: Call) -> None:
        """Nobody waits for a reset any more, and it is not made."""
        reset = self._resets.pop(call, None)
        if reset is not None:
            for question in reset.open:
                del self._by_question[question]

    def clear(self) -> list[Call]:
        """Give up all resets; who waits for them."""
        waiting = [*self._resets]
        self._resets, self._by_question = {}, {}
        return waiting

    def check(self) -> None:
        """Assert the invariant."""
        assert sum(len(reset.open) for reset in self._resets.values()) == len(self._by_question)
        assert all(reset.open for reset in self._resets.values())
