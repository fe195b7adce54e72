"""Topics over gRPC, as grpcio sees them."""

from pathlib import Path

import grpc
import pytest
from google.rpc import status_pb2

from goqueue.core.requests.refusals import Code, Refusal
from goqueue.proto import v1
from goqueue.transports.services.refusals import STATUS, refused
from tests.transports.services.served_broker import Client, Setting, against, failure


def test_a_topic_lives_from_its_making_to_its_end(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        made = client.create_topic(v1.CreateTopicRequest("orders", 3, 1, {"fsync": v1.Setting(text="none")}))
        assert (made.name, made.partitions, made.config["fsync"].text) == ("orders", 3, "none")
        assert [each.name for each in client.list_topics(v1.ListTopicsRequest()).topics] == ["orders"]
        altered = client.alter_topic(v1.AlterTopicRequest("orders", {"retention_hours": v1.Setting(number=5)}))
        assert altered.config["retention_hours"].number == 5
        assert client.describe_topic(v1.DescribeTopicRequest("orders")).config["retention_hours"].number == 5
        reset = client.alter_topic(v1.AlterTopicRequest("orders", {"retention_hours": v1.Setting(reset=True)}))
        assert reset.config["retention_hours"].number == 168
        parts = client.describe_partitions(v1.DescribePartitionsRequest("orders")).partitions
        assert [each.partition for each in parts] == [0, 1, 2]
        assert client.describe_node(v1.DescribeNodeRequest()).topics == 1
        client.delete_topic(v1.DeleteTopicRequest("orders"))
        assert client.list_topics(v1.ListTopicsRequest()).topics == []

    against(tmp_path, work, Setting(topics=()))


def test_what_is_refused_has_a_status_and_says_why_in_its_details(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.describe_topic(v1.DescribeTopicRequest("nowhere")))
        assert error.code() is grpc.StatusCode.NOT_FOUND
        assert error.details() == "there is no topic 'nowhere'"
        packed = status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
        assert packed.details[0].type_url == "type.googleapis.com/goqueue.v1.Refusal"
        refusal = v1.Refusal().parse(packed.details[0].value)
        assert (refusal.code, refusal.message, refusal.field) == ("topic_not_found", error.details(), "topic")

    against(tmp_path, work)


def test_requests_that_cannot_be_meant_are_invalid_arguments(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        wrong = [
            lambda: client.create_topic(v1.CreateTopicRequest("")),
            lambda: client.create_topic(v1.CreateTopicRequest("a/b")),
            lambda: client.create_topic(v1.CreateTopicRequest("fine", config={"colour": v1.Setting(text="red")})),
            lambda: client.create_topic(v1.CreateTopicRequest("fine", config={"fsync": v1.Setting()})),
            lambda: client.create_topic(bytes(v1.CreateTopicRequest("fine"))[:-1]),
            lambda: client.describe_topic(b"\x0a\x02\xff\xff"),
        ]
        for call in wrong:
            error = failure(call)
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error
            assert error.details()

    against(tmp_path, work)


def test_a_topic_is_made_once(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.create_topic(v1.CreateTopicRequest("orders", 1)))
        assert error.code() is grpc.StatusCode.ALREADY_EXISTS

    against(tmp_path, work)


@pytest.mark.parametrize("code", list(Code))
def test_every_refusal_has_a_status(code: Code) -> None:
    error = refused(Refusal(code, "because", "topic", 5))
    assert error.status is STATUS[code]
    assert error.message == "because"
