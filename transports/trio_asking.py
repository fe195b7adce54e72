"""How a task waits for the answer to a request that it has posted: at the price of one reschedule, or none."""

from collections.abc import Callable

import trio
from outcome import Value

from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request

Post = Callable[[Caller, Request, Callable[[Reply], None]], int]


async def answered(post: Post, forget: Callable[[int], None], caller: Caller, request: Request) -> Reply:
    """Post a request and wait for its answer; a task that is cancelled forgets the request."""
    task = trio.lowlevel.current_task()
    at_once: list[Reply] = []
    is_waiting = False

    def receive(reply: Reply) -> None:
        if is_waiting:
            trio.lowlevel.reschedule(task, Value(reply))
        else:
            at_once.append(reply)

    to = post(caller, request, receive)
    if at_once:
        return at_once[0]

    def abort(_raise_cancel: object) -> trio.lowlevel.Abort:
        forget(to)
        return trio.lowlevel.Abort.SUCCEEDED

    is_waiting = True
    reply: Reply = await trio.lowlevel.wait_task_rescheduled(abort)
    return reply
