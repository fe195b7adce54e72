"""Stands in for a node before its driver, notes down every verb and a digest of what comes out, and hands both on.

A driver that is to be captured calls this in place of the node. A verb is noted even if the node dies of it, and is
then the last thing in the capture: most before the node hears of it, batches whatever comes of them. Nothing here
touches a disk; `take_block` gives the notes away.

What comes of secrets is noted as well, and the secrets themselves are left out of all that is given away.

It is a `Node` by type and has every public verb of one, so a driver need not know which of the two it drives, and a
signature that changes there is found here by the type checker. Everything else of the node shows through.
"""

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from goqueue.core.broker.reads import Look
from goqueue.core.capture.digest import HEAD_BYTES, Shapes, digest, readable
from goqueue.core.capture.events import TAKE_DIED, TAKEN_NOTHING, WAKE, WRITTEN, EventWriter
from goqueue.core.capture.letters import Letters, shortened
from goqueue.core.capture.skeleton import WORTH_BYTES
from goqueue.core.capture.snapshot import snapshot
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.log.compaction import CompactionOutput
from goqueue.core.log.effects import ReadResult, SyncToken, TimeResult
from goqueue.core.log.log import LogState
from goqueue.core.node import Node
from goqueue.core.quorum.entries import Entry
from goqueue.core.ready import Ready, SaveVote
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Due, PublishBatch
from goqueue.core.requests.row import Request
from goqueue.core.services.secret_names import without_secrets


