"""Logs: batches that a leader takes and followers copy, what is durable and visible of them, and what is cut.

A batch is noted when it is handed to the disk, at the end of the turn in which it came. The request that brought it is
known by the batch itself, which goes from the request to the disk as one object; single messages that became a batch
came in the same turn, the first of them is the one that counts.

What readers may see is told of streams that the node leads and is sure of (`Partition.is_settled`): a new leader shows
nothing before it knows how far the one before it has come.
"""

from attrs import define, field

from goqueue.core.capture.events import Event
from goqueue.core.log.effects import Append, Cut, Sync, SyncToken
from goqueue.core.log.producers import OWN_IDS
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import LANE_MASK, LANE_SHIFT
from goqueue.core.replicas.topic import Held
from goqueue.core.replication.messages import Pulled, PulledPart, Verdict
from goqueue.core.replication.replica import Replica
from goqueue.core.requests.messages import Publish, PublishBatch, Side
from goqueue.spark.facts.inside import all_held
from goqueue.spark.facts.listening import Batch, Errand, Hears, Listener, Stream
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.streams import parse_stream

METADATA = "metadata"
_SYNCS_MAX = 1024


@define(eq=False)
class _Disk:
    """What was handed to the disk of one stream, in bytes since the file began, and what it was asked to sync."""

    end: int = 0
    bytes: int = 0
    durable: int = 0
    durable_bytes: int = 0
    # By incarnation and end: when that was asked for, and how many bytes there were then.
    asked: dict[tuple[int, int], tuple[int, int]] = field(factory=dict)


