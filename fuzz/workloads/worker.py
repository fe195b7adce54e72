"""A member of a shared group: it polls, and says of what it was given what comes to its mind.

It acknowledges, has things tried again, gives them up, extends and hands back; says so twice, too late, for what was
never given; forgets everything in a crash, falls silent, or leaves. What it knew before it still shows now and then.
Once nothing fails any more it acknowledges all that it is given.
"""

from random import Random

from attrs import define

from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup, LeaveGroup
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    PolledWork,
    PollWork,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_MS = 1_000_000
_GHOSTS_MAX = 30
_GONE = (Code.UNKNOWN_MEMBER, Code.GROUP_NOT_FOUND, Code.FENCED_INSTANCE)


@define
class Held:
    """A message that the worker was given."""

    stem: str
    offset: int

    def receipt(self) -> ReceiptRun:
        """What shows that."""
        return ReceiptRun(self.stem, self.offset, 1)


class Worker(Client):
    """Works on what it is given, more or less."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = 3
        self.goes_on = True
        self.is_calm = False
        self.group = f"w{random.randrange(options.shared_groups)}"
        self._session_ms = random.randint(1_000, max(options.session_ms_max, 1_000))
        self._messages_max = random.choice((1, 2, 5, 50))
        self._away_until = 0
        # What a process that is gone was given.
        self._ghosts: list[Held] = []
        self._begin()

    def _begin(self) -> None:
        self.member_id = ""
        self._is_joining = self._is_polling = False
        self.held: list[Held] = []

    # --- what is asked

    def next_request(self) -> Request | None:
        """What comes to its mind."""
        if self.now < self._away_until:
            return None
        if not self.is_calm and self.random.random() < self.options.p_stray:
            left = self._stray()
            if left is not None or self.now < self._away_until:
                return left
        if not self.member_id:
            return self._join()
        settling = self._settle()
        if settling is not None:
            return settling
        if self._is_polling:
            return None
        self._is_polling = True
        wait_ns = 500 * _MS if self.is_calm else self.random.choice((0, self.options.wait_ns_max, 500 * _MS))
        return PollWork(self.group, self.member_id, self._messages_max, self.random.choice((1, 1 << 20)), wait_ns)

    def _join(self) -> Request | None:
        if self._is_joining:
            return None
        self._is_joining = True
        names = [f"t{number}" for number in range(self.options.topics)]
        config = shared_config(self.options, self.group)
        return JoinGroup(self.group, names, "", "", self.name, self._session_ms, GroupMode.SHARED, "", False, config)

    def _stray(self) -> Request | None:
        """Be silent, crash, or leave."""
        drawn, member_id = self.random.random(), self.member_id
        if drawn < 0.4:
            self._rest(2)
            return None
        self._ghosts = [*self._ghosts, *self.held][-_GHOSTS_MAX:]
        self._begin()
        if drawn < 0.7 or not member_id:
            self._rest(1.5)
            return None
        return LeaveGroup(self.group, member_id)

    def _rest(self, sessions: float) -> None:
        self._away_until = self.now + int(sessions * self._session_ms * _MS * self.random.random())

    def _settle(self) -> Request | None:
        """Say something of what it has, or had."""
        random = self.random
        if self.is_calm:
            held, self.held = self.held, []
            return AckWork([one.receipt() for one in held]) if held else None
        if self._ghosts and random.random() < 0.1:
            return self._say([random.choice(self._ghosts)])
        if not self.held or random.random() < 0.3:
            return None
        chosen = random.sample(self.held, random.randint(1, len(self.held)))
        if random.random() < 0.9:
            self.held = [one for one in self.held if one not in chosen]
            self._ghosts = [*self._ghosts, *chosen][-_GHOSTS_MAX:]
        return self._say(chosen)

    def _say(self, chosen: list[Held]) -> Request:
        random = self.random
        receipts = [one.receipt() for one in chosen]
        if random.random() < 0.03:
            receipts.append(ReceiptRun(random.choice(("", "x" * 36, receipts[0].stem)), 1 << 40))
        drawn = random.random()
        if drawn < 0.5:
            return AckWork(receipts)
        if drawn < 0.75:
            return NackWork(receipts, random.choice((None, None, 0, 300, 3_000)), "no")
        if drawn < 0.82:
            return RejectWork(receipts, "never")
        if drawn < 0.92:
            return ExtendWork(receipts, random.choice((0, 100, 1_000, 5_000)))
        return ReleaseWork(receipts)

    # --- what is answered

    def answered(self, request: Request, reply: Reply) -> None:
        """Take what was given, or note that it is no member any more."""
        if isinstance(request, JoinGroup):
            self._is_joining = False
            if isinstance(reply, Joined):
                self.member_id = reply.member_id
        elif isinstance(request, PollWork) and request.member_id == self.member_id:
            self._is_polling = False
            if isinstance(reply, PolledWork):
                self.held += [
                    Held(run.stem, offset)
                    for part in reply.parts
                    for run in part.leases
                    for offset in range(run.first_offset, run.first_offset + run.count)
                ]
            elif isinstance(reply, Refusal) and reply.code in _GONE:
                self._ghosts = [*self._ghosts, *self.held][-_GHOSTS_MAX:]
                self._begin()

    def lost(self, request: Request) -> None:
        """It may have been a member, or may have been given something; it will never know."""
        if isinstance(request, JoinGroup):
            self._is_joining = False
        elif isinstance(request, PollWork):
            self._is_polling = False

    def idle_ns(self) -> int:
        """There is always a next time to look."""
        return max(self._away_until - self.now, 20 * _MS)

    def think_ns(self) -> int:
        """A member has to be heard of, however slow the world is."""
        most_ns = 5 * _MS if self.is_calm else min(self.options.think_ns, self._session_ms * _MS // 4)
        return int(self.random.random() * (most_ns + 1))

    def calm(self) -> None:
        """Do as one should from here on."""
        self.is_calm = True
        self._messages_max = 50
        self._away_until = 0


def shared_config(options: Options, group: str) -> dict[str, object]:
    """What a shared group is made with: of two groups the second goes by keys."""
    return {
        "visibility_timeout": f"{options.visibility_ms}ms",
        "max_attempts": options.attempts_max,
        "retry_backoff": "200ms",
        "max_in_flight": options.held_max,
        "key_ordered": group == "w1",
    }
