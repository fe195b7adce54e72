"""The network between brokers: letters that come late, twice, in another order, or never.

A letter is on its way from one process to another, and arrives only if the very processes still live between which it
was sent, no cut lies between them when it would arrive, and chance has it so. What one process sends to another keeps
its order, as on one connection, save where the options let letters overtake each other.

Who is cut off learns of it: some time later each end is told that its link to the other is gone (`Node.peer_lost`),
and once it is there again, that as well (`Node.peer_met`). A process that is killed has its links reset by its system
at once; with its machine nobody says a word.

Letters are numbered and encoded as peers do it, in a share of the worlds; in the others they are handed over as they
are, which is cheaper. Only batches to be published are copied: a leader stamps them in place. Not here: which links
are cut, and when (`calamities.py`).
"""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from goqueue.core.peers.codec import decode, encode
from goqueue.core.ready import Letter
from goqueue.core.requests.messages import PublishBatch
from goqueue.core.routing.messages import Forwarded
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.options import Options

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

Link = tuple[str, str]
"""From one node to another."""

_MS = 1_000_000
_CALM_LETTER_NS_MAX = 20 * _MS


@define
class Weather:
    """What happens to letters on any link for a while: chances of loss and of a second copy, and the longest delay."""

    p_loss: float = 0.0
    p_double: float = 0.0
    delay_ns_max: int = 0


@define(eq=False)
class _Sent:
    """A letter on its way, and between which processes."""

    sender: "Process"
    sender_life: int
    to: "Process"
    to_life: int
    letter: object = field(repr=False)


