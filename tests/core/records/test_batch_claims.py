"""What a batch claims of its records is refused where its bytes cannot hold it, and nothing that can be read is."""

import struct
import zlib

import cramjam
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import HEADER_BYTES, Codec, read_header, validate_exact
from goqueue.core.records.build import encode
from goqueue.core.records.claims import RECORDS_MAX, check_claims, declared_size, is_possible
from goqueue.core.records.compression import DECOMPRESSED_BYTES_MAX, compress
from goqueue.core.records.record import iterate
from goqueue.fuzz.bytes.sealing import seal_batch
from tests.core.records.samples import entries

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
NOW_MS = 1_700_000_000_000


def forged(content: bytes | bytearray, codec: Codec = Codec.NONE, count: int = 1, **fields: int) -> bytes:
    """A batch with a right CRC that claims `count` records and has this content."""
    header = read_header(encode([(NOW_MS, None, b"v", ())]))._replace(
        attributes=int(codec), record_count=count, last_offset_delta=count - 1, **fields
    )
    packed = struct.pack(">qiibIhiqqqhii", *header)
    return seal_batch(packed + content)


def refusal(batch: bytes) -> BatchError:
    """What is said of a batch that passes every check but that of its claims."""
    header = validate_exact(batch)
    with pytest.raises(BatchError) as caught:
        check_claims(batch, header)
    return caught.value


@given(st.lists(entries, min_size=1, max_size=20), st.sampled_from(Codec))
def test_whatever_is_built_is_believed(listed: list[object], codec: Codec) -> None:
    batch = encode(listed, codec=codec)  # type: ignore[arg-type]
    header = validate_exact(batch)
    check_claims(batch, header)
    assert is_possible(header)


@given(st.sampled_from(COMPRESSED), st.integers(1, 200_000), st.booleans())
def test_no_frame_says_that_it_is_larger_than_it_is(codec: Codec, size: int, is_dense: bool) -> None:
    content = bytes(size) if is_dense else bytes(range(256)) * (size // 256 + 1)
    assert declared_size(codec, memoryview(compress(codec, content))) in (0, len(content))


@pytest.mark.parametrize("count", [2, 1 << 20, (1 << 31) - 1])
def test_offsets_cannot_be_claimed_without_bytes(count: int) -> None:
    error = refusal(forged(b"", Codec.NONE, count))
    assert error.reason == "count"
    assert str(count) in str(error)
    good = encode([(NOW_MS, None, b"v" * (7 * count % 100), ())])
    assert refusal(forged(good[HEADER_BYTES:], Codec.NONE, len(good))).reason == "count"


@pytest.mark.parametrize("count", [1 << 18, 1 << 20, (1 << 31) - 1])
@pytest.mark.parametrize("codec", COMPRESSED)
def test_nothing_can_be_so_dense(codec: Codec, count: int) -> None:
    content = b"\x00" if codec is Codec.SNAPPY else compress(codec, b"")
    error = refusal(forged(content, codec, count))
    assert error.reason == "count"
    assert str(count) in str(error)


def test_no_batch_has_more_records_than_a_reader_can_bear() -> None:
    content = compress(Codec.ZSTD, bytes(7 * (RECORDS_MAX + 1)))
    assert "is the most" in str(refusal(forged(content, Codec.ZSTD, RECORDS_MAX + 1)))
    at_most = forged(content, Codec.ZSTD, RECORDS_MAX)
    check_claims(at_most, validate_exact(at_most))


def _bombs() -> list[tuple[Codec, bytes]]:
    too_much = bytes(DECOMPRESSED_BYTES_MAX + 1)
    gzip = zlib.compressobj(wbits=31)
    return [
        (Codec.ZSTD, bytes(cramjam.zstd.compress(too_much))),
        (Codec.LZ4, lz4.frame.compress(too_much, store_size=True)),
        (Codec.GZIP, gzip.compress(too_much) + gzip.flush()),
        (Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(too_much))),
    ]


@pytest.mark.parametrize(("codec", "bomb"), _bombs(), ids=[codec.name for codec, _ in _bombs()])
def test_a_bomb_that_says_what_it_is_is_refused_without_being_opened(codec: Codec, bomb: bytes) -> None:
    error = refusal(forged(bomb, codec))
    assert (error.reason, error.status_hint) == ("oversize", 413)
    assert str(DECOMPRESSED_BYTES_MAX + 1) in str(error)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_what_is_under_another_codec_than_claimed_is_refused(codec: Codec) -> None:
    other = Codec.ZSTD if codec is not Codec.ZSTD else Codec.LZ4
    assert refusal(forged(compress(other, b"x" * 100), codec)).reason in ("compression", "oversize")


def test_a_sequence_is_of_a_producer() -> None:
    good = encode([(NOW_MS, None, b"v", ())])
    assert refusal(forged(good[HEADER_BYTES:], base_sequence=5)).reason == "producer"


def test_frames_that_follow_others_or_are_to_be_skipped_are_believed() -> None:
    records = bytes(encode([(NOW_MS, None, b"v", ())])[HEADER_BYTES:])
    skipped = struct.pack("<II", 0x184D2A53, 3) + b"abc"
    divided = compress(Codec.ZSTD, records[:3]) + compress(Codec.ZSTD, records[3:])
    for content in (divided, skipped + compress(Codec.ZSTD, records)):
        batch = forged(content, Codec.ZSTD)
        assert [record.value for record in iterate(batch)] == [b"v"]
        check_claims(batch, validate_exact(batch))
