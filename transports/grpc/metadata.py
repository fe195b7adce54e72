"""gRPC's use of headers: timeouts, and metadata with its binary values.

Names are lower case bytes, as HTTP/2 has them. A name that ends in `-bin` carries bytes as base64, padded or not;
several values may stand in one header with commas between.
"""

import binascii
import re
from base64 import b64decode, b64encode

from goqueue.transports.http2.request import Headers

UNITS_NS = {
    b"H": 3600 * 10**9,
    b"M": 60 * 10**9,
    b"S": 10**9,
    b"m": 10**6,
    b"u": 10**3,
    b"n": 1,
}
_TIMEOUT = re.compile(rb"(\d{1,8})([HMSmun])")
_NAME = re.compile(rb"[0-9a-z_.-]+")
_VALUE = re.compile(rb"[ -~]*")

# What the protocol itself says with headers is no metadata.
RESERVED = frozenset((b"content-type", b"te", b"user-agent", b"content-length"))


class MetadataError(ValueError):
    """Metadata that cannot be sent, or that makes no sense."""


def parse_timeout(text: bytes) -> int:
    """The nanoseconds of a `grpc-timeout`; raises MetadataError."""
    found = _TIMEOUT.fullmatch(text)
    if found is None:
        raise MetadataError(f"a grpc-timeout that is none: {text[:20]!r}")
    return int(found[1]) * UNITS_NS[found[2]]


def format_timeout(timeout_ns: int) -> bytes:
    """A `grpc-timeout`, never longer than asked and precise to eight digits."""
    for unit, unit_ns in ((b"n", 1), (b"u", 10**3), (b"m", 10**6), (b"S", 10**9), (b"M", 60 * 10**9)):
        if timeout_ns // unit_ns < 10**8:
            return b"%d%s" % (max(timeout_ns, 0) // unit_ns, unit)
    return b"%dH" % min(timeout_ns // UNITS_NS[b"H"], 10**8 - 1)


def parse_metadata(headers: Headers) -> list[tuple[bytes, bytes]]:
    """What the application may see of these headers; raises MetadataError for binary values that are not base64."""
    found: list[tuple[bytes, bytes]] = []
    for name, value in headers:
        if name.startswith((b"grpc-", b":")) or name in RESERVED:
            continue
        if name.endswith(b"-bin"):
            found += [(name, decode_binary(part)) for part in value.split(b",")]
        else:
            found.append((name, value))
    return found


def metadata_headers(metadata: Headers) -> list[tuple[bytes, bytes]]:
    """Metadata as headers; raises MetadataError for what cannot travel as such."""
    headers: list[tuple[bytes, bytes]] = []
    for name, value in metadata:
        if not _NAME.fullmatch(name) or name.startswith(b"grpc-") or name in RESERVED:
            raise MetadataError(f"metadata cannot be named {name!r}")
        if name.endswith(b"-bin"):
            headers.append((name, encode_binary(value)))
        elif _VALUE.fullmatch(value):
            headers.append((name, value))
        else:
            raise MetadataError(f"metadata {name!r} holds more than printable ASCII; end its name in -bin")
    return headers


def decode_binary(text: bytes) -> bytes:
    """The bytes of a binary value; raises MetadataError."""
    text = text.strip()
    try:
        return b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise MetadataError("a binary value that is not base64") from error


def encode_binary(value: bytes) -> bytes:
    """Bytes as a binary value, without padding."""
    return b64encode(value).rstrip(b"=")
