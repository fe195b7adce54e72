"""The verdict on a history: what all checkers find in it, and whether there was enough to look at.

An empty history is not valid but unknown, and so is one in which nothing was published or nothing was read: whoever
broke a client would else be told that all is well.
"""

from goqueue.fuzz.histories.log.batches import partial_batches
from goqueue.fuzz.histories.log.commits import stale_commits
from goqueue.fuzz.histories.log.duplicates import duplicates
from goqueue.fuzz.histories.log.losses import passed_over, unseen
from goqueue.fuzz.histories.log.offsets import inconsistent_offsets
from goqueue.fuzz.histories.log.origins import unfounded
from goqueue.fuzz.histories.log.polls import disordered_polls
from goqueue.fuzz.histories.log.sends import disordered_sends
from goqueue.fuzz.histories.log.sightings import Sightings, gather
from goqueue.fuzz.histories.operation import History, Verb
from goqueue.fuzz.histories.queue.attempts import attempts_beyond
from goqueue.fuzz.histories.queue.delays import early_deliveries
from goqueue.fuzz.histories.queue.deliveries import gather_deliveries
from goqueue.fuzz.histories.queue.keys import disordered_keys
from goqueue.fuzz.histories.queue.leases import double_leases
from goqueue.fuzz.histories.queue.losses import lost_messages
from goqueue.fuzz.histories.queue.settled import delivered_again
from goqueue.fuzz.histories.registers.registers import judge_registers
from goqueue.fuzz.histories.registers.search import TRIED_MAX
from goqueue.fuzz.histories.verdict import Verdict, count

LOG_CHECKERS = (
    inconsistent_offsets, duplicates, passed_over, unseen, unfounded, partial_batches, disordered_sends,
    disordered_polls,
)  # fmt: skip


def judge(history: History, tried_max: int = TRIED_MAX) -> Verdict:
    """All that is to be said of a history."""
    verdict = Verdict(counts=count(history))
    found, terms = gather(history), history.terms
    verdict.exempt = found.exempt
    if terms.damage:
        verdict.exempt.append("logs and queues: bits may have rotted")
    else:
        for checker in LOG_CHECKERS:
            verdict.findings += checker(found)
        deliveries = gather_deliveries(found)
        verdict.findings += double_leases(deliveries)
        verdict.findings += delivered_again(deliveries)
        verdict.findings += attempts_beyond(deliveries, terms)
        verdict.findings += disordered_keys(deliveries, terms)
        verdict.findings += lost_messages(found, deliveries)
        verdict.findings += early_deliveries(found, deliveries)
    verdict.findings += stale_commits(history)
    registers = judge_registers(history, tried_max)
    verdict.findings += registers.findings
    verdict.doubts += [*_emptiness(found), *registers.doubts]
    return verdict


def _emptiness(found: Sightings) -> list[str]:
    """Why there is too little to judge, if there is."""
    published = any(one.is_ok for one in found.history.of(Verb.PUBLISH, Verb.PUBLISH_LATER))
    doubts = [] if published else ["nothing was published and acknowledged"]
    if not found.read:
        doubts.append("nothing was read")
    return doubts
