"""What a setting may hold: kinds of values, each from text to what the text means.

Every source speaks text in the end: a flag, a variable, a scalar of YAML. The file alone tells numbers, truth values
and text apart; a kind says which of them it takes. `parse` raises ValueError with a sentence that says what was found
and what is allowed.
"""

import re
from collections.abc import Callable
from typing import Generic, TypeVar

from attrs import define

from goqueue.core.cluster.durations import format_duration, parse_duration_ms
from goqueue.transports.peers.addresses import PeerAddress, parse_peer
from goqueue.transports.peers.secret import SECRET_BYTES_MIN, ClusterSecrets, parse_secrets

# How something is written in YAML.
NOTHING, TRUTH, NUMBER, TEXT, LIST = "nothing", "truth", "number", "text", "list"

OFF = "off"
LOOPBACK = "127.0.0.1"
UNLIMITED = -1
DAY_MS = 24 * 3_600_000

Address = tuple[str, int]
T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9A-Fa-f]+")
_SHIFTS = {"": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_SIZE = re.compile(r"([0-9]{1,12}) ?(KiB|MiB|GiB|TiB)?")
_SHOWN_MAX = 60
_HOST = re.compile(r"\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


@define
class Kind(Generic[T]):
    """What some settings may hold: in words, from text, and how a file writes it."""

    expected: str
    parse: Callable[[str], T]
    written: frozenset[str] = frozenset({TEXT})
    # Words that stand for a value and are shown as they are.
    words: frozenset[str] = frozenset()


def written_as(text: str) -> str:
    """What a scalar without quotes is in YAML, by its core schema."""
    if text in {"", "~"} or text.lower() == "null":
        return NOTHING
    if text.lower() in {"true", "false"}:
        return TRUTH
    return NUMBER if _NUMBER.fullmatch(text) else TEXT


def shown(text: str) -> str:
    """Text as it was found, in quotes, and not longer than a sentence bears."""
    return repr(text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…")


def name() -> Kind[str]:
    """The name of a node."""

    def parse(text: str) -> str:
        if not _NAME.fullmatch(text):
            allowed = "up to 100 letters, digits, dots, dashes and underscores are"
            raise ValueError(f"{shown(text)} is no name; {allowed}")
        return text

    return Kind("a name", parse)


def path(*, may_be_empty: bool = False) -> Kind[str]:
    """The path of a file or folder."""

    def parse(text: str) -> str:
        if not (text or may_be_empty):
            raise ValueError("found an empty text, expected a path")
        if not text.isprintable():
            raise ValueError(f"{shown(text)} is no path; it holds characters that cannot be printed")
        return text

    return Kind("a path", parse)


def address(example: str, *, may_be_off: bool = False) -> Kind[Address | None]:
    """`host:port`, loopback where there is no host; None for one that is off."""

    def parse(text: str) -> Address | None:
        if may_be_off and text.lower() == OFF:
            return None
        host, colon, port = text.rpartition(":")
        if not colon or not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
            raise ValueError(f"{shown(text)} is no address; write it like {example} or 0.0.0.0{example}")
        return host.strip("[]") or LOOPBACK, int(port)

    return Kind(f"an address such as {example}" + (" or off" if may_be_off else ""), parse)


def whole(least: int, most: int, *, unlimited: bool = False) -> Kind[int]:
    """A whole number; -1 for one that is switched off."""
    expected = f"a whole number from {least} to {most}" + (", or -1 for no bound" if unlimited else "")

    def parse(text: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise ValueError(f"found {shown(text)}, expected {expected}")
        number = int(text)
        if not least <= number <= most and not (unlimited and number == UNLIMITED):
            raise ValueError(f"found {number}, expected {expected}")
        return number

    return Kind(expected, parse, frozenset({NUMBER}))


def whole_or(word: str, meaning: int, least: int, most: int) -> Kind[int]:
    """A whole number, or a word that stands for one."""
    number = whole(least, most)
    expected = f"{number.expected}, or {word}"

    def parse(text: str) -> int:
        if text.lower() == word:
            return meaning
        try:
            return number.parse(text)
        except ValueError:
            raise ValueError(f"found {shown(text)}, expected {expected}") from None

    return Kind(expected, parse, frozenset({NUMBER, TEXT}), frozenset({word}))


def parse_size(text: str) -> int | None:
    """Bytes in a size such as `64MiB`; None when it is none."""
    matched = _SIZE.fullmatch(text.strip())
    return int(matched[1]) << _SHIFTS[matched[2] or ""] if matched else None


def size(least: int, most: int | None, example: str) -> Kind[int]:
    """A number of bytes, with a unit or without; None where only the disk bounds it."""
    bounds = (
        f"of at least {written_size(least)}" if most is None else f"from {written_size(least)} to {written_size(most)}"
    )

    def parse(text: str) -> int:
        found = parse_size(text)
        if found is None or found < least or (most is not None and found > most):
            raise ValueError(f"{shown(text)} is no size {bounds}; write it like {example}")
        return found

    return Kind(f"a size {bounds} such as {example}", parse, frozenset({NUMBER, TEXT}))


def written_size(count: int) -> str:
    """The shortest spelling that says a size exactly."""
    for unit, shift in reversed(_SHIFTS.items()):
        if count and not count & ((1 << shift) - 1):
            return f"{count >> shift} {unit}".rstrip()
    return str(count)


def span(least_ms: int, most_ms: int) -> Kind[int]:
    """A span of time, in milliseconds."""
    bounds = f"from {format_duration(least_ms)} to {format_duration(most_ms)}"

    def parse(text: str) -> int:
        span_ms = parse_duration_ms(text[:_SHOWN_MAX])
        if not least_ms <= span_ms <= most_ms:
            raise ValueError(f"found {shown(text)}, expected a span of time {bounds}")
        return span_ms

    return Kind(f"a span of time {bounds}, such as 30s", parse)


def one_of(*words: str) -> Kind[str]:
    """One of some words, in whatever case."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"{shown(text)} is none of {', '.join(words)}")
        return text.lower()

    return Kind(f"one of {', '.join(words)}", parse)


def truth() -> Kind[bool]:
    """True or false."""

    def parse(text: str) -> bool:
        if text.lower() not in {"true", "false"}:
            raise ValueError(f"found {shown(text)}, expected true or false")
        return text.lower() == "true"

    return Kind("true or false", parse, frozenset({TRUTH}))


def switch() -> Kind[bool]:
    """True or false as flags say it: on or off."""
    meanings = {"on": True, OFF: False, "true": True, "false": False}

    def parse(text: str) -> bool:
        if text.lower() not in meanings:
            raise ValueError(f"{shown(text)} is none of on, off")
        return meanings[text.lower()]

    return Kind("on or off", parse, frozenset({TRUTH, TEXT}))


def peers() -> Kind[list[PeerAddress]]:
    """Addresses of other nodes, with names or without."""

    def parse(text: str) -> list[PeerAddress]:
        found = [parse_peer(each) for each in text.split(",") if each.strip()]
        said = [each.node_id or str(each) for each in found]
        for each in said:
            if said.count(each) > 1:
                raise ValueError(f"{each} is there twice")
        return found

    return Kind("a list of addresses such as node-2@10.0.0.2:7000", parse, frozenset({LIST, TEXT, NOTHING}))


def names() -> Kind[list[str]]:
    """Names of nodes."""
    one = name()

    def parse(text: str) -> list[str]:
        return [one.parse(each.strip()) for each in text.split(",") if each.strip()]

    return Kind("a list of names", parse, frozenset({LIST, TEXT, NOTHING}))


def hosts() -> Kind[list[str]]:
    """Names and addresses by which a client may call the broker, without ports."""

    def parse(text: str) -> list[str]:
        found = [each.strip() for each in text.split(",") if each.strip()]
        for each in found:
            if not _HOST.fullmatch(each):
                raise ValueError(
                    f"{shown(each)} is no host name or address; write it like mq.example.com, without a port"
                )
        return [each.strip("[]") for each in found]

    return Kind("a list of names such as mq.example.com, or *", parse, frozenset({LIST, TEXT, NOTHING}))


def host() -> Kind[str]:
    """The name or address of one machine, without a port, or none."""

    def parse(text: str) -> str:
        name = text.strip()
        if name and (name == "*" or not _HOST.fullmatch(name)):
            raise ValueError(f"{shown(name)} is no host name or address; write it like mq.example.com, without a port")
        return name.strip("[]")

    return Kind("a name such as mq.example.com, without a port", parse, frozenset({TEXT, NOTHING}))


def origins() -> Kind[list[str]]:
    """Origins of web pages, as browsers write them: with a scheme, and a port where it is not the scheme's own."""

    def parse_one(text: str) -> str:
        if text == "*":
            return text
        matched = _ORIGIN.fullmatch(text.lower().rstrip("/"))
        if matched is None:
            raise ValueError(f"{shown(text)} is no origin; write it like https://console.example.com")
        scheme, host, port = matched.groups(default="")
        return f"{scheme}://{host}{'' if port == _DEFAULT_PORTS.get(scheme) else port}"

    def parse(text: str) -> list[str]:
        return [parse_one(each.strip()) for each in text.split(",") if each.strip()]

    return Kind("a list of origins such as https://console.example.com, or *", parse, frozenset({LIST, TEXT, NOTHING}))


def words(length_max: int = 200) -> Kind[str]:
    """Any text on one line, or none."""

    def parse(text: str) -> str:
        if len(text) > length_max or not text.isprintable():
            raise ValueError(f"{shown(text)} is no text of up to {length_max} printable characters")
        return text.strip()

    return Kind(f"a text of up to {length_max} characters", parse, frozenset({TEXT, NOTHING}))


def cluster_secrets() -> Kind[ClusterSecrets | None]:
    """Parse the secrets of a cluster, the current one first; an error never shows any part of a secret."""

    def parse(text: str) -> ClusterSecrets | None:
        found = parse_secrets(text)
        return ClusterSecrets(found) if found else None

    written = frozenset({TEXT, NUMBER, TRUTH, LIST, NOTHING})
    return Kind(f"a secret of {SECRET_BYTES_MIN} bytes or more", parse, written)


def fixed(only: str, why: str) -> Kind[str]:
    """A key that has one value, and a sentence for all others."""

    def parse(text: str) -> str:
        if text.lower() != only:
            raise ValueError(f"found {shown(text)}, expected {only}: {why}")
        return only

    return Kind(only, parse)
