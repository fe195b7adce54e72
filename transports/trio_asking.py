"""How a task waits for the answer to a request that it has posted: at the price of one reschedule."""

import trio
from outcome import Value

from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.transports.broker import Broker


async def answered(broker: Broker, caller: Caller, request: Request) -> Reply:
    """Post a request and wait for its answer; a task that is cancelled forgets the request."""
    task = trio.lowlevel.current_task()
    at_once: list[Reply] = []
    is_waiting = False

    def receive(reply: Reply) -> None:
        if is_waiting:
            trio.lowlevel.reschedule(task, Value(reply))
        else:
            at_once.append(reply)

    to = broker.post(caller, request, receive)
    if at_once:
        return at_once[0]

    def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
        broker.forget(to)
        return trio.lowlevel.Abort.SUCCEEDED

    is_waiting = True
    reply: Reply = await trio.lowlevel.wait_task_rescheduled(abort)
    return reply
