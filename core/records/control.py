"""The marker that ends a transaction in a partition: a control batch of one record, which no consumer is shown.

Its key is a version and what became of the transaction (i16 each; 0 abort, 1 commit), its value a version (i16) and the
epoch of the coordinator that decided (i32), by which a partition refuses what a deposed coordinator still says. Kafka
has other control records, for its own Raft; they are refused here, as is a version that is newer than known.
"""

import struct

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import read_header
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable

_VERSION = 0
_ABORT, _COMMIT = 0, 1
_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


@define
class ControlMarker:
    """How a transaction ended, and in which epoch of its coordinator."""

    commit: bool
    coordinator_epoch: int


def encode_marker(marker: ControlMarker, timestamp: int, producer_id: int, producer_epoch: int) -> bytearray:
    """The control batch that ends the open transaction of a producer."""
    key = _KEY.pack(_VERSION, _COMMIT if marker.commit else _ABORT)
    value = _VALUE.pack(_VERSION, marker.coordinator_epoch)
    return encode(
        ((timestamp, key, value, ()),),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_marker(batch: Readable) -> ControlMarker:
    """The marker that a control batch holds."""
    header = read_header(batch)
    if not header.is_control or header.record_count != 1:
        raise BatchError("control", "The batch is not a control batch of one record.")
    [record] = iterate(batch)
    key, value = record.key or b"", record.value or b""
    if len(key) != _KEY.size or len(value) != _VALUE.size:
        raise BatchError("control", "The record of a control batch does not have a marker's size.")
    key_version, kind = _KEY.unpack(key)
    value_version, coordinator_epoch = _VALUE.unpack(value)
    if key_version != _VERSION or value_version != _VERSION:
        raise BatchError("control", f"The marker has versions {key_version} and {value_version}; only 0 is known.")
    if kind not in (_ABORT, _COMMIT):
        raise BatchError("control", f"Control records of kind {kind} end no transaction.")
    return ControlMarker(kind == _COMMIT, coordinator_epoch)
