"""Work queues, delays and dead letters come out of a journey as they went in; what cannot be meant is refused."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import betterproto
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.queues.receipts import spelled_receipt
from goqueue.core.records.batch import Lane
from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests import deadletters as dead_requests
from goqueue.core.requests import delays as delay_requests
from goqueue.core.requests import queues as work_requests
from goqueue.core.requests.queues import AckWork, ReceiptRun
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.proto import dead, delays, translate, v1, work
from goqueue.proto.codec import StrictCodec
from goqueue.proto.refusals import refusal
from tests.core.seeded_secrets import seal_of

CODEC = StrictCodec()
SEAL = seal_of(b"0123456789abcdef", "billing", "orders", 3)
STEM, OTHER = SEAL.stem(7, 1, "a"), SEAL.stem(8, 2, "a")

words = st.text(st.characters(codec="utf-8"), max_size=8)
names = st.text("abcz.-_", min_size=1, max_size=8)
octets = st.binary(max_size=8)
uint32 = st.integers(0, (1 << 32) - 1)
some = st.integers(1, (1 << 32) - 1)
uint64 = st.integers(0, (1 << 64) - 1)
times = st.integers(0, INT64_MAX)
offsets = st.integers(0, 1 << 40)
flags = st.booleans()
stems = st.builds(SEAL.stem, offsets, st.integers(1, 9), st.just("a"))
headers = st.lists(st.tuples(words, st.none() | octets), max_size=2).map(tuple)
runs = st.lists(st.builds(ReceiptRun, stems, offsets, some), min_size=1, max_size=4)
refusals = st.builds(Refusal, st.sampled_from(Code), words, words, uint32)
receipt_refusals = st.lists(st.builds(work_requests.ReceiptRefusal, stems, offsets, refusals), max_size=3)
done = st.builds(work_requests.WorkDone, uint32, receipt_refusals)
leases = st.lists(st.builds(work_requests.LeaseRun, offsets, some, uint32, stems, times), max_size=3)
parts = st.builds(work_requests.LeasedBatches, names, uint32, octets, leases)
waits_ns = uint32.map(lambda milliseconds: milliseconds * 1_000_000)
places = st.none() | st.tuples(times, uint32, offsets)
sieves = st.builds(
    dead_requests.Sieve,
    words,
    words,
    st.none() | octets,
    st.dictionaries(words, octets, max_size=2),
    st.none() | times,
    st.none() | times,
)
progress = st.dictionaries(uint32, times, max_size=3)
delayed = st.builds(
    delay_requests.DelayedMessage,
    names,
    uint32,
    times,
    times,
    st.sampled_from(Lane),
    st.none() | octets,
    st.none() | octets,
    headers,
)
letters = st.builds(
    dead_requests.DeadLetter,
    uint32,
    times,
    st.none() | octets,
    st.none() | octets,
    headers,
    words,
    words,
    uint32,
    times,
    words,
    uint32,
    times,
)
redrives = st.builds(
    dead_requests.RedriveReply,
    words,
    words,
    words,
    flags,
    flags,
    st.sampled_from(dead_requests.RedriveState),
    *[uint64] * 4,
    uint32,
    times,
    times,
    words,
)

REQUESTS: dict[str, tuple[ModuleType, st.SearchStrategy[Any]]] = {
    "poll": (work, st.builds(work_requests.PollWork, names, names, some, some, waits_ns, uint32)),
    "ack": (work, st.builds(work_requests.AckWork, runs, words)),
    "nack": (work, st.builds(work_requests.NackWork, runs, st.none() | uint64, words, words)),
    "reject": (work, st.builds(work_requests.RejectWork, runs, words, words)),
    "extend": (work, st.builds(work_requests.ExtendWork, runs, uint32, words)),
    "release": (work, st.builds(work_requests.ReleaseWork, runs, words)),
    "list_delayed": (delays, st.builds(delay_requests.ListDelayed, names, some, places)),
    "get_delayed": (delays, st.builds(delay_requests.GetDelayed, names, uint32, times)),
    "cancel_delayed": (delays, st.builds(delay_requests.CancelDelayed, names, uint32, times)),
    "reschedule_delayed": (
        delays,
        st.builds(delay_requests.RescheduleDelayed, names, uint32, times, uint64)
        | st.builds(delay_requests.RescheduleDelayed, names, uint32, times, st.just(0), times),
    ),
    "list_dead_topics": (dead, st.builds(dead_requests.ListDeadTopics)),
    "browse": (dead, st.builds(dead_requests.BrowseDead, names, sieves, some, progress)),
    "redrive": (
        dead,
        st.builds(dead_requests.StartRedrive, names, words, sieves, uint32, st.integers(0, (1 << 63) - 1), flags),
    ),
    "purge": (dead, st.builds(dead_requests.PurgeDead, names, sieves, flags)),
    "describe_redrive": (dead, st.builds(dead_requests.DescribeRedrive, names)),
    "list_redrives": (dead, st.builds(dead_requests.ListRedrives, words)),
    "cancel_redrive": (dead, st.builds(dead_requests.CancelRedrive, names)),
}
ANSWERS: dict[str, tuple[ModuleType, st.SearchStrategy[Any]]] = {
    "polled": (work, st.builds(work_requests.PolledWork, st.lists(parts, max_size=2))),
    "acked": (work, done),
    "nacked": (work, st.builds(work_requests.WorkDone, uint32, receipt_refusals, times, words, uint32)),
    "rejected": (work, st.builds(work_requests.WorkDone, uint32, receipt_refusals, topic=words)),
    "extended": (work, st.builds(work_requests.WorkDone, uint32, receipt_refusals, times)),
    "released": (work, done),
    "delayed_list": (delays, st.builds(delay_requests.DelayedMessages, st.lists(delayed, max_size=2), uint64, places)),
    "delayed": (delays, delayed),
    "dead_topics": (dead, st.lists(st.builds(dead_requests.DeadTopic, words, uint64), max_size=3)),
    "dead_letters": (
        dead,
        st.builds(dead_requests.DeadLetters, st.lists(letters, max_size=2), progress.map(lambda after: after or None)),
    ),
    "redrive": (dead, redrives),
    "redrives": (dead, st.lists(redrives, max_size=2)),
}


def arrived(message: betterproto.Message) -> Any:  # noqa: ANN401 - of the same class
    """A message as it is when it has travelled."""
    return CODEC.decode(type(message), CODEC.encode(message))


@pytest.mark.parametrize("verb", REQUESTS)
@given(drawn=st.data())
def test_a_request_of_a_client_is_the_same_at_the_server(verb: str, drawn: st.DataObject) -> None:
    module, requests = REQUESTS[verb]
    request = drawn.draw(requests)
    message = getattr(module, f"{verb}_message")(request)
    read = getattr(module, f"{verb}_request")
    assert read(arrived(message)) == request
    assert read(message) == request


@pytest.mark.parametrize("answer", ANSWERS)
@given(drawn=st.data())
def test_an_answer_of_the_server_is_the_same_at_a_client(answer: str, drawn: st.DataObject) -> None:
    module, replies = ANSWERS[answer]
    reply = drawn.draw(replies)
    message = getattr(module, f"{answer}_reply")(reply)
    read = getattr(module, f"read_{answer}")
    assert read(arrived(message)) == reply
    assert read(message) == reply


def test_what_a_message_leaves_out_is_the_usual() -> None:
    assert work.poll_request(v1.PollRequest("g", "m")) == work_requests.PollWork("g", "m", 100, 1 << 20, 0, 0)
    assert delays.list_delayed_request(v1.ListDelayedRequest("t")) == delay_requests.ListDelayed("t", 100, None)
    assert dead.browse_request(arrived(v1.BrowseRequest("t"))) == dead_requests.BrowseDead("t")
    assert dead.purge_request(arrived(v1.PurgeRequest("t"))) == dead_requests.PurgeDead("t")
    assert arrived(delays.cancelled_reply(None)) == v1.CancelDelayedReply()


# --- receipts


def texts(*found: tuple[str, int]) -> list[str]:
    return [spelled_receipt(stem, offset) for stem, offset in found]


def test_receipts_that_follow_one_another_are_one_run() -> None:
    shown = texts((STEM, 4), (STEM, 5), (STEM, 6), (OTHER, 7), (OTHER, 9), (STEM, 7), (STEM, 0))
    request = work.ack_request(arrived(v1.AckRequest(shown, [v1.ReceiptRange(OTHER, 50, 9)], "billing")))
    assert request == AckWork(
        [
            ReceiptRun(STEM, 4, 3),
            ReceiptRun(OTHER, 7),
            ReceiptRun(OTHER, 9),
            ReceiptRun(STEM, 7),
            ReceiptRun(STEM, 0),
            ReceiptRun(OTHER, 50, 9),
        ],
        "billing",
    )


@pytest.mark.parametrize(
    "text",
    ["x", "", STEM + "AAAA", spelled_receipt(STEM, 1) + "A", "é" * 48, spelled_receipt(STEM, (1 << 64) - 1)],
)
def test_what_is_no_receipt_is_the_cores_to_refuse_beside_those_that_are(text: str) -> None:
    request = work.ack_request(v1.AckRequest([*texts((STEM, 1)), text, *texts((STEM, 2))]))
    assert request == AckWork([ReceiptRun(STEM, 1), ReceiptRun(text, 0), ReceiptRun(STEM, 2)])
    refused = work_requests.ReceiptRefusal(text, 0, Refusal(Code.RECEIPT_INVALID, "no receipt"))
    assert work.receipt_refusals([refused])[0].receipt == text


def test_a_stem_without_an_offset_is_no_receipt_of_the_first_message() -> None:
    assert work.ack_request(v1.AckRequest([STEM])) == AckWork([ReceiptRun(STEM + "-", 0)])


def test_a_refused_receipt_is_told_as_it_was_shown() -> None:
    refused = work_requests.ReceiptRefusal(STEM, 77, Refusal(Code.RECEIPT_EXPIRED, "gone"))
    assert work.receipt_refusals([refused])[0].receipt == spelled_receipt(STEM, 77)


# --- what cannot be meant


RANGE = [v1.ReceiptRange(STEM, 1)]


def drafted(**fields: Any) -> v1.PublishRequest:  # noqa: ANN401 - of a message
    return v1.PublishRequest("t", [v1.NewMessage(value=b"v"), v1.NewMessage(**fields)])


@pytest.mark.parametrize(
    ("request_of", "message", "field", "said"),
    [
        (work.poll_request, v1.PollRequest("", "m"), "group", "is required"),
        (work.poll_request, v1.PollRequest("g", ""), "member_id", "is required"),
        (work.ack_request, v1.AckRequest(), "receipts", "is required"),
        (work.nack_request, v1.NackRequest(group="g"), "receipts", "is required"),
        (work.ack_request, v1.AckRequest(["x"] * 9_999, RANGE * 2), "receipts", "from 1 to 10000 receipts, not 10001"),
        (work.reject_request, v1.RejectRequest(), "receipts", "is required"),
        (work.extend_request, v1.ExtendRequest(timeout_ms=5), "receipts", "is required"),
        (work.release_request, v1.ReleaseRequest(), "receipts", "is required"),
        (
            work.ack_request, v1.AckRequest(ranges=[*RANGE, v1.ReceiptRange(STEM, -1)]),
            "ranges[1].first_offset", "not be negative, and is -1",
        ),
        (
            work.ack_request, v1.AckRequest(ranges=[v1.ReceiptRange(STEM, INT64_MAX, 5)]),
            "ranges[0].count", "beyond the last offset",
        ),
        (delays.list_delayed_request, v1.ListDelayedRequest(), "topic", "is required"),
        (delays.list_delayed_request, v1.ListDelayedRequest("t", 0, [1, 2]), "after", "cannot have 2 numbers"),
        (delays.get_delayed_request, v1.GetDelayedRequest(), "topic", "is required"),
        (delays.get_delayed_request, v1.GetDelayedRequest("t", 0, -1), "offset", "is -1"),
        (delays.cancel_delayed_request, v1.CancelDelayedRequest("", 0, 1), "topic", "is required"),
        (delays.cancel_delayed_request, v1.CancelDelayedRequest("t", 0, -5), "offset", "is -5"),
        (delays.reschedule_delayed_request, v1.RescheduleDelayedRequest("t"), "delay_ms", "is required"),
        (
            delays.reschedule_delayed_request, v1.RescheduleDelayedRequest("t", delay_ms=0, deliver_at_ms=0),
            "deliver_at_ms", "exclude one another",
        ),
        (
            delays.reschedule_delayed_request, v1.RescheduleDelayedRequest("t", deliver_at_ms=-1),
            "deliver_at_ms", "is -1",
        ),
        (delays.reschedule_delayed_request, v1.RescheduleDelayedRequest(delay_ms=1), "topic", "is required"),
        (dead.browse_request, v1.BrowseRequest(), "topic", "is required"),
        (dead.browse_request, v1.BrowseRequest("t", after={3: -1}), "after[3]", "is -1"),
        (
            dead.browse_request, v1.BrowseRequest("t", v1.LetterFilter(died_from_ms=-1)),
            "filter.died_from_ms", "is -1",
        ),
        (dead.redrive_request, v1.RedriveRequest(), "topic", "is required"),
        (
            dead.redrive_request, v1.RedriveRequest("t", filter=v1.LetterFilter(died_until_ms=-9)),
            "filter.died_until_ms", "is -9",
        ),
        (dead.redrive_request, v1.RedriveRequest("t", limit=1 << 63), "limit", "must be at most"),
        (dead.purge_request, v1.PurgeRequest(), "topic", "is required"),
        (dead.describe_redrive_request, v1.DescribeRedriveRequest(), "redrive_id", "is required"),
        (dead.cancel_redrive_request, v1.CancelRedriveRequest(), "redrive_id", "is required"),
        (
            translate.publish_request, drafted(delay_ms=5, deliver_at_ms=9),
            "messages[1].deliver_at_ms", "exclude one another",
        ),
        (translate.publish_request, drafted(deliver_at_ms=-1), "messages[1].deliver_at_ms", "is -1"),
        (translate.publish_request, drafted(ttl_ms=0), "messages[1].ttl_ms", "must be from 1"),
        (translate.publish_request, drafted(ttl_ms=1 << 63), "messages[1].ttl_ms", "must be from 1"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_meant_is_refused_with_its_field(
    request_of: Callable[[Any], object], message: betterproto.Message, field: str, said: str
) -> None:
    for each in (message, arrived(message)):
        refused = request_of(each)
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == (Code.INVALID, field)
        assert said in refused.message


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("due_ms", "deliver_at_ms"),
        ("records[3].due_ms", "records[3].deliver_at_ms"),
        ("visibility_ms", "visibility_timeout_ms"),
        ("delay_ms", "delay_ms"),
        ("config.due_ms.x", "config.due_ms.x"),
        ("", ""),
    ],
)
def test_a_refusal_names_the_field_as_the_messages_do(told: str, said: str) -> None:
    assert refusal(Refusal(Code.INVALID, "no", told)).field == said


def test_a_state_that_is_not_known_is_one_that_goes_on() -> None:
    assert dead.read_redrive(v1.RedriveReply(state="dreaming")).state is dead_requests.RedriveState.RUNNING
    assert delays.read_delayed(v1.DelayedMessage(priority=v1.Priority.try_value(77))).lane is Lane.NORMAL
