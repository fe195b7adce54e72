"""Calls for tests, told apart by their numbers."""

from functools import cache

from goqueue.core.requests.call import Call, Origin
from goqueue.core.requests.row import ServiceName


@cache
def call(number: int) -> Call:
    """Return the call of a client; of one number there is one."""
    return Call(number)


@cache
def own_call(number: int, service: ServiceName = ServiceName.GROUPS) -> Call:
    """Return a call by which a service of the node asks."""
    return Call(number, origin=Origin.SERVICE, service=service, is_own=True)
