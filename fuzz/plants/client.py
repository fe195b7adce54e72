"""Bugs of `core/client`: what the library does when it does not know what became of a batch."""

from goqueue.core.client.failure import Failure
from goqueue.core.client.pipeline import Pipeline
from goqueue.core.client.session import Session
from goqueue.core.requests.refusals import Code
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters
from goqueue.fuzz.plants.plant import Plant, Replace


def _renumbered_at_once(replace: Replace) -> None:
    """Whatever is refused as out of order is numbered anew, whoever has said so, and with all that is in flight."""
    refused = Session.refused

    def hasty(session: Session, now: int, address: str, request_id: int, failure: Failure) -> None:
        parcel = session._place(address).awaiting.get(request_id)
        refused(session, now, address, request_id, failure)
        if parcel is not None and failure.code == Code.OUT_OF_ORDER:
            parcel.pipeline.renumbers = True

    replace(Session, "refused", hasty)
    replace(Session, "_renumber", _renumber)


def _unanswered_sent_as_new(replace: Replace) -> None:
    """What was not answered before a connection broke is numbered anew, as if it had not arrived."""
    lost = Session.lost

    def hasty(session: Session, now: int, address: str) -> None:
        pipelines = [parcel.pipeline for parcel in session._place(address).awaiting.values()]
        lost(session, now, address)
        for pipeline in pipelines:
            pipeline.renumbers = True

    replace(Session, "lost", hasty)
    replace(Session, "_renumber", _renumber)


def _renumber(session: Session, pipeline: Pipeline) -> bool:
    for parcel in pipeline.flight:
        parcel.is_doubtful = False
    return session._numbering.renew(pipeline)


PLANTS = (
    Plant(
        "renumbered-at-once",
        "The library stores each record once, whatever it has to send again.",
        _renumbered_at_once,
        nodes=3,
        worlds=clusters.changing_leaders,
        within=30,
        seed=9,
        tags=("lost_answer",),
    ),
    Plant(
        "unanswered-sent-as-new",
        "The library stores each record once, also where a connection breaks before the answer.",
        _unanswered_sent_as_new,
        worlds=lambda: Options(
            producers=0,
            library=2,
            consumers=0,
            topics=1,
            partitions_max=1,
            p_topic_change=0.0,
            p_hang_up=0.05,
            p_cut=0.05,
        ),
        tags=("lost_answer",),
    ),
)
"""All bugs of the client library."""
