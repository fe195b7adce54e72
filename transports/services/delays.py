"""The service Delays: each method one request to the broker."""

from goqueue.core.requests.delays import DelayedMessage, DelayedMessages
from goqueue.proto import delays, v1
from goqueue.transports.broker import Broker
from goqueue.transports.services.calls import ask


class Delays(v1.DelaysBase):
    """Delayed messages over gRPC."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def list(self, list_delayed_request: v1.ListDelayedRequest) -> v1.ListDelayedReply:
        """See goqueue.proto."""
        wanted = delays.list_delayed_request(list_delayed_request)
        return delays.delayed_list_reply(await ask(self._broker, wanted, DelayedMessages))

    async def get(self, get_delayed_request: v1.GetDelayedRequest) -> v1.DelayedMessage:
        """See goqueue.proto."""
        wanted = delays.get_delayed_request(get_delayed_request)
        return delays.delayed_reply(await ask(self._broker, wanted, DelayedMessage))

    async def cancel(self, cancel_delayed_request: v1.CancelDelayedRequest) -> v1.CancelDelayedReply:
        """See goqueue.proto."""
        wanted = delays.cancel_delayed_request(cancel_delayed_request)
        await ask(self._broker, wanted, type(None))
        return delays.cancelled_reply(None)

    async def reschedule(self, reschedule_delayed_request: v1.RescheduleDelayedRequest) -> v1.DelayedMessage:
        """See goqueue.proto."""
        wanted = delays.reschedule_delayed_request(reschedule_delayed_request)
        return delays.delayed_reply(await ask(self._broker, wanted, DelayedMessage))
