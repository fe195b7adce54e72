"""Bugs of `core/quorum` and `core/cluster/agreement.py`: votes, entries, and what a start knows of them."""

from collections.abc import Iterable

from attrs import evolve

from goqueue.core.cluster.agreement import Agreement
from goqueue.core.log.log import LogState
from goqueue.core.quorum.ballots import Majority
from goqueue.core.quorum.candidate import Candidate
from goqueue.core.quorum.entries import Entry
from goqueue.core.quorum.follower import Follower
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.messages import QuorumMessage, Voted
from goqueue.core.quorum.quorum import Quorum
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.ready import SaveVote
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters
from goqueue.fuzz.plants.plant import Plant, Replace
from goqueue.storage.vote import VoteSaving


def _vote_not_saved(replace: Replace) -> None:
    replace(VoteSaving, "run", lambda *_: None)


def _wiped_voter_votes(replace: Replace) -> None:
    """A vote counts for the node that gives it, whichever disk it has."""

    def count(ballots: Majority, voter: str, *, is_granted: bool) -> None:
        for one in ballots.electors:
            if node_of(one) == node_of(voter):
                ballots._votes[one] = is_granted

    replace(Majority, "count", count)


def _agreed_before_durable(replace: Replace) -> None:
    """An entry counts when a majority has it, be it in memory."""
    advance = Leader._advance

    def hasty(leader: Leader, now: int) -> None:
        for progress in leader.progress.values():
            progress.durable = progress.matched
        advance(leader, now)

    replace(Leader, "_advance", hasty)


def _metadata_that_is_forgotten(replace: Replace) -> None:
    """What was agreed on last is gone when the disk has failed and is back."""
    real_opened = Agreement.opened

    def opened(
        agreement: Agreement, now: int, state: LogState, entries: Iterable[Entry], vote: SaveVote | None
    ) -> None:
        is_again = agreement.log is not None
        real_opened(agreement, now, state, entries, vote)
        if is_again and agreement.state.topics:
            agreement.state.topics.popitem()
            agreement._applied._changed.everything = True

    replace(Agreement, "opened", opened)


def _a_deletion_that_a_crash_interrupts_for_good(replace: Replace) -> None:
    """The folder is removed by the process that deleted the topic, or never: the next topic of the name inherits it."""
    real_opened = Agreement.opened

    def opened(
        agreement: Agreement, now: int, state: LogState, entries: Iterable[Entry], vote: SaveVote | None
    ) -> None:
        real_opened(agreement, now, state, entries, vote)
        agreement.state.removing.clear()

    replace(Agreement, "opened", opened)


def _entries_confirmed_before_sync(replace: Replace) -> None:
    """A voter says that it has what its disk has not."""
    answer = Follower._answer

    def hasty(follower: Follower) -> None:
        quorum = follower._quorum
        durable, quorum.durable = quorum.durable, quorum.log.end
        answer(follower)
        quorum.durable = durable

    replace(Follower, "_answer", hasty)


def _matched_before_asked(replace: Replace) -> None:
    """Who begins to follow takes all that it has for a beginning of its leader's log."""
    begin = Follower.__init__

    def hasty(follower: Follower, quorum: Quorum, now: int, *, leader: str, is_quiet: bool = False) -> None:
        begin(follower, quorum, now, leader=leader, is_quiet=is_quiet)
        follower._matched = quorum.log.end

    replace(Follower, "__init__", hasty)


def _trial_votes_counted(replace: Replace) -> None:
    """Who would vote for a candidate has voted for it."""
    receive = Candidate.receive

    def hasty(candidate: Candidate, now: int, sender: str, message: QuorumMessage) -> None:
        if isinstance(message, Voted) and message.is_granted and not candidate._is_trial:
            message = evolve(message, is_trial=False)
        receive(candidate, now, sender, message)

    replace(Candidate, "receive", hasty)


PLANTS = (
    Plant(
        "vote-not-saved",
        "A vote that is granted is on the disk.",
        _vote_not_saved,
        nodes=3,
        worlds=clusters.elections,
        within=5,
    ),
    Plant(
        "wiped-voter-votes",
        "A vote counts for the disk that keeps it, not for a node that has lost its own.",
        _wiped_voter_votes,
        nodes=3,
        worlds=clusters.wiping,
        within=10,
    ),
    Plant(
        "agreed-before-durable",
        "An entry counts as agreed when it is durable on a majority of voters.",
        _agreed_before_durable,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill"),
        within=5,
        finder="Entries",
    ),
    Plant(
        "metadata-that-is-forgotten",
        "What was agreed on is known after a disk has failed and is back.",
        _metadata_that_is_forgotten,
        worlds=lambda: Options(p_sync_error=0.1, p_topic_change=0.1),
    ),
    Plant(
        "a-deletion-that-a-crash-interrupts-for-good",
        "A deletion that a crash interrupts is finished by the next process.",
        _a_deletion_that_a_crash_interrupts_for_good,
        worlds=lambda: Options(p_topic_change=0.1, p_kill=0.05, think_ns=0),
    ),
    Plant(
        "entries-confirmed-before-sync",
        "A voter confirms what is on its disk.",
        _entries_confirmed_before_sync,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill"),
        within=10,
        finder="Entries",
    ),
    Plant(
        "matched-before-asked",
        "A voter takes for agreed only what it knows to be in its leader's log.",
        _matched_before_asked,
        nodes=3,
        worlds=clusters.deposing,
        within=10,
        tags=("truncation",),
    ),
    Plant(
        "trial-votes-counted",
        "Whoever leads a term has the votes of a majority for that term.",
        _trial_votes_counted,
        nodes=3,
        worlds=clusters.elections,
        within=10,
        finder="Electors",
    ),
)
"""All bugs of quorums."""
