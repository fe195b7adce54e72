"""Why something that a client asked for failed, what was done of it nevertheless, and whether trying again can help.

A failure is data: it waits with what failed until somebody asks. Codes are the broker's (`requests.refusals.Code`), and
a few for what no broker says.

What was done follows from the code, where a broker gave it. What was sent and has no answer may have been carried out;
so may be what was refused for the last time, if one of the attempts before has no answer.
"""

from attrs import define, evolve

from goqueue.core.requests.refusals import Code, Outcome

# What no broker says: time was up, the client was left, nobody was there to ask, or what was said makes no sense.
DELIVERY_TIMEOUT = "delivery_timeout"
DEADLINE_EXCEEDED = "deadline_exceeded"
DROPPED = "dropped"
CONNECTION_LOST = "connection_lost"
BAD_REPLY = "bad_reply"
_UNANSWERED = (DELIVERY_TIMEOUT, DEADLINE_EXCEEDED, DROPPED, CONNECTION_LOST, BAD_REPLY)

# Nothing was done about the request, which can succeed later, and perhaps somewhere else.
UNDONE = frozenset(
    str(code)
    for code in (
        Code.UNAVAILABLE,
        Code.SHUTTING_DOWN,
        Code.NOT_LEADER,
        Code.NOT_CONTROLLER,
        Code.NOT_COORDINATOR,
        Code.NOT_ENOUGH_REPLICAS,
    )
)
# The same request can succeed later; it may have been carried out, or nothing was done.
PASSING = UNDONE | {str(Code.OUTCOME_UNKNOWN), CONNECTION_LOST, DEADLINE_EXCEEDED}
# What is known of the topic is out of date, or the topic is gone: look, then decide.
MISPLACED = frozenset((str(Code.TOPIC_NOT_FOUND), str(Code.PARTITION_NOT_FOUND), str(Code.NOT_LEADER)))

_OUTCOMES: dict[str, Outcome] = {
    **dict.fromkeys(_UNANSWERED, Outcome.UNKNOWN),
    **{str(code): code.outcome for code in Code},
}


def outcome_of(code: str) -> Outcome:
    """What was done of a request that failed with this code after it was sent."""
    return _OUTCOMES.get(code, Outcome.NONE)


@define
class Failure:
    """A code for programs, a sentence for a person, the field it is about, and when to try again if that is known.

    `divide_at` says after how many records a numbered batch may be divided, if that helps. `outcome` follows from the
    code unless it is given.
    """

    code: str
    message: str
    field: str = ""
    retry_after_ms: int = 0
    divide_at: int = 0
    outcome: Outcome | None = None

    @property
    def what_happened(self) -> Outcome:
        """What was done of the request."""
        return outcome_of(self.code) if self.outcome is None else self.outcome

    def in_doubt(self) -> "Failure":
        """The same of a request of which an earlier attempt may have been carried out."""
        return self if self.what_happened is not Outcome.NONE else evolve(self, outcome=Outcome.UNKNOWN)

    def undone(self) -> "Failure":
        """The same of a request that was never sent."""
        return evolve(self, outcome=Outcome.NONE)
