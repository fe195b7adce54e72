"""The fields of betterproto's messages, read and made without its attributes: each costs a microsecond or more.

betterproto keeps a message's fields in its `__dict__`, and PLACEHOLDER where nothing was set. What the strict codec
decoded is complete as far as there are defaults; what was made by a constructor is completed on its first reading.
"""

from typing import Any, TypeVar

import betterproto

UNSET = betterproto.PLACEHOLDER
M = TypeVar("M", bound=betterproto.Message)

fields_of = betterproto.Message.__dict__["__dict__"].__get__
_fill = betterproto.Message.__dict__["__dict__"].__set__
_blanks: dict[type[betterproto.Message], dict[str, Any]] = {}


def contents(message: betterproto.Message) -> dict[str, Any]:
    """The fields of a message by name, defaults included; not for messages with a oneof."""
    fields: dict[str, Any] = fields_of(message)
    for value in fields.values():
        if value is UNSET:
            return _completed(message, fields)
    return fields


def _completed(message: betterproto.Message, fields: dict[str, Any]) -> dict[str, Any]:
    _blank(type(message))
    # A list or an inner message that was not set stays with the message once it was read, as betterproto has it.
    return {name: getattr(message, name) if value is UNSET else value for name, value in fields.items()}


def made(kind: type[M], **fields: Any) -> M:  # noqa: ANN401 - of whatever types the fields are
    """A message with these fields, which must be of their types; not for messages with a oneof."""
    message: M = object.__new__(kind)
    _fill(message, {**(_blanks.get(kind) or _blank(kind)), **fields})
    return message


def _blank(kind: type[betterproto.Message]) -> dict[str, Any]:
    blank = _blanks.get(kind)
    if blank is None:
        blank = dict(fields_of(kind()))
        blank["_serialized_on_wire"] = True
        assert not blank["_group_current"], "a oneof is betterproto's to make, and to tell by which_one_of"
        _blanks[kind] = blank
    return blank
