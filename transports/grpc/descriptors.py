"""What a descriptor set says: which files it holds, which symbols they define, on which files they depend.

The files themselves are kept as the bytes they are, since whoever asks wants protoc's words and not a translation.
"""

from collections.abc import Iterable, Iterator

from betterproto.lib.google.protobuf import DescriptorProto, FileDescriptorProto

_LENGTH_DELIMITED_1 = 0x0A


class DescriptorFiles:
    """The files of some descriptor sets, by name and by symbol."""

    def __init__(self, descriptor_sets: Iterable[bytes]) -> None:
        self._raw: dict[str, bytes] = {}
        self._needs: dict[str, list[str]] = {}
        self._defined_in: dict[str, str] = {}
        self._extensions: dict[tuple[str, int], str] = {}
        for descriptor_set in descriptor_sets:
            for raw in split_set(descriptor_set):
                self._add(raw)

    def by_name(self, name: str) -> list[bytes] | None:
        """A file and all that it depends on; None if there is none of that name."""
        if name not in self._raw:
            return None
        found: dict[str, None] = {}
        wanted = [name]
        while wanted:
            each = wanted.pop(0)
            if each not in found and each in self._raw:
                found[each] = None
                wanted += self._needs[each]
        return [self._raw[each] for each in found]

    def by_symbol(self, symbol: str) -> list[bytes] | None:
        """The file that defines a message, enum, service, method or extension, with what it depends on."""
        name = self._defined_in.get(symbol)
        return None if name is None else self.by_name(name)

    def by_extension(self, extended: str, number: int) -> list[bytes] | None:
        """The file that extends a message by a field of this number."""
        name = self._extensions.get((extended, number))
        return None if name is None else self.by_name(name)

    def extension_numbers(self, extended: str) -> list[int] | None:
        """The numbers by which a message is extended; None if there is no such message."""
        if extended not in self._defined_in:
            return None
        return sorted(number for name, number in self._extensions if name == extended)

    def _add(self, raw: bytes) -> None:
        file = FileDescriptorProto().parse(raw)
        self._raw[file.name] = raw
        self._needs[file.name] = list(file.dependency)
        for symbol in _symbols(file):
            self._defined_in[symbol] = file.name
        for extension in file.extension:
            self._extensions[extension.extendee.removeprefix("."), extension.number] = file.name


def _symbols(file: FileDescriptorProto) -> Iterator[str]:
    prefix = f"{file.package}." if file.package else ""
    for message in file.message_type:
        yield from _message_symbols(prefix, message)
    yield from (prefix + each.name for each in file.enum_type)
    yield from (prefix + each.name for each in file.extension)
    for service in file.service:
        yield prefix + service.name
        yield from (f"{prefix}{service.name}.{method.name}" for method in service.method)


def _message_symbols(prefix: str, message: DescriptorProto) -> Iterator[str]:
    name = prefix + message.name
    yield name
    yield from (f"{name}.{each.name}" for each in message.field)
    yield from (f"{name}.{each.name}" for each in message.enum_type)
    for nested in message.nested_type:
        yield from _message_symbols(f"{name}.", nested)


def split_set(descriptor_set: bytes) -> Iterator[bytes]:
    """The files in a descriptor set, each as the bytes it is."""
    at = 0
    while at < len(descriptor_set):
        assert descriptor_set[at] == _LENGTH_DELIMITED_1, "a descriptor set holds files and nothing else"
        at += 1
        size = shift = 0
        while (byte := descriptor_set[at]) >= 0x80:
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        size |= byte << shift
        at += 1
        yield descriptor_set[at : at + size]
        at += size
