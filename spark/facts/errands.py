"""Requests under way on a node: those of its clients, and those that other nodes have passed on to it.

A request is kept until it is answered or nobody waits for it any more. What a capture does not show, as letters that
were lost, is bounded by forgetting the oldest.
"""

from goqueue.core.requests.call import Caller
from goqueue.core.routing.messages import Abandoned, Answered, Forwarded
from goqueue.spark.facts.listening import CLIENT, PEER, Errand

_MOST = 1 << 16
_Key = int | tuple[str, int, int]


class Errands:
    """Who waits for what."""

    def __init__(self) -> None:
        self._waiting: dict[_Key, Errand] = {}

    def asked(self, at: int, to: int, caller: Caller, request: object) -> Errand:
        """A client asks."""
        return self._await(to, Errand(CLIENT, "", at, caller, request))

    def known(self, to: int, errand: Errand) -> None:
        """A client has asked before anybody listened."""
        self._waiting.setdefault(to, errand)

    def passed_on(self, at: int, sender: str, letter: Forwarded) -> Errand | None:
        """Another node asks; None where it has asked before."""
        key = sender, letter.origin, letter.number
        if key in self._waiting:
            return None
        return self._await(key, Errand(PEER, sender, at, letter.caller, letter.request, letter.is_own))

    def _await(self, key: _Key, errand: Errand) -> Errand:
        if len(self._waiting) >= _MOST:
            self._waiting.pop(next(iter(self._waiting)))
        self._waiting[key] = errand
        return errand

    def answered(self, to: int) -> Errand | None:
        """A client is answered, or waits no more; what it had asked."""
        return self._waiting.pop(to, None)

    def returned(self, peer: str, letter: Answered | Abandoned) -> Errand | None:
        """Another node is answered, or waits no more; what it had asked."""
        return self._waiting.pop((peer, letter.origin, letter.number), None)
