"""Bugs of `core/records`: batches that are taken for what they say that they are."""

from goqueue.core.log import log as log_module
from goqueue.core.partition import admission as admission_module
from goqueue.core.records.record import RecordCheck
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters
from goqueue.fuzz.plants.plant import Plant, Replace


def _records_unchecked(replace: Replace) -> None:
    """A batch is taken for what it says that it is."""
    replace(log_module, "check_claims", lambda *_: None)
    replace(RecordCheck, "advance", lambda *_: True)
    replace(admission_module, "check_claims", lambda *_: None)


PLANTS = (
    Plant(
        "records-unchecked",
        "A batch whose records cannot be read is refused.",
        _records_unchecked,
        worlds=lambda: Options(hostiles=1, p_topic_change=0.0),
        said="wrong for",
    ),
    Plant(
        "claims-unchecked",
        "A batch whose records cannot be read is refused, whichever node has it.",
        _records_unchecked,
        nodes=3,
        worlds=clusters.besieged,
        within=5,
    ),
)
"""All bugs of records."""
