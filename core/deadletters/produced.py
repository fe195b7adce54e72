"""What a partition that is led here knows of a producer's batch: whether a move has arrived."""

from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.deadletters import FindMoved, Moved
from goqueue.core.requests.refusals import Code, Refusal


def produced(led: ReplicaSet, question: FindMoved) -> Moved | Refusal:
    """Whether a batch is there for good; refused while that is not certain."""
    target = led.partition(question.topic, question.partition)
    if isinstance(target, Refusal):
        return target
    batches = target.log.producers.batches(question.producer_id)
    found = next((one for one in batches if one.first_sequence == question.sequence), None)
    is_open = found is not None and found.next_offset > target.high_watermark
    if target.log.unsound is not None or not target.is_settled or is_open:
        message = f"what partition {question.partition} of {question.topic} has is not certain yet"
        return Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)
    return Moved(found is not None, 0 if found is None else found.next_offset - found.first_offset)
