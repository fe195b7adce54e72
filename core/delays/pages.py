"""Pages of delayed messages that several nodes have together: each gives its own, and the first of all are shown."""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.requests.call import Call
from goqueue.core.requests.delays import DelayedMessage, DelayedMessages, ListDelayed
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.services.internal_requests import InternalRequests


@define(eq=False)
class Page:
    """A page that is being put together."""

    request: ListDelayed
    parts: list[DelayedMessages] = field(factory=list)
    refusal: Refusal | None = None
    asked: dict[int, None] = field(factory=dict)

    def answer(self) -> DelayedMessages | Refusal:
        """The page; half of one would look like a whole."""
        if self.refusal is not None:
            return self.refusal
        limit = self.request.limit
        messages = sorted((message for part in self.parts for message in part.messages), key=_place)
        has_more = len(messages) > limit or any(part.after is not None for part in self.parts)
        shown = messages[:limit]
        after = _place(shown[-1]) if has_more and shown else None
        return DelayedMessages(shown, sum(part.count for part in self.parts), after)


def _place(message: DelayedMessage) -> tuple[int, int, int]:
    return message.due_ms, message.partition, message.offset


@define(eq=False)
class Pages:
    """All pages under way, by whom they are for."""

    _wishes: InternalRequests
    _open: dict[Call, Page] = field(factory=dict)
    # Whose page each question to another node is for.
    _owners: dict[int, Call] = field(factory=dict)

    def begin(self, call: Call, request: ListDelayed, own: DelayedMessages, nodes: Iterable[str]) -> None:
        """Ask other nodes for theirs; nobody has a page for "" ."""
        page = self._open[call] = Page(request, [own])
        for node in nodes:
            if node:
                number = self._wishes.ask(AskNode(node, request))
                page.asked[number] = None
                self._owners[number] = call
            else:
                message = f"some partition of {request.topic} has no leader at the moment"
                page.refusal = Refusal(Code.UNAVAILABLE, message, retry_after_ms=500)

    def answered(self, number: int, reply: Reply) -> None:
        """The page of another node."""
        call = self._owners.pop(number)
        page = self._open.get(call)
        if page is None or number not in page.asked:
            return
        del page.asked[number]
        if isinstance(reply, DelayedMessages):
            page.parts.append(reply)
        else:
            assert isinstance(reply, Refusal)
            page.refusal = reply

    def is_of(self, number: int) -> bool:
        """Whether a number is that of a question to another node."""
        return number in self._owners

    def take(self) -> list[tuple[Call, DelayedMessages | Refusal]]:
        """The pages that are whole."""
        whole = [call for call, page in self._open.items() if not page.asked]
        return [(call, self._open.pop(call).answer()) for call in whole]

    def forget(self, call: Call) -> None:
        """Nobody waits for a page any more."""
        self._open.pop(call, None)
