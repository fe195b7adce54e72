"""Which columns a frame must and may have to be written, and what is wrong with one that has others.

A frame that was read from a topic can be written as it is: where its rows came from (offset, producer, leader epoch) is
no part of a message, and left out. Any other column that means nothing here is refused, since whoever has it thinks
that it is written.
"""

from collections.abc import Callable

import pyarrow as pa
from pyarrow import types

from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.options import WriteOptions

_LEFT_OUT = ("offset", "producer_id", "leader_epoch")
DELAYS = ("due", "delay")


def _is_octets(kind: pa.DataType) -> bool:
    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_string(kind) or types.is_large_string(kind)
    )


def _is_headers(kind: pa.DataType) -> bool:
    if types.is_map(kind):
        return bool(types.is_string(kind.key_type)) and _is_octets(kind.item_type)
    if not types.is_list(kind) or not types.is_struct(kind.value_type) or kind.value_type.num_fields != 2:
        return False
    key, value = kind.value_type.field(0), kind.value_type.field(1)
    return bool(types.is_string(key.type)) and _is_octets(value.type)


def _is_moment(kind: pa.DataType) -> bool:
    # Without a zone it is the clock on somebody's wall.
    return bool(types.is_timestamp(kind) and kind.tz is not None)


def _is_lane(kind: pa.DataType) -> bool:
    return bool(types.is_integer(kind) or types.is_string(kind))


_KINDS: dict[str, tuple[Callable[[pa.DataType], bool], str]] = {
    "value": (_is_octets, "binary or string; to_json(struct(*)) makes one of many columns"),
    "key": (_is_octets, "binary or string"),
    "headers": (_is_headers, "array<struct<key:string,value:binary>> or map<string,string>"),
    "partition": (types.is_integer, "int"),
    "timestamp": (_is_moment, "timestamp"),
    "lane": (_is_lane, "int or string: normal, critical, high, low, background"),
    "topic": (types.is_string, "string"),
    "due": (_is_moment, "timestamp"),
    "delay": (types.is_duration, "interval day to second"),
}


def check_shape(schema: pa.Schema, options: WriteOptions) -> None:
    """Whether rows of this schema can be written. Raises UnwritableError."""
    for field in schema:
        if field.name in _LEFT_OUT:
            continue
        if field.name not in _KINDS:
            raise UnwritableError(
                f"there is no use for a column {field.name!r}: drop it; a message is made of {', '.join(_KINDS)}"
            )
        fits, words = _KINDS[field.name]
        if not fits(field.type):
            raise UnwritableError(f"the column {field.name!r} is of type {field.type}; it must be {words}")
        if schema.names.count(field.name) > 1:
            raise UnwritableError(f"there are two columns {field.name!r}")
    if "value" not in schema.names:
        raise UnwritableError("a message needs a column 'value'")
    if "topic" not in schema.names and not options.topic:
        raise UnwritableError("which topic? Say option('topic', …), or have a column 'topic'")
    late = [name for name in DELAYS if name in schema.names]
    if len(late) == 2:
        raise UnwritableError("a row says when it is due, or how long it is kept back, and not both: drop due or delay")
    if late and not options.repeats_delayed:
        raise UnwritableError(
            f"rows with a column {late[0]!r} are stored at least once, and again if a task is run again; say that this"
            " is meant by option('delayed', 'at_least_once'), or drop the column"
        )
