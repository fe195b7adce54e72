"""From the messages of `v1` to the core's requests and back, all of it by one name: `translate.publish_request(…)`.

A function that ends in `_request` takes a message and gives the verb, or a `Refusal` that names the wrong field; every
other one takes the core's reply and gives the message. Nothing is decided here; the work is in `topics.py` and
`messages.py`.
"""

from goqueue.proto.messages import (
    Start,
    Subscription,
    fetch_reply,
    fetch_request,
    find_offset_reply,
    find_offset_request,
    init_producer_reply,
    init_producer_request,
    leaving,
    new_record,
    publish_batch_reply,
    publish_batch_request,
    publish_reply,
    publish_request,
    subscribe_reply,
    subscribe_request,
)
from goqueue.proto.refusals import refusal
from goqueue.proto.topics import (
    alter_topic_request,
    create_topic_request,
    delete_topic_reply,
    delete_topic_request,
    describe_node_request,
    describe_partitions_reply,
    describe_partitions_request,
    describe_topic_request,
    list_topics_reply,
    list_topics_request,
    node,
    setting,
    topic,
)

__all__ = [
    "Start",
    "Subscription",
    "alter_topic_request",
    "create_topic_request",
    "delete_topic_reply",
    "delete_topic_request",
    "describe_node_request",
    "describe_partitions_reply",
    "describe_partitions_request",
    "describe_topic_request",
    "fetch_reply",
    "fetch_request",
    "find_offset_reply",
    "find_offset_request",
    "init_producer_reply",
    "init_producer_request",
    "leaving",
    "list_topics_reply",
    "list_topics_request",
    "new_record",
    "node",
    "publish_batch_reply",
    "publish_batch_request",
    "publish_reply",
    "publish_request",
    "refusal",
    "setting",
    "subscribe_reply",
    "subscribe_request",
    "topic",
]
