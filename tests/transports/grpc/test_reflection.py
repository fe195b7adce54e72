"""Reflection, asked by gRPC's own client in both versions."""

from pathlib import Path
from typing import TypeAlias

import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha import reflection_pb2 as messages
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from goqueue.proto.generate import compile_protos
from goqueue.transports.grpc.health import Health
from goqueue.transports.grpc.reflection import with_reflection
from goqueue.transports.grpc.service import GrpcService
from tests.transports.grpc.echo_service import Echo
from tests.transports.serving import in_thread, run, serving

Question: TypeAlias = messages.ServerReflectionRequest


@pytest.fixture(scope="module")
def descriptors(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return compile_protos(Path(__file__).parent, ["echo.proto"], tmp_path_factory.mktemp("protos"))


def ask(descriptors: bytes, version: str, *questions: Question) -> list[messages.ServerReflectionResponse]:
    """The answers to these questions."""
    answers: list[messages.ServerReflectionResponse] = []

    async def test() -> None:
        def call() -> None:
            with grpc.insecure_channel(served.target) as channel:
                method = channel.stream_stream(
                    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                    request_serializer=Question.SerializeToString,
                    response_deserializer=messages.ServerReflectionResponse.FromString,
                )
                answers.extend(method(iter(questions)))

        async with serving(GrpcService(with_reflection([Echo(), Health()], [descriptors]))) as served:
            await in_thread(call)

    run(test)
    return answers


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_services_are_listed(descriptors: bytes, version: str) -> None:
    (answer,) = ask(descriptors, version, Question(list_services=""))
    assert [each.name for each in answer.list_services_response.service] == [
        "goqueue.testing.v1.Echo",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
    ]


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
@pytest.mark.parametrize(
    "symbol",
    [
        "goqueue.testing.v1.Echo",
        "goqueue.testing.v1.Echo.Unary",
        "goqueue.testing.v1.Parcel",
        "goqueue.testing.v1.Parcel.body",
    ],
)
def test_a_symbol_leads_to_the_file_that_defines_it(descriptors: bytes, version: str, symbol: str) -> None:
    (answer,) = ask(descriptors, version, Question(host="here", file_containing_symbol=symbol))
    (raw,) = answer.file_descriptor_response.file_descriptor_proto
    assert FileDescriptorProto.FromString(raw).name == "echo.proto"
    assert answer.original_request.host == answer.valid_host == "here"


def test_a_file_comes_with_what_it_depends_on(descriptors: bytes) -> None:
    (answer,) = ask(descriptors, "v1", Question(file_by_filename="status.proto"))
    names = [FileDescriptorProto.FromString(raw).name for raw in answer.file_descriptor_response.file_descriptor_proto]
    assert names == ["status.proto", "google/protobuf/any.proto"]


def test_what_is_not_there_is_an_error_in_the_answer(descriptors: bytes) -> None:
    answers = ask(
        descriptors,
        "v1",
        Question(file_by_filename="nobody.proto"),
        Question(file_containing_symbol="nobody.Home"),
        Question(all_extension_numbers_of_type="nobody.Home"),
        Question(all_extension_numbers_of_type="goqueue.testing.v1.Parcel"),
        Question(),
    )
    assert [each.error_response.error_code for each in answers] == [5, 5, 5, 0, 3]
    assert answers[3].all_extension_numbers_response.base_type_name == "goqueue.testing.v1.Parcel"


def test_grpcs_own_database_finds_everything(descriptors: bytes) -> None:
    async def test() -> None:
        def look() -> None:
            with grpc.insecure_channel(served.target) as channel:
                pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
                echo = pool.FindServiceByName("goqueue.testing.v1.Echo")
                assert [method.name for method in echo.methods] == ["Unary", "Spread", "Gather", "Chat"]
                status = pool.FindMessageTypeByName("google.rpc.Status")
                assert status.fields_by_name["details"].message_type.full_name == "google.protobuf.Any"

        async with serving(GrpcService(with_reflection([Echo()], [descriptors]))) as served:
            await in_thread(look)

    run(test)
