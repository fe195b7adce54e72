"""The service Topics: each method one request to the broker."""

from goqueue.core.requests.nodes import NodeReply
from goqueue.core.requests.topics import TopicReply
from goqueue.proto import translate, v1
from goqueue.transports.broker import Broker
from goqueue.transports.services.calls import ask


class Topics(v1.TopicsBase):
    """Topics over gRPC."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def create_topic(self, create_topic_request: v1.CreateTopicRequest) -> v1.Topic:
        """See goqueue.proto."""
        wanted = translate.create_topic_request(create_topic_request)
        return translate.topic(await ask(self._broker, wanted, TopicReply))

    async def describe_topic(self, describe_topic_request: v1.DescribeTopicRequest) -> v1.Topic:
        """See goqueue.proto."""
        wanted = translate.describe_topic_request(describe_topic_request)
        return translate.topic(await ask(self._broker, wanted, TopicReply))

    async def list_topics(self, list_topics_request: v1.ListTopicsRequest) -> v1.ListTopicsReply:
        """See goqueue.proto."""
        wanted = translate.list_topics_request(list_topics_request)
        return translate.list_topics_reply(await ask(self._broker, wanted, list))

    async def alter_topic(self, alter_topic_request: v1.AlterTopicRequest) -> v1.Topic:
        """See goqueue.proto."""
        wanted = translate.alter_topic_request(alter_topic_request)
        return translate.topic(await ask(self._broker, wanted, TopicReply))

    async def delete_topic(self, delete_topic_request: v1.DeleteTopicRequest) -> v1.DeleteTopicReply:
        """See goqueue.proto."""
        wanted = translate.delete_topic_request(delete_topic_request)
        await ask(self._broker, wanted, type(None))
        return translate.delete_topic_reply(None)

    async def describe_partitions(
        self, describe_partitions_request: v1.DescribePartitionsRequest
    ) -> v1.DescribePartitionsReply:
        """See goqueue.proto."""
        wanted = translate.describe_partitions_request(describe_partitions_request)
        return translate.describe_partitions_reply(await ask(self._broker, wanted, list))

    async def describe_node(self, describe_node_request: v1.DescribeNodeRequest) -> v1.Node:
        """See goqueue.proto."""
        wanted = translate.describe_node_request(describe_node_request)
        return translate.node(await ask(self._broker, wanted, NodeReply))
