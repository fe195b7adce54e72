"""The source of decoders: a loop over tags with the short forms inline.

One function serves a message by itself and inside another: it reads from `at` to `end`, and `room` counts down how many
items lists and maps may still hold, since two bytes on the wire can be half a kilobyte in memory. Given a memoryview,
the fields in `VIEWS` become views of it, not copies.
"""

from collections.abc import Iterator

import betterproto

from goqueue.proto.generating.fields import DELIMITED, FIXED, Field, fields_of, indented, snake

# Batches: large, opaque, and copied by whoever stamps them.
VIEWS = frozenset(
    ("PublishBatchRequest.batch", "FetchReply.batches", "SubscribeReply.batches", "LeasedBatches.batches")
)

_TO_32 = "{0} &= 0xFFFFFFFF"
_TO_SIGNED_32 = "{0} = ({0} & 0xFFFFFFFF ^ 0x80000000) - 0x80000000"
_TO_SIGNED_64 = "{0} = ({0} ^ 1 << 63) - (1 << 63)"
# What is left to do with a varint of two bytes and more.
_LONG_FORM = {
    "uint32": _TO_32, "sint32": _TO_32, "int32": _TO_SIGNED_32, "enum": _TO_SIGNED_32, "int64": _TO_SIGNED_64,
}  # fmt: skip


def decoder(cls: type[betterproto.Message]) -> list[str]:
    """The function that decodes messages of a class, and one for the entries of each of its maps."""
    name = cls.__name__
    fields = fields_of(cls)
    entries = [line for field in fields if field.entry for line in _entry_decoder(field, field.entry)]
    groups = list(dict.fromkeys(field.group for field in fields if field.group))
    lines = [*entries, *_opening(name, f"decode_{snake(name)}", name, fields)]
    lines += indented(f"{_local(field)} = {field.blank}" for field in fields if field.group is None)
    lines += [f"    chosen_{group} = None\n    value_{group} = places_{group} = None" for group in groups]
    lines += indented(_loop(name, fields, keeps_unknown=True))
    lines += indented(_merge(field) for field in fields if _merges(field))
    for group in groups:
        messages = {field.name: field.cls for field in fields if field.group == group and field.kind == "message"}
        if messages:
            decoders = ", ".join(f'"{key}": decode_{snake(cls.__name__)}' for key, cls in messages.items())
            lines.append(f"    if places_{group} is not None and places_{group}[0] is not None:")
            lines.append(f"        value_{group} = merged({{{decoders}}}[chosen_{group}], data, places_{group}, room)")
    lines += [f"    message = new({name})", "    fields = {"]
    lines += [f'        "{field.name}": {_local(field) if field.group is None else "UNSET"},' for field in fields]
    current = ", ".join(f'"{group}": chosen_{group}' for group in groups)
    lines += ['        "_serialized_on_wire": True,', '        "_unknown_fields": bytes(unknown) if unknown else b"",']
    lines += [f'        "_group_current": {{{current}}},', "    }"]
    for group in groups:
        lines += [f"    if chosen_{group} is not None:", f"        fields[chosen_{group}] = value_{group}"]
    return [*lines, "    fill(message, fields)", "    return message"]


def _entry_decoder(field: Field, entry: tuple[Field, Field]) -> list[str]:
    lines = _opening(field.place, f"decode_{_entry_name(field)}", "tuple[object, object]", list(entry))
    lines += indented(f"{_local(each)} = {each.blank}" for each in entry)
    lines += indented(_loop(field.place, list(entry), keeps_unknown=False))
    key, value = entry
    if value.kind == "message":
        lines += ["    if of_value is UNSET:"]
        lines += [f'        of_value = decode_{snake(value.cls.__name__)}(b"", 0, 0, room)']
        lines += [f"    {_merge(value)}"]
    return [*lines, f"    return {_local(key)}, {_local(value)}"]


def _opening(title: str, function: str, returned: str, fields: list[Field]) -> list[str]:
    names = ", ".join(f'{field.number}: "{field.name}"' for field in fields)
    table = f"NAMES_{title.replace('.', '_')}"
    lines = ["", "", f"{table} = {{{names}}}", "", ""]
    lines += [f"def {function}(data: bytes | bytearray | memoryview, at: int = 0, end: int | None = None,"]
    lines += [f"        room: list[int] | None = None) -> {returned}:"]
    lines += ["    if end is None:", "        end = len(data)"]
    if any(field.repeated or field.kind in ("map", "message") for field in fields):
        lines += ["    if room is None:", "        room = [ITEMS_MAX]"]
    lines += ['    unknown = b""', "    tag = 0"]
    lines += [f"    places_{field.number} = None" for field in fields if _merges(field)]
    return lines


def _merges(field: Field) -> bool:
    return field.kind == "message" and not field.repeated and field.group is None


def _local(field: Field) -> str:
    return f"of_{field.name}"


def _entry_name(field: Field) -> str:
    return f"{snake(field.owner)}_{field.name}_entry"


def _merge(field: Field) -> str:
    places = f"places_{field.number}"
    call = f"merged(decode_{snake(field.cls.__name__)}, data, {places}, room)"
    return f"if {places} is not None and {places}[0] is not None:\n        {_local(field)} = {call}"


