"""What is wrong with what is asked of dead letters; empty-handed when nothing is."""

from goqueue.core.cluster.plan import is_own
from goqueue.core.deadletters.browsing import LIMIT_MAX
from goqueue.core.deadletters.letters import REASONS
from goqueue.core.queues.move_records import Job
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.deadletters import BrowseDead, PurgeDead, Sieve, StartRedrive
from goqueue.core.requests.refusals import Code, Refusal

RATE_MAX = 1_000_000
_COUNT_MAX = 1 << 62
HEADERS_MAX = 32
TEXT_MAX = 1000
_OFFSET_MAX = (1 << 63) - 1


def sieve_refusal(sieve: Sieve) -> Refusal | None:
    """Why letters cannot be told by such a sieve."""
    if sieve.reason and sieve.reason not in REASONS:
        return _invalid("reason", f"a letter died of {', '.join(REASONS)}, not of {sieve.reason[:40]!r}")
    if len(sieve.group) > TEXT_MAX:
        return _invalid("group", f"a group's name has at most {TEXT_MAX} characters")
    if len(sieve.headers) > HEADERS_MAX:
        return _invalid("headers", f"a sieve asks for at most {HEADERS_MAX} headers, not {len(sieve.headers)}")
    for name, moment_ms in (("died_from_ms", sieve.died_from_ms), ("died_until_ms", sieve.died_until_ms)):
        if moment_ms is not None and not 0 <= moment_ms <= _OFFSET_MAX:
            return _invalid(name, f"a moment is given in milliseconds since 1970, not as {moment_ms}")
    if sieve.died_from_ms is not None and sieve.died_until_ms is not None and sieve.died_from_ms >= sieve.died_until_ms:
        return _invalid("died_until_ms", "letters cannot have died before they did: the end is not after the beginning")
    return None


def browse_refusal(request: BrowseDead, partitions: int) -> Refusal | None:
    """Why a page cannot be shown."""
    if not 1 <= request.limit <= LIMIT_MAX:
        return _invalid("limit", f"a page has from 1 to {LIMIT_MAX} letters, not {request.limit}")
    for number, offset in request.after.items():
        if not 0 <= number < partitions or not 0 <= offset <= _OFFSET_MAX:
            return _invalid("after", f"no page ended at offset {offset} of partition {number}")
    return sieve_refusal(request.sieve)


def job_refusal(led: ReplicaSet, topic: str, request: StartRedrive | PurgeDead) -> Refusal | None:
    """Why letters of a topic cannot be sent back or purged like this."""
    refusal = sieve_refusal(request.sieve)
    if refusal is not None or isinstance(request, PurgeDead):
        return refusal
    if not 0 <= request.rate <= RATE_MAX:
        return _invalid("rate", f"a rate is from 1 to {RATE_MAX} letters a second, or 0 for none, not {request.rate}")
    if not 0 <= request.limit <= _COUNT_MAX:
        return _invalid("limit", f"a limit is a number of letters, or 0 for none, not {request.limit}")
    if request.to == topic:
        return _invalid("to", f"letters of {topic} cannot be sent back to {topic} itself")
    if request.to and is_own(request.to):
        return _invalid("to", f"topic {request.to} is the broker's own")
    if request.to and request.to not in led.topics:
        return Refusal(Code.TOPIC_NOT_FOUND, f"there is no topic {request.to!r}", "to")
    return None


def job_of(
    redrive_id: str, topic: str, request: StartRedrive | PurgeDead, wall_ms: int, spans: dict[int, tuple[int, int]]
) -> Job:
    """The job that is asked for; `spans` are a partition's first letter that is left and the end, by partition."""
    sieve = request.sieve
    is_purge = isinstance(request, PurgeDead)
    return Job(
        redrive_id,
        topic,
        "" if isinstance(request, PurgeDead) else request.to,
        is_purge,
        request.dry_run,
        0 if isinstance(request, PurgeDead) else request.rate,
        0 if isinstance(request, PurgeDead) else request.limit,
        sieve.reason,
        sieve.group,
        sieve.key,
        dict(sieve.headers),
        sieve.died_from_ms,
        sieve.died_until_ms,
        wall_ms,
        0,
        {number: start for number, (start, _) in spans.items()},
        {number: end for number, (_, end) in spans.items()},
    )


def _invalid(name: str, message: str) -> Refusal:
    return Refusal(Code.INVALID, message, name)
