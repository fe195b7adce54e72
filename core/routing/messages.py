"""The letters about requests that one node passes on to another; each may be lost, doubled, delayed and overtaken.

Requests from one node to another are numbered from 1 on, anew in every life of a process. `origin` is the life of the
node that was asked, `life` that of the one that is to carry the request out, as the origin knows it.
"""

from attrs import define

from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request

# The life of a node of which the origin knows no more than the name.
ANY_LIFE = 0


@define
class Forwarded:
    """Carry this out yourself, or refuse it; the origin awaits no answer any more to what is below `floor`.

    The floor is one of requests that are carried out once at most: to repeat any other does no harm. Only a node that
    has yet to register writes to `ANY_LIFE`; that request alone is passed on to the controller.
    """

    origin: int
    life: int
    number: int
    floor: int
    is_own: bool
    caller: Caller
    request: Request


@define
class Answered:
    """What became of a request; `life` is that of whoever carried it out."""

    origin: int
    life: int
    number: int
    reply: Reply


@define
class Abandoned:
    """Nobody waits for the answer to this request any more."""

    origin: int
    number: int


@define
class Inquiry:
    """Tell me what has become of these."""

    origin: int
    floor: int
    numbers: list[int]


@define
class Missing:
    """The life of a node that has not heard of these requests, or would do no harm by carrying them out again."""

    origin: int
    life: int
    numbers: list[int]


ForwardingMessage = Forwarded | Answered | Abandoned | Inquiry | Missing
