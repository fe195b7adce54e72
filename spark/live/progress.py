"""How far a stream has come, and how far its next batch goes: arithmetic on positions, without a cluster or Spark.

Positions are what Spark writes down between batches, `{topic: {"id": …, partition: next offset}}`: which topic of that
name was read, and how far. Partitions are text since JSON has no other keys, and everything is sorted since Spark
compares the text. A partition that is missing was not there, and begins at its first record. The option
`starting_offset` takes the same form.

Invariant: positions of one topic never go back. A partition that ends before its position has lost records that were
acknowledged; going on would read something twice or skip something, so it is an error. A topic with another id is
another topic, wherever it ends: that is told by its id and not by its offsets, which may have grown past the position.
"""

from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from attrs import define, evolve, field

from goqueue.spark.records.edges import ID, TopicReplacedError, UnreadableError

Kept: TypeAlias = dict[str, dict[str, int | str]]
Place: TypeAlias = tuple[str, int]


@define
class Positions:
    """The next offset of each partition, and the ids of their topics."""

    ids: dict[str, str] = field(factory=dict)
    offsets: dict[Place, int] = field(factory=dict)

    def kept(self) -> Kept:
        """Return the positions as the JSON object that Spark writes into its checkpoint."""
        found: Kept = {}
        for (topic, partition), offset in sorted(self.offsets.items()):
            found.setdefault(topic, {ID: self.ids[topic]})[str(partition)] = offset
        return found

    def without(self, topics: Collection[str]) -> "Positions":
        """Those of all other topics."""
        return Positions(
            {topic: each for topic, each in self.ids.items() if topic not in topics},
            {place: offset for place, offset in self.offsets.items() if place[0] not in topics},
        )

    def only(self, topics: Collection[str]) -> "Positions":
        """Those of some topics."""
        return self.without([topic for topic in self.ids if topic not in topics])

    def __or__(self, other: "Positions") -> "Positions":
        """Both, the other's where both have a place."""
        return Positions(self.ids | other.ids, self.offsets | other.offsets)

    def replaced(self, ids: Mapping[str, str]) -> list[str]:
        """The topics of which there are others now, whose ids are given."""
        return [topic for topic, each in sorted(self.ids.items()) if ids.get(topic, each) != each]


def positions(kept: Mapping[str, Mapping[str, Any]]) -> Positions:
    """What Spark has kept. Raises UnreadableError for positions that do not say which topic they are of."""
    found = Positions()
    for topic, each in kept.items():
        if not isinstance(each.get(ID), str):
            raise UnreadableError(
                f"the checkpoint has positions of {topic} that do not say of which topic of that name they are: another"
                " release wrote them, and whether the topic was made again since cannot be known. Start the query with"
                " a new checkpoint, and with starting_offset where it is to go on"
            )
        found.ids[topic] = each[ID]
        found.offsets |= {(topic, int(number)): offset for number, offset in each.items() if number != ID}
    return found


def check_same(known: Positions, ids: Mapping[str, str]) -> None:
    """Raise TopicReplacedError where a topic is another one by now."""
    for topic in known.replaced(ids):
        raise TopicReplacedError(topic, known.ids[topic], ids[topic], "Start the query with a new checkpoint")


def check_forward(start: Positions, end: Positions) -> None:
    """Raise UnreadableError where a partition went back or is gone."""
    for place, offset in start.offsets.items():
        topic, partition = place
        if place not in end.offsets:
            raise UnreadableError(
                f"{topic}/{partition} is gone, of which the stream has read up to offset {offset}; the option"
                " missing=skip goes on without it"
            )
        if end.offsets[place] < offset:
            raise UnreadableError(
                f"{topic}/{partition} ends at offset {end.offsets[place]}, and the stream has read up to {offset}: it"
                " has lost records that were acknowledged. A stream with a new checkpoint reads it from its beginning"
            )


def advanced(start: Positions, end: Positions, records_max: int | None) -> Positions:
    """Where the next batch ends: at `end`, or records_max further on, shared out by what each partition has waiting."""
    ends = end.offsets
    waiting = {place: offset - start.offsets.get(place, 0) for place, offset in ends.items()}
    total = sum(waiting.values())
    if records_max is None or total <= records_max:
        return end
    shares = {place: records_max * count // total for place, count in waiting.items()}
    left = records_max - sum(shares.values())
    # What rounding left goes to those that wait longest, so that nobody waits for ever.
    for place in sorted(waiting, key=lambda one: (-waiting[one], one))[:left]:
        shares[place] += 1
    return evolve(end, offsets={place: ends[place] - waiting[place] + share for place, share in shares.items()})


def no_further(end: Positions, target: Positions) -> Positions:
    """Ends that stay within a target that was set before, in topics and partitions that were there then."""
    bounded = {
        place: min(offset, target.offsets[place]) for place, offset in end.offsets.items() if place in target.offsets
    }
    topics = {topic for topic, _ in bounded}
    return Positions({topic: each for topic, each in end.ids.items() if topic in topics}, bounded)
