"""Everything that a node can be asked, and everything that it answers, as two types.

The words themselves are where they belong: those of topics and messages in `verbs`, all others in the `verbs` of their
rooms.
"""

from goqueue.core.cluster.verbs import ClusterAnswer, ClusterRequest
from goqueue.core.dead.verbs import DeadAnswer, DeadRequest
from goqueue.core.delay.verbs import DelayAnswer, DelayRequest
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
from goqueue.core.work.verbs import WorkAnswer, WorkRequest

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
    | WorkRequest
    | DelayRequest
    | DeadRequest
    | ClusterRequest
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
    | WorkAnswer
    | DelayAnswer
    | DeadAnswer
    | ClusterAnswer
    | Refusal
    | None
)
