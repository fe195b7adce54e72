"""Links that carry little: a replica that is far behind catches up over them all the same."""

from attrs import define, field

from goqueue.core.ready import Letter
from goqueue.core.replication.messages import Pulled
from tests.core.replication.replicated import MS, Cluster

BYTES_A_MS = 300
BATCH = b"x" * 200_000
BATCHES = 12


@define
class Link:
    """One direction of a link: letters arrive one after another, each after the time that its bytes take."""

    free_at: int = 0
    moving: list[tuple[int, str, Letter]] = field(factory=list)

    def put(self, now: int, sender: str, letter: Letter) -> None:
        """Send a letter behind all that is on its way."""
        self.free_at = max(self.free_at, now) + size_of(letter) * MS // BYTES_A_MS
        self.moving.append((self.free_at, sender, letter))

    def arrived(self, now: int) -> list[tuple[str, Letter]]:
        """What has come by now."""
        arrived = [one for one in self.moving if one[0] <= now]
        self.moving = [one for one in self.moving if one[0] > now]
        return [(sender, letter) for _, sender, letter in arrived]


def size_of(letter: Letter) -> int:
    """About how many bytes a letter has."""
    message = letter.message
    parts = message.parts if isinstance(message, Pulled) else []
    return 100 + sum(len(run) for part in parts for run in part.runs)


class SlowCluster(Cluster):
    """Sites whose links are slow."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.links = {(here, there): Link() for here in names for there in names}

    def deliver(self) -> bool:
        """Put all letters on their way, and carry those that have arrived."""
        for name, site in self.sites.items():
            letters, site.letters = site.letters, []
            for letter in letters:
                self.links[name, letter.to].put(self.now, name, letter)
        arrived = [one for link in self.links.values() for one in link.arrived(self.now)]
        for sender, letter in arrived:
            self.sites[letter.to].replication.receive(self.now, sender, letter.message)  # type: ignore[arg-type]
        return bool(arrived)


def test_a_replica_catches_up_over_a_link_that_carries_no_large_answer_in_time() -> None:
    cluster = SlowCluster("a", "b")
    cluster.agree("a", ["a"], "a")
    for _ in range(BATCHES):
        cluster.site("a").publish(BATCH)
        cluster.pump()
    cluster.tell("b")
    cluster.pass_time(60_000, step_ms=100)
    assert cluster.site("b").log().next_offset == BATCHES
