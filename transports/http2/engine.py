"""h2's state machines, with the points where we differ from h2 put right.

- GOAWAY, sent or received, ends nothing by itself: calls in flight finish. In h2 it closes the connection's state.
- A stream too many is refused, not punished with the connection; and counting open streams does not walk all of them
  for every new one, as h2's does.
- Closed streams are forgotten when they close.
- A request that is malformed beyond its header block, or depends on itself, costs its stream, not the connection.
- The peer's settings are bounded: unknown ones are dropped (h2 keeps all 65,536), and the table that it would have us
  keep for compression stays small.
- Output is a list of byte strings with a known total, so that the caller can bound it.
"""

import struct
from collections.abc import Sequence
from typing import Any

from h2.config import H2Configuration
from h2.connection import AllowedStreamIDs, ConnectionInputs, ConnectionState, H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, Event, StreamReset
from h2.exceptions import ProtocolError, StreamClosedError
from h2.settings import SettingCodes, Settings
from h2.stream import H2Stream, H2StreamStateMachine, StreamClosedBy, StreamInputs, StreamState
from h2.utilities import extract_method_header
from hpack.exceptions import HPACKError, OversizedHeaderListError
from hyperframe.frame import Frame, GoAwayFrame, HeadersFrame, RstStreamFrame, SettingsFrame

from goqueue.core.records.varint import Readable
from goqueue.transports.http2.header_blocks import RememberingDecoder, RememberingEncoder
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.request import Headers

INITIAL_WINDOW_BYTES = 65_535
STREAM_ID_MAX = (1 << 31) - 1
ENCODER_TABLE_BYTES_MAX = 4096
KNOWN_SETTINGS = frozenset(int(code) for code in SettingCodes)

_HEAD = struct.Struct(">HBBBL")
_DATA, _HEADERS, _CONTINUATION = 0x0, 0x1, 0x9
_END_STREAM, _END_HEADERS = 0x1, 0x4
_READING = (StreamState.OPEN, StreamState.HALF_CLOSED_LOCAL)
_WRITING = (StreamState.HALF_CLOSED_REMOTE, StreamState.OPEN)


