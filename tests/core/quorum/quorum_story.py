"""A language for stories of nodes that agree: a command a line, told to real nodes in a net that obeys.

    nodes A B C          founders, all of them up          node D            one that joins, registered with all
    alone A              a node without peers              old A 3           one with a log of before there were voters
    timeout A            its patience ends                 wait 500ms        time passes
    elect A              the same until it leads; all it says then is lost
    propose A x y        entries, in one turn; BIG is one of 600,000 bytes
    summarize A          an entry that stands for all before it
    add A D  remove A C  move A B  confirm A               requests to A, which should lead
    kill A  start A  pause A  resume A                     the process
    wipe A               the process is gone and its disk is emptied: it is the voter A/2 from then on, then A/3
    register A           all others send their log to A, as the voter that it is
    slow A  fast A  fail A  mend A                         the disk: syncs wait, are done; fails, and is recovered
    isolate A  sever A B  sever A>B  heal                  links that lose all letters
    lose A>B 2  double A>B  hold A>B  pass A>B 1  drop A>B  release A>B [late]   single letters; held ones go on one by
                         one, are lost, or go on, if `late` in the opposite order
    break A B            what is under way between the two is known to be lost
    gone A               all others know that the process of A is no more
    letters all|most|off what of them is told: `most` leaves out beats and what answers them
    state [A]            role, term, log

After each command letters travel until none is left; time stands still meanwhile.
"""

from goqueue.core.quorum.entries import SNAPSHOT, VOTERS, Entry, decode_snapshot, voters_in
from goqueue.core.quorum.leader import Leader
from goqueue.core.quorum.messages import (
    Append,
    Ballot,
    Beat,
    Conflict,
    Install,
    Installed,
    Matched,
    Outdated,
    QuorumMessage,
    StandUp,
    Voted,
)
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.requests.row import Request
from goqueue.core.requests.voters import AddVoter, Confirm, MoveController, RemoveVoter
from tests.core.quorum.quorum_net import Member, Net

MS = 1_000_000
LETTERS_MAX = 500
BIG_BYTES = 600_000


