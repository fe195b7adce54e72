"""Why something that a client asked for did not happen, and whether trying again can help.

A failure is data: it waits with what failed until somebody asks. Codes are the broker's (`core.verbs.Code`), and a few
for what no broker says.
"""

from attrs import define

from goqueue.core.verbs import Code

# What no broker says: time was up, the client was left, nobody was there to ask, or what was said makes no sense.
DELIVERY_TIMEOUT = "delivery_timeout"
DROPPED = "dropped"
CONNECTION_LOST = "connection_lost"
BAD_REPLY = "bad_reply"

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
PASSING = UNDONE | {CONNECTION_LOST, str(Code.TIMED_OUT), "deadline_exceeded"}
# What is known of the topic is out of date, or the topic is gone: look, then decide.
MISPLACED = frozenset((str(Code.TOPIC_NOT_FOUND), str(Code.PARTITION_NOT_FOUND), str(Code.NOT_LEADER)))


@define
class Failure:
    """A code for programs, a sentence for a person, the field it is about, and when to try again if that is known.

    `divide_at` says after how many records a numbered batch may be divided, if that helps.
    """

    code: str
    message: str
    field: str = ""
    retry_after_ms: int = 0
    divide_at: int = 0
