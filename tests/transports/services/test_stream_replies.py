"""The envelope of a reply on a member's stream, against the general codec."""

import dataclasses

import betterproto
import pytest

from goqueue.proto import v1
from goqueue.transports.grpc.codec import BetterprotoCodec
from goqueue.transports.services.stream_replies import stream_reply

CODEC = BetterprotoCodec()
REPLIES = [
    ("joined", v1.JoinReply(member_id="m-1", generation=3)),
    ("acked", v1.AckReply()),
    ("acked", v1.AckReply(done=100)),
    ("nacked", v1.NackReply(done=2, dead=1)),
    ("rejected", v1.RejectReply(done=1)),
    ("extended", v1.ExtendReply(done=1)),
    ("committed", v1.CommitReply()),
    ("assignment", v1.HeartbeatReply(generation=2)),
    ("revoked", v1.RevokeReply()),
    ("left", v1.LeaveReply()),
    ("refusal", v1.Refusal(message="no" * 200)),
    ("sought", v1.SeekReply()),
    ("leaving", v1.Leaving()),
    ("released", v1.ReleaseReply(done=7)),
]


@pytest.mark.parametrize(("which", "message"), REPLIES)
@pytest.mark.parametrize("request_id", [0, 1, 300, (1 << 64) - 1])
def test_a_reply_is_read_as_it_was_meant(which: str, message: betterproto.Message, request_id: int) -> None:
    reply = v1.ConsumeReply().parse(stream_reply(CODEC, request_id, which, message))
    assert reply.request_id == request_id
    assert betterproto.which_one_of(reply, "reply") == (which, message)


def test_each_answer_that_a_stream_gives_has_its_envelope() -> None:
    fields = {field.name for field in dataclasses.fields(v1.ConsumeReply) if field.metadata["betterproto"].group}
    # Batches have envelopes of their own.
    assert {which for which, _ in REPLIES} == fields - {"leased", "batches"}
