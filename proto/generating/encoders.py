"""The source of encoders: fields in the order of their numbers, defaults left out, as Google writes them.

Parts go into a list and are joined once, so that a large field is copied once, whatever it is: bytes, or a view.
"""

from collections.abc import Iterator

import betterproto

from goqueue.proto.generating.fields import DELIMITED, FIXED, Field, fields_of, indented, snake

_WRITERS = {"enum": "int32", "bool": "uint32"}


def _varint_bytes(number: int) -> bytes:
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def encoder(cls: type[betterproto.Message]) -> list[str]:
    """The function that encodes messages of a class."""
    name = cls.__name__
    fields = fields_of(cls)
    lines = ["", "", f"def encode_{snake(name)}(message: {name}) -> bytes:", "    fields = fields_of(message)"]
    lines.append("    parts: list[bytes] = []")
    groups = dict.fromkeys(field.group for field in fields if field.group)
    lines += [f'    chosen_{group} = fields["_group_current"]["{group}"]' for group in groups]
    previous = None
    for field in fields:
        lines += indented(_encode_field(field, continues=field.group is not None and previous == field.group))
        previous = field.group
    return [*lines, '    if fields["_unknown_fields"]:', '        parts.append(fields["_unknown_fields"])',
            '    return b"".join(parts)']  # fmt: skip


def _encode_field(field: Field, *, continues: bool) -> Iterator[str]:
    tag = _varint_bytes(field.tag)
    read = f'value = fields["{field.name}"]'
    if field.group is not None:
        yield f'{"elif" if continues else "if"} chosen_{field.group} == "{field.name}":'
        yield f"    {read}"
        yield "    if value is not None:"
        yield from indented(_encode_value(field, tag), 2)
        return
    yield read
    if field.kind == "map":
        yield "if value is not UNSET and value:"
        yield from indented(_encode_map(field, tag))
    elif field.repeated:
        yield "if value is not UNSET and value:"
        yield from indented(_encode_list(field, tag))
    elif field.optional:
        yield "if value is not None:"
        yield from indented(_encode_value(field, tag))
    elif field.kind == "message":
        yield "if value is not UNSET and value is not None:"
        yield f"    inner = encode_{snake(field.cls.__name__)}(value)"
        yield '    if inner or fields_of(value)["_serialized_on_wire"]:'
        yield "        size = len(inner)"
        yield f"        parts += ({tag!r}, SHORT[size] if size < SHORT_MAX else unsigned(size), inner)"
    elif field.kind == "double":
        # Minus zero is false, and yet no default.
        yield "if value is not UNSET and value is not None:"
        yield f'    packed = fixed({FIXED[field.kind][0]}, value, "{field.place}")'
        yield "    if any(packed):"
        yield f"        parts += ({tag!r}, packed)"
    else:
        yield "if value is not UNSET and value:"
        yield from indented(_encode_value(field, tag))


def _encode_value(field: Field, tag: bytes, source: str = "value", parts: str = "parts") -> Iterator[str]:
    if field.kind in DELIMITED:
        inner = {"string": f"{source}.encode()", "bytes": source}.get(field.kind)
        if inner is None:
            inner = f"encode_{snake(field.cls.__name__)}({source})"
        if inner != source:
            yield f"inner = {inner}"
            inner = "inner"
        yield f"size = len({inner})"
        yield f"{parts} += ({tag!r}, SHORT[size] if size < SHORT_MAX else unsigned(size), {inner})"
    elif field.kind == "bool":
        yield f"{parts}.append({tag + bytes([1])!r} if {source} else {tag + bytes([0])!r})"
    else:
        yield f"{parts} += ({tag!r}, {_written_number(field, source)})"


def _written_number(field: Field, source: str) -> str:
    if field.kind in FIXED:
        return f'fixed({FIXED[field.kind][0]}, {source}, "{field.place}")'
    writer = f'{_WRITERS.get(field.kind, field.kind)}({source}, "{field.place}")'
    return writer if field.kind.startswith("sint") else f"SHORT[{source}] if 0 <= {source} < SHORT_MAX else {writer}"


def _encode_list(field: Field, tag: bytes) -> Iterator[str]:
    if field.kind in DELIMITED:
        yield "for item in value:"
        yield from indented(_encode_value(field, tag, "item"))
        return
    one = "b'\\x01' if item else b'\\x00'" if field.kind == "bool" else _written_number(field, "item")
    yield f'packed = b"".join([{one} for item in value])'
    yield "size = len(packed)"
    yield f"parts += ({tag!r}, SHORT[size] if size < SHORT_MAX else unsigned(size), packed)"


def _encode_map(field: Field, tag: bytes) -> Iterator[str]:
    assert field.entry is not None
    key, value = field.entry
    yield f"for key in {'texts' if key.kind == 'string' else 'numbers'}_in_order(value):"
    yield "    entry: list[bytes] = []"
    yield from indented(_encode_value(key, _varint_bytes(key.tag), "key", "entry"))
    yield "    item = value[key]"
    yield from indented(_encode_value(value, _varint_bytes(value.tag), "item", "entry"))
    yield '    inner = b"".join(entry)'
    yield "    size = len(inner)"
    yield f"    parts += ({tag!r}, SHORT[size] if size < SHORT_MAX else unsigned(size), inner)"
