"""The endpoints of dead letters: look at them, send them back, drop them, and see how far that has come.

`{topic}` in a path under /dlq is the topic of dead letters, such as `orders.dlq`.
"""

from typing import TypeVar

from goqueue.core.records.record import Record
from goqueue.core.requests.deadletters import (
    BrowseDead,
    CancelRedrive,
    DeadLetter,
    DeadLetters,
    DeadTopic,
    DescribeRedrive,
    ListDeadTopics,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.topics import DescribeTopic, TopicReply
from goqueue.transports.rest.call import PARTITION_MAX, Call, answer
from goqueue.transports.rest.contents import content_of, message_view
from goqueue.transports.rest.dead_bodies import (
    DeadLettersView,
    DeadLetterView,
    DeadTopicsView,
    DeadTopicView,
    PurgeDraft,
    RedriveDraft,
    RedrivesView,
    RedriveView,
    SieveDraft,
)
from goqueue.transports.rest.decoding import whole_number
from goqueue.transports.rest.errors import RestError, invalid, respelled
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.times import read_time, written_time

T = TypeVar("T")
LIMIT_DEFAULT = 100
LIMIT_MAX = 1_000
PAGE_END = r"|[0-9]{1,19}\.[0-9]{1,19}(-[0-9]{1,19}\.[0-9]{1,19})*"
STARTED = 202
FIELDS = {"died_from_ms": "since", "died_until_ms": "until"}


async def list_topics(call: Call) -> Answer:
    """GET /dlq."""
    topics: list[DeadTopic] = await call.ask(ListDeadTopics(), list)
    return answer(DeadTopicsView([DeadTopicView(topic.topic, topic.letters) for topic in topics]))


async def browse(call: Call) -> Answer:
    """GET /dlq/{topic}/messages."""
    return await _browse(call, call.topic)


async def browse_of_source(call: Call) -> Answer:
    """GET /topics/{topic}/dlq: where a topic's dead letters go its settings say."""
    source = await call.ask(DescribeTopic(call.topic), TopicReply)
    return await _browse(call, str(source.config.get("dlq_topic") or f"{call.topic}.dlq"))


async def _browse(call: Call, topic: str) -> Answer:
    asked = call.query
    draft = SieveDraft(
        reason=asked.get("reason", ""), group=asked.get("group", ""), key=asked.get("key"),
        headers=_asked_headers(asked.get("header", [])), since=asked.get("since"), until=asked.get("until"),
    )  # fmt: skip
    request = BrowseDead(topic, _sieve(draft), asked.get("limit", LIMIT_DEFAULT))
    if asked.get("after"):
        request.after = _read_token(asked["after"])
    found = await _ask(call, request, DeadLetters)
    view = DeadLettersView([_letter_view(topic, letter) for letter in found.letters])
    if found.after is not None:
        view.next = "-".join(f"{partition}.{offset}" for partition, offset in sorted(found.after.items()))
    return answer(view)


def _asked_headers(written: list[str]) -> dict[str, str]:
    """Headers as a query asks for them: `header=name=value`, several times if need be."""
    headers: dict[str, str] = {}
    for text in written:
        header, equals, value = text.partition("=")
        if not equals:
            raise invalid(f"header must be written name=value, not {text[:60]!r}", "header")
        headers[header] = value
    return headers


def _read_token(token: str) -> dict[int, int]:
    after: dict[int, int] = {}
    for part in token.split("-"):
        partition, _, offset = part.partition(".")
        after[whole_number(partition, "after", most=PARTITION_MAX)] = whole_number(offset, "after")
    return after


async def redrive(call: Call) -> Answer:
    """POST /dlq/{topic}/redrive."""
    draft = call.optional_body(RedriveDraft)
    request = StartRedrive(call.topic, draft.to, _sieve(draft), draft.rate, draft.limit, draft.dry_run)
    return answer(_redrive_view(await _ask(call, request, RedriveReply)), STARTED)


async def purge(call: Call) -> Answer:
    """POST /dlq/{topic}/purge."""
    draft = call.optional_body(PurgeDraft)
    request = PurgeDead(call.topic, _sieve(draft), draft.dry_run)
    return answer(_redrive_view(await _ask(call, request, RedriveReply)), STARTED)


async def list_redrives(call: Call) -> Answer:
    """GET /redrives."""
    topic = call.query.get("topic", "")
    redrives: list[RedriveReply] = await call.ask(ListRedrives(topic), list)
    return answer(RedrivesView([_redrive_view(one) for one in redrives]))


async def describe_redrive(call: Call) -> Answer:
    """GET /redrives/{id}."""
    return answer(_redrive_view(await call.ask(DescribeRedrive(call.names["id"]), RedriveReply)))


async def cancel_redrive(call: Call) -> Answer:
    """DELETE /redrives/{id}."""
    return answer(_redrive_view(await call.ask(CancelRedrive(call.names["id"]), RedriveReply)))


async def _ask(call: Call, request: BrowseDead | StartRedrive | PurgeDead, kind: type[T]) -> T:
    """The reply to what was asked with a sieve, whose fields stand at the top of a body."""
    try:
        return await call.ask(request, kind)
    except RestError as error:
        raise respelled(error, FIELDS) from None


def _sieve(draft: SieveDraft) -> Sieve:
    sieve = Sieve(draft.reason, draft.group)
    if draft.key is not None:
        sieve.key = content_of(draft.key, draft.encoding, "key")
    for name, text in draft.headers.items():
        sieve.headers[name] = content_of(text, "utf-8", f"headers.{name}")
    if draft.since is not None:
        sieve.died_from_ms = read_time(draft.since, "since")
    if draft.until is not None:
        sieve.died_until_ms = read_time(draft.until, "until")
    return sieve


def _letter_view(topic: str, letter: DeadLetter) -> DeadLetterView:
    record = Record(letter.offset, letter.died_ms, letter.key, letter.value, letter.headers)
    content = message_view(record, "normal", None)
    return DeadLetterView(
        topic, letter.partition, letter.offset, content.key, content.value, content.headers,
        letter.reason, letter.group, letter.attempts, written_time(letter.died_ms),
        letter.source_topic, letter.source_partition, letter.source_offset,
        content.encoding, content.headers_encoding,
    )  # fmt: skip


def _redrive_view(reply: RedriveReply) -> RedriveView:
    view = RedriveView(
        reply.redrive_id, reply.topic, reply.to, reply.is_purge, reply.is_dry_run, reply.state.value,
        reply.total, reply.looked, reply.matched, reply.moved, reply.rate, written_time(reply.started_ms),
    )  # fmt: skip
    if reply.ended_ms:
        view.ended_at = written_time(reply.ended_ms) or ""
    if reply.error:
        view.error = reply.error
    return view
