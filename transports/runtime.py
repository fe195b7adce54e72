"""The one loop that drives a node: everything that came in is one turn, with one write for each stream and one sync.

Requests of all connections gather while a turn runs; the next turn takes them together. What touches the disk is the
business of `storage/node_disk.py`; what of it waits runs in threads here. Letters of peers gather like requests, in
`peers/correspondence.py`, and go out as soon as the node has written them. A request costs no task, channel or lock of
its own: one that was asked has its caller parked until the answer is there, one that was posted has the answer given
to a function within the turn.

Invariants: every request is answered once, unless it was forgotten; what publishes hold that were not answered is
bounded by `admission_bytes_max`, as long as those who post wait for `room`.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import trio
from attrs import evolve

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.capture.errors import CaptureError
from goqueue.core.clock import Clock
from goqueue.core.errors import GoQueueError
from goqueue.core.node import Node
from goqueue.core.requests.call import Caller
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import changes_nothing, weight
from goqueue.core.services.secrets import Secrets
from goqueue.storage.capture import Capture
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DefectError
from goqueue.storage.identity import demand_alone
from goqueue.storage.jobs import StreamJob
from goqueue.storage.layout import FormatError
from goqueue.storage.meters import StoreMeters
from goqueue.storage.node_disk import NodeDisk, Work
from goqueue.storage.open_log import system_wall_ms
from goqueue.storage.store import Store
from goqueue.storage.threads import DiskThreads
from goqueue.transports.admission import Admission
from goqueue.transports.boot_clock import boot_ns
from goqueue.transports.peers.correspondence import Correspondence
from goqueue.transports.trio_asking import answered
from goqueue.transports.trio_calm import Calm
from goqueue.transports.trio_parking import Alarm, Parking

ADMISSION_BYTES_MAX = 256 << 20
_CLOCK_NS = 1_000_000_000
_ASIDE_MAX = 8
# How long a node among others waits for all that it has before it serves.
_BOOT_NS = 3_000_000_000


class Runtime:
    """A node on a disk, alive as long as `run` is."""

    def __init__(
        self,
        disk: Disk,
        options: NodeOptions,
        report: Callable[[str], None] = lambda _: None,
        *,
        admission_bytes_max: int = ADMISSION_BYTES_MAX,
        reserve_bytes: int = 0,
        capture: Capture | None = None,
        post: Correspondence | None = None,
        now: Callable[[], int] = boot_ns,
    ) -> None:
        assert (post is None) == (options.cluster is None), "whoever has peers has letters"
        self._disk = disk
        self._post = post
        self._now = now
        self._options = options
        self._report = report
        # How much of the disk is kept from messages of clients, and whether no more than that is left.
        self._reserve_bytes = reserve_bytes
        self._is_disk_full = False
        self._inbox: list[tuple[int, Caller, Request]] = []
        # Who gets an answer, what the request weighs until then, and its class.
        self._waiting: dict[int, tuple[Callable[[Reply], None], int, type]] = {}
        self._next_to = 0
        self._admission = Admission(admission_bytes_max)
        self._kicked = Parking()
        self._alarm = Alarm(self._kicked.wake)
        self._closing = False
        # Whether a turn may be taken beside the loop's, and whether requests come one by one.
        self._takes_turns = False
        self._calm = Calm()
        self._is_closed = False
        # What failed that never should; no turn comes after it.
        self._defect: Exception | None = None
        # Set once others lead what was led here; None unless that was asked for.
        self._left: trio.Event | None = None
        self.store_meters = StoreMeters()
        self._when_leaving: list[Callable[[], None]] = []
        self._capture_wanted = capture
        self._capture: Capture | None = None
        self._aside = trio.CapacityLimiter(_ASIDE_MAX)
        self._node: Node
        self._node_disk: NodeDisk
        self._threads: DiskThreads
        self._nursery: trio.Nursery

    # --- for the protocols

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """The answer to a request. When the caller is cancelled the answer is dropped; what was written stays."""
        if weight(request):
            await self._admission.room()
        if self._closing:
            return _shutting_down()
        post = self._post_alone if self._takes_turns and self._calm.holds and not self._inbox else self.post
        return await answered(post, self.forget, caller, request)

    def post(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """See Broker."""
        to = self._take_in(caller, request, receive)
        self._kicked.wake()
        return to

    def _post_alone(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """Post a request that comes alone, and take its turn at once.

        Where nothing waits for the disk it is answered when this returns, and neither the loop's task nor that of
        whoever asks is woken for it. Of requests that come together all but the first wait for the loop: one turn, one
        write and one sync serve them.
        """
        to = self._take_in(caller, request, receive)
        now = self._now()
        try:
            self._turn(now)
            self._follow_peers()
        except Exception as error:  # noqa: BLE001 - the loop raises it
            self._defect = self._defect or error
            self._kicked.wake()
        else:
            self._set_alarm(now, None)
        return to

    def _take_in(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        self._next_to += 1
        to = self._next_to
        if self._closing:
            receive(_shutting_down())
            return to
        self._calm.note()
        size = weight(request)
        if size:
            self._admission.take(size)
        self._waiting[to] = receive, size, type(request)
        self._inbox.append((to, caller, request))
        return to

    def forget(self, to: int) -> None:
        """See Broker; harmless when it has been answered."""
        waiting = self._waiting.pop(to, None)
        if waiting is not None:
            self._admission.release(waiting[1])
            self._node.forget(to)

    def is_roomy(self) -> bool:
        """See Broker."""
        return self._admission.is_roomy

    async def room(self) -> None:
        """See Broker."""
        await self._admission.room()

    def when_leaving(self, told: Callable[[], None]) -> None:
        """See Broker."""
        self._when_leaving.append(told)

    async def leave(self, patience_s: float) -> None:
        """Have others lead what is led here before this node stops, as long as that takes and it may take."""
        if self._post is None:
            return
        self._left = trio.Event()
        self._node.leave(self._now())
        self._kicked.wake()
        with trio.move_on_after(patience_s):
            await self._left.wait()

    @property
    def has_no_topics(self) -> bool:
        """Whether nobody has made a topic yet."""
        return not any(True for _ in self._node.led.public())

    @property
    def held_bytes(self) -> int:
        """What publishes hold that were not answered yet."""
        return self._admission.held_bytes

    @property
    def waiting_count(self) -> int:
        """How many requests have no answer yet."""
        return len(self._waiting)

    # --- the loop

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Drive the node until cancelled; ready once every topic's partitions have been looked at.

        Cancelled, it closes the logs in order before it returns. It ends by itself when something failed that never
        should: then no turn comes after that, so nothing is acknowledged any more, and it raises what failed.
        """
        store = await trio.to_thread.run_sync(Store, self._disk, self.store_meters)
        token = trio.lowlevel.current_trio_token()
        # A broker that is gone takes no notice of a job that ends after it.
        self._threads = DiskThreads(partial(_deliver, token, self._job_done))
        try:
            options = await trio.to_thread.run_sync(self._claim)
            now = self._now()
            if not options.secrets.has_source:
                options = evolve(options, secrets=Secrets(secrets.token_bytes))
            self._node = Node(options, Clock(now, system_wall_ms()), now)
            self._node_disk = NodeDisk(self._node, store, self._report)
            if self._capture_wanted is not None:
                self.begin_capture(self._capture_wanted)
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._alarm.run)
                if self._post is not None:
                    await nursery.start(self._post.run, self._kicked.wake)
                await self._boot()
                task_status.started()
                trio.lowlevel.add_instrument(self._calm)
                self._takes_turns = True
                try:
                    await self._turns()
                except trio.Cancelled:
                    with trio.CancelScope(shield=True):
                        await self._close()
                    raise
                finally:
                    trio.lowlevel.remove_instrument(self._calm)
                    self._take_no_more()
                    nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._end(store)

    def _claim(self) -> NodeOptions:
        """What the node is told, once it is certain that the folder is its own."""
        if self._post is not None:
            return self._post.claim(self._disk, self._options)
        demand_alone(self._disk, self._options.node_id)
        return self._options

    async def _boot(self) -> None:
        """Turn until the metadata is read, every partition has been looked at, and the cluster knows this process.

        A node among others begins to serve without all of that when it takes too long: for want of others, maybe.
        """
        now = self._now()
        until = None if self._post is None else now + _BOOT_NS
        while not self._node.is_started(now) and (until is None or now < until):
            self._turn(now)
            await self._pause(until)
            now = self._now()

    async def _turns(self) -> None:
        clock_due, problem = 0, ""
        while True:
            now = self._now()
            if now >= clock_due:
                self._node.clock_moved(now, system_wall_ms())
                clock_due = now + _CLOCK_NS
                self._look_at_disk(now)
                if self._node.problem not in ("", problem):
                    self._report(f"the cluster does not let this node in: {self._node.problem}")
                problem = self._node.problem
            self._turn(now)
            self._follow_peers()
            await self._pause(clock_due)

    def _look_at_disk(self, now: int) -> None:
        """Tell the node when no more than the reserve is left of the disk, and when there is a quarter more again."""
        if not self._reserve_bytes:
            return
        try:
            free = self._disk.free_bytes()
        except OSError as error:
            self._report(f"the room on the disk cannot be asked for: {error}")
            return
        is_full = free < self._reserve_bytes + (self._reserve_bytes // 4 if self._is_disk_full else 0)
        if is_full != self._is_disk_full:
            self._is_disk_full = is_full
            self._node.disk_room(now, is_full)
            said = "messages are refused" if is_full else "messages are taken again"
            self._report(f"{free >> 20} MiB of the disk are free, the reserve is {self._reserve_bytes >> 20}: {said}")

    async def _pause(self, until: int | None) -> None:
        """Wait until something comes in, or until something is due."""
        if self._kicked.signalled:
            # Others have their turn, however much comes in.
            await trio.lowlevel.checkpoint()
        else:
            self._set_alarm(self._now(), until)
        await self._kicked.wait()

    def _set_alarm(self, now: int, until: int | None) -> None:
        """Have the loop take a turn when something is due."""
        dues = [due for due in (self._node.deadline(), self._node_disk.deadline(), until) if due is not None]
        if dues:
            self._alarm.set(trio.current_time() + max(min(dues) - now, 0) / 1e9)

    def _turn(self, now: int) -> None:
        if self._defect is not None:
            raise self._defect
        inbox, self._inbox = self._inbox, []
        node, waiting, post = self._node, self._waiting, self._post
        if post is not None:
            post.deliver(now, node)
        for to, caller, request in inbox:
            if to in waiting:
                node.ask(now, to, caller, request)
        node.wake(now)
        while ready := node.take(now):
            self._node_disk.act(now, ready)
            if ready.letters and post is not None:
                post.send(ready.letters)
            for send in ready.sends:
                self._answer(send.to, send.reply)
            if ready.is_last:
                break
        for work in self._node_disk.take(now):
            if isinstance(work, StreamJob):
                self._threads.submit(work)
            else:
                self._nursery.start_soon(self._run_aside, work)
        if self._capture is not None and not self._capture.turn(now, system_wall_ms()):
            self.end_capture()

    def _follow_peers(self) -> None:
        if self._post is None:
            return
        try:
            self._post.follow(self._node)
        except FormatError as error:
            self._report(str(error))
        if self._left is not None and self._has_left(self._post):
            self._left.set()

    def _has_left(self, post: Correspondence) -> bool:
        """Whether nothing is left that others could take over, the controller's office included."""
        if not post.network.peers:
            return True
        return self._node.has_left and not self._node.is_controller

    def _answer(self, to: int, reply: Reply) -> None:
        waiting = self._waiting.pop(to, None)
        if waiting is None:
            return
        receive, size, _ = waiting
        if size:
            self._admission.release(size)
        try:
            receive(reply)
        except Exception as error:  # noqa: BLE001 - what one client's stream comes to is no other's concern
            self._report(f"an answer was not taken: {error!r}")

    # --- captures

    @property
    def is_captured(self) -> bool:
        """Whether what the node is told is being written down."""
        return self._capture is not None

    def begin_capture(self, capture: Capture) -> bool:
        """Write down all that the node is told from here on; False when something, which is reported, is against it."""
        assert self._capture is None, "there is one already"
        try:
            self._drive(capture.start(self._node, self._now(), system_wall_ms()))
        except (CaptureError, OSError) as error:
            self._report(f"there is no capture: {error}")
            return False
        self._capture = capture
        if self._is_disk_full:
            self._node.disk_room(self._now(), self._is_disk_full)
        return True

    def end_capture(self) -> None:
        """Leave the capture as it is; without one nothing happens."""
        capture, self._capture = self._capture, None
        if capture is not None:
            self._drive(capture.close())

    def _drive(self, node: Node) -> None:
        self._node = node
        self._node_disk.drive(node)

    # --- disks

    def _job_done(self, job: StreamJob) -> None:
        self._finish(job)

    async def _run_aside(self, work: Work) -> None:
        try:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(work.run, limiter=self._aside)
        except Exception as error:  # noqa: BLE001 - the loop raises it
            self._break(work, error)
        else:
            self._finish(work)

    def _finish(self, work: Work) -> None:
        """Tell the node what came of a piece of work, unless it is to be told nothing any more."""
        if self._defect is None:
            try:
                self._node_disk.finish(self._now(), work)
            except Exception as error:  # noqa: BLE001 - the loop raises it
                self._break(work, error)
        self._kicked.wake()

    def _break(self, work: Work, error: Exception) -> None:
        """Have the next turn, which is the last one, raise what has failed."""
        if self._defect is None:
            self._defect = error if isinstance(error, GoQueueError) else DefectError(f"a {type(work).__name__}", error)
        self._kicked.wake()

    # --- the end

    def _take_no_more(self) -> None:
        """From here on every request is refused."""
        self._takes_turns = False
        if not self._closing:
            self._closing = True
            for told in self._when_leaving:
                told()

    async def _close(self) -> None:
        """Finish what is under way and leave checkpoints."""
        self._take_no_more()
        now = self._now()
        self._turn(now)
        self._node.close(now)
        self._turn(now)
        while self._node_disk.pending():
            # The alarm may be gone by then.
            with trio.move_on_after(_CLOCK_NS / 1e9):
                await self._kicked.wait()
            self._turn(self._now())
        self._is_closed = True

    async def _end(self, store: Store) -> None:
        """Refuse what has no answer yet, have the threads end, and give up the folder."""
        for to, (_, _, kind) in list(self._waiting.items()):
            self._answer(to, _shutting_down() if changes_nothing(kind) else _shut_down())
        # Before another process may have the folder, nothing of this one writes to it.
        await trio.to_thread.run_sync(self._threads.close)
        if self._is_closed and self._post is not None and self._node_disk.is_whole:
            try:
                await trio.to_thread.run_sync(self._post.end)
            except OSError as error:
                self._report(f"that the node ended in order could not be noted: {error}")
        capture = self._capture
        try:
            self.end_capture()
        finally:
            if self._is_closed:
                store.close()
            else:
                store.abandon()
        if capture is not None:
            await trio.to_thread.run_sync(capture.wait)


def _shutting_down() -> Refusal:
    return Refusal(Code.SHUTTING_DOWN, "the node is shutting down", retry_after_ms=1000)


def _shut_down() -> Refusal:
    message = "the node has shut down, and has begun this: it may have been carried out"
    return Refusal(Code.OUTCOME_UNKNOWN, message, retry_after_ms=1000)


def _deliver(token: trio.lowlevel.TrioToken, receive: Callable[[StreamJob], None], job: StreamJob) -> None:
    with suppress(trio.RunFinishedError):
        token.run_sync_soon(receive, job)