class Engine(H2Connection):
    """One connection's protocol state; `output` collects what must be sent, in order."""

    # What a peer may still send on streams that were reset is on its way already: the last few thousand are plenty.
    MAX_CLOSED_STREAMS = 4096

    def __init__(self, limits: Limits, *, client: bool) -> None:
        # Requests are validated where they are parsed, and what we send is made by us.
        super().__init__(
            H2Configuration(
                client_side=client,
                header_encoding=None,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        self.output: list[Readable] = []
        self.output_bytes = 0
        self.resets_sent = 0
        settings = {
            SettingCodes.MAX_CONCURRENT_STREAMS: 100 if client else limits.streams_max,
            SettingCodes.INITIAL_WINDOW_SIZE: limits.stream_window_bytes,
            SettingCodes.MAX_FRAME_SIZE: limits.frame_bytes_max,
            SettingCodes.MAX_HEADER_LIST_SIZE: limits.header_list_bytes_max,
        }
        if client:
            settings[SettingCodes.ENABLE_PUSH] = 0
        self.local_settings = Settings(client=client, initial_values=settings)
        self.max_inbound_frame_size = limits.frame_bytes_max
        self.encoder = RememberingEncoder()
        self.decoder = self.remembering = RememberingDecoder()
        self.decoder.max_header_list_size = 2 * limits.header_list_bytes_max
        self.initiate_connection()
        self.emit(self.data_to_send())
        if limits.connection_window_bytes > INITIAL_WINDOW_BYTES:
            self.increment_flow_control_window(limits.connection_window_bytes - INITIAL_WINDOW_BYTES)

    # h2 asks these before it opens a stream. The connection above counts its streams, and refuses.
    @property
    def open_inbound_streams(self) -> int:
        """None, as far as h2 needs to know."""
        return 0

    @property
    def open_outbound_streams(self) -> int:
        """None, as far as h2 needs to know."""
        return 0

    def emit(self, data: Readable) -> None:
        """Append to the output."""
        self.output.append(data)
        self.output_bytes += len(data)

    def receive_frame(self, frame: Frame) -> list[Event]:
        """What this frame means; raises ProtocolError if it means the end."""
        return self._receive_frame(frame)

    def admit_request(self, stream_id: int) -> bool:
        """Open a stream for a request that is in order and has a body; False if h2 has to look at it."""
        if self.state_machine.state is not ConnectionState.SERVER_OPEN:
            return False
        if not self.highest_inbound_stream_id < stream_id <= STREAM_ID_MAX or not stream_id & 1:
            return False
        window, peers_window = self.local_settings.initial_window_size, self.remote_settings.initial_window_size
        stream = self.streams[stream_id] = H2Stream(stream_id, self.config, window, peers_window)
        stream.max_outbound_frame_size = self.max_outbound_frame_size
        self.highest_inbound_stream_id = stream_id
        state = stream.state_machine
        state.state, state.client, state.headers_received = StreamState.OPEN, False, True
        return True

    def admit_response(self, stream_id: int, *, end: bool) -> bool:
        """Take the headers of a response, or the trailers at its `end`; False if h2 has to look at them."""
        stream = self.streams.get(stream_id)
        if stream is None or stream.state_machine.state not in _READING or stream._expected_content_length is not None:
            return False
        state = stream.state_machine
        if not state.client or state.trailers_received or bool(state.headers_received) != end:
            return False
        state.headers_received = True
        if end:
            state.trailers_received = True
            _end_reading(state)
        return True

    def admit_part(self, stream_id: int, size: int, *, end: bool) -> bool:
        """Take a frame of DATA, unpadded, out of both windows; False if h2 has to look at it.

        Whatever may be wrong is left to h2: a stream that is not open for reading, a window that is passed, a body that
        was announced with its length.
        """
        stream = self.streams.get(stream_id)
        if stream is None or stream.state_machine.state not in _READING or stream._expected_content_length is not None:
            return False
        if not stream.state_machine.headers_received:
            return False
        window, own = self._inbound_flow_control_window_manager, stream._inbound_window_manager
        if size > window.current_window_size or size > own.current_window_size:
            return False
        window.current_window_size -= size
        own.current_window_size -= size
        if end:
            _end_reading(stream.state_machine)
        return True

    def send_block(self, stream_id: int, headers: Headers, *, end: bool) -> None:
        """Send headers or trailers; on a client, the first ones of a stream open it."""
        if not self._admit_block(stream_id, headers, end=end):
            self._decide_block(stream_id, headers, end=end)
        self._emit_block(stream_id, self.encoder.encode(headers), _END_STREAM if end else 0)

    def _admit_block(self, stream_id: int, headers: Headers, *, end: bool) -> bool:
        """Note the headers or trailers of a response that is in order; False if h2 has to look at them."""
        stream = self.streams.get(stream_id)
        if stream is None or self.state_machine.state is not ConnectionState.SERVER_OPEN:
            return False
        state = stream.state_machine
        if state.client is not False or state.state not in _WRITING or bool(state.headers_sent) != end:
            return False
        if not end:
            if headers[0][1][:1] == b"1":
                return False
            state.headers_sent = True
        elif state.trailers_sent:
            return False
        else:
            state.trailers_sent = True
            _end_writing(state)
        return True

    def _decide_block(self, stream_id: int, headers: Headers, *, end: bool) -> None:
        """Have h2 look at what is sent."""
        self.state_machine.process_input(ConnectionInputs.SEND_HEADERS)
        stream = self.streams.get(stream_id)
        if stream is None:
            stream = self._begin_new_stream(stream_id, AllowedStreamIDs.ODD)
            stream.request_method = extract_method_header(headers)
        first = headers[0]
        informational = first[0] == b":status" and first[1][:1] == b"1"
        stream.state_machine.process_input(
            StreamInputs.SEND_INFORMATIONAL_HEADERS if informational else StreamInputs.SEND_HEADERS
        )
        if end:
            stream.state_machine.process_input(StreamInputs.SEND_END_STREAM)

    def send_part(self, stream: H2Stream, data: Readable, *, end: bool) -> None:
        """Send one frame of DATA, which the caller knows to fit both windows and the frame size, on an open stream."""
        size = len(data)
        assert size <= self.max_outbound_frame_size
        if end:
            stream.state_machine.process_input(StreamInputs.SEND_END_STREAM)
        # In h2 this is a frame object, a state machine without a transition, and three copies.
        self.outbound_flow_control_window -= size
        stream.outbound_flow_control_window -= size
        self.emit(_head(size, _DATA, _END_STREAM if end else 0, stream.stream_id))
        self.emit(data)

    def _emit_block(self, stream_id: int, block: bytes, flags: int) -> None:
        kind, most = _HEADERS, self.max_outbound_frame_size
        while len(block) > most:
            self.emit(_head(most, kind, flags, stream_id) + block[:most])
            block, kind, flags = block[most:], _CONTINUATION, 0
        self.emit(_head(len(block), kind, flags | _END_HEADERS, stream_id) + block)

    def send_goaway(self, last_stream_id: int, code: int, why: str = "") -> None:
        """Say GOAWAY, and change nothing else."""
        frame = GoAwayFrame(0, last_stream_id=last_stream_id, error_code=code, additional_data=why.encode()[:200])
        self.emit(frame.serialize())

    def open_stream(self, stream_id: int) -> H2Stream | None:
        """h2's view of a stream; None if it is closed, also by the frame that is just being looked at."""
        stream = self.streams.get(stream_id)
        return None if stream is None or stream.closed else stream

    def forget_if_closed(self, stream_id: int) -> bool:
        """Whether the stream is closed on both sides; h2 then keeps no more than how it ended."""
        stream = self.streams.get(stream_id)
        if stream is None:
            return True
        if not stream.closed:
            return False
        del self.streams[stream_id]
        self._closed_streams[stream_id] = stream.closed_by
        return True

    def _prepare_for_sending(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            if type(frame) is RstStreamFrame:
                self.resets_sent += 1
            self.emit(frame.serialize())

    def _receive_goaway_frame(self, frame: GoAwayFrame) -> tuple[list[Frame], list[Event]]:
        event = ConnectionTerminated()
        event.error_code = frame.error_code
        event.last_stream_id = frame.last_stream_id
        event.additional_data = frame.additional_data or None
        return [], [event]

    def _receive_settings_frame(self, frame: SettingsFrame) -> tuple[list[Frame], list[Event]]:
        known = {code: value for code, value in frame.settings.items() if code in KNOWN_SETTINGS}
        table = known.get(SettingCodes.HEADER_TABLE_SIZE)
        if table is not None:
            known[SettingCodes.HEADER_TABLE_SIZE] = min(table, ENCODER_TABLE_BYTES_MAX)
        frame.settings = known
        return super()._receive_settings_frame(frame)

    def _receive_headers_frame(self, frame: HeadersFrame) -> tuple[list[Frame], list[Event]]:
        headers = self._decode(frame.data)
        self.state_machine.process_input(ConnectionInputs.RECV_HEADERS)
        stream = self._get_or_create_stream(frame.stream_id, AllowedStreamIDs(not self.config.client_side))
        try:
            received: tuple[list[Frame], list[Event]] = stream.receive_headers(
                headers, "END_STREAM" in frame.flags, None
            )
        except StreamClosedError:
            raise
        except ProtocolError:
            if not stream.open:
                raise
            return self._break_off(stream)
        return self._break_off(stream) if frame.depends_on == frame.stream_id else received

    def _break_off(self, stream: H2Stream) -> tuple[list[Frame], list[Event]]:
        """Reset a stream for what its headers say; the connection goes on."""
        code = ErrorCodes.PROTOCOL_ERROR
        broken_off = StreamReset(stream_id=stream.stream_id, error_code=code, remote_reset=False)
        return stream.reset_stream(code), [broken_off]

    def _decode(self, block: bytes) -> Any:  # noqa: ANN401 - h2 and hpack disagree on the word for it
        try:
            return self.decoder.decode(block, raw=True)
        except OversizedHeaderListError as error:
            raise ProtocolError("A header list far over the bound.") from error
        except (HPACKError, UnicodeDecodeError) as error:
            raise ProtocolError(f"A header block that cannot be decoded: {error}") from error


def _end_reading(state: H2StreamStateMachine) -> None:
    """The peer has sent its last frame."""
    if state.state is StreamState.OPEN:
        state.state = StreamState.HALF_CLOSED_REMOTE
    else:
        state.state = StreamState.CLOSED
        state.stream_closed_by = StreamClosedBy.RECV_END_STREAM


def _end_writing(state: H2StreamStateMachine) -> None:
    """We have sent our last frame."""
    if state.state is StreamState.OPEN:
        state.state = StreamState.HALF_CLOSED_LOCAL
    else:
        state.state = StreamState.CLOSED
        state.stream_closed_by = StreamClosedBy.SEND_END_STREAM


def _head(size: int, kind: int, flags: int, stream_id: int) -> bytes:
    return _HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream_id)
