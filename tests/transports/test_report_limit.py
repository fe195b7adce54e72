"""One sentence a second about strangers, and how many there were."""

from goqueue.transports.report_limit import ReportLimit


def test_sentences_that_come_too_soon_are_counted_in_the_next_one() -> None:
    said: list[str] = []
    now = 100.0
    limit = ReportLimit(said.append, lambda: now)
    for _ in range(3):
        limit.say("a stranger")
    now += 0.9
    limit.say("a stranger")
    now += 0.1
    limit.say("another one")
    now += 1
    limit.say("the last")
    assert said == ["a stranger", "another one (and 3 more of the kind since the last)", "the last"]
