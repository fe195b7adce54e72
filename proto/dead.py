"""Dead letters between the messages of `v1` and the core's requests, both ways, named as in `work.py`.

What a request leaves out of its filter is no condition. Where a page of letters ended travels as the core says it.
"""

from contextlib import suppress
from typing import Any

from goqueue.core.records.varint import INT64_MAX
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
    RedriveState,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import v1
from goqueue.proto.fields import contents, made
from goqueue.proto.messages import headers_of, named_headers
from goqueue.proto.refusals import invalid, missing, negative

LIMIT = 100

# --- what is asked


def list_dead_topics_request(message: v1.ListDeadTopicsRequest) -> ListDeadTopics:  # noqa: ARG001 - it says nothing
    """The topics of dead letters are asked for."""
    return ListDeadTopics()


def list_dead_topics_message(request: ListDeadTopics) -> v1.ListDeadTopicsRequest:  # noqa: ARG001 - it says nothing
    """The topics of dead letters are asked for."""
    return made(v1.ListDeadTopicsRequest)


def browse_request(message: v1.BrowseRequest) -> BrowseDead | Refusal:
    """Dead letters are asked for."""
    fields = contents(message)
    if not fields["topic"]:
        return missing("topic")
    sieve = _sieve(fields["filter"])
    if isinstance(sieve, Refusal):
        return sieve
    after = dict(sorted(fields["after"].items()))
    for partition, offset in after.items():
        if offset < 0:
            return negative(f"after[{partition}]", offset)
    return BrowseDead(fields["topic"], sieve, fields["limit"] or LIMIT, after)


def browse_message(request: BrowseDead) -> v1.BrowseRequest:
    """Dead letters are asked for."""
    return made(
        v1.BrowseRequest,
        topic=request.topic,
        filter=_filter(request.sieve),
        limit=request.limit,
        after=dict(request.after),
    )


def redrive_request(message: v1.RedriveRequest) -> StartRedrive | Refusal:
    """Letters are to be sent back, or elsewhere."""
    fields = contents(message)
    if not fields["topic"]:
        return missing("topic")
    sieve = _sieve(fields["filter"])
    if isinstance(sieve, Refusal):
        return sieve
    if fields["limit"] > INT64_MAX:
        return invalid(f"limit must be at most {INT64_MAX}, not {fields['limit']}", "limit")
    return StartRedrive(fields["topic"], fields["to"], sieve, fields["rate"], fields["limit"], fields["dry_run"])


def redrive_message(request: StartRedrive) -> v1.RedriveRequest:
    """Letters are to be sent back, or elsewhere."""
    return made(
        v1.RedriveRequest,
        topic=request.topic,
        to=request.to,
        filter=_filter(request.sieve),
        rate=request.rate,
        limit=request.limit,
        dry_run=request.dry_run,
    )


def purge_request(message: v1.PurgeRequest) -> PurgeDead | Refusal:
    """Letters are to be dropped."""
    fields = contents(message)
    if not fields["topic"]:
        return missing("topic")
    sieve = _sieve(fields["filter"])
    return sieve if isinstance(sieve, Refusal) else PurgeDead(fields["topic"], sieve, fields["dry_run"])


def purge_message(request: PurgeDead) -> v1.PurgeRequest:
    """Letters are to be dropped."""
    return made(v1.PurgeRequest, topic=request.topic, filter=_filter(request.sieve), dry_run=request.dry_run)


def describe_redrive_request(message: v1.DescribeRedriveRequest) -> DescribeRedrive | Refusal:
    """How far one has come is asked."""
    return DescribeRedrive(message.redrive_id) if message.redrive_id else missing("redrive_id")


def describe_redrive_message(request: DescribeRedrive) -> v1.DescribeRedriveRequest:
    """How far one has come is asked."""
    return made(v1.DescribeRedriveRequest, redrive_id=request.redrive_id)


def list_redrives_request(message: v1.ListRedrivesRequest) -> ListRedrives:
    """All of them are asked for."""
    return ListRedrives(message.topic)


def list_redrives_message(request: ListRedrives) -> v1.ListRedrivesRequest:
    """All of them are asked for."""
    return made(v1.ListRedrivesRequest, topic=request.topic)


def cancel_redrive_request(message: v1.CancelRedriveRequest) -> CancelRedrive | Refusal:
    """One is to be stopped."""
    return CancelRedrive(message.redrive_id) if message.redrive_id else missing("redrive_id")


