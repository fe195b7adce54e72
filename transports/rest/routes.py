"""The table of all that is served: from it follow matching, the OpenAPI document and the page at /docs.

Every path is served as it stands here and under /v1. A name in braces stands for one segment of the path.
"""

from typing import Any
from urllib.parse import unquote

from attrs import define, field

from goqueue.core.cluster.queue_settings import SPAN_MS_MAX
from goqueue.core.deadletters.letters import REASONS
from goqueue.core.deadletters.requests import TEXT_MAX
from goqueue.transports.metrics.page import CONTENT_TYPE
from goqueue.transports.rest import (
    bodies,
    cluster,
    cluster_bodies,
    cooperative,
    counts,
    dead_bodies,
    dead_letters,
    delay_bodies,
    delayed,
    following,
    group_bodies,
    group_offsets,
    groups,
    health,
    memberships,
    polling,
    publishing,
    reading,
    settling,
    topics,
    work_bodies,
)
from goqueue.transports.rest.call import PARTITION_MAX, Endpoint
from goqueue.transports.rest.errors import RestError
from goqueue.transports.rest.exchange import JSON
from goqueue.transports.rest.parameters import Parameter, moment, span, text, token, truth, whole, word

PREFIX = "v1"


@define
class Route:
    """One call: how it is asked, what serves it, what goes in and comes out."""

    method: str
    path: str
    group: str
    summary: str
    serve: Endpoint
    reply: type[Any]
    body: type[Any] | None = None
    status: int = 200
    query: tuple[Parameter, ...] = ()
    refusals: tuple[int, ...] = ()
    streams: bool = False
    content_type: str = JSON
    # Another status of success, with the same body.
    other_status: int | None = None
    # What the segments in braces stand for, in their order.
    names: tuple[str, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.names = tuple(segment[1:-1] for segment in self.path.split("/") if segment.startswith("{"))

    @property
    def has_required_query(self) -> bool:
        """Whether a request without a query lacks something."""
        return any(parameter.is_required for parameter in self.query)


ISOLATION = Parameter("isolation", word("read_uncommitted", "read_committed"), "Whether open transactions are read.")
DETAILS = (Parameter("details", truth(), "Say all of each, and not only its name."),)
READING = (
    Parameter("offset", whole(), "The first message wanted; without it and from_time, the earliest there is."),
    Parameter("from_time", moment(), "Begin at the first message at or after this time."),
    Parameter("to_time", moment(), "End before the first message at or after this time."),
    Parameter("limit", whole(1, reading.LIMIT_MAX), "At most so many messages: 100 if not said; endless with follow."),
    Parameter("wait", span(0, reading.WAIT_MS_MAX), "With no message there, wait so long for one: at most 60s."),
    ISOLATION,
    Parameter("follow", truth(), "Send messages as they come, as NDJSON, or as events for text/event-stream."),
)
OFFSETS = (Parameter("topic", text(), "Of this topic alone."),)
MEMBER = (Parameter("member_id", text(), "Of this member alone."),)
POLLING = (
    Parameter("member_id", text(), "Who asks.", is_required=True),
    Parameter("max_messages", whole(1, polling.MESSAGES_MAX), "At most so many: 500, or 100 of a shared group."),
    Parameter(
        "visibility_timeout", span(1, SPAN_MS_MAX),
        "Of a shared group: how long the messages are the member's, from 1ms to 12h.",
    ),
    Parameter("timeout", span(0, polling.WAIT_MS_MAX), "With no message there, wait so long for one: at most 60s."),
    ISOLATION,
)  # fmt: skip
DELAYED = (
    Parameter("limit", whole(1, delayed.LIMIT_MAX), "At most so many: 100 if not said."),
    Parameter("after", token(delayed.PAGE_END), "What `next` was in the page before."),
)
SCHEDULED = (Parameter("partition", whole(0, PARTITION_MAX), "Which partition; a topic of one needs none."),)
LETTERS = (
    Parameter("limit", whole(1, dead_letters.LIMIT_MAX), "At most so many: 100 if not said."),
    Parameter("after", token(dead_letters.PAGE_END), "What `next` was in the page before."),
    Parameter("reason", word(*REASONS), "That died of this."),
    Parameter("group", text(TEXT_MAX), "That died in this group."),
    Parameter("key", text(), "With this key."),
    Parameter("header", text(), "With this header, written name=value; several may be asked for.", is_repeated=True),
    Parameter("since", moment(), "That died at this time or later."),
    Parameter("until", moment(), "That died before this time."),
)
REDRIVEN = (Parameter("topic", text(), "Of this topic of dead letters alone."),)
LANES = (Parameter("topic", text(), "Of this topic alone."),)
VERBOSE = (Parameter("verbose", truth(), "Accepted; the answer always has all that there is."),)
TOPIC = "/topics/{topic}"
MESSAGES = "/topics/{topic}/partitions/{partition}/messages"
GROUP = "/groups/{group}"
LOSS = (Parameter("accept_loss", truth(), "What only that node has may be lost."),)
ADMIN = "/admin/topics/{topic}"
NODE = "/admin/nodes/{node}"
MOVE = "/admin/reassignment/{id}"
LATER = "/topics/{topic}/delayed/{partition}/{offset}"

ROUTES: tuple[Route, ...] = (
    Route("POST", "/topics", "Topics", "Make a topic", topics.create_topic, bodies.TopicMade,
          bodies.TopicDraft, 201, refusals=(400, 409, 503), other_status=200),
    Route("GET", "/topics", "Topics", "List the topics", topics.list_topics, bodies.TopicsView, query=DETAILS),
    Route("GET", TOPIC, "Topics", "Describe a topic", topics.describe_topic, bodies.TopicView, refusals=(404,)),
    Route("PATCH", TOPIC, "Topics", "Change settings of a topic", topics.alter_topic, bodies.TopicView,
          bodies.ConfigDraft, refusals=(400, 404)),
    Route("DELETE", TOPIC, "Topics", "Remove a topic and all in it", topics.delete_topic, bodies.TopicGone,
          refusals=(404,)),
    Route("GET", "/topics/{topic}/partitions", "Topics", "Describe the partitions of a topic", topics.list_partitions,
          bodies.PartitionsView, refusals=(404,)),
    Route("POST", "/topics/{topic}/messages", "Messages", "Publish messages", publishing.publish_messages,
          bodies.PublishedViews, bodies.MessagesDraft, refusals=(400, 404, 413, 503)),
    Route("POST", "/topics/{topic}/batch", "Messages", "Publish messages (the same by another name)",
          publishing.publish_messages, bodies.PublishedViews, bodies.MessagesDraft, refusals=(400, 404, 413, 503)),
    Route("POST", "/topics/{topic}/publish", "Messages", "Publish one message", publishing.publish_message,
          bodies.PublishedView, bodies.OneMessageDraft, refusals=(400, 404, 413, 503)),
    Route("GET", MESSAGES, "Messages", "Read messages by offset or time, or follow them", following.read_or_follow,
          bodies.MessagesView, query=READING, refusals=(400, 404, 422), streams=True),
    Route("GET", "/groups", "Groups", "List the groups", groups.list_groups, group_bodies.GroupsView,
          query=DETAILS, refusals=(400, 503)),
    Route("GET", GROUP, "Groups", "Describe a group", groups.describe_group, group_bodies.GroupView,
          refusals=(404, 503)),
    Route("PATCH", GROUP, "Groups", "Change settings of a group", groups.alter_group, group_bodies.GroupView,
          group_bodies.SettingsDraft, refusals=(400, 404, 409, 503)),
    Route("DELETE", GROUP, "Groups", "Remove a group without members, and its offsets", groups.delete_group,
          group_bodies.GroupGone, refusals=(404, 409, 503)),
    Route("POST", f"{GROUP}/join", "Groups", "Become a member, or learn anew what to read", memberships.join,
          group_bodies.JoinedView, group_bodies.JoinDraft, refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/heartbeat", "Groups", "Stay a member", memberships.heartbeat, group_bodies.BeatView,
          group_bodies.BeatDraft, refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/leave", "Groups", "Leave a group", memberships.leave, group_bodies.LeftView,
          group_bodies.MemberDraft, refusals=(400, 404, 409, 503)),
    Route("GET", f"{GROUP}/poll", "Groups", "The next messages for a member", polling.poll,
          group_bodies.PolledViews, query=POLLING, refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/commit", "Groups", "Say how far the group has come", group_offsets.commit,
          group_bodies.CommittedView, group_bodies.CommitDraft, refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/offsets", "Groups", "The same by another name", group_offsets.commit,
          group_bodies.CommittedView, group_bodies.CommitDraft, refusals=(400, 404, 409, 503)),
    Route("GET", f"{GROUP}/offsets", "Groups", "How far the group has come, and what is left to read",
          group_offsets.fetch_offsets, group_bodies.OffsetsView, query=OFFSETS, refusals=(400, 404, 503)),
    Route("POST", f"{GROUP}/offsets/reset", "Groups", "Go on somewhere else", group_offsets.reset_offsets,
          group_bodies.ResetView, group_bodies.ResetDraft, refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/join/cooperative", "Groups", "Become a member that gives up single partitions",
          cooperative.join, group_bodies.JoinedView, group_bodies.CooperativeJoinDraft, refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/heartbeat/cooperative", "Groups", "Stay a member, and learn what to read and to give up",
          cooperative.heartbeat, group_bodies.CooperativeBeatView, group_bodies.BeatDraft,
          refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/revoke", "Groups", "Confirm that partitions were given up", cooperative.revoke,
          group_bodies.RevokedView, group_bodies.RevokedDraft, refusals=(400, 404, 409, 503)),
    Route("POST", f"{GROUP}/leave/cooperative", "Groups", "Leave a group", cooperative.leave,
          group_bodies.CooperativeLeftView, group_bodies.MemberDraft, refusals=(400, 404, 409, 503)),
    Route("GET", f"{GROUP}/assignment", "Groups", "Who reads what", cooperative.describe_assignment,
          group_bodies.AssignmentView, query=MEMBER, refusals=(400, 404, 503)),
    Route("GET", f"{GROUP}/cooperative", "Groups", "Describe a group, with its rebalances", cooperative.describe,
          group_bodies.CooperativeView, refusals=(404, 503)),
    Route("GET", f"{GROUP}/rebalance/stats", "Groups", "The rebalances of a group", groups.describe_rebalances,
          group_bodies.RebalancesView, refusals=(404, 503)),
    Route("GET", "/rebalance/stats", "Groups", "The rebalances of all groups", groups.describe_rebalances,
          group_bodies.RebalancesView, refusals=(503,)),
    Route("POST", "/messages/ack", "Work queues", "Messages are done", settling.ack, work_bodies.AckedView,
          work_bodies.ReceiptsDraft, refusals=(400, 409, 503)),
    Route("POST", f"{GROUP}/ack", "Work queues", "The same, of receipts of this group", settling.ack,
          work_bodies.AckedView, work_bodies.ReceiptsDraft, refusals=(400, 409, 503)),
    Route("POST", "/messages/nack", "Work queues", "Messages are to be tried again", settling.nack,
          work_bodies.NackedView, work_bodies.NackDraft, refusals=(400, 409, 503)),
    Route("POST", f"{GROUP}/nack", "Work queues", "The same, of receipts of this group", settling.nack,
          work_bodies.NackedView, work_bodies.NackDraft, refusals=(400, 409, 503)),
    Route("POST", "/messages/reject", "Work queues", "Messages are never to be tried again", settling.reject,
          work_bodies.RejectedView, work_bodies.RejectDraft, refusals=(400, 409, 503)),
    Route("POST", "/messages/visibility", "Work queues", "Messages are needed for longer", settling.extend,
          work_bodies.ExtendedView, work_bodies.VisibilityDraft, refusals=(400, 409, 503)),
    Route("POST", "/messages/release", "Work queues", "Messages were not begun", settling.release,
          work_bodies.ReleasedView, work_bodies.ReceiptsDraft, refusals=(400, 409, 503)),
    Route("GET", "/reliability/stats", "Work queues", "Work queues in numbers", counts.reliability,
          work_bodies.ReliabilityView, refusals=(503,)),
    Route("GET", "/priority/stats", "Work queues", "Lanes in numbers", counts.priority, work_bodies.PriorityView,
          query=LANES, refusals=(400, 404, 503)),
    Route("GET", "/topics/{topic}/delayed", "Delays", "List delayed messages, the first due first",
          delayed.list_delayed, delay_bodies.DelayedViews, query=DELAYED, refusals=(400, 404, 503)),
    Route("GET", "/topics/{topic}/delayed/{offset}", "Delays", "Look at a delayed message", delayed.get_delayed,
          delay_bodies.DelayedView, query=SCHEDULED, refusals=(400, 404, 503)),
    Route("GET", LATER, "Delays", "Look at a delayed message", delayed.get_delayed, delay_bodies.DelayedView,
          refusals=(400, 404, 503)),
    Route("DELETE", LATER, "Delays", "Never deliver a message", delayed.cancel_delayed, delay_bodies.CancelledView,
          refusals=(400, 404, 503)),
    Route("PATCH", LATER, "Delays", "Deliver a message at another time", delayed.reschedule_delayed,
          delay_bodies.DelayedView, delay_bodies.DelayDraft, refusals=(400, 404, 503)),
    Route("POST", LATER, "Delays", "The same by another name", delayed.reschedule_delayed, delay_bodies.DelayedView,
          delay_bodies.DelayDraft, refusals=(400, 404, 503)),
    Route("GET", "/delay/stats", "Delays", "Delayed messages in numbers", counts.delay, delay_bodies.DelayView,
          refusals=(503,)),
    Route("GET", "/dlq", "Dead letters", "List the topics of dead letters", dead_letters.list_topics,
          dead_bodies.DeadTopicsView, refusals=(503,)),
    Route("GET", "/dlq/{topic}/messages", "Dead letters", "Look at dead letters", dead_letters.browse,
          dead_bodies.DeadLettersView, query=LETTERS, refusals=(400, 404, 503)),
    Route("GET", "/topics/{topic}/dlq", "Dead letters", "Look at the dead letters of a topic",
          dead_letters.browse_of_source, dead_bodies.DeadLettersView, query=LETTERS, refusals=(400, 404, 503)),
    Route("POST", "/dlq/{topic}/redrive", "Dead letters", "Send dead letters back", dead_letters.redrive,
          dead_bodies.RedriveView, dead_bodies.RedriveDraft, 202, refusals=(400, 404, 409, 503)),
    Route("POST", "/dlq/{topic}/purge", "Dead letters", "Drop dead letters", dead_letters.purge,
          dead_bodies.RedriveView, dead_bodies.PurgeDraft, 202, refusals=(400, 404, 409, 503)),
    Route("GET", "/redrives", "Dead letters", "List redrives and purges, the newest first",
          dead_letters.list_redrives, dead_bodies.RedrivesView, query=REDRIVEN, refusals=(400, 404, 503)),
    Route("GET", "/redrives/{id}", "Dead letters", "How far a redrive or a purge has come",
          dead_letters.describe_redrive, dead_bodies.RedriveView, refusals=(404, 503)),
    Route("DELETE", "/redrives/{id}", "Dead letters", "Stop a redrive or a purge", dead_letters.cancel_redrive,
          dead_bodies.RedriveView, refusals=(404, 409, 503)),
    Route("GET", "/admin/cluster", "Cluster", "Nodes, who of them decides, and partitions that lack something",
          cluster.describe_cluster, cluster_bodies.ClusterView, refusals=(503,)),
    Route("GET", "/cluster", "Cluster", "The same by another name", cluster.describe_cluster,
          cluster_bodies.ClusterView, refusals=(503,)),
    Route("GET", "/admin/health", "Cluster", "Whether the cluster is well", cluster.describe_health,
          cluster_bodies.ClusterHealthView, refusals=(503,)),
    Route("POST", f"{NODE}/drain", "Cluster", "Let a node lead nothing", cluster.drain_node,
          cluster_bodies.DrainedView, refusals=(400, 404, 409, 503)),
    Route("DELETE", f"{NODE}/drain", "Cluster", "Let a node lead again", cluster.undrain_node,
          cluster_bodies.DrainedView, refusals=(400, 404, 409, 503)),
    Route("DELETE", NODE, "Cluster", "Give up a dead node: its replicas go to others", cluster.forget_node,
          cluster_bodies.ForgottenView, query=LOSS, refusals=(400, 404, 409, 503)),
    Route("POST", f"{NODE}/readmit", "Cluster", "Let a node that lost its data folder come back with an empty one",
          cluster.readmit_node, cluster_bodies.ReadmittedView, query=LOSS, refusals=(400, 404, 409, 503)),
    Route("POST", "/admin/elections", "Cluster", "Let first replicas lead", cluster.elect_leaders,
          cluster_bodies.ElectedView, cluster_bodies.ElectionDraft, refusals=(400, 404, 409, 503)),
    Route("POST", f"{ADMIN}/partitions", "Cluster", "Add partitions to a topic", cluster.add_partitions,
          cluster_bodies.ScaledView, cluster_bodies.PartitionsDraft, refusals=(400, 404, 409, 503)),
    Route("GET", f"{ADMIN}/scaling-status", "Cluster", "Whether a topic's partitions are all there",
          cluster.describe_scaling, cluster_bodies.ScalingView, refusals=(400, 404, 503)),
    Route("POST", "/admin/reassignment", "Cluster", "Move partitions to other nodes", cluster.reassign,
          cluster_bodies.MovesView, cluster_bodies.ReassignDraft, 202, refusals=(400, 404, 409, 503)),
    Route("GET", "/admin/reassignment", "Cluster", "Moves under way", cluster.list_moves, cluster_bodies.MovesView,
          refusals=(400, 503)),
    Route("GET", MOVE, "Cluster", "How far moves have come", cluster.describe_moves, cluster_bodies.MovesView,
          refusals=(400, 404, 503)),
    Route("DELETE", MOVE, "Cluster", "Take moves back", cluster.cancel_moves, cluster_bodies.MovesEnded,
          refusals=(400, 404, 409, 503)),
    Route("GET", "/health", "Health", "How the node is", health.health, bodies.HealthView, refusals=(503,)),
    Route("GET", "/healthz", "Health", "Whether the node is alive", health.alive, bodies.AliveView,
          query=VERBOSE),
    Route("GET", "/livez", "Health", "Whether the node is alive", health.alive, bodies.AliveView,
          query=VERBOSE),
    Route("GET", "/readyz", "Health", "Whether the node takes requests", health.ready, bodies.ReadyView,
          query=VERBOSE),
    Route("GET", "/version", "Health", "Which release this is", health.version, bodies.VersionView),
    Route("GET", "/stats", "Health", "What the node holds", health.stats, bodies.StatsView),
    Route("GET", "/metrics", "Health", "What the node has counted, for Prometheus", health.metrics, str,
          content_type=CONTENT_TYPE),
    Route("GET", "/admin/metrics", "Health", "The same by another name", health.metrics, str,
          content_type=CONTENT_TYPE),
)  # fmt: skip


@define
class Branch:
    """What follows after some segments of a path: more of them, or the methods of the path that ends here."""

    named: dict[str, "Branch"] = field(factory=dict)
    wild: "Branch | None" = None
    methods: dict[str, Route] = field(factory=dict)


def _planted() -> Branch:
    root = Branch()
    for route in ROUTES:
        branch = root
        for segment in route.path[1:].split("/"):
            if not segment.startswith("{"):
                branch = branch.named.setdefault(segment, Branch())
                continue
            if branch.wild is None:
                branch.wild = Branch()
            branch = branch.wild
        assert route.method not in branch.methods, f"{route.method} {route.path} stands twice in the table"
        branch.methods[route.method] = route
    return root


_ROOT = _planted()


def match(method: str, path: str) -> tuple[Route, dict[str, str]]:
    """The route of a request and the names in its path; 404 where nothing is, 405 where only the method is wrong."""
    segments = path[1:].split("/")
    if segments[0] == PREFIX:
        del segments[0]
    branch, wild = _ROOT, []
    for segment in segments:
        known = branch.named.get(segment)
        if known is not None:
            branch = known
        elif branch.wild is not None and segment:
            wild.append(_decoded(segment) if "%" in segment else segment)
            branch = branch.wild
        else:
            raise _nothing_at(path)
    route = branch.methods.get(method)
    if route is None:
        raise _wrong_method(method, path, branch)
    return route, dict(zip(route.names, wild, strict=True))


def allowed(path: str) -> tuple[str, ...]:
    """The methods that a path takes; empty where nothing is."""
    try:
        route, _ = match("", path)
    except MethodNotAllowed as error:
        return error.methods
    except RestError:
        return ()
    return (route.method,)


class MethodNotAllowed(RestError):
    """The path is there, and takes other methods."""

    def __init__(self, method: str, path: str, methods: tuple[str, ...]) -> None:
        said = f"{path[:200]} takes {', '.join(methods)}, not {method[:20]}"
        super().__init__(405, "method_not_allowed", said, "method")
        self.methods = methods


def _wrong_method(method: str, path: str, branch: Branch) -> RestError:
    methods = tuple(branch.methods)
    return MethodNotAllowed(method, path, methods) if methods else _nothing_at(path)


def _nothing_at(path: str) -> RestError:
    return RestError(404, "not_found", f"there is nothing at {path[:200]}", "path")


def _decoded(segment: str) -> str:
    try:
        return unquote(segment, errors="strict")
    except UnicodeDecodeError:
        raise RestError(400, "invalid_request", "the path is not UTF-8", "path") from None
