"""Bugs of `core/routing`: what whoever asks is told of a request that another node was to carry out."""

from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.routing import errands
from goqueue.fuzz.plants import clusters
from goqueue.fuzz.plants.plant import Plant, Replace


def _unanswered_as_undone(replace: Replace) -> None:
    """What a node has not answered before it ended was not carried out."""
    replace(errands, "uncertain", lambda node: Refusal(Code.UNAVAILABLE, f"node {node} is gone", retry_after_ms=200))


PLANTS = (
    Plant(
        "unanswered-as-undone",
        "A publish whose answer got lost between nodes is not called refused.",
        _unanswered_as_undone,
        nodes=3,
        worlds=clusters.failing_over,
        within=10,
        seed=1,
        tags=("lost_answer",),
    ),
)
"""All bugs of forwarding."""
