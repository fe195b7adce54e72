"""What the rooms of a node ask of the node itself, each question under a number that its answer bears."""

from attrs import define, field

from goqueue.core.requests.call import Call, Caller, Origin
from goqueue.core.requests.row import Request, ServiceName


@define
class InternalRequests:
    """What is to be asked for one service, and the numbers given out so far."""

    service: ServiceName
    asked: list[tuple[Call, Request]] = field(factory=list)
    _count: int = 0

    def ask(self, request: Request, parent: Call | None = None) -> int:
        """Ask for something, maybe on behalf of a call; the number of it."""
        self._count += 1
        caller = Caller() if parent is None else parent.caller
        call = Call(self._count, caller, Origin.SERVICE, self.service, is_own=True, parent=parent)
        self.asked.append((call, request))
        return self._count

    def take(self) -> list[tuple[Call, Request]]:
        """Return what was asked since the last call."""
        asked, self.asked = self.asked, []
        return asked
