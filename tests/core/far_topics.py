"""Topics as one node of several sees them, without a node: who leads which partition, in which epoch."""

from goqueue.core.cluster.apply import Placement, Topic
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.replicas.topic import HostedTopic

OWN = "n1"


def led_by(**topics: list[str]) -> ReplicaSet:
    """What node n1 knows when partitions of topics are led by these nodes."""
    led = ReplicaSet(OWN)
    for number, (name, leaders) in enumerate(topics.items()):
        led.topics[name] = HostedTopic(Topic(name, number + 1, len(leaders), {}, 0), OWN, False)
        led.topics[name].may_lead = True
        for partition, leader in enumerate(leaders):
            move(led, name, partition, leader)
    return led


def move(led: ReplicaSet, topic: str, partition: int, leader: str) -> None:
    """A partition is led by another node, or by the same one anew."""
    placements = led.topics[topic].topic.placements
    epoch = placements[partition].leader_epoch + 1 if partition in placements else 1
    placements[partition] = Placement([leader], [leader], leader, epoch, epoch)