def _loop(title: str, fields: list[Field], *, keeps_unknown: bool) -> Iterator[str]:
    yield "try:"
    yield "    while at < end:"
    yield "        begin = at"
    yield "        tag = data[at]"
    yield "        at += 1"
    yield "        if tag > 127:"
    yield "            tag, at = long_tag(data, begin)"
    delimited = [field for field in fields if field.kind in DELIMITED or field.repeated]
    word = "if"
    if delimited:
        yield "        if tag & 7 == 2:"
        yield from indented(_size(), 3)
        inner = "if"
        for field in delimited:
            yield f"            {inner} tag == {field.number << 3 | 2}:"
            yield from indented(_delimited(field), 4)
            inner = "elif"
        yield "            else:"
        yield "                if tag == 2:"
        yield '                    raise Flaw("a field has the number 0")'
        yield from indented(_keep("stop") if keeps_unknown else ["raise Flaw(STRANGE)"], 4)
        yield "            at = stop"
        word = "elif"
    for field in fields:
        if field.kind not in DELIMITED:
            yield f"        {word} tag == {field.number << 3 | field.item_wire_type}:"
            yield from indented(_number(field), 3)
            word = "elif"
    yield "        else:" if word == "elif" else "        if True:"
    yield "            at = skip(data, at, end, tag)"
    yield from indented(_keep("at") if keeps_unknown else ["raise Flaw(STRANGE)"], 3)
    yield "    if at != end:"
    yield "        raise Flaw(CUT)"
    yield "except (IndexError, UnicodeDecodeError, Flaw) as error:"
    yield f'    raise refused("{title}", NAMES_{title.replace(".", "_")}, tag, error) from None'


def _keep(end: str) -> Iterator[str]:
    yield "if not unknown:"
    yield "    unknown = bytearray()"
    yield f"unknown += data[begin:{end}]"


def _size() -> Iterator[str]:
    yield "size = data[at]"
    yield "at += 1"
    yield "if size > 127:"
    yield "    second = data[at]"
    yield "    at += 1"
    yield "    if second < 128:"
    yield "        size += (second << 7) - 128"
    yield "    else:"
    yield "        size, at = length(data, at - 2)"
    yield "stop = at + size"
    yield "if stop > end:"
    yield "    raise Flaw(CUT)"


def _spend(count: str) -> Iterator[str]:
    yield f"room[0] -= {count}"
    yield "if room[0] < 0:"
    yield "    raise Flaw(CROWDED)"


def _delimited(field: Field) -> Iterator[str]:
    if field.kind == "map":
        yield from _spend("1")
        yield f"key, value = decode_{_entry_name(field)}(data, at, stop, room)"
        yield f"{_local(field)}[key] = value"
        return
    if field.kind not in DELIMITED:
        # A list that is packed: no item is shorter than a byte.
        yield from _spend("size")
        yield "while at < stop:"
        yield from indented(_read_number(field, "item", "stop"))
        yield f"    {_local(field)}.append(item)"
        yield "if at != stop:"
        yield "    raise Flaw(CUT)"
        return
    if field.kind == "string":
        value = 'str(data[at:stop], "utf-8")'
    elif field.kind == "bytes":
        value = "data[at:stop]" if field.place in VIEWS else "bytes(data[at:stop])"
    else:
        value = f"decode_{snake(field.cls.__name__)}(data, at, stop, room)"
    if field.repeated:
        yield from _spend("1")
        yield f"{_local(field)}.append({value})"
    elif field.group is not None:
        yield from _choose(field, value)
    else:
        yield f"{_local(field)} = {value}"
        if field.kind == "message":
            yield f"places_{field.number} = (places_{field.number}, at, stop)"


def _choose(field: Field, value: str) -> Iterator[str]:
    group = field.group
    yield f"value_{group} = {value}"
    if field.kind == "message":
        yield f'places_{group} = (places_{group} if chosen_{group} == "{field.name}" else None, at, stop)'
    else:
        yield f"places_{group} = None"
    yield f'chosen_{group} = "{field.name}"'


def _number(field: Field) -> Iterator[str]:
    if field.repeated:
        yield from _spend("1")
        yield from _read_number(field, "item", "end")
        yield f"{_local(field)}.append(item)"
    elif field.group is not None:
        yield from _read_number(field, "item", "end")
        yield from _choose(field, "item")
    else:
        yield from _read_number(field, _local(field), "end")


def _read_number(field: Field, target: str, end: str) -> Iterator[str]:
    if field.kind in FIXED:
        layout, _, size = FIXED[field.kind]
        yield f"if at + {size} > {end}:"
        yield "    raise Flaw(CUT)"
        yield f"{target} = {layout}.unpack_from(data, at)[0]"
        yield f"at += {size}"
        return
    yield f"{target} = data[at]"
    yield "at += 1"
    yield f"if {target} > 127:"
    yield f"    {target}, at = varint(data, at - 1)"
    if field.kind in _LONG_FORM:
        yield f"    {_LONG_FORM[field.kind].format(target)}"
    if field.kind == "bool":
        yield f"{target} = {target} != 0"
    elif field.kind.startswith("sint"):
        yield f"{target} = {target} >> 1 ^ -({target} & 1)"
    elif field.kind == "enum":
        enum = field.cls.__name__
        yield f"{target} = {enum}_known[{target}] if {target} in {enum}_known else {enum}.try_value({target})"
