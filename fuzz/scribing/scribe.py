"""The scribe of a world: hears what clients ask and are answered, and makes a history of it.

One request may be several operations, since each message of it may have an answer of its own. A request that is sent
again is another operation of the same values.
"""

from collections.abc import Callable

from goqueue.core.errors import BatchError
from goqueue.core.requests.deadletters import StartRedrive
from goqueue.core.requests.groups import AlterGroup
from goqueue.core.requests.refusals import Outcome, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.checkers.checker import HEALER
from goqueue.fuzz.histories.operation import GroupTerms, Operation, Terms, Verb
from goqueue.fuzz.histories.recorder import Recorder
from goqueue.fuzz.history import Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.scribing.queues import Queues
from goqueue.fuzz.scribing.streams import Streams
from goqueue.fuzz.scribing.translation import Translation

_WALL_MS = 1_700_000_000_000
# What may take from a disk what was not synced.
_CUTS = {"crash", "blackout", "last", "wipe", "syncs", "writes", "full", "aimed", "amid", "others"}
_CUT_RATES = ("p_crash", "p_cut_inside", "p_aimed", "p_sync_error", "p_write_error", "p_full")


def terms_of(seed: int, options: Options) -> Terms:
    """Under which circumstances a world's clients live; nobody knows by how much its clocks differ."""
    cuts = bool(_CUTS & {*options.calamities}) or any(getattr(options, rate) for rate in _CUT_RATES)
    about: dict[str, object] = {"made_by": "goqueue sim", "seed": seed, "nodes": options.nodes}
    groups = {f"w{at}": GroupTerms(options.attempts_max, at == 1) for at in range(options.shared_groups)}
    damage = options.p_rot > 0 or options.unclean
    return Terms(about, None, cuts, damage, False, groups)


class Scribe:
    """See the module; `now` tells the time of the world."""

    def __init__(self, seed: int, options: Options, now: Callable[[], int]) -> None:
        self.recorder = Recorder(terms_of(seed, options), now, lambda: _WALL_MS + now() // 1_000_000)
        self._open: dict[int, tuple[Request, Translation, list[Operation]]] = {}
        self._translations: dict[type, Translation] = {
            **Streams(self.recorder, {*self.recorder.terms.groups}).translations(),
            **Queues(self.recorder, options).translations(),
        }

    def asked(self, process: str, request: Request) -> None:
        """A client asks."""
        terms = self.recorder.terms
        if isinstance(request, StartRedrive):
            terms.redrives = True
        elif isinstance(request, AlterGroup) and request.group in terms.groups:
            terms.groups[request.group].max_attempts = 0
        translation = self._translations.get(type(request))
        if translation is not None:
            operations = translation.ask(process, request)
            if operations:
                # The request is kept, so that its id is nobody else's meanwhile.
                self._open[id(request)] = request, translation, operations

    def answered(self, request: Request, reply: Reply) -> None:
        """An answer has come to whoever asked."""
        _, translation, operations = self._open.pop(id(request), (None, None, []))
        if translation is None:
            return
        if isinstance(reply, Refusal):
            for operation in operations:
                conclude(self.recorder, operation, reply)
            return
        try:
            translation.answer(operations, request, reply)
        except BatchError as error:
            for operation in operations:
                self.recorder.unknown(operation, str(error)[:100])

    def lost(self, request: Request) -> None:
        """No answer will come."""
        _, _, operations = self._open.pop(id(request), (None, None, []))
        for operation in operations:
            self.recorder.unknown(operation, "no_answer")

    def read_whole(self) -> None:
        """The healer has read every partition from its beginning to its end."""
        made = {one.asked["topic"] for one in self.recorder.history.of(Verb.CREATE) if one.is_ok}
        for topic in sorted(made):
            self.recorder.note(HEALER, Verb.DRAINED, topic=topic, group="")

    def judge(self) -> None:
        """Raise Violation for what no correct broker does; too little to judge is no fault of a world."""
        from goqueue.fuzz.histories.judge import judge  # noqa: PLC0415 - most worlds that fail are not judged

        verdict = judge(self.recorder.history)
        if verdict.findings:
            raise Violation(f"what clients saw: {verdict.findings[0].text()}")


def conclude(recorder: Recorder, operation: Operation, refusal: Refusal) -> None:
    """An operation was refused: its code says whether it was done."""
    if refusal.outcome is Outcome.NONE:
        recorder.fail(operation, str(refusal.code))
    else:
        recorder.unknown(operation, str(refusal.code))
