"""One controller a term, and what is agreed on is the same everywhere: at each index, on each node, for ever."""

import hashlib

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.records.record import iterate
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import is_written, leads, term, whole_batches, written_index
from goqueue.storage.layout import LOG_ENDING

Entry = tuple[int, str]
"""The term of an entry, and a digest of what is in it."""


class Controllers(Checker):
    """Remembers who was controller in each term, and the entries that were agreed on."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._who: dict[int, str] = {}
        self._agreed: dict[int, Entry] = {}
        # How far each node was looked at, in which life of it.
        self._seen: dict[str, tuple[int, int]] = {}

    def stepped(self) -> None:
        """Look at the node of which something was heard."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None or not broker.node.has_metadata:
            return
        node = broker.node
        if leads(node):
            first = self._who.setdefault(term(node), broker.node_id)
            if first != broker.node_id:
                raise Violation(f"{first} and {broker.node_id} are both controllers in term {term(node)}")
        index, seen = written_index(node), self._seen.get(broker.node_id, (0, 0))
        # A log that is closed, or about to be cut, is not what its node goes by.
        if seen != (broker.disk.life, index) and is_written(node):
            begin = seen[1] if seen[0] == broker.disk.life else 0
            self._seen[broker.node_id] = broker.disk.life, index
            self._compare(broker, begin, index)

    def _compare(self, broker: Broker, begin: int, end: int) -> None:
        """Hold the entries that a node believes to be agreed against those of all others."""
        assert broker.node is not None
        log = broker.node._agreement.log
        assert log is not None
        for segment in log.segments:
            if segment.next_offset <= begin or segment.base >= end:
                continue
            content = broker.disk.seen_bytes(f"{METADATA_STREAM}/{segment.name}{LOG_ENDING}")
            for offset, entry in entries_in(content):
                if begin <= offset < end:
                    other = self._agreed.setdefault(offset, entry)
                    if other != entry:
                        raise Violation(f"entry {offset} of {broker.node_id} is {entry}, and elsewhere it is {other}")


def entries_in(content: bytes) -> list[tuple[int, Entry]]:
    """What was agreed on, as it lies in a file: the offset of each entry, and the entry."""
    found: list[tuple[int, Entry]] = []
    for position, header in whole_batches(content):
        batch = content[position : position + header.size]
        for record in iterate(batch):
            digest = hashlib.blake2b(
                repr((bytes(record.key or b""), bytes(record.value or b""))).encode(), digest_size=8
            )
            found.append((record.offset, (header.leader_epoch, digest.hexdigest())))
    return found
