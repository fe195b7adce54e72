"""The agreed state of a cluster: requests become records, records are agreed on, and only then do they count.

Every node has the log and applies what is agreed in it. Where this node is the controller, requests are planned against
the state and proposed; all that wait together are planned together, each against what those before it will make of the
state, and the next are planned when these are agreed. So a plan always sees everything that is in the log. One plan is
one entry: it comes to be as a whole or not at all.

A node that starts among others knows what was agreed until some time before it stopped. It says what it may act on
(`take_changed`) when it has heard from a controller (`is_current`).

A request for a producer id is no change by itself: it is answered from a block of ids, and getting a block is one.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from attrs import evolve

from goqueue.core.clock import Clock
from goqueue.core.cluster.applied import Applied, Changed, entry_of, vet
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.duties import Summarize
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.plan import Plan, plan_producer_ids
from goqueue.core.cluster.producer_ids import ProducerIdSupply
from goqueue.core.cluster.proposals import Agreed, Answer, Pending, Proposals, not_controller
from goqueue.core.cluster.records import METADATA_CODEC, MetadataRecord, ProducerIds
from goqueue.core.errors import ProtocolError
from goqueue.core.log.config import UNLIMITED, LogConfig
from goqueue.core.log.effects import Effect, SyncToken
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.quorum.entries import SNAPSHOT, Entry, QuorumError, Vote, encode_snapshot
from goqueue.core.quorum.journal import Journal
from goqueue.core.quorum.messages import QuorumLetter
from goqueue.core.quorum.quorum import Tuning
from goqueue.core.quorum.voter_id import node_of, voter_id
from goqueue.core.ready import Letter, SaveVote
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import InitProducer
from goqueue.core.requests.metadata import ExtendProducerIds
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.voters import AddVoter, Confirm, MoveController, RemoveVoter

__all__ = [
    "METADATA_CONFIG",
    "METADATA_STREAM",
    "Agreed",
    "Agreement",
    "Answer",
    "Changed",
    "PlanOf",
    "metadata_config",
]

METADATA_STREAM = "meta/cluster"
# One entry may stand for everything there is.
METADATA_CONFIG = LogConfig(retention_ms=UNLIMITED, batch_bytes_max=256 << 20)
"""The settings of the metadata log under the default thresholds."""


def metadata_config(thresholds: Thresholds) -> LogConfig:
    """Return the settings of the metadata log of a node that has these thresholds."""
    return evolve(METADATA_CONFIG, segment_bytes=thresholds.metadata_segment_bytes)


PlanOf = Callable[[ClusterState, Any, int], Plan]

_WAITING_MAX = 1000
_PLANNED_MAX = 256
_NEVER = 1 << 63
_UNKNOWN = -1


def _plan_producer_ids(state: ClusterState, _request: ExtendProducerIds, _wall_ms: int) -> Plan:
    return plan_producer_ids(state)


_OWN_PLANS: dict[type, PlanOf] = {
    ExtendProducerIds: _plan_producer_ids,
}


class Agreement:
    """One node's part in what all agree on."""

    def __init__(
        self,
        node_id: str,
        options: ClusterOptions | None,
        clock: Clock,
        random: Random,
        plans: Mapping[type, PlanOf],
        thresholds: Thresholds,
    ) -> None:
        self.node_id = node_id
        self._disk_id = options.disk_id if options is not None else ""
        self.letters: list[Letter] = []
        self._clock = clock
        self._plans = {**_OWN_PLANS, **plans}
        self._founders = [*options.founders] if options is not None else [node_id]
        self._request_ns = options.request_ns if options is not None else _NEVER
        self._thresholds = thresholds
        tuning = Tuning(is_alone=True)
        if options is not None:
            tuning = Tuning(options.election_ns, options.quorum_heartbeat_ns, piece_bytes=thresholds.quorum_piece_bytes)
        own_id = voter_id(node_id, self._disk_id)
        self._journal = Journal(METADATA_STREAM, metadata_config(thresholds), clock, own_id, tuning, random, vet)
        self._quorum = self._journal.quorum
        self._applied = Applied()
        self._waiting: deque[tuple[Call | None, object]] = deque()
        self._proposals = Proposals()
        self._ids = ProducerIdSupply()
        self._answers: list[Answer] = []
        # Who asked what of the quorum, by the number that it was asked under.
        self._asked: dict[int, Call | None] = {}
        self._asked_count = 0
        self._had_office = False
        self.is_current = False
        # Whether anything came in since `take` found nothing to do; and since `take_changed` was asked.
        self.is_stirred = True
        self.has_news = True
        # When `wake` has something to do, since the last time that anything came in; `_UNKNOWN` until somebody asks.
        self._due: int | None = _UNKNOWN

    # --- what is known

    @property
    def state(self) -> ClusterState:
        """What is agreed, as far as this node knows."""
        return self._applied.state

    @property
    def log(self) -> Log | None:
        """The log of the metadata; None until it was opened."""
        return self._journal.log

    @property
    def term(self) -> int:
        """The term of the controller, or of the last that was heard of."""
        return self._quorum.term

    def silence_ns(self, now: int) -> int:
        """For how long this node, as the controller, has not been in touch with a majority of voters."""
        return now - min(self._quorum.contact(now), now)

    @property
    def silent_since(self) -> int:
        """Of a controller: no earlier one was in touch with a majority of voters after this moment."""
        return self._quorum.silent_since

    @property
    def agreed_index(self) -> int:
        """The end, exclusive, of what is agreed and applied to the state."""
        return self._applied.end

    @property
    def voters(self) -> list[str]:
        """The voter ids of those who vote for controllers."""
        return self._quorum.membership.voters

    @property
    def are_voters_agreed(self) -> bool:
        """Whether it is agreed that these vote, so that another change may follow."""
        return self._quorum.membership.changed_at < self._quorum.agreed

    def has_caught_up(self, now: int, node_id: str) -> bool:
        """Whether a registered node has all that is agreed on its disk, as far as this node knows as the controller."""
        return self._quorum.has_caught_up(now, self.state.voter(node_id))

    def take_misfits(self) -> list[str]:
        """Why entries that were agreed on were passed over since the last call."""
        misfits, self._applied.misfits = self._applied.misfits, []
        return misfits

    @property
    def is_founding(self) -> bool:
        """Whether this node is a founder that waits for the others."""
        return self._quorum.is_founding

    @property
    def is_controller(self) -> bool:
        """Whether this node is the controller, and its state is everything that was ever agreed."""
        return self._quorum.is_leader and self._applied.end >= self._quorum.agreed

    @property
    def controller(self) -> str:
        """The node that is the controller; empty where none is known, or it has only just been elected."""
        leader = node_of(self._quorum.leader)
        return leader if leader != self.node_id or self.is_controller else ""

    @property
    def _leads(self) -> bool:
        return self._quorum.leader == self._quorum.own_id

    # --- what the driver reports

    def _stir(self) -> None:
        """Something came in."""
        self.is_stirred = self.has_news = True
        self._due = _UNKNOWN

    def opened(self, now: int, state: LogState, entries: Iterable[Entry], vote: SaveVote | None) -> None:
        """The log was recovered: at first, after its disk failed, or after a cut. Raises QuorumError."""
        self._stir()
        saved = Vote(vote.term, vote.vote) if vote is not None else Vote()
        is_first, held = self._journal.log is None, [*entries]
        if self._journal.opened(now, state, held, saved, self._founders):
            if is_first:
                log = self._quorum.log
                self._applied.begin(0 if log.is_hollow else log.start)
                self.is_current = self._quorum.tuning.is_alone
                self._refuse_strangers()
            self._after(now)

    def _refuse_strangers(self) -> None:
        """Refuse a data folder that is another's."""
        if not self._quorum.tuning.is_alone:
            return
        if self._quorum.log.is_hollow:
            raise QuorumError("the metadata in this folder was being replaced: start the node with its peers")
        voters = [node_of(one) for one in self.voters]
        if voters == [self.node_id]:
            return
        if len(voters) == 1:
            message = f"the metadata in this folder is of node {voters[0]}, and this is {self.node_id}: start it"
            raise QuorumError(f"{message} with the node id {voters[0]}, or with another data folder")
        message = f"the metadata in this folder is of a cluster, in which {', '.join(voters)} vote: start the node"
        raise QuorumError(f"{message} with its peers")

    def synced(self, now: int, token: SyncToken) -> None:
        """The disk kept a promise about the log."""
        self._stir()
        self._journal.synced(now, token)
        self._after(now)

    def disk_failed(self, now: int, why: str) -> None:
        """The log's disk refused or lost something; whoever waits is told."""
        self._stir()
        self._journal.disk_failed(now, why)
        refusal = Refusal(Code.UNAVAILABLE, f"the metadata log has lost its disk: {why}", retry_after_ms=1000)
        for pending in self._proposals.failed():
            self._refuse(pending.call, pending.request, pending.refusal or refusal.in_doubt())
        self._refuse_waiting(refusal)
        self._after(now)

    def vote_saved(self, now: int, vote: SaveVote) -> None:
        """The disk keeps this vote."""
        self._stir()
        self._quorum.vote_saved(now, Vote(vote.term, vote.vote))
        self._after(now)

    def receive(self, now: int, sender: str, letter: QuorumLetter) -> None:
        """Take a letter of another node, unless its log is another cluster's. Raises ProtocolError."""
        self._stir()
        if sender == self.node_id:
            raise ProtocolError("a node sends messages under this one's name")
        own = self._quorum.membership.current.origin
        if self.log is not None and (letter.origin == own or not letter.origin or not own):
            self._quorum.receive(now, voter_id(sender, letter.disk_id), letter.message)
            self._after(now)

    def peer_lost(self, now: int, peer: str) -> None:
        """The link to a peer broke."""
        self._stir()
        self._quorum.peer_lost(now, peer)

    def peer_gone(self, now: int, peer: str) -> None:
        """The process of a peer is certainly gone."""
        self._stir()
        self._quorum.peer_gone(now, peer)

    # --- requests

    def ask(self, now: int, call: Call | None, request: object) -> None:
        """Put a request in line; it is answered when it is agreed on, or will not be."""
        self._stir()
        if not self._leads and not self._quorum.tuning.is_alone:
            self._answers.append((call, not_controller(self.controller)))
        elif isinstance(request, AddVoter | RemoveVoter | MoveController | Confirm):
            self._asked_count += 1
            self._asked[self._asked_count] = call
            self._quorum.ask(now, self._asked_count, request)
            self._after(now)
        elif isinstance(request, InitProducer):
            assert call is not None
            self._ids.ask(call)
        elif len(self._waiting) < _WAITING_MAX:
            self._waiting.append((call, request))
        else:
            refusal = Refusal(Code.UNAVAILABLE, "too many changes are waiting", retry_after_ms=1000)
            self._answers.append((call, refusal))

    def proceed(self, now: int) -> None:
        """Plan what waits, if it is this node's to plan and nothing is under way."""
        if self.log is None:
            return
        self._answers += self._ids.hand_out()
        refusal = self._journal.refusal
        if refusal:
            self._refuse_waiting(Refusal(Code.UNAVAILABLE, refusal, retry_after_ms=1000))
        elif self._quorum.may_propose and self._wants_more() and self._applied.end == self._quorum.log.end:
            self._plan_waiting(now)
            self._journal.gather(now)

    def _wants_more(self) -> bool:
        """Whether there is something to do that nobody asked for."""
        if self._ids.order():
            self._waiting.append((None, ExtendProducerIds()))
        return bool(self._waiting) or self._is_long()

    def _is_long(self) -> bool:
        count = len(self._quorum.log.entries)
        thresholds = self._thresholds
        return count >= max(thresholds.metadata_entries, thresholds.metadata_entries_a_topic * len(self.state.topics))

    def _plan_waiting(self, now: int) -> None:
        if self._is_long():
            content = METADATA_CODEC.encode(self.state.snapshot())
            index = self._quorum.propose(SNAPSHOT, encode_snapshot(self._quorum.membership.current, content))
            self._proposals.add(index, Pending(None, Summarize(), self.term, _NEVER))
            return
        state, last, count = self.state, -1, 0
        while self._waiting and count < _PLANNED_MAX:
            count += 1
            call, request = self._waiting.popleft()
            planned = self._plans[type(request)](state, request, self._clock.wall_ms(now))
            # A block of ids is either ours or nobody's: that it took long is no reason to order another.
            due = _NEVER if isinstance(request, ExtendProducerIds) else now + self._request_ns
            pending = Pending(call, request, self.term, due)
            if isinstance(planned, Refusal):
                pending.refusal = planned
            elif planned:
                pending.records = planned
                last = self._quorum.propose(*entry_of(planned))
                if self._waiting:
                    state = self._foresee(state, planned)
            if last < 0:
                self._answer_at_once(pending)
            else:
                # What was refused or had nothing to change may have been so for what is not agreed yet.
                self._proposals.add(last, pending)

    def _foresee(self, state: ClusterState, records: list[MetadataRecord]) -> ClusterState:
        foreseen = state.copy() if state is self.state else state
        for record in records:
            foreseen.apply(record)
        return foreseen

    def _answer_at_once(self, pending: Pending) -> None:
        if pending.refusal is not None:
            self._refuse(pending.call, pending.request, pending.refusal)
        else:
            self._answers.append((pending.call, Agreed(pending.request)))

    def _refuse(self, call: Call | None, request: object, refusal: Refusal) -> None:
        if isinstance(request, ExtendProducerIds):
            # A block that comes after all is nobody's: whoever waits for an id has none.
            self._answers += self._ids.refused(refusal.undone())
        else:
            self._answers.append((call, refusal))

    def _refuse_waiting(self, refusal: Refusal) -> None:
        self._proposals.drop_own()
        waiting, self._waiting = self._waiting, deque()
        for call, request in waiting:
            self._refuse(call, request, refusal)
        self._answers += self._ids.refused(refusal)

    # --- what comes of it

    def _after(self, now: int) -> None:
        """Look at what the quorum has come to."""
        if self._journal.log is None:
            return
        if self._journal.gather(now):
            self._begin_anew()
        self._apply(now)
        self._answer_asked()
        has_office = self._leads
        if self._had_office and not has_office:
            self._refuse_waiting(not_controller(self.controller))
        self._had_office = has_office
        self._quorum.observe(now, [self.state.voter(node_id) for node_id in sorted(self.state.nodes)])

    def _begin_anew(self) -> None:
        """The log begins with what stands for entries that were never seen here, unless they were."""
        start = self._quorum.log.start
        if start >= self._applied.end:
            self._answers += self._proposals.passed_over(start)
            self._applied.begin(start)

    def _apply(self, now: int) -> None:
        quorum, applied = self._quorum, self._applied
        while applied.end < quorum.agreed:
            entry = quorum.log.entries[applied.end - quorum.log.start]
            records = applied.apply(entry)
            for pending, answer in self._proposals.decided(entry.index, entry.term, self.controller):
                passed_over = (pending.call, Refusal(Code.INVALID, "what was planned does not fit what is agreed"))
                self._decide(pending, answer if records is not None else passed_over, records or [])
            if entry.kind == SNAPSHOT and entry.index > quorum.log.start:
                self._journal.forget_before(now, entry.index)
        self.is_current = self.is_current or (quorum.is_level and applied.end >= quorum.agreed)

    def _decide(self, pending: Pending, answer: Answer, records: list[MetadataRecord]) -> None:
        if isinstance(pending.request, ExtendProducerIds):
            if isinstance(answer[1], Refusal):
                self._answers += self._ids.refused(answer[1].undone())
                return
            for record in records:
                if isinstance(record, ProducerIds):
                    self._ids.received(record)
        elif not isinstance(pending.request, Summarize):
            self._answers.append(answer)

    def _answer_asked(self) -> None:
        answers, self._quorum.answers = self._quorum.answers, []
        for number, why_not, is_begun in answers:
            call = self._asked.pop(number)
            if not why_not:
                self._answers.append((call, None))
            elif is_begun:
                self._answers.append((call, Refusal(Code.OUTCOME_UNKNOWN, why_not, retry_after_ms=1000)))
            elif not self._leads:
                self._answers.append((call, not_controller(self.controller)))
            else:
                self._answers.append((call, Refusal(Code.UNAVAILABLE, why_not, retry_after_ms=1000)))

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` wants to be called; None while nothing depends on time."""
        if self._due == _UNKNOWN:
            times = [self._quorum.deadline(), self._proposals.deadline()]
            self._due = min((due for due in times if due is not None and due < _NEVER), default=None)
        return self._due

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        due = self.deadline()
        if not self.is_stirred and (due is None or due > now):
            return
        self._stir()
        if self.log is not None:
            self._quorum.wake(now)
            self._answers += self._proposals.expired(now)
            self._after(now)

    def take(self, now: int) -> list[Effect]:
        """Everything to be done on the disk since the last call; `letters` and votes are there after it."""
        if not self.is_stirred:
            return []
        self.is_stirred, self.has_news, self._due = False, True, _UNKNOWN
        self.proceed(now)
        self._quorum.flush(now)
        self._answer_asked()
        origin = self._quorum.membership.current.origin
        for to, message in self._quorum.take_letters():
            self.letters.append(Letter(node_of(to), QuorumLetter(self._disk_id, origin, message)))
        effects = self._journal.take(now)
        # Whoever performs them tells nothing of it before they are durable, and there may be more.
        self.is_stirred = bool(effects)
        return effects

    def take_votes(self) -> list[SaveVote]:
        """The votes to be kept since the last call."""
        votes, self._quorum.votes = self._quorum.votes, []
        return [SaveVote(vote.term, vote.vote) for vote in votes]

    def take_answers(self) -> list[Answer]:
        """Who is to be told what since the last call."""
        self._answers += self._ids.hand_out()
        answers, self._answers = self._answers, []
        return answers

    def take_changed(self) -> Changed:
        """What has changed since the last call, as far as this node may act on it."""
        self.has_news = False
        return self._applied.take_changed() if self.is_current else Changed()

    def close(self, now: int) -> None:
        """Leave the log so that the next start has nothing to read back."""
        self._journal.close(now)

    def check(self) -> None:
        """Assert the invariants."""
        self._journal.check()
        self.state.check()
        self._ids.check()
        assert self._applied.end >= 0
        assert len(self._waiting) <= _WAITING_MAX + 1
