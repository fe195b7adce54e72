"""The options of a read, understood: strings that Spark hands over, under names whose case does not matter.

Every option is checked before anything is opened, and one that does not exist, or that means nothing where it is said,
is refused: a typing error must not read something else than what was meant.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import define, field

from goqueue.spark.live.bootstrap import TIMEOUT_S, Bootstrap, bootstrap_of
from goqueue.spark.places import absolute
from goqueue.spark.records.edges import EARLIEST, LATEST, Edges, UnreadableError, offset_edges, time_edges
from goqueue.spark.records.leniency import Leniency
from goqueue.spark.records.wanted import Wanted

RECORDS: Final = "records"
FACTS: Final = "facts"

_COMMON: Final = ("read", "path")
_RECORDS: Final = (
    "topic", "partitions", "control", "damaged", "missing", "replaced", "starting_offset", "starting_time",
)  # fmt: skip
_BATCH: Final = ("ending_offset", "ending_time", "push_filters")
_LIVE: Final = ("bootstrap", "tls", "tls_ca", "timeout")
_STREAM: Final = ("max_records_per_trigger",)
_FACTS: Final = ("code",)
_PARTITIONS_MAX: Final = 10_000
_DIGITS_MAX: Final = 18
_ALL: Final = (*_COMMON, *_RECORDS, *_BATCH, *_LIVE, *_STREAM, *_FACTS)


@define
class Choices:
    """What is to be read, from where, and what may be left out."""

    read: str = RECORDS
    folder: str = ""
    bootstrap: Bootstrap | None = None
    topics: tuple[str, ...] = ()
    wanted: Wanted = field(factory=Wanted)
    starting: Edges = field(factory=lambda: Edges(EARLIEST))
    ending: Edges = field(factory=lambda: Edges(LATEST))
    control: bool = False
    lenient: Leniency = field(factory=Leniency)
    records_max: int | None = None
    code: str = ""
    pushes_filters: bool = False


def choices_of(options: Mapping[str, str], *, is_stream: bool = False) -> Choices:
    """The options of a read, or of a stream. Raises UnreadableError."""
    given = {name.lower(): value for name, value in options.items()}
    unknown = sorted(set(given) - set(_ALL))
    if unknown:
        raise UnreadableError(f"there is no option {unknown[0]!r}; the options are {', '.join(_ALL)}")
    read = kind_of(given)
    is_live = "bootstrap" in given
    if read == FACTS:
        if is_stream:
            raise UnreadableError("facts come from captures, which are no stream")
        _refuse_others(given, (*_COMMON, *_FACTS), "reading facts")
    elif is_stream:
        if not is_live:
            raise UnreadableError("a stream reads a running cluster: say option('bootstrap', 'host:port')")
        _refuse_others(given, ("read", *_RECORDS, *_LIVE, *_STREAM), "a stream of records")
    elif is_live:
        _refuse_others(given, ("read", *_RECORDS, *_BATCH, *_LIVE), "reading a running cluster")
    else:
        _refuse_others(given, (*_COMMON, *_RECORDS, *_BATCH), "reading a folder")
    if not is_live and not given.get("path"):
        raise UnreadableError(
            "which folder? Say load(folder), or option('path', folder); or option('bootstrap', 'host:port') for a"
            " running cluster"
        )
    topics = tuple(dict.fromkeys(name.strip() for name in given.get("topic", "").split(",") if name.strip()))
    starting = _starting(given, topics, is_stream=is_stream)
    if "replaced" in given and not is_stream and not starting.ids:
        raise UnreadableError(
            "the option 'replaced' says nothing where 'starting_offset' names no topic by its id, as in"
            ' {"orders": {"id": "19a7-1", "0": 17}}'
        )
    return Choices(
        read,
        absolute(given["path"]) if given.get("path") else "",
        _bootstrap(given) if is_live else None,
        topics,
        Wanted(partitions=_numbers(given["partitions"]) if "partitions" in given else None),
        starting,
        _ending(given, topics),
        _one_of(given, "control", ("false", "true")) == "true",
        Leniency(
            _one_of(given, "damaged", ("fail", "skip")) == "skip",
            _one_of(given, "missing", ("fail", "skip")) == "skip",
            _one_of(given, "replaced", ("fail", "restart")) == "restart",
        ),
        _natural(given, "max_records_per_trigger") if "max_records_per_trigger" in given else None,
        given.get("code", ""),
        _one_of(given, "push_filters", ("false", "true")) == "true",
    )


def kind_of(options: Mapping[str, str]) -> str:
    """Whether records or facts are to be read. Raises UnreadableError."""
    given = {name.lower(): value for name, value in options.items()}
    return _one_of(given, "read", (RECORDS, FACTS))


def _refuse_others(given: Mapping[str, str], allowed: Sequence[str], purpose: str) -> None:
    for name in given:
        if name not in allowed:
            raise UnreadableError(
                f"the option {name!r} says nothing for {purpose}; its options are {', '.join(allowed)}"
            )


def _bootstrap(given: Mapping[str, str]) -> Bootstrap:
    timeout_s = _natural(given, "timeout") if "timeout" in given else TIMEOUT_S
    ca_file = given.get("tls_ca", "")
    is_secure = _one_of(given, "tls", ("false", "true")) == "true" or bool(ca_file)
    return bootstrap_of(given["bootstrap"], is_secure=is_secure, timeout_s=timeout_s, ca_file=ca_file)


def _starting(given: Mapping[str, str], topics: Sequence[str], *, is_stream: bool) -> Edges:
    if "starting_time" in given:
        _refuse_both(given, "starting_offset", "starting_time")
        return time_edges("starting_time", given["starting_time"])
    default = LATEST if is_stream else EARLIEST
    words = (EARLIEST, LATEST) if is_stream else (EARLIEST,)
    return offset_edges("starting_offset", given.get("starting_offset", default), words, topics, default)


def _ending(given: Mapping[str, str], topics: Sequence[str]) -> Edges:
    if "ending_time" in given:
        _refuse_both(given, "ending_offset", "ending_time")
        return time_edges("ending_time", given["ending_time"])
    return offset_edges("ending_offset", given.get("ending_offset", LATEST), (LATEST,), topics, LATEST)


def _refuse_both(given: Mapping[str, str], one: str, other: str) -> None:
    if one in given:
        raise UnreadableError(f"the options {one!r} and {other!r} say the same thing twice; say one of them")


def _one_of(given: Mapping[str, str], name: str, allowed: Sequence[str]) -> str:
    """An option with a few values, the first of which is the default."""
    value = given.get(name, allowed[0]).lower()
    if value not in allowed:
        raise UnreadableError(f"the option {name!r} is {given[name]!r}; it may be {' or '.join(allowed)}")
    return value


def _natural(given: Mapping[str, str], name: str) -> int:
    value = given[name].strip()
    if not (_is_number(value) and int(value) > 0):
        raise UnreadableError(f"the option {name!r} is {given[name]!r}; it may be a number from 1 on")
    return int(value)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX


def _numbers(text: str) -> tuple[int, ...]:
    """Partitions such as `0,2-5`."""
    found: set[int] = set()
    for part in text.split(","):
        ends = [each.strip() for each in part.split("-")]
        if len(ends) > 2 or not all(map(_is_number, ends)):
            raise UnreadableError(f"the option 'partitions' is {text!r}; it may be numbers such as 0,2-5")
        first, last = int(ends[0]), int(ends[-1])
        if not first <= last < _PARTITIONS_MAX:
            raise UnreadableError(
                f"the option 'partitions' is {text!r}; {part.strip()} is no range of numbers below {_PARTITIONS_MAX}"
            )
        found.update(range(first, last + 1))
    return tuple(sorted(found))