class Recorder(Node):
    """A node that is written down while it works."""

    def __init__(self, node: Node, vocabulary: Vocabulary, *, keeps_records: bool = False) -> None:
        # Not the constructor of Node: this one has no state of its own but its notes.
        self.node = node
        self._vocabulary = vocabulary
        self._keeps_records = keeps_records
        self._shapes = Shapes()
        self._letters = Letters(node)
        self._past = 0
        self._secrets = node.options.secrets
        self._secrets.begin_notes()
        self._notes = self._new_notes()

    def _new_notes(self) -> EventWriter:
        return EventWriter(self._vocabulary, keeps_records=self._keeps_records, secrets=self._secrets)

    def __getattr__(self, name: str) -> Any:
        if name == "node":
            raise AttributeError(name)
        return getattr(self.node, name)

    # --- the notes

    @property
    def event_count(self) -> int:
        """How many events were noted since the beginning."""
        return self._past + self._notes.count

    @property
    def pending_bytes(self) -> int:
        """How much `take_block` would give."""
        return len(self._notes.out)

    def take_block(self) -> bytes:
        """The notes since the last call."""
        self._notes.note_secrets()
        block = without_secrets(bytes(self._notes.out))
        self._notes.out.clear()
        return block

    def end(self) -> None:
        """Nothing is noted any more."""
        self._secrets.end_notes()

    def begin_file(self) -> bytes:
        """A snapshot of the node; the events that follow can be read without any before them."""
        assert not self._notes.out, "events before the snapshot would be lost"
        # Whoever goes on from the snapshot finds them on the disk, as the node will.
        self.node.forget_recent(0)
        content = without_secrets(snapshot(self._vocabulary, self.node))
        self._past += self._notes.count
        self._notes = self._new_notes()
        return content

    # --- the verbs

    def ask(self, now: int, to: int, caller: Caller, request: Request) -> None:
        """Note a request and pass it on."""
        if (
            type(request) is PublishBatch
            and request.due is Due.NOW
            and not self._keeps_records
            and len(request.batch) >= WORTH_BYTES
        ):
            self._ask_batch(now, to, caller, request)
        else:
            self._notes.ask(now, to, caller, request)
            self.node.ask(now, to, caller, request)

    def _ask_batch(self, now: int, to: int, caller: Caller, request: PublishBatch) -> None:
        """The same for a batch, which is summed here only if the node has not done so.

        A log stamps a batch once it has found that its bytes are those that were sent, and never else.
        """
        came = bytes(request.batch[:HEAD_BYTES])
        try:
            self.node.ask(now, to, caller, request)
        finally:
            if bytes(request.batch[:HEAD_BYTES]) != came:
                self._notes.ask_sound(now, to, caller, request, came)
            else:
                checks_records = self.node.led.checks_records(request.topic, request.partition)
                self._notes.ask(now, to, caller, request, checks_records=checks_records)

    def is_started(self, now: int) -> bool:
        """As the node says."""
        return self.node.is_started(now)

    def forget(self, to: int) -> None:
        """Note that nobody waits any more, and pass it on."""
        self._notes.forget(to)
        self.node.forget(to)

    def receive(self, now: int, sender: str, message: Any) -> None:
        """Note a letter of a peer, and pass it on."""
        noted = message if self._keeps_records else self._letters.shortened(sender, message)
        self._notes.call(now, "receive", (sender, noted))
        self.node.receive(now, sender, message)

    def peer_met(self, now: int, peer: str) -> None:
        """Note a link to a peer, and pass it on."""
        self._notes.call(now, "peer_met", (peer,))
        self.node.peer_met(now, peer)

    def peer_lost(self, now: int, peer: str) -> None:
        """Note the end of a link to a peer, and pass it on."""
        self._notes.call(now, "peer_lost", (peer,))
        self.node.peer_lost(now, peer)

    def peer_gone(self, now: int, peer: str) -> None:
        """Note that the process of a peer is no more, and pass it on."""
        self._notes.call(now, "peer_gone", (peer,))
        self.node.peer_gone(now, peer)

    def vote_saved(self, now: int, vote: SaveVote) -> None:
        """Note a vote that is kept, and pass it on."""
        self._notes.call(now, "vote_saved", (vote,))
        self.node.vote_saved(now, vote)

    def leave(self, now: int) -> None:
        """Note that the end is near, and pass it on."""
        self._notes.call(now, "leave", ())
        self.node.leave(now)

    def peers(self) -> dict[str, str]:
        """As the node says."""
        return self.node.peers()

    def opened(
        self,
        now: int,
        stream: str,
        state: LogState,
        entries: Iterable[Entry] = (),
        vote: SaveVote | None = None,
        claimed: Iterable[tuple[str, int]] = (),
    ) -> None:
        """Note a stream that was recovered, and pass it on."""
        known, folders = list(entries), list(claimed)
        self._notes.call(now, "opened", (stream, state, known, vote, folders))
        self.node.opened(now, stream, state, known, vote, folders)

    def open_failed(self, now: int, stream: str, why: str) -> None:
        """Note a stream that cannot be recovered, and pass it on."""
        self._notes.call(now, "open_failed", (stream, why))
        self.node.open_failed(now, stream, why)

    def removed(self, now: int, folder: str) -> None:
        """Note a folder that is gone, and pass it on."""
        self._notes.call(now, "removed", (folder,))
        self.node.removed(now, folder)

    def written(self, now: int) -> None:
        """Note that all writes are done, and pass it on."""
        self._notes.plain(now, WRITTEN)
        self.node.written(now)

    def synced(self, now: int, stream: str, token: SyncToken) -> None:
        """Note a promise kept, and pass it on."""
        self._notes.synced(now, stream, token)
        self.node.synced(now, stream, token)

    def disk_failed(self, now: int, stream: str, why: str) -> None:
        """Note a disk that failed, and pass it on."""
        self._notes.call(now, "disk_failed", (stream, why))
        self.node.disk_failed(now, stream, why)

    def read_done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """Note what a read came to, and pass it on."""
        look = self.node.looks_into(token)
        if look is Look.NOTHING:
            self._notes.read_done(now, token, result)
        else:
            noted = result
            if look is Look.HEADS and isinstance(result, ReadResult) and not self._keeps_records:
                noted = evolve(result, batches=shortened(result.batches))
            self._notes.call(now, "read_done", (token, noted))
        self.node.read_done(now, token, result)

    def looks_into(self, token: int) -> Look:
        """As the node says."""
        return self.node.looks_into(token)

    def read_failed(self, now: int, token: int, why: str, *, damaged: bool) -> None:
        """Note a read that failed, and pass it on."""
        self._notes.call(now, "read_failed", (token, why), {"damaged": damaged})
        self.node.read_failed(now, token, why, damaged=damaged)

    def compacted(self, now: int, stream: str, end_offset: int, outputs: list[CompactionOutput]) -> bool:
        """Note a compaction that was carried out, and pass it on."""
        self._notes.call(now, "compacted", (stream, end_offset, outputs))
        return self.node.compacted(now, stream, end_offset, outputs)

    def compaction_failed(self, now: int) -> None:
        """Note a compaction that failed, and pass it on."""
        self._notes.call(now, "compaction_failed", ())
        self.node.compaction_failed(now)

    def deadline(self) -> int | None:
        """Ask the node, and note the answer."""
        due = self.node.deadline()
        self._notes.deadline(due)
        return due

    def wake(self, now: int) -> None:
        """Note that time has passed, and pass it on."""
        self._notes.plain(now, WAKE)
        self.node.wake(now)

    def clock_moved(self, now: int, wall_ms: int) -> None:
        """Note what the wall says, and pass it on."""
        self._notes.clock_moved(now, wall_ms)
        self.node.clock_moved(now, wall_ms)

    def disk_room(self, now: int, is_full: bool) -> None:
        """Note whether the disk has room, and pass it on."""
        self._notes.call(now, "disk_room", (is_full,))
        self.node.disk_room(now, is_full)

    def forget_recent(self, now: int) -> None:
        """Note that memory is wanted back, and pass it on."""
        self._notes.call(now, "forget_recent", ())
        self.node.forget_recent(now)

    def close(self, now: int) -> None:
        """Note the end, and pass it on."""
        self._notes.call(now, "close", ())
        self.node.close(now)

    def take(self, now: int) -> Ready:
        """Ask the node, and note a digest of what comes."""
        try:
            ready = self.node.take(now)
        except BaseException:
            self._notes.plain(now, TAKE_DIED)
            raise
        if ready:
            words = readable(ready) if self._keeps_records else ""
            self._notes.taken(now, self._shapes.of(ready), digest(ready), words)
        else:
            self._notes.plain(now, TAKEN_NOTHING)
        return ready

    def check(self) -> None:
        """Have the node check itself; nothing is noted."""
        self.node.check()
