"""What the services of a node have in common: groups, work queues, dead letters and delays, each with its own requests.

A service is no part of a partition, and has none of its own. It asks the node for what a client may ask for and a
little more (`InternalRequests`), and what it keeps lies in streams that it writes and reads so. Whatever carries a
partition over a failed disk or to another node carries the services as well: they hear `failed` and `opened`, and begin
anew from there. What was refused because the node had lost touch with its cluster is asked again when a service hears
`regained`.

`Services` is where the node meets them: requests and answers are handed to whom they belong, and after a turn that
brought any of them something each service may write and speak. What it says rests on records that are durable, which
the service sees to itself. A turn that concerns no service costs them a look at one flag.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.partition.partition import Partition
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.call import Call
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.requests.table import of_service
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.services.secrets import Secrets

# What a service asks in answer to an answer is little; without an end it is a mistake that would stop the whole node.
_ROUNDS_MAX = 10_000
_UNKNOWN = -1


@define(eq=False)
class ServiceContext:
    """What every service stands on: time, chance, secrets, what the node leads, and a way to answer."""

    clock: Clock
    random: Random
    secrets: Secrets
    led: ReplicaSet
    send: Callable[[Call, Reply], None]


class Service(Protocol):
    """One service; see `GroupLeader` for the oldest."""

    wishes: InternalRequests

    def ask(self, now: int, call: Call, request: Any, /) -> None:  # noqa: ANN401 - one of its service
        """Take a request; it is answered by `ServiceContext.send`, now or later."""

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""

    def forget_found(self) -> None:
        """Let go of batches that are held in memory."""

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """Take the answer to an internal request."""

    def topics_changed(self, now: int) -> None:
        """There are other topics than before, or with other partitions or settings."""

    def opened(self, now: int, partition: Partition) -> None:
        """A stream can be used: for the first time, or again and maybe with other contents."""

    def failed(self, now: int, stream: str, why: str) -> None:
        """A stream, which maybe never was open, cannot be used until it is opened."""

    def news(self, now: int, partition: Partition) -> bool:
        """There may be more to read in a stream, or less; return whether that concerns the service."""

    def regained(self, now: int) -> None:
        """This node may act as a leader again: what was refused because it might not is worth asking again at once."""

    def deadline(self) -> int | None:
        """When `wake` has something to do."""

    def wake(self, now: int) -> None:
        """Do what is due."""

    def clock_jumped(self, now: int) -> None:
        """The wall clock was moved by more than a little."""

    def settle(self, now: int) -> None:
        """Write what is to be written, and say what may be said."""

    def check(self) -> None:
        """Assert the invariants."""


@define(eq=False)
class Services:
    """All services of a node."""

    services: Sequence[Service]
    _led: ReplicaSet
    _by_request: dict[type, Service] = field(init=False)
    _by_service: dict[ServiceName, Service] = field(init=False)
    # Answers to internal requests that their services have not been given yet.
    _own: list[tuple[Call, Reply]] = field(factory=list, init=False)
    _topics_differ: bool = field(default=False, init=False)
    _was_in_office: bool = field(default=True, init=False)
    # Whether a service was told or asked something since all were settled.
    _is_stirred: bool = field(default=True, init=False)
    # When a service wants to be woken, since all were settled; `_UNKNOWN` until somebody asks.
    _due: int | None = field(default=_UNKNOWN, init=False)

    def __attrs_post_init__(self) -> None:
        self._by_service = {service.wishes.service: service for service in self.services}
        assert len(self._by_service) == len(self.services)
        self._by_request = {
            request: service for service in self.services for request in of_service(service.wishes.service)
        }

    def ask(self, now: int, call: Call, request: Request) -> None:
        """Hand a request to the service that takes it."""
        self._hear(now)
        self._is_stirred = True
        self._by_request[type(request)].ask(now, call, request)

    def answered(self, call: Call, reply: Reply) -> None:
        """Keep the answer to an internal request until its service has its turn."""
        self._own.append((call, reply))

    def topics_changed(self) -> None:
        """Have all services hear that the topics are others."""
        self._topics_differ = True

    def _hear(self, now: int) -> None:
        """No service is to be asked or told of a topic that it does not know to be gone."""
        if self._topics_differ:
            self._topics_differ = False
            self._is_stirred = True
            for service in self.services:
                service.topics_changed(now)
        self._look_to_office(now)

    def _look_to_office(self, now: int) -> None:
        """No service is to go on as a leader before it knows that this node was none for a while."""
        is_in_office = self._led.is_in_office
        if is_in_office == self._was_in_office:
            return
        self._was_in_office = is_in_office
        self._is_stirred = True
        if is_in_office:
            for service in self.services:
                service.regained(now)

    def attend(self, now: int, perform: Callable[[int, Call, Request], None]) -> None:
        """Let the services speak and ask, and give them the answers, until nothing more comes at once."""
        self._hear(now)
        if not self._is_stirred and self._is_answered:
            return
        self._is_stirred, self._due = False, _UNKNOWN
        for service in self.services:
            service.settle(now)
        rounds = 0
        while not self._is_answered:
            rounds += 1
            assert rounds < _ROUNDS_MAX, "a service asks at once for what it was refused"
            own, self._own = self._own, []
            for call, reply in own:
                assert call.service is not None
                self._by_service[call.service].answered(now, call.number, reply)
            for service in self.services:
                for call, wish in service.wishes.take():
                    perform(now, call, wish)
            self._look_to_office(now)
            self._is_stirred = False
            for service in self.services:
                service.settle(now)

    @property
    def _is_answered(self) -> bool:
        """Whether no service has asked for anything, or is to hear an answer."""
        if self._own:
            return False
        for service in self.services:  # noqa: SIM110 - a generator would cost more than the look
            if service.wishes.asked:
                return False
        return True

    @property
    def is_at_rest(self) -> bool:
        """Whether no service has anything to do at once."""
        return not self._is_stirred and self._is_answered

    def stir(self) -> None:
        """Have all services settle in the next turn."""
        self._is_stirred = True

    # --- what all of them hear

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._is_stirred = True
        for service in self.services:
            service.forget(call)

    def forget_found(self) -> None:
        """Let go of batches that are held in memory."""
        self._is_stirred = True
        for service in self.services:
            service.forget_found()

    def opened(self, now: int, partition: Partition) -> None:
        """A stream can be used."""
        self._hear(now)
        self._is_stirred = True
        for service in self.services:
            service.opened(now, partition)

    def failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be used."""
        self._hear(now)
        self._is_stirred = True
        for service in self.services:
            service.failed(now, stream, why)

    def news(self, now: int, partition: Partition) -> None:
        """There may be more to read in a stream."""
        self._hear(now)
        for service in self.services:
            if service.news(now, partition):
                self._is_stirred = True

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        if self._own:
            return 0
        if self._is_stirred or self._due == _UNKNOWN:
            times = [service.deadline() for service in self.services]
            self._due = min((due for due in times if due is not None), default=None)
        return self._due

    def wake(self, now: int) -> None:
        """Do what is due."""
        self._hear(now)
        due = self.deadline()
        if due is not None and due <= now:
            self._is_stirred = True
            for service in self.services:
                service.wake(now)

    def clock_jumped(self, now: int) -> None:
        """The wall clock was moved by more than a little."""
        self._is_stirred = True
        for service in self.services:
            service.clock_jumped(now)

    def check(self) -> None:
        """Assert the invariants."""
        for service in self.services:
            service.check()
