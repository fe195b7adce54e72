"""Letters that are lost, doubled, late or out of order: what must not be repeated is carried out once at most."""

from random import Random

import pytest

from goqueue.core.ready import Letter
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import DeleteTopic
from goqueue.core.routing.messages import Abandoned, Answered, Forwarded, Inquiry, Missing
from tests.core.routing.cluster_of_dispatchers import Cluster

ONE = PublishReply([Published(0, 0)])


def cluster() -> Cluster:
    """Two nodes; b leads the only partition of `orders`."""
    made = Cluster("a", "b", controller="b")
    made.create("orders", "b")
    return made


def publish() -> Publish:
    return Publish("orders", [NewRecord(None, b"m")])


def lose_first(nodes: Cluster, cls: type) -> None:
    """Have the first letter of a kind get lost."""
    lost: list[Letter] = []

    def is_fit(_sender: str, letter: Letter) -> bool:
        if isinstance(letter.message, cls) and not lost:
            lost.append(letter)
        return not lost or letter is not lost[0]

    nodes.is_fit = is_fit


def test_a_request_that_was_lost_is_sent_again() -> None:
    nodes = cluster()
    lose_first(nodes, Forwarded)
    nodes["a"].ask(1, publish())
    nodes.run()
    assert not nodes["a"].answers
    nodes.wait(1.1)
    assert nodes["a"].answers == {1: ONE}


@pytest.mark.parametrize("cls", [Answered, Inquiry, Missing])
def test_an_answer_that_was_lost_is_given_again_and_nothing_is_done_twice(cls: type) -> None:
    nodes = cluster()
    lose_first(nodes, Answered)
    nodes["a"].ask(1, publish())
    nodes.run()
    assert not nodes["a"].answers
    lose_first(nodes, cls)
    nodes.wait(3)
    assert nodes["a"].answers == {1: ONE}
    assert len(nodes["b"].taken) == 1


def test_a_numbered_batch_whose_answer_was_lost_is_not_carried_out_again_and_refused() -> None:
    nodes = cluster()
    # Whoever has stored it may store nothing any more by the time at which it is asked again.
    replies = iter((ONE, Refusal(Code.NOT_ENOUGH_REPLICAS, "nothing was stored")))
    nodes.outcome = lambda _place, _request: next(replies)
    lose_first(nodes, Answered)
    batch = encode([(0, None, b"m", ())], producer_id=1000, producer_epoch=0, base_sequence=0)
    nodes["a"].ask(1, PublishBatch("orders", 0, batch))
    nodes.wait(3)
    assert nodes["a"].answers == {1: ONE}
    assert len(nodes["b"].taken) == 1


def test_a_lost_link_has_what_is_owed_asked_for_soon() -> None:
    nodes = cluster()
    lose_first(nodes, Forwarded)
    nodes["a"].ask(1, publish())
    nodes.run()
    nodes["a"].dispatch.peer_lost(nodes.now, "b")
    nodes.wait(0.2)
    assert nodes["a"].answers == {1: ONE}


def test_a_request_that_waits_is_not_begun_again() -> None:
    nodes = cluster()
    nodes["b"].parks = (Fetch,)
    nodes["a"].ask(1, Fetch("orders", 0, 0, wait_ns=20_000_000_000))
    nodes.wait(10)
    [(to, _)] = nodes["b"].taken
    nodes["b"].tell(to, Fetched(b"", 0, 0, 0))
    nodes.run()
    assert nodes["a"].answers == {1: Fetched(b"", 0, 0, 0)}


def test_a_request_that_comes_twice_is_carried_out_once_and_answered_twice() -> None:
    nodes = cluster()
    nodes["a"].ask(1, publish())
    nodes.collect()
    nodes.letters *= 2
    nodes.run()
    assert len(nodes["b"].taken) == 1
    assert nodes["a"].answers == {1: ONE}


def test_a_request_that_comes_again_after_all_is_settled_is_not_begun() -> None:
    nodes = cluster()
    nodes["a"].ask(1, publish())
    nodes.collect()
    [(sender, letter)] = nodes.letters
    nodes.run()
    for to in range(2, 200):
        nodes["a"].ask(to, publish())
        nodes.run()
    nodes.deliver(sender, letter)
    nodes.run()
    assert nodes.ends == {0: 199}


@pytest.mark.parametrize("request_", [publish(), Fetch("orders", 0, 0)])
def test_a_request_that_its_abandonment_has_overtaken_is_not_begun(request_: object) -> None:
    nodes = cluster()
    nodes["a"].ask(1, request_)
    nodes["a"].forget(1)
    nodes.collect()
    nodes.letters.reverse()
    assert isinstance(nodes.letters[0][1].message, Abandoned)
    nodes.run()
    assert not nodes["b"].taken


def test_letters_of_an_earlier_life_of_the_origin_are_told_from_those_of_this_one() -> None:
    nodes = cluster()
    nodes["a"].ask(1, publish())
    nodes.collect()
    [(sender, old)] = nodes.letters
    nodes.run()
    nodes.restart("a")
    nodes["a"].answers.clear()
    nodes["a"].ask(1, publish())
    nodes.run()
    nodes.deliver(sender, old)
    nodes.run()
    assert nodes.ends == {0: 2}
    assert nodes["a"].answers == {1: PublishReply([Published(0, 1)])}


def test_answers_that_are_kept_are_bounded_and_one_that_had_to_go_says_so() -> None:
    nodes = cluster()
    nodes.outcome = lambda _place, _request: None
    lose_first(nodes, Answered)
    nodes["a"].ask(1, DeleteTopic("x"))
    nodes.run()
    for to in range(2, 4200):
        nodes["a"].ask(to, DeleteTopic("x"))
    nodes.run()
    nodes.wait(2)
    refusal = nodes["a"].answers[1]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.OUTCOME_UNKNOWN
    assert "may have been carried out" in refusal.message
    assert len(nodes["a"].answers) == 4199
    assert len(nodes["b"].taken) == 4199


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_to_letters_each_publish_is_stored_and_answered_once(seed: int) -> None:
    chance = Random(seed)
    nodes = Cluster("a", "b", "c", controller="a")
    nodes.create("orders", "a", "b", "c")
    late: list[tuple[str, Letter]] = []

    def is_fit(sender: str, letter: Letter) -> bool:
        if chance.random() < 0.2:
            late.append((sender, letter))
        return chance.random() < 0.8

    nodes.is_fit = is_fit
    count = 0
    for _ in range(30):
        for name in "abc":
            count += 1
            nodes[name].ask(count, Publish("orders", [NewRecord(None, b"%d" % count) for _ in range(3)]))
        nodes.wait(chance.random() * 0.3)
        chance.shuffle(late)
        while late and chance.random() < 0.8:
            nodes.deliver(*late.pop())
        if chance.random() < 0.2:
            nodes.lead("orders", chance.randrange(3), chance.choice("abc"))
        nodes.run()
    nodes.wait(60)
    answers = {to: reply for name in "abc" for to, reply in nodes[name].answers.items()}
    assert sorted(answers) == [*range(1, count + 1)]
    results = [result for reply in answers.values() if isinstance(reply, PublishReply) for result in reply.results]
    offsets = [(one.partition, one.offset) for one in results if isinstance(one, Published)]
    assert len({*offsets}) == len(offsets)
    assert len(offsets) == sum(nodes.ends.values()) == 3 * count
