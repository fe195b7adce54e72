"""What nobody may have is refused in worlds, and one who grants it is found."""

from random import Random

import pytest

from goqueue.core.requests.groups import CommitOffsets, CommitRefusal, CommittedOffsets, JoinGroup, PartitionOffset
from goqueue.core.requests.messages import NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.queues import AckWork, ReceiptRefusal, ReceiptRun, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import CreateTopic, TopicReply
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.checkers.petitions import PetitionsRefused
from goqueue.fuzz.history import Asked, History, Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import run_world
from goqueue.fuzz.workloads.petitioner import Petitioner

NO = Refusal(Code.INVALID, "nobody may have that", "name")


def judged(request: Request, reply: Reply, *, is_petition: bool = True) -> None:
    """What the checker says of an answer to a petitioner."""
    sight, petitioner = Sight(History()), Petitioner("q0", Random(1), Options())
    sight.clients = [petitioner]
    if is_petition:
        petitioner.petitions[id(request)] = request
    PetitionsRefused(sight).answered(Asked(1, "q0", request, None), reply)


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (CreateTopic("vain", -1), NO),
        (Publish("vain", [NewRecord(None, b"a")]), PublishReply([NO])),
        (CommitOffsets("g0", "", 0, []), CommittedOffsets([CommitRefusal("vain", 0, NO)])),
        (AckWork([ReceiptRun("vain", 0)]), WorkDone(0, [ReceiptRefusal("vain", 0, NO)])),
    ],
)
def test_a_refusal_is_right(request_: Request, reply: Reply) -> None:
    judged(request_, reply)


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (CreateTopic("t0", -1), TopicReply("t0", 1, {}, 0, {}, 0)),
        (Publish("t0", [NewRecord(None, b"a")]), PublishReply([Published(0, 5)])),
        (CommitOffsets("g0", "", 0, [PartitionOffset("t0", 0, -1)]), CommittedOffsets([])),
        (AckWork([ReceiptRun("vain", 0)]), WorkDone(1)),
    ],
)
def test_what_is_granted_is_found(request_: Request, reply: Reply) -> None:
    with pytest.raises(Violation, match="was granted"):
        judged(request_, reply)


def test_a_refusal_that_says_it_was_done_before_is_found() -> None:
    with pytest.raises(Violation, match="was refused as"):
        judged(JoinGroup("vain", []), Refusal(Code.DUPLICATE, "it is there"))


def test_what_was_only_named_in_vain_is_found_wherever_it_is_shown() -> None:
    with pytest.raises(Violation, match="a topic that nobody may make"):
        judged(CreateTopic("t0"), [TopicReply("vain", 1, {}, 0, {}, 0)], is_petition=False)
    with pytest.raises(Violation, match="a topic that nobody may make"):
        judged(CreateTopic("t0"), TopicReply("t0", 1, {"dlq": "perhaps"}, 0, {}, 0), is_petition=False)


def test_a_world_refuses_petitions_of_all_kinds() -> None:
    verdict = run_world(5, options=Options(steps=600, petitioners=3, p_topic_change=0.0))
    assert verdict.violation is None
    kinds = {name for name in verdict.counts if name.startswith("request ")}
    assert len(kinds) > 30
    assert verdict.counts["refusal"] > 50