class Logs(Listener):
    """Notes `known`, `appended`, `copied`, `diverges`, `durable`, `cut` and `disk_failed`."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._disks: dict[str, _Disk] = {}
        # Who brought which batch, for as long as the turn lasts, and who brought single messages for which topic.
        self._brought: dict[int, Errand] = {}
        self._gathered: dict[str, list[Errand]] = {}

    def hears(self) -> Hears:
        """Batches, what the disk says, and publishes, since batches come of them."""
        return Hears(
            verbs={
                "synced": self._synced,
                "opened": self._opened,
                "disk_failed": self._disk_failed,
                "open_failed": self._disk_failed,
                "take": self._turned,
            },
            asked={Publish: self._publish_asked, PublishBatch: self._batch_asked},
            batches=dict.fromkeys(Side, self._batch),
            effects={Append: self._handed, Sync: self._sync, Cut: self._cut},
            received={Pulled: self._pulled},
            dropped=self._forget,
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """Note what the node holds."""
        for name, held in all_held(node):
            self._disks[name] = _Disk(held.log.next_offset, durable=held.log.synced_offset)
            self._note_known(node, held)
        return []

    def _note_known(self, node: Node, held: Held) -> None:
        is_led = isinstance(held, Partition)
        topic = node.led.topics.get(held.topic)
        placement = None if topic is None else topic.placement(held.number)
        epoch = None if placement is None else placement.leader_epoch
        if isinstance(held, Partition):
            epoch = held.leader_epoch
        self.notebook.note(
            "known", topic=held.topic, partition=held.number, side=held.side.value, first=held.log.start_offset,
            end=held.log.next_offset, value=held.high_watermark, epoch=epoch, cause="leads" if is_led else "follows",
        )  # fmt: skip

    # --- batches

    def _publish_asked(self, node: Node, errand: Errand) -> None:
        self._gathered.setdefault(errand.request.topic, []).append(errand)

    def _batch_asked(self, node: Node, errand: Errand) -> None:
        self._brought[id(errand.request.batch)] = errand

    def _turned(self, node: Node, event: Event, came: object) -> None:
        self._brought.clear()
        self._gathered.clear()

    def _batch(self, node: Node, batch: Batch) -> None:
        stream, header = batch.stream, batch.header
        since = client = peer = None
        if batch.is_led:
            since, client = self._origin(batch)
        else:
            topic = node.led.topics.get(stream.topic)
            peer = None if topic is None else topic.leader(stream.partition) or None
        has_producer = header.producer_id >= 0
        self.notebook.note(
            "appended" if batch.is_led else "copied", topic=stream.topic, partition=stream.partition,
            side=stream.side.value if stream.side is not None else None, first=header.base_offset,
            end=header.next_offset, count=header.record_count, bytes=header.size, epoch=header.leader_epoch,
            lane=(header.attributes & LANE_MASK) >> LANE_SHIFT, producer=header.producer_id if has_producer else None,
            producer_epoch=header.producer_epoch if has_producer else None,
            sequence=header.base_sequence if has_producer else None, value=header.crc, since=since, client=client,
            peer=peer,
        )  # fmt: skip

    def _origin(self, batch: Batch) -> tuple[int | None, str | None]:
        """When the request came that brought a batch, and from which client, where it was only one."""
        brought = self._brought.get(id(batch.content))
        if brought is not None:
            return brought.at, brought.caller.client_id or None
        if batch.header.producer_id in OWN_IDS or batch.stream.side is Side.LEDGER:
            return None, None
        gathered = self._gathered.get(batch.stream.topic)
        if not gathered:
            return None, None
        clients = {errand.caller.client_id for errand in gathered}
        return gathered[0].at, (clients.pop() or None) if len(clients) == 1 else None

    # --- the disk

    def _disk(self, stream: Stream) -> _Disk:
        disk = self._disks.get(stream.name)
        if disk is None:
            disk = self._disks[stream.name] = _Disk()
        return disk

    def _handed(self, node: Node, stream: Stream, effect: Append) -> None:
        disk = self._disk(stream)
        disk.bytes += sum(map(len, effect.buffers))
        held = node.led.held(stream.name)
        if held is not None:
            disk.end = held.log.next_offset

    def _sync(self, node: Node, stream: Stream, effect: Sync) -> None:
        disk, token = self._disk(stream), effect.token
        if len(disk.asked) >= _SYNCS_MAX:
            disk.asked.pop(next(iter(disk.asked)))
        disk.asked.setdefault((token.incarnation, token.next_offset), (self.notebook.at, disk.bytes))

    def _synced(self, node: Node, event: Event, came: object) -> None:
        name: str = event.args[0]
        token: SyncToken = event.args[1]
        held = node.led.held(name)
        if held is not None and held.log.incarnation != token.incarnation:
            # It was asked before the disk failed, and promises nothing of what came since.
            return
        stream = parse_stream(name)
        disk = self._disk(stream)
        since, size = disk.asked.pop((token.incarnation, token.next_offset), (None, None))
        covered = None if size is None else size - disk.durable_bytes
        first = disk.durable if stream.side is not None else None
        self._note_durable(stream, first, token.next_offset, since=since, bytes=covered)
        disk.durable = max(disk.durable, token.next_offset)
        disk.durable_bytes = max(disk.durable_bytes, size or 0)

    def _note_durable(self, stream: Stream, first: int | None, end: int, **columns: int | None) -> None:
        self.notebook.note(
            "durable", topic=stream.topic or None, partition=stream.partition if stream.topic else None,
            side=METADATA if stream.side is None else stream.side.value, first=first, end=end, **columns,
        )  # fmt: skip

    def _cut(self, node: Node, stream: Stream, effect: Cut) -> None:
        """What lies before a log that begins anew goes as well, and then all of it was taken back."""
        if stream.side is None:
            return
        disk, held = self._disk(stream), node.led.held(stream.name)
        begins_anew = held is not None and held.log.start_offset == effect.offset
        self._note_cut(stream, 0 if begins_anew else effect.offset, disk.end, "restart" if begins_anew else "diverged")
        disk.end, disk.durable = effect.offset, min(disk.durable, effect.offset)

    def _note_cut(self, stream: Stream, first: int, end: int, cause: str) -> None:
        assert stream.side is not None
        self.notebook.note(
            "cut", topic=stream.topic, partition=stream.partition, side=stream.side.value, first=first, end=end,
            cause=cause,
        )  # fmt: skip

    def _opened(self, node: Node, event: Event, came: object) -> None:
        stream = parse_stream(event.args[0])
        held = node.led.held(stream.name)
        if held is None:
            return
        known, end = self._disks.get(stream.name), held.log.next_offset
        if known is not None and end < known.end:
            self._note_cut(stream, end, known.end, "lost")
        disk = self._disks[stream.name] = _Disk(end, durable=held.log.synced_offset)
        if known is not None:
            self._note_durable(stream, known.durable, disk.durable)

    def _disk_failed(self, node: Node, event: Event, came: object) -> None:
        stream, why = parse_stream(event.args[0]), event.args[1]
        self.notebook.note(
            "disk_failed", topic=stream.topic or None, partition=stream.partition if stream.topic else None,
            side=METADATA if stream.side is None else stream.side.value,
            cause="write" if event.verb == "disk_failed" else "open", detail=why,
        )  # fmt: skip

    def _pulled(self, node: Node, peer: str, letter: Pulled) -> None:
        for part in letter.parts:
            if part.verdict is Verdict.GOES_ON:
                continue
            followed = (replica for replica in node.led.replicas.values() if _is_of(node, replica, part))
            for replica in followed:
                self.notebook.note(
                    "diverges", topic=replica.topic, partition=replica.number, side=part.side.value, peer=peer,
                    first=replica.log.start_offset, end=replica.log.next_offset, epoch=part.leader_epoch,
                    cause=part.verdict.name.lower(),
                )  # fmt: skip

    def _forget(self, node: Node, stream: Stream) -> None:
        self._disks.pop(stream.name, None)


def _is_of(node: Node, replica: Replica, part: PulledPart) -> bool:
    """Whether a part of a letter is about a stream that the node follows."""
    topic = node.led.topics.get(replica.topic)
    is_topic = topic is not None and topic.topic.topic_id == part.topic_id
    return is_topic and (replica.number, replica.side) == (part.partition, part.side)


class Watermarks(Listener):
    """Notes `visible`, of the streams that the node leads."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._shown: dict[str, int] = {}
        # The streams in which there is more than readers may see.
        self._behind: dict[str, None] = {}

    def hears(self) -> Hears:
        """Whatever may let readers see more."""
        return Hears(
            verbs={"opened": self._opened},
            batches=dict.fromkeys(Side, self._batch),
            leads=self._leads,
            follows=self._follows,
            dropped=self._forget,
            after=self._look,
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """How far readers may see is `known`."""
        for name, partition in node.led.streams.items():
            self._shown[name] = partition.high_watermark
            self._behind[name] = None
        return []

    def _leads(self, node: Node, stream: Stream, partition: Partition) -> None:
        # A leader that goes on in a new epoch has shown what it has shown.
        self._shown.setdefault(stream.name, partition.high_watermark)
        self._behind[stream.name] = None

    def _follows(self, node: Node, stream: Stream, replica: Replica) -> None:
        self._forget(node, stream)

    def _forget(self, node: Node, stream: Stream) -> None:
        self._shown.pop(stream.name, None)
        self._behind.pop(stream.name, None)

    def _opened(self, node: Node, event: Event, came: object) -> None:
        """What recovery found may be less than what there was."""
        self._behind[event.args[0]] = None

    def _batch(self, node: Node, batch: Batch) -> None:
        if batch.is_led:
            self._behind[batch.stream.name] = None

    def _look(self, node: Node, event: Event) -> None:
        led, shown = node.led.streams, self._shown
        level: list[str] = []
        for name in self._behind:
            partition = led.get(name)
            if partition is None or name not in shown:
                level.append(name)
                continue
            high_watermark = partition.high_watermark
            if high_watermark != shown[name] and partition.is_settled:
                self._see(name, partition, high_watermark)
            if high_watermark == partition.log.next_offset == shown[name]:
                level.append(name)
        for name in level:
            del self._behind[name]

    def _see(self, name: str, partition: Partition, end: int) -> None:
        first = self._shown[name]
        self._shown[name] = end
        self.notebook.note(
            "visible", topic=partition.topic, partition=partition.number, side=partition.side.value,
            first=min(first, end), end=end, epoch=partition.leader_epoch,
        )  # fmt: skip