def cancel_redrive_message(request: CancelRedrive) -> v1.CancelRedriveRequest:
    """One is to be stopped."""
    return made(v1.CancelRedriveRequest, redrive_id=request.redrive_id)


def _sieve(message: v1.LetterFilter) -> Sieve | Refusal:
    fields = contents(message)
    for name in ("died_from_ms", "died_until_ms"):
        if (fields[name] or 0) < 0:
            return negative(f"filter.{name}", fields[name])
    headers = dict(sorted(fields["headers"].items()))
    return Sieve(
        fields["reason"], fields["group"], fields["key"], headers, fields["died_from_ms"], fields["died_until_ms"]
    )


def _filter(sieve: Sieve) -> v1.LetterFilter:
    return made(
        v1.LetterFilter,
        reason=sieve.reason,
        group=sieve.group,
        key=sieve.key,
        headers=dict(sieve.headers),
        died_from_ms=sieve.died_from_ms,
        died_until_ms=sieve.died_until_ms,
    )


# --- what is answered


def dead_topics_reply(reply: list[DeadTopic]) -> v1.ListDeadTopicsReply:
    """The topics of dead letters."""
    return made(
        v1.ListDeadTopicsReply, topics=[made(v1.DeadTopic, topic=each.topic, letters=each.letters) for each in reply]
    )


def read_dead_topics(message: v1.ListDeadTopicsReply) -> list[DeadTopic]:
    """The topics of dead letters."""
    return [DeadTopic(each["topic"], each["letters"]) for each in map(contents, contents(message)["topics"])]


def dead_letters_reply(reply: DeadLetters) -> v1.BrowseReply:
    """A page of dead letters."""
    return made(v1.BrowseReply, letters=[_letter(each) for each in reply.letters], after=dict(reply.after or {}))


def _letter(letter: DeadLetter) -> v1.DeadLetter:
    return made(
        v1.DeadLetter,
        partition=letter.partition,
        offset=letter.offset,
        key=letter.key,
        value=letter.value,
        headers=headers_of(letter.headers),
        reason=letter.reason,
        group=letter.group,
        attempts=letter.attempts,
        died_ms=letter.died_ms,
        source_topic=letter.source_topic,
        source_partition=letter.source_partition,
        source_offset=letter.source_offset,
    )


def read_dead_letters(message: v1.BrowseReply) -> DeadLetters:
    """A page of dead letters."""
    fields = contents(message)
    after = dict(sorted(fields["after"].items()))
    return DeadLetters([_read_letter(contents(each)) for each in fields["letters"]], after or None)


def _read_letter(fields: dict[str, Any]) -> DeadLetter:
    return DeadLetter(
        fields["partition"],
        fields["offset"],
        fields["key"],
        fields["value"],
        named_headers(fields["headers"]),
        fields["reason"],
        fields["group"],
        fields["attempts"],
        fields["died_ms"],
        fields["source_topic"],
        fields["source_partition"],
        fields["source_offset"],
    )


def redrive_reply(reply: RedriveReply) -> v1.RedriveReply:
    """A redrive or a purge, and how far it has come."""
    return made(
        v1.RedriveReply,
        redrive_id=reply.redrive_id,
        topic=reply.topic,
        to=reply.to,
        purge=reply.is_purge,
        dry_run=reply.is_dry_run,
        state=str(reply.state),
        total=reply.total,
        looked=reply.looked,
        matched=reply.matched,
        moved=reply.moved,
        rate=reply.rate,
        started_ms=reply.started_ms,
        ended_ms=reply.ended_ms,
        error=reply.error,
    )


def read_redrive(message: v1.RedriveReply) -> RedriveReply:
    """A redrive or a purge; a state that is not known here is one that it has not ended in."""
    fields = contents(message)
    state = RedriveState.RUNNING
    with suppress(ValueError):
        state = RedriveState(fields["state"])
    return RedriveReply(
        fields["redrive_id"],
        fields["topic"],
        fields["to"],
        fields["purge"],
        fields["dry_run"],
        state,
        fields["total"],
        fields["looked"],
        fields["matched"],
        fields["moved"],
        fields["rate"],
        fields["started_ms"],
        fields["ended_ms"],
        fields["error"],
    )


def redrives_reply(reply: list[RedriveReply]) -> v1.ListRedrivesReply:
    """Redrives and purges, the newest first."""
    return made(v1.ListRedrivesReply, redrives=[redrive_reply(each) for each in reply])


def read_redrives(message: v1.ListRedrivesReply) -> list[RedriveReply]:
    """Redrives and purges, the newest first."""
    return [read_redrive(each) for each in contents(message)["redrives"]]
