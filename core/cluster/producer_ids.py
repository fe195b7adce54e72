"""The producer ids that this node may hand out, and who waits for one.

Ids come in blocks that the metadata log makes this node's own, so most are handed out at once, and an id is never
handed out twice: what is left of a block when the node stops is lost, and the next start begins with another. A block
is ordered when the last one runs low, so that in a steady trickle nobody waits for the disk.

Ids need not rise from one producer to the next, and say nothing of when or where they were given out.
"""

from collections import deque

from attrs import define, field

from goqueue.core.cluster.records import ProducerIds
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import ProducerReply
from goqueue.core.requests.refusals import Code, Refusal

_WAITING_MAX = 1000
_LOW = 100


@define
class ProducerIdSupply:
    """Ids at hand, and requests for more."""

    _blocks: deque[range] = field(factory=deque)
    _waiting: deque[Call] = field(factory=deque)
    _is_ordered: bool = False

    def ask(self, call: Call) -> None:
        """Somebody wants an id."""
        self._waiting.append(call)

    def hand_out(self) -> list[tuple[Call, ProducerReply | Refusal]]:
        """Answer whoever can be answered."""
        answered: list[tuple[Call, ProducerReply | Refusal]] = []
        while self._waiting and self._blocks:
            block = self._blocks.popleft()
            answered.append((self._waiting.popleft(), ProducerReply(block[0], 0)))
            if len(block) > 1:
                self._blocks.appendleft(block[1:])
        while len(self._waiting) > _WAITING_MAX:
            refusal = Refusal(Code.UNAVAILABLE, "too many producers are waiting for an id", retry_after_ms=1000)
            answered.append((self._waiting.pop(), refusal))
        return answered

    def order(self) -> bool:
        """Whether a block should be asked for; true once, until it has come or was refused."""
        left = sum(map(len, self._blocks))
        # A node whose producers number nothing needs no ids.
        is_due = not self._is_ordered and (bool(self._waiting) or 0 < left < _LOW)
        self._is_ordered = self._is_ordered or is_due
        return is_due

    def received(self, block: ProducerIds) -> None:
        """The block that was asked for is this node's."""
        assert self._is_ordered
        assert block.first < block.next
        self._is_ordered = False
        self._blocks.append(range(block.first, block.next))

    def refused(self, refusal: Refusal) -> list[tuple[Call, ProducerReply | Refusal]]:
        """No block will come for what was asked; whoever waits for an id is told."""
        self._is_ordered = False
        answered: list[tuple[Call, ProducerReply | Refusal]] = [(call, refusal) for call in self._waiting]
        self._waiting.clear()
        return answered

    def check(self) -> None:
        """Assert that no id is at hand twice, and that nobody waits while there are some."""
        assert all(self._blocks)
        assert all(one.stop <= other.start for one, other in zip(self._blocks, list(self._blocks)[1:], strict=False))
        assert len(self._waiting) <= _WAITING_MAX
        assert not (self._waiting and self._blocks)
