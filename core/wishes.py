"""What the rooms of a node ask of the node itself, each question under a number below zero that its answer bears."""

from attrs import define, field

from goqueue.core.requests.row import Request

# More rooms than there are: the numbers of one never meet those of another.
ROOMS_MAX = 8


@define
class Wishes:
    """What is to be asked for one room, and the numbers given out so far."""

    room: int = 0
    asked: list[tuple[int, Request]] = field(factory=list)
    _count: int = 0

    def ask(self, wish: Request) -> int:
        """Ask for something; the number of it."""
        self._count += 1
        number = -(self._count * ROOMS_MAX + self.room)
        self.asked.append((number, wish))
        return number

    def take(self) -> list[tuple[int, Request]]:
        """What was asked since the last call."""
        asked, self.asked = self.asked, []
        return asked


def room_of(number: int) -> int:
    """The room whose wish has a number."""
    return -number % ROOMS_MAX
