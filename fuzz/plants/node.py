"""Bugs of `core/node.py` and of what it is made of: answers, and reads that wait."""

from goqueue.core.broker.reads import Reads
from goqueue.core.cluster import plan
from goqueue.core.node import Node
from goqueue.core.ready import Send
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import PublishReply
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _a_second_answer(replace: Replace) -> None:
    real_send = Node._answer

    def send(node: Node, call: Call | None, reply: Reply) -> None:
        real_send(node, call, reply)
        if isinstance(reply, PublishReply) and call is not None and call.number % 20 == 0:
            node._ready.sends.append(Send(call.number, reply))

    replace(Node, "_answer", send)


def _reads_whose_time_does_not_end(replace: Replace) -> None:
    replace(Reads, "wake", lambda reads, now: None)


def _settings_of_any_kind(replace: Replace) -> None:
    """Nobody looks what a topic is to be like."""
    replace(plan, "_config_refusal", lambda config: None)


PLANTS = (
    Plant(
        "settings-of-any-kind",
        "A topic has settings that there are, with values that they may have.",
        _settings_of_any_kind,
        worlds=lone.petitioned,
        finder="PetitionsRefused",
    ),
    Plant(
        "a-second-answer",
        "Every request is answered once.",
        _a_second_answer,
        worlds=Options,
        said="answered twice",
    ),
    Plant(
        "reads-whose-time-does-not-end",
        "A node that has nothing to do waits until it has.",
        _reads_whose_time_does_not_end,
        worlds=lone.quiet,
        said="wants to be woken at once",
    ),
)
"""All bugs of nodes."""
