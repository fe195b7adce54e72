"""Requests that other nodes are asked to carry out, until they have answered or will not any more.

A letter may be lost with its answer, so from time to time the other node is asked what has become of requests that it
owes an answer to: it answers once more, goes on, or says that it has not heard of them, and then they are sent again.
Only the process that a request was first sent to may be sent it again. When that has ended, the request is lost: it
may have been carried out, and whoever asked decides what that means.

Invariant: each request is answered, lost or abandoned, and only one of these, once.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.errors import ProtocolError
from goqueue.core.requests.call import Call
from goqueue.core.requests.cluster import RegisterNode
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.table import is_answer, is_idempotent, is_repeatable
from goqueue.core.routing.messages import (
    ANY_LIFE,
    Abandoned,
    Answered,
    Forwarded,
    ForwardingMessage,
    Inquiry,
    Missing,
)

# An answer that takes longer is asked for.
_PATIENCE_NS = 1_000_000_000
_PATIENCE_AFTER_LOSS_NS = 100_000_000
_INQUIRY_MAX = 1000


@define(eq=False)
class _Sent:
    """A request under way; `asked_at` is when the other node was last spoken to about it."""

    call: Call
    letter: Forwarded
    asked_at: int


@define(eq=False)
class _Peer:
    """What one node owes answers to; `once` are those of them that must not be repeated."""

    sent: dict[int, _Sent] = field(factory=dict)
    once: dict[int, None] = field(factory=dict)
    floor: int = 1
    next: int = 1
    due: int | None = None

    def raised_floor(self) -> int:
        """Below this, no request that must not be repeated is under way."""
        while self.floor < self.next and self.floor not in self.once:
            self.floor += 1
        return self.floor

    def drop(self, number: int) -> _Sent | None:
        """Await the answer no more."""
        self.once.pop(number, None)
        sent = self.sent.pop(number, None)
        if not self.sent:
            self.due = None
        return sent


class Outgoing:
    """See the module; `life` tells the life of a node that may be asked, 0 where there is none."""

    def __init__(
        self,
        own_life: int,
        post: Callable[[str, ForwardingMessage], None],
        life: Callable[[str], int],
        answered: Callable[[int, Call, Reply], None],
        lost: Callable[[int, Call], None],
    ) -> None:
        self._own_life = own_life
        self._post = post
        self._life = life
        self._answered = answered
        self._lost = lost
        self._peers: dict[str, _Peer] = {}
        # Where the request with a number of ours is, and under which number there.
        self._places: dict[Call, tuple[str, int]] = {}

    def send(self, now: int, call: Call, node: str, request: Any) -> bool:
        """Have a node carry out a request; False when there is no such node now."""
        life = self._life(node)
        if life:
            self._send(now, call, node, life, request)
        return life > 0

    def introduce(self, now: int, call: Call, node: str, request: Any) -> None:
        """Have a node of which only the name is known pass on what may be repeated."""
        assert is_repeatable(request)
        self._send(now, call, node, ANY_LIFE, request)

    def _send(self, now: int, call: Call, node: str, life: int, request: Any) -> None:
        peer = self._peers.setdefault(node, _Peer())
        number = peer.next
        peer.next += 1
        if not is_idempotent(request):
            peer.once[number] = None
        letter = Forwarded(self._own_life, life, number, peer.raised_floor(), call.is_own, call.caller, request)
        peer.sent[number] = _Sent(call, letter, now)
        self._places[call] = node, number
        if peer.due is None:
            peer.due = now + _PATIENCE_NS
        self._post(node, letter)

    def abandon(self, call: Call) -> None:
        """Nobody waits for this answer any more."""
        place = self._places.pop(call, None)
        if place is not None:
            node, number = place
            self._peers[node].drop(number)
            self._post(node, Abandoned(self._own_life, number))

    # --- what comes back

    def asked(self, node: str, number: int) -> Forwarded | None:
        """The letter with a request that a node owes an answer to."""
        sent = self._peers[node].sent.get(number) if node in self._peers else None
        return None if sent is None else sent.letter

    def answered(self, now: int, sender: str, message: Answered) -> None:
        """A node has answered. Raises ProtocolError for an answer that is none to what was asked."""
        if message.origin != self._own_life or sender not in self._peers:
            return
        sent = self._peers[sender].sent.get(message.number)
        if sent is not None and sent.letter.life in (ANY_LIFE, message.life):
            request = sent.letter.request
            if not is_answer(request, message.reply):
                raise ProtocolError(f"a {type(message.reply).__name__} is no answer to a {type(request).__name__}")
            self._peers[sender].drop(message.number)
            del self._places[sent.call]
            self._answered(now, sent.call, message.reply)

    def missing(self, now: int, sender: str, message: Missing) -> None:
        """A node knows nothing of some requests."""
        if message.origin != self._own_life or sender not in self._peers:
            return
        peer = self._peers[sender]
        for number in message.numbers:
            sent = peer.sent.get(number)
            if sent is None:
                continue
            if isinstance(sent.letter.request, RegisterNode):
                # Whoever registers may know no more than which process was there when it was last told anything, and is
                # told nothing else before it is registered. It may register twice.
                sent.letter.life = ANY_LIFE
            if sent.letter.life in (ANY_LIFE, message.life):
                sent.letter.floor, sent.asked_at = peer.raised_floor(), now
                self._post(sender, sent.letter)
            else:
                self._lose(now, peer, number)

    def _lose(self, now: int, peer: _Peer, number: int) -> None:
        sent = peer.drop(number)
        assert sent is not None
        del self._places[sent.call]
        self._lost(now, sent.call)

    # --- what changes

    def peer_lost(self, now: int, node: str) -> None:
        """Letters to and from a node may have been lost."""
        peer = self._peers.get(node)
        if peer is not None and peer.sent:
            for sent in peer.sent.values():
                sent.asked_at = now - _PATIENCE_NS
            peer.due = now + _PATIENCE_AFTER_LOSS_NS

    def nodes_changed(self, now: int) -> None:
        """Nodes may have ended, or begun anew."""
        for node, peer in list(self._peers.items()):
            if peer.sent:
                life = self._life(node)
                for number in [
                    number for number, sent in peer.sent.items() if sent.letter.life not in (ANY_LIFE, life)
                ]:
                    self._lose(now, peer, number)

    def deadline(self) -> int | None:
        """When `wake` has something to ask."""
        return min((peer.due for peer in self._peers.values() if peer.due is not None), default=None)

    def wake(self, now: int) -> None:
        """Ask what has become of what takes long."""
        for node, peer in self._peers.items():
            if peer.due is None or peer.due > now:
                continue
            late = [number for number, sent in peer.sent.items() if sent.asked_at + _PATIENCE_NS <= now]
            for number in late:
                peer.sent[number].asked_at = now
            for begin in range(0, len(late), _INQUIRY_MAX):
                numbers = late[begin : begin + _INQUIRY_MAX]
                self._post(node, Inquiry(self._own_life, peer.raised_floor(), numbers))
            peer.due = min(sent.asked_at for sent in peer.sent.values()) + _PATIENCE_NS

    def check(self) -> None:
        """Assert the invariants."""
        assert sum(len(peer.sent) for peer in self._peers.values()) == len(self._places)
        for call, (node, number) in self._places.items():
            assert self._peers[node].sent[number].call == call
        for peer in self._peers.values():
            assert (peer.due is None) == (not peer.sent)
            assert all(peer.floor <= number < peer.next for number in peer.once)