class Story:
    """A net, and what came of the commands so far."""

    def __init__(self) -> None:
        self.net = Net()
        self.trace: list[str] = []
        self._letters = "most"
        self._asked = 0
        self._said: dict[str, str] = {}
        self._elected = ""

    def tell(self, command: str) -> None:
        """Obey one command, and let letters travel until none is left."""
        self.trace.append(f"> {command}")
        verb, *words = command.split()
        getattr(self, f"_{verb}_" if verb == "letters" else f"_{verb}")(*words)
        self._travel()

    # --- letters

    def _travel(self) -> None:
        net = self.net
        for _ in range(LETTERS_MAX):
            net.collect()
            self._note_changes()
            if self._elected and isinstance(self._of(self._elected).quorum.role, Leader):
                self._elected = ""
                net.under_way.clear()
                return
            letter = net.deliver()
            if letter is None:
                net.collect()
                self._note_changes()
                if not [one for one in net.under_way if not net.members[one[1]].is_paused]:
                    return
            else:
                self._note_letter(*letter)
                net.check()
        raise AssertionError("letters without end")

    def _note_letter(self, sender: str, to: str, message: QuorumMessage) -> None:
        is_routine = isinstance(message, Beat | Matched)
        if self._letters == "all" or (self._letters == "most" and not is_routine):
            self.trace.append(f"  {sender}>{to} {_told(message)}")

    def _note_changes(self) -> None:
        for member in self.net.members.values():
            brief = self._brief(member)
            if self._said.get(member.name) != brief:
                self._said[member.name] = brief
                self.trace.append(f"  {member.name}: {brief}")
            for number, why_not, _ in member.answers:
                self.trace.append(f"  {member.name}: answer {number}: {why_not or 'done'}")
            member.answers.clear()

    def _brief(self, member: Member) -> str:
        if not member.is_up:
            return "down"
        quorum = member.quorum
        role = type(quorum.role).__name__.lower()
        following = f" of {quorum.leader}" if quorum.leader not in ("", member.voter) else ""
        return f"{role}{following} in term {quorum.term}, {quorum.agreed} agreed"

    # --- nodes

    def _nodes(self, *names: str) -> None:
        for name in names:
            self.net.add(name, [*names]).begin(self.net.now)

    def _node(self, name: str) -> None:
        self.net.add(name, []).begin(self.net.now)
        for member in self.net.members.values():
            member.learners = [*member.learners, name]
            member.quorum.observe(self.net.now, member.learners)

    def _alone(self, name: str) -> None:
        self.net.add(name, [name], is_alone=True).begin(self.net.now)

    def _old(self, name: str, count: str) -> None:
        member = self.net.add(name, [name])
        member.entries = [Entry(index, 0, None, b"old%d" % index) for index in range(int(count))]
        member.begin(self.net.now)

    def _of(self, name: str) -> Member:
        return self.net.members[name]

    def _kill(self, name: str) -> None:
        self._of(name).is_up = False

    def _wipe(self, name: str) -> None:
        self._of(name).wipe()

    def _register(self, name: str) -> None:
        voter = self._of(name).voter
        for member in self.net.members.values():
            member.learners = [*(one for one in member.learners if node_of(one) != name), voter]
            member.quorum.observe(self.net.now, member.learners)

    def _start(self, name: str) -> None:
        self._of(name).begin(self.net.now)

    def _pause(self, name: str) -> None:
        self._of(name).is_paused = True

    def _resume(self, name: str) -> None:
        self._of(name).is_paused = False
        self._of(name).quorum.wake(self.net.now)

    def _slow(self, name: str) -> None:
        self._of(name).is_disk_slow = True

    def _fast(self, name: str) -> None:
        self._of(name).is_disk_slow = False

    def _fail(self, name: str) -> None:
        self._of(name).quorum.halt(self.net.now)

    def _mend(self, name: str) -> None:
        self._of(name).reopen(self.net.now)

    # --- time

    def _timeout(self, name: str) -> None:
        self._of(name).quorum.sound_out(self.net.now)

    def _elect(self, name: str) -> None:
        self._elected = name
        self._timeout(name)

    def _wait(self, span: str) -> None:
        net = self.net
        end = net.now + (int(span[:-2]) * MS if span.endswith("ms") else int(span[:-1]) * 1000 * MS)
        while (due := net.deadline()) is not None and due <= end:
            net.now = max(net.now, due)
            net.wake()
            self._travel()
        net.now = end
        self.trace.append(f"  at {end // MS} ms")

    # --- requests

    def _propose(self, name: str, *words: str) -> None:
        quorum = self._of(name).quorum
        for word in words:
            if quorum.may_propose:
                quorum.propose(None, b"x" * BIG_BYTES if word == "BIG" else word.encode())
            else:
                self.trace.append(f"  {name}: takes no {word}")

    def _summarize(self, name: str) -> None:
        self._of(name).summarize()

    def _ask(self, name: str, request: Request) -> None:
        self._asked += 1
        self.trace.append(f"  {name}: request {self._asked}")
        self._of(name).quorum.ask(self.net.now, self._asked, request)

    def _add(self, name: str, node_id: str) -> None:
        self._ask(name, AddVoter(node_id))

    def _remove(self, name: str, node_id: str) -> None:
        self._ask(name, RemoveVoter(node_id))

    def _move(self, name: str, node_id: str = "") -> None:
        self._ask(name, MoveController(node_id))

    def _confirm(self, name: str) -> None:
        self._ask(name, Confirm())

    # --- links

    def _isolate(self, name: str) -> None:
        for other in self.net.members:
            if other != name:
                self._sever(name, other)

    def _links(self, *names: str) -> list[tuple[str, str]]:
        if len(names) == 2:
            return [(names[0], names[1]), (names[1], names[0])]
        sender, _, to = names[0].partition(">")
        return [(sender, to)]

    def _sever(self, *names: str) -> None:
        self.net.severed.update(dict.fromkeys(self._links(*names)))

    def _heal(self) -> None:
        self.net.severed.clear()
        self.net.doubled.clear()

    def _lose(self, link: str, count: str = "1") -> None:
        self.net.losing[self._links(link)[0]] = int(count)

    def _double(self, link: str) -> None:
        self.net.doubled[self._links(link)[0]] = None

    def _hold(self, link: str) -> None:
        self.net.held[self._links(link)[0]] = []

    def _pass(self, link: str, count: str = "1") -> None:
        sender, to = self._links(link)[0]
        held = self.net.held[sender, to]
        self.net.under_way.extend((voter, to, one) for voter, one in held[: int(count)])
        del held[: int(count)]

    def _drop(self, link: str) -> None:
        del self.net.held[self._links(link)[0]]

    def _release(self, link: str, order: str = "") -> None:
        sender, to = self._links(link)[0]
        letters = self.net.held.pop((sender, to))
        self.net.under_way.extend((voter, to, one) for voter, one in (reversed(letters) if order else letters))

    def _break(self, one: str, other: str) -> None:
        for sender, to in self._links(one, other):
            self._of(sender).quorum.peer_lost(self.net.now, to)

    def _gone(self, name: str) -> None:
        for member in self.net.members.values():
            if member.name != name and member.is_up:
                member.quorum.peer_gone(self.net.now, name)

    # --- telling

    def _letters_(self, which: str) -> None:
        self._letters = which

    def _state(self, *names: str) -> None:
        for member in self.net.members.values():
            if not names or member.name in names:
                self.trace.append(f"  {member.name} {self._spelled(member)}")

    def _spelled(self, member: Member) -> str:
        if not member.is_up:
            return f"down, disk: {_entries(member.entries)}, voted {member.vote.vote or '-'} in {member.vote.term}"
        quorum = member.quorum
        log, voters = _entries(quorum.log.entries), " ".join(quorum.membership.voters) or "nobody"
        ends = f"agreed {quorum.agreed} durable {quorum.durable}"
        applied = " ".join(map(_short, member.applied)) or "nothing"
        return f"{self._brief(member)}: {log}; {ends}; voters {voters}; applied {applied}"


