"""Nodes that agree under everything that may happen to them: what must hold after every step, whatever the seed.

Letters are lost, doubled, late and out of order, links break one way, disks are slow, nodes are killed, cut off, come
back and lose their disks, voters come and go, logs are summed up. Held against it are the five properties of Raft's
figure 3, and in the end, when everything works again, that all agree and go on.
"""

from random import Random

import pytest

from goqueue.core.quorum.entries import SNAPSHOT, Entry
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.messages import QuorumMessage
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.row import Request
from goqueue.core.requests.voters import AddVoter, Confirm, MoveController, RemoveVoter
from tests.core.quorum.quorum_net import Member, Net

NAMES = ["A", "B", "C", "D", "E"]
MS = 1_000_000
STEPS = 3000


class Storm:
    """A net in which a seed decides what happens, and what is known of all that was ever agreed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.net = Net(seed)
        self.flying: list[tuple[str, str, QuorumMessage]] = []
        # By index, what some node held to be agreed; by term, who led it.
        self.agreed: dict[int, tuple[int, bytes]] = {}
        self.leaders: dict[int, str] = {}
        # By term: since when nobody who voted for its leader had heard of another, and when a majority heard it last.
        self.silent_since: dict[int, int] = {}
        self.contact: dict[int, int] = {}
        self.count = 0
        self.asked = 0
        # By read, what was agreed when it was asked.
        self.reads: dict[tuple[str, int], int] = {}
        self.confirmed = 0
        self.order = self.random.choice([0.5, 0.9, 1.0])
        self.roughness = self.random.choice([0.02, 0.05, 0.1])
        self.patience = self.random.choice([200, 500, 1200])
        self.wipes = 0
        founders = NAMES[: self.random.choice([1, 2, 3, 5])]
        for name in NAMES:
            member = self.net.add(name, founders if name in founders else [])
            member.learners = [*NAMES]
            member.begin(0)

    # --- what may happen

    def step(self) -> None:
        """Let one thing happen."""
        chance = self.random.random()
        if chance < 0.6:
            for _ in range(self.random.randrange(1, 6)):
                self.deliver()
        elif chance < 0.72:
            self.pass_time()
        elif chance < 0.84:
            self.work()
        elif chance < 0.84 + self.roughness:
            self.trouble()
        elif chance > 0.97:
            self.ask()
        self.settle()

    def settle(self) -> None:
        """Let nodes have their turns, and look at what has become of them."""
        self.net.collect()
        self.flying.extend(self.net.under_way)
        self.net.under_way.clear()
        self.net.check()
        for member in self.net.members.values():
            if member.is_up:
                self.look_at(member)

    def deliver(self) -> None:
        if not self.flying:
            return
        # Mostly the oldest, sometimes any; some come twice, some never.
        at = 0 if self.random.random() < self.order else self.random.randrange(len(self.flying))
        letter = self.flying[at]
        fate = self.random.random()
        if fate > 0.03:
            del self.flying[at]
        if fate > 0.06:
            sender, to, message = letter
            if self.net.members[to].is_up and (node_of(sender), to) not in self.net.severed:
                self.net.members[to].quorum.receive(self.net.now, sender, message)

    def pass_time(self) -> None:
        self.net.now += self.random.choice([1, 10, 40, 150, self.patience]) * MS
        self.net.wake()

    def work(self) -> None:
        leaders = [one for one in self.net.members.values() if one.is_up and one.quorum.may_propose]
        if leaders:
            member = self.random.choice(leaders)
            self.count += 1
            if self.random.random() < 0.1 and member.applied_end == member.quorum.log.end:
                member.summarize()
            else:
                member.quorum.propose(None, b"%d" % self.count)

    def ask(self) -> None:
        leaders = [one for one in self.net.members.values() if one.is_up and isinstance(one.quorum.role, Leader)]
        if not leaders:
            return
        member = self.random.choice(leaders)
        self.asked += 1
        other = self.net.members[self.random.choice(NAMES)]
        voters = member.quorum.membership.voters
        lost = [one for one in voters if one not in self.disks()]
        requests: list[Request] = [
            AddVoter(other.voter),
            # Who has just lost one voter does not give up another.
            RemoveVoter(lost[0] if lost else other.voter),
            MoveController(other.name),
            Confirm(),
            Confirm(),
        ]
        request = self.random.choice(requests)
        if isinstance(request, Confirm):
            self.reads[member.name, self.asked] = max(self.agreed, default=-1) + 1
        member.quorum.ask(self.net.now, self.asked, request)

    def trouble(self) -> None:
        member = self.net.members[self.random.choice(NAMES)]
        other = self.random.choice(NAMES)
        match self.random.randrange(14):
            case 0:
                member.is_up = False
            case 1 | 2 | 3:
                # What was not synced is lost.
                member.begin(self.net.now)
            case 4:
                self.net.severed[member.name, other] = None
            case 5:
                for name in NAMES:
                    self.net.severed[member.name, name] = self.net.severed[name, member.name] = None
            case 6 | 7:
                self.net.severed.clear()
            case 8 | 9:
                member.is_disk_slow = not member.is_disk_slow
            case 10:
                self.register()
            case 11 | 12:
                if self.may_lose(member):
                    self.wipes += 1
                    member.wipe()
                    member.begin(self.net.now)
            case 13:
                if member.quorum.may_stand and member.is_up:
                    member.quorum.stand(self.net.now)
            case _:
                if member.is_up:
                    member.quorum.peer_lost(self.net.now, other)

    def register(self) -> None:
        """All get to know the disks that there are."""
        for member in self.net.members.values():
            member.learners = self.disks()
            member.quorum.observe(self.net.now, member.learners)

    def disks(self) -> list[str]:
        """The voter ids of all nodes, with the disks that they have."""
        return [one.voter for one in self.net.members.values()]

    def may_lose(self, member: Member) -> bool:
        """Whether what is agreed outlives a disk: the other voters have theirs, and a majority can do without it."""
        quorums = [one.quorum for one in self.net.members.values()]
        if member.founders == [member.name] or max(self.agreed, default=0) < 1:
            return False
        voters = member.quorum.membership.voters
        agree = all(one.membership.voters == voters and one.membership.changed_at < one.agreed for one in quorums)
        changes = any(isinstance(one.role, Leader) and one.role._changing._wanted is not None for one in quorums)
        return agree and not changes and len(voters) >= 3 and set(voters) <= {*self.disks()}

    # --- what must hold

    def look_at(self, member: Member) -> None:
        """Hold a node against all that was seen so far."""
        quorum = member.quorum
        if isinstance(quorum.role, Leader):
            assert self.leaders.setdefault(quorum.term, member.voter) == member.voter, "two lead one term"
            self.silent_since[quorum.term] = quorum.silent_since
        for index in range(quorum.log.start, quorum.agreed):
            entry = quorum.log.entries[index - quorum.log.start]
            assert self.agreed.setdefault(index, spelled(entry)) == spelled(entry), "what was agreed has changed"
        if quorum.is_leader:
            self.contact[quorum.term] = max(quorum.contact(self.net.now), self.contact.get(quorum.term, 0))
            for index in range(quorum.log.start, max(self.agreed, default=-1) + 1):
                is_older = index in self.agreed and self.agreed[index][0] < quorum.term
                assert not is_older or index < quorum.log.end, "a leader lacks what was agreed"
        for number, why_not, _ in member.answers:
            asked_at = self.reads.pop((member.name, number), None)
            if asked_at is not None and not why_not:
                self.confirmed += 1
                assert quorum.agreed >= asked_at, "a read was confirmed that is out of date"
        member.answers.clear()

    def leaders_fall_silent(self) -> None:
        """Every earlier leader was in touch with a majority for the last time before a leader's voters heard of none.

        Stamps run ahead of the clock by as many nanoseconds as there were letters at one time.
        """
        for term, contact in self.contact.items():
            assert all(contact < since + MS for later, since in self.silent_since.items() if later > term)

    def logs_match(self) -> None:
        """Where two logs have one term at an index, they are the same up to there."""
        logs = [one.quorum.log for one in self.net.members.values() if one.is_up]
        for one in logs:
            for two in logs:
                start, end = max(one.start, two.start), min(one.end, two.end)
                pairs = [(one.entries[at - one.start], two.entries[at - two.start]) for at in range(start, end)]
                same = [mine.term == other.term for mine, other in pairs]
                common = len(same) - same[::-1].index(True) if True in same else 0
                assert all(spelled(mine) == spelled(other) for mine, other in pairs[:common])

    def calm(self) -> None:
        """Everything works again, until all agree."""
        net = self.net
        net.severed.clear()
        self.register()
        for member in net.members.values():
            member.is_disk_slow = False
            if not member.is_up:
                member.begin(net.now)
        for _ in range(200):
            net.now += 50 * MS
            net.wake()
            self.settle()
            while self.flying:
                letters, self.flying = self.flying, []
                for sender, to, message in letters:
                    net.members[to].quorum.receive(net.now, sender, message)
                self.settle()
            if self.is_calm():
                return
        raise AssertionError("they do not come to agree")

    def is_calm(self) -> bool:
        """Whether somebody leads, and all have and agree on all of its log."""
        members = self.net.members.values()
        leaders = [one.quorum for one in members if one.quorum.is_leader]
        return len(leaders) == 1 and all(one.quorum.agreed == leaders[0].log.end for one in members)


def spelled(entry: Entry) -> tuple[int, bytes]:
    """What of an entry must be the same everywhere."""
    return entry.term, (entry.kind or b"") + b":" + entry.content


@pytest.mark.parametrize("seed", range(30))
def test_nodes_agree_whatever_happens(seed: int) -> None:
    storm = Storm(seed)
    for step in range(STEPS):
        storm.step()
        if step % 50 == 0:
            storm.logs_match()
    storm.calm()
    storm.logs_match()
    storm.leaders_fall_silent()
    members = storm.net.members.values()
    leaders = [one for one in members if one.quorum.is_leader]
    assert len(leaders) == 1
    leader = leaders[0]
    leader.quorum.propose(None, b"last")
    storm.calm()
    assert leader.applied[-1] == "last"
    assert all(one.applied == leader.applied for one in members)
    assert storm.agreed[leader.quorum.agreed - 1][1] == b":last"


def test_the_storms_are_worth_their_name() -> None:
    """Some of them change leaders and voters, sum up, and confirm reads; else the test above proves little."""
    storms = [Storm(seed) for seed in range(8)]
    for storm in storms:
        for _ in range(STEPS):
            storm.step()
    assert sum(len(storm.leaders) > 2 for storm in storms) > 2
    assert sum(storm.confirmed for storm in storms) > 3
    assert sum(storm.wipes for storm in storms) > 3
    assert sum(len(storm.contact) > 1 for storm in storms) > 2
    assert any(content.startswith(SNAPSHOT) for storm in storms for _, content in storm.agreed.values())
    assert sum(len(storm.agreed) > 20 for storm in storms) > 2
