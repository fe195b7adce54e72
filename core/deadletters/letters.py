"""What a dead letter says of its past, in headers of its record; and what it says no more once it is sent back.

    goqueue.dlq.reason                     max_attempts, rejected, expired
    goqueue.dlq.detail                     what was said when it was rejected, if anything
    goqueue.dlq.group  .attempts  .time    who gave it up, after how many attempts, when
    goqueue.dlq.topic  .partition  .offset where it came from
    goqueue.dlq.value_bytes                how large its value was, where its target had no room for it
    goqueue.dlq.unreadable                 why it has neither key nor value: nobody can read the batch that it was in
    goqueue.dlq.redriven                   how often it was sent back before

Key, value and all other headers stay as they were published, but for the moment at which the message was to expire: a
dead letter is kept. One that dies again says what it died of last.

Anybody may write into a topic of dead letters, so what is read here is text that may be anything.
"""

from goqueue.core.cluster.moments import moment_text, parse_moment_ms
from goqueue.core.records.build import Entry
from goqueue.core.records.headers import EXPIRES, Headers
from goqueue.core.records.record import Record
from goqueue.core.records.varint import Readable
from goqueue.core.requests.deadletters import DeadLetter, Sieve

PREFIX = "goqueue.dlq."
REASON, DETAIL, GROUP, ATTEMPTS, TIME = (
    f"{PREFIX}{word}" for word in ("reason", "detail", "group", "attempts", "time")
)
TOPIC, PARTITION, OFFSET = (f"{PREFIX}{word}" for word in ("topic", "partition", "offset"))
VALUE_BYTES, REDRIVEN, UNREADABLE = f"{PREFIX}value_bytes", f"{PREFIX}redriven", f"{PREFIX}unreadable"

REASONS = ("max_attempts", "rejected", "expired")
_NUMBER_LETTERS_MAX = 18


def buried(
    record: Record, group: str, death: tuple[str, int], source: tuple[str, int], at_ms: int, problem: str = ""
) -> Entry:
    """The dead letter of a message; `death` is a reason, maybe with a detail behind a colon, and a count.

    `problem` says why the message could not be read, where that is so.
    """
    reason, _, detail = death[0].partition(":")
    past: list[tuple[str, bytes | None]] = [(REASON, reason.encode())]
    if detail:
        past.append((DETAIL, detail.removeprefix(" ").encode()))
    past += [
        (GROUP, group.encode()),
        (ATTEMPTS, b"%d" % death[1]),
        (TIME, moment_text(at_ms).encode()),
        (TOPIC, source[0].encode()),
        (PARTITION, b"%d" % source[1]),
        (OFFSET, b"%d" % record.offset),
    ]
    if problem:
        past.append((UNREADABLE, problem.encode()))
    kept = [header for header in record.headers if header[0] == REDRIVEN or not _is_past(header[0])]
    return at_ms, _copied(record.key), _copied(record.value), (*kept, *past)


def bare(entry: Entry) -> Entry:
    """A dead letter without its value."""
    at_ms, key, value, headers = entry
    return at_ms, key, None, (*headers, (VALUE_BYTES, b"%d" % len(value or b"")))


def revived(record: Record, at_ms: int) -> Entry:
    """The message that a dead letter was, to be delivered again."""
    kept = [header for header in record.headers if not _is_past(header[0])]
    redriven = _number(_texts(record.headers).get(REDRIVEN, ""), 0) + 1
    return at_ms, _copied(record.key), _copied(record.value), (*kept, (REDRIVEN, b"%d" % redriven))


def _is_past(name: str) -> bool:
    return name == EXPIRES or name.startswith(PREFIX)


def _copied(content: Readable | None) -> bytes | None:
    """What a record holds as bytes of its own, so that the batch around it may go."""
    return None if content is None else bytes(content)


# --- reading


def read_letter(partition: int, record: Record) -> DeadLetter:
    """A record of a topic of dead letters as one."""
    said = _texts(record.headers)
    return DeadLetter(
        partition,
        record.offset,
        _copied(record.key),
        _copied(record.value),
        record.headers,
        said.get(REASON, ""),
        said.get(GROUP, ""),
        _number(said.get(ATTEMPTS, ""), 0),
        _moment_ms(said.get(TIME, ""), record.timestamp),
        said.get(TOPIC, ""),
        _number(said.get(PARTITION, ""), -1),
        _number(said.get(OFFSET, ""), -1),
    )


def _texts(headers: Headers) -> dict[str, str]:
    """What the headers of a letter's past say; of several by one name the last counts."""
    return {name: (value or b"").decode(errors="replace") for name, value in headers if name.startswith(PREFIX)}


def _number(text: str, otherwise: int) -> int:
    is_number = text.isascii() and text.isdigit() and len(text) <= _NUMBER_LETTERS_MAX
    return int(text) if is_number else otherwise


def _moment_ms(text: str, otherwise: int) -> int:
    try:
        return parse_moment_ms(text)
    except ValueError:
        return max(otherwise, 0)


def fits(sieve: Sieve, letter: DeadLetter) -> bool:
    """Whether a letter is one of those that are meant."""
    if sieve.reason and letter.reason != sieve.reason:
        return False
    if sieve.group and letter.group != sieve.group:
        return False
    if sieve.key is not None and letter.key != sieve.key:
        return False
    if sieve.died_from_ms is not None and letter.died_ms < sieve.died_from_ms:
        return False
    if sieve.died_until_ms is not None and letter.died_ms >= sieve.died_until_ms:
        return False
    return all((name, value) in letter.headers for name, value in sieve.headers.items())
