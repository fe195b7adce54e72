"""The JSON of dead letters that comes in and goes out, as types: see `bodies.py`, whose rules hold here too."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from goqueue.core.deadletters.requests import HEADERS_MAX, RATE_MAX, TEXT_MAX
from goqueue.transports.rest.bodies import Count, Draft, Encoding, Moment


class SieveDraft(Draft, kw_only=True):
    """Which dead letters are meant: those that fit everything given; `since` and `until` are about when they died."""

    reason: Literal["", "max_attempts", "rejected", "expired"] = ""
    group: Annotated[str, Meta(max_length=TEXT_MAX)] = ""
    key: str | None = None
    headers: Annotated[dict[str, str], Meta(max_length=HEADERS_MAX)] = {}
    since: Moment | None = None
    until: Moment | None = None
    encoding: Encoding = "utf-8"


class PurgeDraft(SieveDraft, kw_only=True):
    """Dead letters to be dropped."""

    dry_run: bool = False


class RedriveDraft(PurgeDraft, kw_only=True):
    """Dead letters to be sent back, to where each came from or to one topic; `rate` is messages a second."""

    to: str = ""
    rate: Annotated[int, Meta(ge=0, le=RATE_MAX)] = 0
    limit: Count = 0


class DeadTopicView(Struct):
    """A topic of dead letters, and how many it has."""

    topic: str
    letters: int


class DeadTopicsView(Struct):
    """All topics of dead letters."""

    topics: list[DeadTopicView]


class DeadLetterView(Struct):
    """A dead letter as it was published, and how it came here."""

    topic: str
    partition: int
    offset: int
    key: str | None
    value: str | None
    headers: dict[str, str | None]
    reason: str
    group: str
    attempts: int
    died_at: str | None
    source_topic: str
    source_partition: int
    source_offset: int
    encoding: Literal["base64"] | UnsetType = UNSET
    headers_encoding: Literal["base64"] | UnsetType = UNSET


class DeadLettersView(Struct):
    """Dead letters; `next` asks for the next page."""

    messages: list[DeadLetterView]
    next: str | UnsetType = UNSET


class RedriveView(Struct):
    """A redrive or a purge, and how far it has come: of `total` letters it has `looked` at some and `moved` some."""

    redrive_id: str
    topic: str
    to: str
    purge: bool
    dry_run: bool
    state: Literal["running", "done", "cancelled", "failed"]
    total: int
    looked: int
    matched: int
    moved: int
    rate: int
    started_at: str | None
    ended_at: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class RedrivesView(Struct):
    """Redrives and purges, the newest first."""

    redrives: list[RedriveView]
