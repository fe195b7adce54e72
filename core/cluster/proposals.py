"""Proposals under way: who waits for what to be agreed on, and what they are told.

What becomes of a proposal is seen at its index. If what is agreed there bears its term it has come to be; if not,
another controller had its place taken, and it never will. Until either is known it may be both, also when this node is
no controller any more, so nobody is told that it failed; after a while they are told that it is not known.

Invariant: whoever asked is answered once.
"""

from attrs import define, field

from goqueue.core.cluster.records import MetadataRecord
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import ProducerReply
from goqueue.core.requests.metadata import ExtendProducerIds
from goqueue.core.requests.refusals import Code, Refusal


@define
class Agreed:
    """A change that has come to be, as these records."""

    request: object
    records: list[MetadataRecord] = field(factory=list)


Answer = tuple[Call | None, Refusal | ProducerReply | Agreed | None]


@define
class Pending:
    """One request and the entry that decides about it; `refusal` is its answer if what was refused for comes to be."""

    call: Call | None
    request: object
    term: int
    due: int
    records: list[MetadataRecord] = field(factory=list)
    refusal: Refusal | None = None


@define(eq=False)
class Proposals:
    """The requests whose fate hangs on an entry, by its index."""

    _pending: dict[int, list[Pending]] = field(factory=dict)

    def add(self, index: int, pending: Pending) -> None:
        """The entry at an index decides."""
        self._pending.setdefault(index, []).append(pending)

    def decided(self, index: int, term: int, controller: str) -> list[tuple[Pending, Answer]]:
        """The entry at an index is agreed, and bears this term."""
        decided: list[tuple[Pending, Answer]] = []
        for pending in self._pending.pop(index, []):
            if pending.term != term:
                decided.append((pending, (pending.call, not_controller(controller))))
            elif pending.refusal is not None:
                decided.append((pending, (pending.call, pending.refusal)))
            else:
                decided.append((pending, (pending.call, Agreed(pending.request, pending.records))))
        return decided

    def passed_over(self, end: int) -> list[Answer]:
        """Entries before `end` were not seen one by one."""
        over = [index for index in self._pending if index < end]
        return [(one.call, _unknown()) for index in over for one in self._pending.pop(index)]

    def failed(self) -> list[Pending]:
        """None of them is decided here any more; answers who they were."""
        pending = [one for some in self._pending.values() for one in some]
        self._pending.clear()
        return pending

    def drop_own(self) -> None:
        """Forget an order for producer ids: a block that comes late is nobody's."""
        for index, some in self._pending.items():
            self._pending[index] = [one for one in some if not isinstance(one.request, ExtendProducerIds)]

    def expired(self, now: int) -> list[Answer]:
        """Those that nothing was heard of for too long."""
        answers: list[Answer] = []
        for index, some in list(self._pending.items()):
            if some and min(one.due for one in some) <= now:
                answers += [(one.call, _unknown()) for one in self._pending.pop(index)]
        return answers

    def deadline(self) -> int | None:
        """When the first of them is given up."""
        return min((one.due for some in self._pending.values() for one in some), default=None)


def not_controller(controller: str) -> Refusal:
    """The answer to what was not carried out because another node is to be asked."""
    message = f"the controller is {controller}" if controller else "there is no controller at the moment"
    return Refusal(Code.NOT_CONTROLLER, message, retry_after_ms=100, leader=controller)


def _unknown() -> Refusal:
    message = "the change was not agreed on in time; it may or may not come to be"
    return Refusal(Code.OUTCOME_UNKNOWN, message)
