"""How fast clients are given producer ids: so many at once to each address, and so many a second after that.

An id costs nothing to ask for, and each that publishes is remembered by partitions for a day. Who starts programs by
the hundred is not held up; who asks in a loop waits. Ports do not count: one machine opens as many as it likes. Of too
many addresses the one that did not ask for longest is forgotten.
"""

from collections import OrderedDict

from attrs import define, field

from goqueue.core.requests.call import Caller
from goqueue.core.requests.refusals import Code, Refusal

AT_ONCE = 1_000
A_SECOND = 10
_ADDRESSES_MAX = 10_000
_NS_EACH = 1_000_000_000 // A_SECOND


@define(eq=False)
class ProducerPace:
    """When each address would have been given all its ids at the pace, had it never had any at once."""

    _spent: OrderedDict[str, int] = field(factory=OrderedDict)

    def refusal(self, now: int, caller: Caller) -> Refusal | None:
        """Why a caller is given no id now; None gives it one."""
        host = caller.address.rpartition(":")[0] or caller.address or caller.client_id
        spent = max(self._spent.get(host, now), now) + _NS_EACH
        late_ns = spent - now - AT_ONCE * _NS_EACH
        if late_ns > 0:
            message = f"{host} was given {AT_ONCE} producer ids, and is given {A_SECOND} a second from here on"
            return Refusal(Code.UNAVAILABLE, message, retry_after_ms=-(-late_ns // 1_000_000))
        self._spent[host] = spent
        self._spent.move_to_end(host)
        while len(self._spent) > _ADDRESSES_MAX:
            self._spent.popitem(last=False)
        return None
