"""Bugs about terms: what is agreed in which of them, who has voted in one, and who belongs to the ISR of one."""

from goqueue.core.partition.partition import Partition
from goqueue.core.quorum.entries import Entry, Vote
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.quorum import Quorum
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters
from goqueue.fuzz.plants.plant import Plant, Replace


def _earlier_terms_agreed(replace: Replace) -> None:
    """What a majority has is agreed, in whichever term it was proposed."""

    def advance(leader: Leader) -> None:
        quorum = leader._quorum
        durable = {peer: one.durable for peer, one in leader.progress.items()}
        durable[quorum.own_id] = quorum.durable
        if leader._is_founding and not leader._has_everybody(durable):
            return
        agreed = quorum.membership.median(durable, 0)
        if agreed > quorum.agreed:
            quorum.agree(agreed)
            leader._changing.agreed(leader._stamp)

    replace(Leader, "_advance", lambda leader, _: advance(leader))


def _vote_forgotten(replace: Replace) -> None:
    """A process knows in which term it is, and not for whom the one before it has voted."""
    open_ = Quorum.open

    def forgetful(quorum: Quorum, now: int, start: int, entries: list[Entry], vote: Vote, founders: list[str]) -> None:
        open_(quorum, now, start, entries, Vote(vote.term, ""), founders)

    replace(Quorum, "open", forgetful)


def _joins_when_heard(replace: Replace) -> None:
    """Whoever is heard of may join, however much its machine has lost."""
    replace(Partition, "is_caught_up", lambda partition, follower: follower in partition.ends)


def _in_memory() -> Options:
    """Worlds in which machines lose their power with what was acknowledged in memory."""
    return clusters.short_worlds(
        "crash", fsyncs=("none",), seconds=40, think_ns=30_000_000, calamity_lasts_s=(4.0, 8.0)
    )


PLANTS = (
    Plant(
        "earlier-terms-agreed",
        "Entries of earlier terms count as agreed once one of the leader's own term does.",
        _earlier_terms_agreed,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill", "isolate"),
        within=10,
        finder="Entries",
        tags=("second_failover",),
    ),
    Plant(
        "vote-forgotten",
        "A node votes once in a term, also after a restart.",
        _vote_forgotten,
        nodes=3,
        worlds=lambda: clusters.summing_up("kill"),
        within=10,
        finder="Votes",
    ),
    Plant(
        "joins-when-heard",
        "Who joins the ISR has all that is acknowledged.",
        _joins_when_heard,
        nodes=3,
        worlds=_in_memory,
        within=20,
        finder="InSyncReplicas",
    ),
)
"""All bugs about terms."""
