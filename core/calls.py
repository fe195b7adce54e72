"""Everything that a node can be asked, and everything that it answers, as two types.

The words themselves are where they belong: those of topics and messages in `verbs`, those of groups in `groups.verbs`.
"""

from goqueue.core.groups.verbs import GroupAnswer, GroupRequest
from goqueue.core.verbs import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribeNode,
    DescribePartitions,
    DescribeTopic,
    Fetch,
    Fetched,
    FindOffset,
    FoundOffset,
    InitProducer,
    ListTopics,
    NodeReply,
    PartitionReply,
    ProducerReply,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
    Refusal,
    TopicReply,
)

Request = (
    CreateTopic
    | AlterTopic
    | DeleteTopic
    | ListTopics
    | DescribeTopic
    | DescribePartitions
    | DescribeNode
    | Publish
    | PublishBatch
    | InitProducer
    | Fetch
    | FindOffset
    | GroupRequest
)
Reply = (
    TopicReply
    | list[TopicReply]
    | list[PartitionReply]
    | NodeReply
    | PublishReply
    | Published
    | ProducerReply
    | Fetched
    | FoundOffset
    | GroupAnswer
    | Refusal
    | None
)