def _told(message: QuorumMessage) -> str:
    """A letter in words."""
    match message:
        case Ballot():
            marks = " on trial" * message.is_trial + " as wanted" * message.is_transfer
            return f"vote for me in {message.term}{marks}? I have {message.end} up to term {message.last_term}"
        case Voted():
            return f"{'yes' if message.is_granted else 'no'}, {message.term}{' on trial' * message.is_trial}"
        case Append():
            after = f"after term {message.before_term}" if message.at else "from the beginning"
            return f"append at {message.at} {after}: {_entries(message.entries)}; {message.agreed} agreed"
        case Beat():
            return f"beat, {message.agreed} agreed"
        case Matched():
            return f"same up to {message.matched}, durable {message.durable}"
        case Conflict():
            return f"not the same before {message.at}; look before {message.end}, term {message.end_term}"
        case Install():
            span = f"{message.position}+{len(message.piece)}/{message.size}"
            return f"install {message.index}, term {message.entry_term}, {span}"
        case Installed():
            return f"installed {message.position} of {message.index}"
        case StandUp():
            return "stand up"
        case Outdated():
            return f"outdated, it is term {message.term}"


def _entries(entries: list[Entry]) -> str:
    """Entries in words: index, term, what."""
    return " ".join(f"{one.index}:{one.term}:{_what(one)}" for one in entries) or "nothing"


def _what(entry: Entry) -> str:
    if entry.kind == VOTERS:
        named = voters_in(entry)
        return f"({','.join(named.voters if named else [])})"
    if entry.kind == SNAPSHOT:
        content = decode_snapshot(entry.content).content
        return f"[{','.join(_short(one) for one in content.decode().split())}]"
    return entry.kind.decode() if entry.kind else _short(entry.content.decode())


def _short(text: str) -> str:
    return text if len(text) < BIG_BYTES else "BIG"
