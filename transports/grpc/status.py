"""How a call ended: trailers out of a GRPCError, and back.

A message travels percent-encoded. Both it and the details are bounded here, because clients refuse trailers of more
than 8 KiB and would then see nothing at all. Details are a `google.rpc.Status` in `grpc-status-details-bin`.
"""

from collections.abc import Sequence
from urllib.parse import quote, unquote

import betterproto
from attrs import define
from betterproto.lib.google.protobuf import Any
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from hpack import NeverIndexedHeaderTuple

from goqueue.transports.grpc.metadata import MetadataError, decode_binary, encode_binary
from goqueue.transports.grpc.protos.status import Status as RpcStatus
from goqueue.transports.http2.request import Headers

OK_TRAILERS: Headers = ((b"grpc-status", b"0"),)
MESSAGE_BYTES_MAX = 1024
DETAILS_BYTES_MAX = 4096
# Everything printable but the percent sign itself.
_PLAIN = "".join(chr(code) for code in range(0x20, 0x7F) if code != 0x25)


@define
class Detail:
    """One message of an error's details, by the full name of its type: GRPCError takes a list of them as `details`."""

    type_name: str
    message: bytes

    @classmethod
    def of(cls, type_name: str, message: betterproto.Message) -> "Detail":
        """A detail out of a message."""
        return cls(type_name, bytes(message))


def error_trailers(error: GRPCError) -> list[tuple[bytes, bytes]]:
    """The trailers that tell a client of an error."""
    trailers: list[tuple[bytes, bytes]] = [(b"grpc-status", b"%d" % error.status.value)]
    message = error.message or ""
    # What differs from error to error must not push what is worth compressing out of the table.
    if message:
        trailers.append(NeverIndexedHeaderTuple(b"grpc-message", encode_message(message)))
    if error.details:
        details = encode_details(error.status, message, error.details)
        if len(details) <= DETAILS_BYTES_MAX:
            trailers.append(NeverIndexedHeaderTuple(b"grpc-status-details-bin", encode_binary(details)))
    return trailers


def encode_message(message: str) -> bytes:
    """A message for a header, cut where it passes the bound."""
    encoded = quote(message, safe=_PLAIN, encoding="utf-8", errors="replace").encode()
    if len(encoded) <= MESSAGE_BYTES_MAX:
        return encoded
    cut = encoded[:MESSAGE_BYTES_MAX]
    # Neither an escape nor a character may be cut in two; the reader takes a broken character for a question mark.
    return cut[: cut.rindex(b"%")] if b"%" in cut[-2:] else cut


def encode_details(status: Status, message: str, details: Sequence[Detail]) -> bytes:
    """Details as a `google.rpc.Status`."""
    packed = [Any(type_url=f"type.googleapis.com/{detail.type_name}", value=detail.message) for detail in details]
    return bytes(RpcStatus(code=status.value, message=message, details=packed))


def error_of(trailers: Headers) -> GRPCError | None:
    """The error that trailers tell of; None if all went well."""
    found = dict(trailers)
    try:
        status = Status(int(found.get(b"grpc-status", b"2")))
    except ValueError:
        status = Status.UNKNOWN
    if status is Status.OK:
        return None
    message = unquote(found.get(b"grpc-message", b"").decode("latin-1"), encoding="utf-8", errors="replace")
    return GRPCError(status, message or None, _details_of(found))


def _details_of(found: dict[bytes, bytes]) -> list[Detail] | None:
    text = found.get(b"grpc-status-details-bin")
    if text is None:
        return None
    try:
        packed = RpcStatus().parse(decode_binary(text)).details
    except (MetadataError, ValueError, EOFError, TypeError):
        return None
    return [Detail(each.type_url.rpartition("/")[2], each.value) for each in packed]
