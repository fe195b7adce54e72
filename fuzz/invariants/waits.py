"""Nobody waits for what is there: a fetch is answered in the turn in which something comes to be readable."""

from goqueue.core.broker.reads import WaitingFetch
from goqueue.core.requests.call import Call
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import waiting_fetches


class Waits(Checker):
    """Looks at the fetches that wait in a node, after each turn."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._turns = 0
        # By node: what could have been answered when it was looked at last.
        self._late: dict[str, set[Call]] = {}

    def stepped(self) -> None:
        """Look at the node that had a turn; what is between two turns is the next one's to answer."""
        broker = self.sight.stirred
        if broker is None or self.sight.turns == self._turns:
            return
        self._turns = self.sight.turns
        waiting = [] if broker.node is None else waiting_fetches(broker.node)
        late = {one.call: one for one in waiting if _can_be_answered(one)}
        seen = self._late.get(broker.node_id, set())
        for call, one in late.items():
            if call in seen:
                what = f"{one.partition.log.stream} can be read up to {one.partition.high_watermark}"
                raise Violation(f"{what}, and a fetch from {one.fetch.offset} waits over two turns")
        if late or seen:
            self._late[broker.node_id] = {*late}


def _can_be_answered(waiting: WaitingFetch) -> bool:
    """Whether what a fetch waits for has come."""
    partition = waiting.partition
    is_readable = partition.is_settled and partition.log.unsound is None
    return is_readable and waiting.fetch.offset < partition.high_watermark
