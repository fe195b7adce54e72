"""How a task waits for the answer to a request that it has posted: at the price of one reschedule."""

import trio
from outcome import Value

from goqueue.core.calls import Reply, Request
from goqueue.core.verbs import Caller
from goqueue.transports.broker import Broker


async def answered(broker: Broker, caller: Caller, request: Request) -> Reply:
    """The answer to a request; a task that is cancelled forgets it."""
    task = trio.lowlevel.current_task()
    to = broker.post(caller, request, lambda reply: trio.lowlevel.reschedule(task, Value(reply)))

    def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
        broker.forget(to)
        return trio.lowlevel.Abort.SUCCEEDED

    reply: Reply = await trio.lowlevel.wait_task_rescheduled(abort)
    return reply
