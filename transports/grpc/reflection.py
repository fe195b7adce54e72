"""gRPC's reflection service, in the two versions that tools ask for: v1, and v1alpha which is the same.

It serves descriptor sets that protoc wrote; whoever mounts services passes the sets that define them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from grpclib.const import Cardinality, Handler, Status

from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.grpc.descriptors import DescriptorFiles
from goqueue.transports.grpc.protos import reflection_v1, reflection_v1alpha
from goqueue.transports.grpc.protos.descriptors import DESCRIPTORS
from goqueue.transports.grpc.routes import Service, routes_of


class Reflection:
    """Reflection in one version: `package` and its messages. One class serves both, so none of the generated ones."""

    def __init__(
        self, package: str, messages: ModuleType, files: Callable[[], DescriptorFiles], services: Sequence[str]
    ) -> None:
        self._path = f"/{package}.ServerReflection/ServerReflectionInfo"
        self._messages: Any = messages
        self._files = files
        self._services = services

    def __mapping__(self) -> dict[str, Handler]:
        """The one method there is."""
        messages = self._messages
        question, answer = messages.ServerReflectionRequest, messages.ServerReflectionResponse
        return {self._path: Handler(self.converse, Cardinality.STREAM_STREAM, question, answer)}

    async def converse(self, call: ServerCall) -> None:
        """One answer to each question."""
        async for question in call:
            await call.send_message(self.answer(question))

    def answer(self, question: Any) -> Any:  # noqa: ANN401 - of either version
        """The answer to one question."""
        return self._messages.ServerReflectionResponse(
            valid_host=question.host, original_request=question, **self._found(question)
        )

    def _found(self, question: Any) -> dict[str, Any]:  # noqa: ANN401 - of either version
        files, messages = self._files(), self._messages
        if question.is_set("file_by_filename"):
            return self._content(files.by_name(question.file_by_filename))
        if question.is_set("file_containing_symbol"):
            return self._content(files.by_symbol(question.file_containing_symbol))
        if question.is_set("file_containing_extension"):
            extension = question.file_containing_extension
            return self._content(files.by_extension(extension.containing_type, extension.extension_number))
        if question.is_set("all_extension_numbers_of_type"):
            name = question.all_extension_numbers_of_type
            numbers = files.extension_numbers(name)
            if numbers is None:
                return self._missing()
            found = messages.ExtensionNumberResponse(base_type_name=name, extension_number=numbers)
            return {"all_extension_numbers_response": found}
        if question.is_set("list_services"):
            named = [messages.ServiceResponse(name=name) for name in self._services]
            return {"list_services_response": messages.ListServiceResponse(service=named)}
        return self._error(Status.INVALID_ARGUMENT, "the request asks for nothing")

    def _content(self, content: list[bytes] | None) -> dict[str, Any]:
        if content is None:
            return self._missing()
        return {"file_descriptor_response": self._messages.FileDescriptorResponse(file_descriptor_proto=content)}

    def _missing(self) -> dict[str, Any]:
        return self._error(Status.NOT_FOUND, "not found")

    def _error(self, status: Status, message: str) -> dict[str, Any]:
        return {"error_response": self._messages.ErrorResponse(error_code=status.value, error_message=message)}


def with_reflection(services: Iterable[Service], descriptor_sets: Iterable[bytes]) -> list[Service]:
    """These services, and reflection on all of them: the sets must hold the files that define them."""
    services = list(services)
    sets = [*descriptor_sets, DESCRIPTORS]

    # Reading them takes longer than all else that a broker does to start, and few are ever asked.
    @cache
    def files() -> DescriptorFiles:
        return DescriptorFiles(sets)

    names: list[str] = []
    first = Reflection("grpc.reflection.v1", reflection_v1, files, names)
    second = Reflection("grpc.reflection.v1alpha", reflection_v1alpha, files, names)
    mounted: list[Service] = [*services, first, second]
    names += sorted({path.decode().split("/")[1] for path in routes_of(mounted)})
    return mounted
