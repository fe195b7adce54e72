"""A node that keeps what was deleted or moved while it was dead is found out at the end of a world."""

import pytest

from goqueue.core.broker.metadata_listener import MetadataListener
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import run_world

_WITHIN = 12


def worlds() -> Options:
    """Worlds in which little is done but to delete topics and make them again, and to kill nodes for long."""
    return Options(
        steps=0, nodes=3, seconds=30, replicas_max=2, min_insync=1, calamities=("kill",), calamity_ns=10_000_000_000,
        producers=1, consumers=0, topics=2, partitions_max=4, p_topic_change=0.03, think_ns=60_000_000,
    )  # fmt: skip


def test_what_is_kept_of_topics_that_are_gone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MetadataListener, "_clear_away", lambda *_: None)
    for seed in range(_WITHIN):
        violation = run_world(seed, options=worlds()).violation
        if violation is not None:
            assert "was deleted, and there is" in str(violation) or "and is no replica of it" in str(violation)
            monkeypatch.undo()
            assert run_world(seed, options=worlds()).violation is None
            return
    pytest.fail(f"{_WITHIN} worlds, and none shows it")
