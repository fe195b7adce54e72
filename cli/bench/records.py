"""Making batches from records and records from batches, which is what clients do, and checking them, as brokers do.

`encode_100` makes a batch of 100 records with `build.encode`, CRC included. Its limit is joining the same values into
one bytearray and the CRC-32C of it.

`decode_100` checks such a batch with `validate_exact` and reads every record with `record.iterate`. Its limit is the
CRC-32C of the batch and a loop that slices every value out of it as a memoryview.

`admit_100` is what every batch of a client is asked before it is appended, `validate_exact` and `check_claims`; its
limit is the CRC-32C alone. `check_100` comes on top where a topic has every record checked (`RecordCheck`).
"""

from collections import deque
from collections.abc import Callable
from functools import partial

from crc32c import crc32c

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import RECORD_BYTES, Sizes
from goqueue.cli.bench.workbench import Stopwatch, Timing, Workbench
from goqueue.cli.bench.workload import entries as records_of
from goqueue.core.records.batch import HEADER_BYTES, validate_exact
from goqueue.core.records.build import encode
from goqueue.core.records.claims import check_claims
from goqueue.core.records.record import RecordCheck, iterate

_RECORDS = 100


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this module."""
    del sizes
    return [
        Entry("encode_100", "make a batch of 100 records", _measure_encode, (Bar("value", least=1_500_000),)),
        Entry("decode_100", "read the 100 records of a batch", _measure_decode, (Bar("value", least=700_000),)),
        Entry("admit_100", "check the header and the claims of a batch", _measure_admit),
        Entry("check_100", "check the 100 records of a batch", _measure_check),
    ]


def _measure_encode(bench: Workbench) -> Figure:
    records = records_of(_RECORDS)
    contents = [value for _, _, value, _ in records if value is not None]

    def bare() -> None:
        crc32c(bytearray().join(contents))

    return _compare(bench, lambda: encode(records), bare)


def _measure_decode(bench: Workbench) -> Figure:
    batch = encode(records_of(_RECORDS))
    view = memoryview(batch)
    step = (len(batch) - HEADER_BYTES) // _RECORDS
    starts = range(HEADER_BYTES, HEADER_BYTES + _RECORDS * step, step)

    def ours() -> None:
        validate_exact(batch)
        deque(iterate(batch), maxlen=0)

    def bare() -> None:
        crc32c(batch)
        for at in starts:
            view[at : at + RECORD_BYTES]

    return _compare(bench, ours, bare)


def _measure_admit(bench: Workbench) -> Figure:
    batch = encode(records_of(_RECORDS))

    def ours() -> None:
        check_claims(batch, validate_exact(batch))

    figure = _compare(bench, ours, lambda: crc32c(batch))
    assert figure.ratio
    # The limit's share of our time is what the CRC takes of it.
    figure.note = f"{figure.note}; {100 * (1 - figure.ratio):.0f} % of it beyond the CRC"
    return figure


def _measure_check(bench: Workbench) -> Figure:
    batch = encode(records_of(_RECORDS))
    header = validate_exact(batch)

    def ours() -> None:
        assert RecordCheck(batch, header).advance(_RECORDS)

    return _compare(bench, ours, lambda: crc32c(batch))


def _compare(bench: Workbench, ours: Callable[[], object], bare: Callable[[], object]) -> Figure:
    count = bench.sizes.codec_batches
    timings = bench.interleave(
        bench.sizes.rounds, {"ours": partial(_round, ours, count), "bare": partial(_round, bare, count)}
    )
    best, limit = timings["ours"], timings["bare"]
    records = count * _RECORDS
    return Figure(
        records / best.wall,
        "records/s",
        limit=records / limit.wall,
        ratio=limit.cpu / best.cpu,
        note=f"{best.cpu / records * 1e6:.3g} us of CPU a record",
    )


def _round(call: Callable[[], object], count: int) -> Timing:
    with Stopwatch() as watch:
        for _ in range(count):
            call()
    return watch.timing