class Post:
    """All letters of a world."""

    def __init__(self, random: Random, world: "World", options: Options) -> None:
        self._random = random
        self._world = world
        self._options = options
        # How many calamities cut a link at this moment.
        self._cuts: dict[Link, int] = {}
        self._dues: dict[Link, int] = {}
        self.weather = Weather()
        self._letter_ns_max = options.letter_ns_max
        self._readers = [one for one in world.checkers if type(one).posted is not Checker.posted]

    def _delay(self) -> int:
        most = max(self._letter_ns_max, self.weather.delay_ns_max)
        # Most letters are fast: what is rare is as late as can be.
        return int(self._random.random() ** 3 * most) + 20_000

    # --- letters

    def send_all(self, sender: "Process", letters: Sequence[Letter]) -> None:
        """Put what a turn has written on its way."""
        for letter in letters:
            self.send(sender, letter)

    def taken(self, process: "Process") -> None:
        """A process has read what came."""

    def follow(self, process: "Process") -> None:
        """A process has had a turn."""

    def send(self, sender: "Process", letter: Letter) -> None:
        """Put a letter on its way."""
        self._world.count("letter")
        for checker in self._readers:
            checker.posted(sender, letter)
        self._put(sender, letter)
        self._world.aiming.posted(sender, letter.message)

    def _put(self, sender: "Process", letter: Letter) -> None:
        world, random, weather = self._world, self._random, self.weather
        to = world.machine(letter.to)
        if to is None or not to.is_up or self.is_cut(sender, to):
            world.count("letter into the void")
            return
        if random.random() < (0.0 if world.is_healed else self._options.p_letter_loss) + weather.p_loss:
            world.count("letter lost")
            return
        content: object = b"".join(encode(letter.message)) if self._options.encodes else _copied(letter.message)
        sent = _Sent(sender, sender.life, to, to.life, content)
        world.later(self._due(sender, to) - world.now, self._arrive, sent)
        if random.random() < self._options.p_letter_double + weather.p_double:
            world.count("letter doubled")
            world.later(self._delay(), self._arrive, sent)

    def _due(self, sender: "Process", to: "Process") -> int:
        due = self._world.now + self._delay()
        if self._options.letters_overtake:
            return due
        link = sender.node_id, to.node_id
        self._dues[link] = due = max(due, self._dues.get(link, 0) + 1)
        return due

    def _arrive(self, sent: _Sent) -> None:
        sender, to = sent.sender, sent.to
        if not to.is_up or to.life != sent.to_life or self.is_cut(sender, to):
            self._world.count("letter into the void")
        elif sender.life == sent.sender_life or self._options.letters_overtake:
            letter = decode(sent.letter) if isinstance(sent.letter, bytes) else _copied(sent.letter)
            to.take_letter(sender.node_id, letter)

    # --- links

    def is_cut(self, sender: "Process", to: "Process") -> bool:
        """Whether nothing that one sends reaches the other."""
        return self._cuts.get((sender.node_id, to.node_id), 0) > 0

    def cut(self, links: list[Link]) -> None:
        """Let nothing pass; each may be cut more than once."""
        for link in links:
            self._cuts[link] = self._cuts.get(link, 0) + 1
        for one, other in _pairs(links):
            self._world.later(self._random.randint(0, 3_000 * _MS), self._notice, (one, other))

    def deny(self, name: str, other: str, delay_ns: int) -> None:
        """The link between two is reset where `other` is, which concludes after a while that `name` has ended."""
        self._tell_lost_of(other, name)
        self._world.later(delay_ns, self._tell_ended, (other, name))

    def _tell_lost_of(self, told: str, peer: str) -> None:
        process = self._world.machine(told)
        assert process is not None
        process.hear_of_peer(peer, is_up=False)

    def _tell_ended(self, told: tuple[str, str]) -> None:
        process, peer = self._world.machine(told[0]), self._world.machine(told[1])
        assert process is not None
        assert peer is not None
        if self.is_cut(process, peer) or self.is_cut(peer, process):
            self._world.count("process that seems to have ended")
            process.hear_of_end(peer.node_id)

    def mend(self, links: list[Link]) -> None:
        """Take a cut back."""
        for link in links:
            self._cuts[link] = max(self._cuts.get(link, 0) - 1, 0)
        for one, other in _pairs(links):
            self._world.later(self._random.randint(0, 500 * _MS), self._notice, (one, other))

    def heal(self) -> None:
        """From here on nothing is cut, nothing is lost, and no letter is slow."""
        self._letter_ns_max = min(self._letter_ns_max, _CALM_LETTER_NS_MAX)
        links = [link for link, count in self._cuts.items() if count]
        self._cuts.clear()
        self.weather = Weather()
        for one, other in _pairs(links):
            self._notice((one, other))

    def _notice(self, pair: Link) -> None:
        """Both ends of a link learn how it is."""
        one, other = (self._world.machine(name) for name in pair)
        assert one is not None
        assert other is not None
        is_up = one.is_up and other.is_up and not (self.is_cut(one, other) or self.is_cut(other, one))
        for process, peer in ((one, other), (other, one)):
            process.hear_of_peer(peer.node_id, is_up=is_up)

    # --- processes

    def started(self, process: "Process") -> None:
        """A process has begun, and links are made."""
        for other in self._world.processes:
            if other is not process and other.is_up:
                delay_ns = self._random.randint(0, 200 * _MS)
                self._world.later(delay_ns, self._notice, (process.node_id, other.node_id))

    def died(self, process: "Process", *, silently: bool) -> None:
        """A process is gone; with its machine, nobody says so for a while."""
        for other in self._world.processes:
            if other is not process and other.is_up:
                delay_ns = self._random.randint(0, 4_000 * _MS if silently else 2 * _MS)
                self._world.later(delay_ns, self._tell_lost, (other, other.life, process))

    def _tell_lost(self, told: tuple["Process", int, "Process"]) -> None:
        """The link to a process that died is gone, and one to the process after it may be there."""
        process, life, peer = told
        if process.life == life:
            process.hear_of_peer(peer.node_id, is_up=False)
            if peer.is_up:
                self._notice((process.node_id, peer.node_id))


def _pairs(links: list[Link]) -> list[Link]:
    """Each two that a link is between, once."""
    return [*dict.fromkeys((min(link), max(link)) for link in links)]


def _copied(letter: object) -> object:
    """A letter that shares no memory with its sender which its receiver writes to."""
    if isinstance(letter, Forwarded) and isinstance(letter.request, PublishBatch):
        return evolve(letter, request=evolve(letter.request, batch=bytearray(letter.request.batch)))
    return letter
