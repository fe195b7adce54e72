"""What was leased, coded by hand, is what the general codec makes of it."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.queues import LeasedBatches, LeaseRun, PolledWork
from goqueue.proto import v1, work
from goqueue.proto.codec import StrictCodec
from goqueue.transports.services.leased import leased_head
from tests.core.seeded_secrets import seal_of

SEAL = seal_of(b"0123456789abcdef", "billing", "orders", 3)
uint32 = st.integers(0, (1 << 32) - 1)
times = st.integers(0, INT64_MAX)


@st.composite
def lease_runs(draw: st.DrawFn) -> list[LeaseRun]:
    """Runs of a few leases, those of one after another; what has the same stem was leased together."""
    stems: list[tuple[str, int, int]] = []
    for number, attempt in enumerate(draw(st.lists(st.integers(1, 9), max_size=3))):
        stems.append((SEAL.stem(number, attempt, "a"), attempt, draw(times)))
    places = draw(st.lists(st.tuples(st.sampled_from(stems), times, uint32), max_size=6)) if stems else []
    return [LeaseRun(first, count, attempt, stem, until) for (stem, attempt, until), first, count in places]


@given(
    part=st.builds(LeasedBatches, st.text("abc-", max_size=5), uint32, st.binary(max_size=300), lease_runs()),
    now_ms=times,
)
def test_a_part_is_spelled_as_the_general_codec_reads_it(part: LeasedBatches, now_ms: int) -> None:
    message = StrictCodec().decode(v1.LeasedBatches, leased_head(part, now_ms) + bytes(part.batches))
    assert message == work.polled_reply(PolledWork([part]), now_ms).parts[0]
    assert work.read_leased(message) == part
