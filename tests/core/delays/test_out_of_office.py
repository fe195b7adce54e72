"""A schedule that opens while the node may not act as a leader: nobody says again that the data is open."""

from goqueue.core.requests.delays import DelayedMessages, ListDelayed
from goqueue.core.requests.messages import NewRecord, Publish, PublishReply
from tests.core.driven_node import DrivenNode, opened_empty


def test_a_calendar_that_was_made_out_of_office_is_read_all_the_same() -> None:
    driven = DrivenNode().with_topic()
    to = driven.ask(Publish("orders", [NewRecord(None, b"later", delay_ms=60_000)]))
    answers = {}
    for _ in range(20):
        ready = driven.write()
        answers.update({send.to: send.reply for send in ready.sends})
        driven.sync(ready.writes)
        for wanted in ready.opens:
            driven.node.led.is_in_office = False
            driven.node.opened(driven.now, wanted.stream, opened_empty(wanted.config))
            driven.node.led.is_in_office = True
    answers.update(driven.settle())
    assert isinstance(answers[to], PublishReply)
    listed = driven.answer(ListDelayed("orders"))
    assert isinstance(listed, DelayedMessages)
