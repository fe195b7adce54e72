"""Google's implementation as the judge: the classes that it makes of our descriptor set, and what it makes of bytes.

protobuf reads the same descriptors that clients get by reflection, so these are the messages that others see.
"""

from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from goqueue.proto.v1_descriptors import DESCRIPTORS

GoogleClass: TypeAlias = Any


def google_classes(descriptors: bytes = DESCRIPTORS) -> dict[str, GoogleClass]:
    """The classes for all messages of a descriptor set, by their names without the package."""
    pool = descriptor_pool.DescriptorPool()
    described = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
    for file in described:
        pool.Add(file)
    files = [pool.FindFileByName(file.name) for file in described]
    named = [message for file in files for message in file.message_types_by_name.values()]
    return {message.name: message_factory.GetMessageClass(message) for message in named}


def written(cls: GoogleClass, content: bytes) -> bytes | None:
    """What Google makes of some bytes, written by it again; None if it refuses them."""
    try:
        message = cls.FromString(content)
    except DecodeError:
        return None
    return bytes(message.SerializeToString(deterministic=True))
