"""The service DeadLetters: each method one request to the broker."""

from goqueue.core.requests.deadletters import DeadLetters as DeadLetterPage
from goqueue.core.requests.deadletters import RedriveReply
from goqueue.proto import dead, v1
from goqueue.transports.broker import Broker
from goqueue.transports.services.calls import ask


class DeadLetters(v1.DeadLettersBase):
    """Dead letters over gRPC."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def list(self, list_dead_topics_request: v1.ListDeadTopicsRequest) -> v1.ListDeadTopicsReply:
        """See goqueue.proto."""
        wanted = dead.list_dead_topics_request(list_dead_topics_request)
        return dead.dead_topics_reply(await ask(self._broker, wanted, list))

    async def browse(self, browse_request: v1.BrowseRequest) -> v1.BrowseReply:
        """See goqueue.proto."""
        wanted = dead.browse_request(browse_request)
        return dead.dead_letters_reply(await ask(self._broker, wanted, DeadLetterPage))

    async def redrive(self, redrive_request: v1.RedriveRequest) -> v1.RedriveReply:
        """See goqueue.proto."""
        wanted = dead.redrive_request(redrive_request)
        return dead.redrive_reply(await ask(self._broker, wanted, RedriveReply))

    async def purge(self, purge_request: v1.PurgeRequest) -> v1.RedriveReply:
        """See goqueue.proto."""
        wanted = dead.purge_request(purge_request)
        return dead.redrive_reply(await ask(self._broker, wanted, RedriveReply))

    async def describe_redrive(self, describe_redrive_request: v1.DescribeRedriveRequest) -> v1.RedriveReply:
        """See goqueue.proto."""
        wanted = dead.describe_redrive_request(describe_redrive_request)
        return dead.redrive_reply(await ask(self._broker, wanted, RedriveReply))

    async def list_redrives(self, list_redrives_request: v1.ListRedrivesRequest) -> v1.ListRedrivesReply:
        """See goqueue.proto."""
        wanted = dead.list_redrives_request(list_redrives_request)
        return dead.redrives_reply(await ask(self._broker, wanted, list))

    async def cancel_redrive(self, cancel_redrive_request: v1.CancelRedriveRequest) -> v1.RedriveReply:
        """See goqueue.proto."""
        wanted = dead.cancel_redrive_request(cancel_redrive_request)
        return dead.redrive_reply(await ask(self._broker, wanted, RedriveReply))
