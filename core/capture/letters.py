"""What a capture leaves out of letters: records of clients, which the node passes on without having seen them.

Replication and forwarding carry the same batches that clients sent. A follower looks at a batch's header and at its
CRC and copies the rest; whoever carries out a forwarded request judges its batch as that of a client, without its
records or once they have been checked; and what another
node has read for a client, or for the poll of one, goes to the client. So a stand-in does for each (`skeleton`).

Kept whole is whatever a node writes for itself or looks into: the broker's own topics, ledgers and schedules, batches
under one of its own producer ids, such as dead letters, batches that a node publishes, and what nodes build batches of:
single messages, and batches that are to be delivered later.
"""

from typing import Any

from attrs import define, evolve, field

from goqueue.core.capture.skeleton import can_stand_for
from goqueue.core.capture.values import Run
from goqueue.core.cluster.plan import is_own
from goqueue.core.errors import BatchError
from goqueue.core.log.producers import OWN_IDS
from goqueue.core.node import Node
from goqueue.core.records.batch import read_header, split
from goqueue.core.records.varint import Readable
from goqueue.core.replication.messages import Pulled
from goqueue.core.requests.groups import Polled
from goqueue.core.requests.messages import Due, Fetch, Fetched, PublishBatch, Side
from goqueue.core.requests.queues import PolledWork
from goqueue.core.routing.messages import Answered, Forwarded


@define
class Letters:
    """Says how letters to a node are to be noted."""

    node: Node
    _own_topics: frozenset[int] = frozenset()
    # Ids are given to topics in order, so there is none that is not known below this.
    _known_below: int = field(default=-1)

    def shortened(self, sender: str, letter: Any) -> Any:
        """The letter with a `Run` in each place where records are to be left out; the letter itself where none are."""
        if isinstance(letter, Pulled):
            return self._pulled(letter) if any(part.runs for part in letter.parts) else letter
        if isinstance(letter, Forwarded):
            return self._forwarded(letter)
        if isinstance(letter, Answered):
            return self._answered(sender, letter)
        return letter

    def _pulled(self, letter: Pulled) -> Pulled:
        own = self._ids_of_own_topics()
        parts = [
            evolve(part, runs=[shortened(run) for run in part.runs])
            if part.side is Side.DATA and part.topic_id not in own and part.runs
            else part
            for part in letter.parts
        ]
        return Pulled(letter.session, letter.round, letter.is_known, parts)

    def _ids_of_own_topics(self) -> frozenset[int]:
        state = self.node._agreement.state
        if state.next_topic_id != self._known_below:
            self._known_below = state.next_topic_id
            self._own_topics = frozenset(topic.topic_id for name, topic in state.topics.items() if is_own(name))
        return self._own_topics

    def _forwarded(self, letter: Forwarded) -> Forwarded:
        request = letter.request
        if letter.is_own or not isinstance(request, PublishBatch) or request.side is not Side.DATA:
            return letter
        if request.due is not Due.NOW:
            return letter
        if self.node.led.checks_records(request.topic, request.partition):
            if not can_stand_for(request.batch, checks_records=True):
                return letter
        return evolve(letter, request=evolve(request, batch=shortened(request.batch)))

    def _answered(self, sender: str, letter: Answered) -> Answered:
        reply = letter.reply
        if isinstance(reply, Fetched) and not self._is_looked_at(sender, letter.number):
            return evolve(letter, reply=evolve(reply, batches=shortened(reply.batches)))
        if isinstance(reply, Polled | PolledWork):
            either: Any = reply
            parts = [evolve(part, batches=shortened(part.batches)) for part in reply.parts]
            return evolve(letter, reply=evolve(either, parts=parts))
        return letter

    def _is_looked_at(self, sender: str, number: int) -> bool:
        """Whether the node itself sees the records of an answer to a `Fetch`."""
        peering = self.node._peering
        asked = None if peering is None else peering.dispatch.asked(sender, number)
        request = None if asked is None else asked.request
        return isinstance(request, Fetch) and (request.looks or request.side is not Side.DATA)


def shortened(run: Readable) -> Any:
    """Batches without the records that are not the node's own; whatever is no row of batches, as it is."""
    try:
        batches = [*split(run)]
        return Run(run, [(batch, read_header(batch).producer_id in OWN_IDS) for batch in batches])
    except BatchError:
        return run
