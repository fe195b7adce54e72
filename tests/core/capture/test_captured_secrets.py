"""Work queues under a capture: told again they take the same receipts, and no secret stands in what was written."""

import pytest

from goqueue.core.capture.recorder import Recorder
from goqueue.core.capture.replay import Replayer
from goqueue.core.node import Node
from goqueue.core.queues.leader import WorkLeader
from goqueue.core.requests.queues import ReceiptRun
from goqueue.core.requests.refusals import Code
from goqueue.core.services.secret_names import SECRET_KEY, name_of
from tests.core.capture.traffic import VOCABULARY
from tests.core.grouped_cluster import GroupedCluster


class Notes:
    """What one process was told, in files."""

    def __init__(self, node: Node, *, keeps_records: bool) -> None:
        self.recorder = Recorder(node, VOCABULARY, keeps_records=keeps_records)
        self.files = [(0, self.recorder.begin_file(), [b""])]

    def cut(self) -> None:
        """Begin another file."""
        self.files[-1][2].append(self.recorder.take_block())
        self.files.append((self.recorder.event_count, self.recorder.begin_file(), []))

    def written(self) -> bytes:
        """All that was written down."""
        return b"".join([content + b"".join(blocks) for _, content, blocks in self.files])

    def told_again(self) -> int:
        """How many events there were; each file alone, and all of them in a row, come to the same."""
        in_a_row, events = Replayer(VOCABULARY), 0
        for first, content, blocks in self.files:
            alone = Replayer(VOCABULARY)
            for replayer in (in_a_row, alone):
                found = replayer.begin(content, first)
                for block in blocks if found is None else ():
                    found = found or replayer.feed(block)
                assert found is None, found
            events += alone.events
        return events


def secrets_of(cluster: GroupedCluster) -> list[bytes]:
    """The secrets of all ledgers that are led somewhere."""
    found: list[bytes] = []
    for name in cluster.living():
        rooms = cluster.node(name)._services.services
        [work] = [room for room in rooms if isinstance(room, WorkLeader)]
        keys = [book._secret for book in work.books.values()]
        found += [key.content for key in keys if key is not None]
    return found


@pytest.mark.parametrize("keeps_records", [False, True])
def test_leases_and_acknowledgements_are_told_again_without_any_secret(keeps_records: bool) -> None:
    notes: list[Notes] = []

    def recorded(node: Node) -> Node:
        notes.append(Notes(node, keeps_records=keeps_records))
        return notes[-1].recorder

    def cut() -> None:
        for one in notes:
            one.cut()

    cluster = GroupedCluster(recorded=recorded)
    member = cluster.share("n1", session_ms=600_000)
    receipts: list[ReceiptRun] = []
    for at in range(4):
        for partition in range(3):
            cluster.publish(b"%d/%d" % (partition, at), partition=partition)
        for _ in range(3):
            receipts += [receipt for receipt, _ in cluster.poll(cluster.living()[0], member).values()]
        if at == 1:
            cut()
            # The node that is killed has the secrets of its ledgers, and others read them there.
            cluster.ack("n2", receipts.pop())
            cluster.kill(cluster.leader("orders", 0))
            cluster.advance(10_000)
        made_up = ReceiptRun(receipts[0].stem[:-4] + "AAAA", receipts[0].first_offset)
        refused = cluster.ack(cluster.living()[0], made_up)
        assert [each.refusal.code for each in refused.refusals] == [Code.RECEIPT_INVALID]
    cut()
    assert cluster.ack(cluster.living()[-1], *receipts).done == len(receipts)
    cut()
    secrets = secrets_of(cluster)
    assert len({*secrets}) == 3
    assert all(one.told_again() > 50 for one in notes)
    written = b"".join(one.written() for one in notes)
    assert not any(secret in written for secret in secrets)
    # What is there in their places: whoever follows a ledger has read it.
    assert all(name_of(secret) in written for secret in secrets)
    assert SECRET_KEY in written


def test_a_capture_that_ends_leaves_nothing_to_be_noted() -> None:
    notes: list[Notes] = []

    def recorded(node: Node) -> Node:
        notes.append(Notes(node, keeps_records=False))
        return notes[-1].recorder

    cluster = GroupedCluster(recorded=recorded)
    for one in notes:
        one.cut()
        one.recorder.end()
    member = cluster.share("n1")
    cluster.publish(b"a", partition=0)
    [(receipt, _)] = cluster.poll("n1", member).values()
    assert cluster.ack("n2", receipt).done == 1
    assert all(one.recorder.node.options.secrets.take_notes() is None for one in notes)
