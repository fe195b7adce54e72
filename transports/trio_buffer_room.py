"""How a task waits for room in the budget of what is sent."""

import trio

from goqueue.transports.buffer_budget import BufferShare
from goqueue.transports.trio_parking import Parking

# Longer than two sweeps, which take the room from those who do not read.
PATIENCE_S = 5.0
SWEEP_S = 1.0


async def granted(share: BufferShare, size: int, least: int, patience_s: float = PATIENCE_S) -> int:
    """Room for `size` bytes, or for `least` where there is less; 0 if there was none in time."""
    taken = share.take(size, least)
    if taken:
        return taken
    parking = Parking()
    ticket = share.ask(size, least, parking.wake)
    if ticket is None:
        share.budget.shed_count += 1
        return 0
    try:
        with trio.move_on_after(patience_s):
            await parking.wait()
    except BaseException:
        share.budget.forget(ticket)
        raise
    if not ticket.granted:
        share.budget.forget(ticket)
        share.budget.shed_count += 1
    return ticket.granted
