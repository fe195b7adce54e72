"""What an output of a node decides, thing by thing, so that two outputs can be compared by what matters to clients.

Most of an output is compared as it is: an answer, a letter, a read. What a node writes for itself is taken apart, since
two records that say nearly the same are different bytes: each message that a ledger says was leased, settled, given
back or given up is a thing of its own, and so is each group and each commit in the journal of groups. A message is the
same thing whenever it is said, so what is said of it at another time is known as that. Where in which file a batch
comes to lie follows from all before it and decides nothing.
"""

from collections.abc import Iterator

from attrs import define

from goqueue.core.capture.digest import digest
from goqueue.core.errors import BatchError, ProtocolError
from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.log.effects import Append
from goqueue.core.queues.queue_ledger import MOVES_KEY
from goqueue.core.queues.records import (
    WORK_CODEC,
    Delivered,
    Doomed,
    Extended,
    Returned,
    Settled,
    unpacked_runs,
    unpacked_triples,
)
from goqueue.core.ready import Fetching, Letter, Ready, Send
from goqueue.core.records.batch import read_header, split
from goqueue.core.records.record import Record, iterate
from goqueue.core.requests.messages import Side
from goqueue.core.requests.refusals import Refusal
from goqueue.core.services.secret_names import SECRET_KEY

MESSAGES, GROUPS, LOG = "messages", "groups", "log"
_LANES = ("writes", "sends", "letters", "reads", "opens", "removes", "compactions", "votes")
# What else a ledger holds, by its keys.
_BESIDES = {MOVES_KEY: "dead letters", SECRET_KEY: "secret"}
# In the order of what is of interest; the rest is how the node goes about it.
LANES = (MESSAGES, GROUPS, "sends", "letters", LOG, "votes", "writes", "reads", "opens", "removes", "compactions")


@define
class Item:
    """One thing that was said; two with the same lane, kind and digest are the same thing."""

    lane: str
    kind: str
    digest: int
    thing: object


@define
class Told:
    """What a ledger says of a message; `by` is a member or a reason, `span_ms` the length of a lease or of a pause."""

    topic: str
    partition: int
    offset: int
    group: str
    by: str = ""
    span_ms: int = 0

    def words(self) -> str:
        """For a person."""
        by = f", {self.by}" if self.by else ""
        span = f", {self.span_ms} ms" if self.span_ms else ""
        return f"{self.topic}/{self.partition}/{self.offset} for {self.group}{by}{span}"


def items_of(ready: Ready | None) -> Iterator[Item]:
    """Everything in an output."""
    for lane in _LANES if ready else ():
        for thing in getattr(ready, lane):
            if isinstance(thing, Append):
                yield from _written(thing)
            else:
                told = thing.request if isinstance(thing, Fetching) else thing
                yield Item(lane, _kind(thing), digest(told), thing)


def _kind(thing: object) -> str:
    said = thing.reply if isinstance(thing, Send) else thing.message if isinstance(thing, Letter) else thing
    return f"Refusal {said.code}" if isinstance(said, Refusal) else type(said).__name__


def _written(append: Append) -> Iterator[Item]:
    """What is in the batches of a write."""
    for run in append.buffers:
        try:
            found = [item for batch in split(run) for item in _in_batch(append.stream, batch)]
        except (BatchError, ProtocolError):
            # Whatever this is, the node that wrote it knows.
            found = [Item("writes", "Append", digest((append.stream, run)), append)]
        yield from found


def _in_batch(stream: str, batch: memoryview) -> Iterator[Item]:
    folder, _, name = stream.rpartition("/")
    if name == Side.LEDGER:
        for record in iterate(batch):
            yield from _in_ledger(folder, record)
    elif stream.startswith(f"logs/{JOURNAL_TOPIC}/"):
        for record in iterate(batch):
            yield _in_journal(record)
    else:
        header = read_header(batch)
        kind = f"batch of {name}" if name in tuple(Side) else "batch"
        yield Item(LOG, kind, digest((stream, header.base_offset, header.crc)), (stream, header))


def _in_journal(record: Record) -> Item:
    key, value = bytes(record.key or b""), None if record.value is None else bytes(record.value)
    kind = "committed" if key.startswith(b"offset/") else "changed"
    return Item(GROUPS, kind, digest((key.hex(), "" if value is None else value.hex())), (key, value))


def _in_ledger(folder: str, record: Record) -> Iterator[Item]:
    key = bytes(record.key or b"")
    if key in _BESIDES:
        yield Item(LOG, f"ledger {_BESIDES[key]}", digest((folder, bytes(record.value or b"").hex())), record.value)
        return
    group = key.decode("utf-8", "replace")
    if record.value is None:
        yield Item(MESSAGES, "queue ended", digest((folder, group)), record)
        return
    said = WORK_CODEC.decode(bytes(record.value))
    found = [*_of_messages(said)]
    if not found:
        yield Item(LOG, f"ledger {type(said).__name__}", digest((folder, group, said)), said)
    _, topic, number = folder.split("/")
    for kind, runs, by, span_ms in found:
        for first, end in runs:
            for offset in range(first, end):
                told = Told(topic, int(number), offset, group, by, span_ms)
                yield Item(MESSAGES, kind, digest((kind, folder, group, offset)), told)


def _of_messages(said: object) -> Iterator[tuple[str, list[tuple[int, int]], str, int]]:
    """What becomes of which messages, by whom or why, and for how long."""
    match said:
        case Delivered():
            yield "leased", unpacked_runs(said.leased), said.member, said.span_ms
        case Settled():
            yield "settled", [(first, end) for _, first, end in unpacked_triples(said.runs)], "", 0
        case Returned():
            kind = "to be tried again" if said.failed else "handed back"
            yield kind, unpacked_runs(said.runs), "", said.delay_ms
        case Doomed():
            yield f"given up: {said.reason.partition(':')[0]}", unpacked_runs(said.runs), said.reason, 0
        case Extended():
            yield "extended", unpacked_runs(said.runs), "", said.span_ms
