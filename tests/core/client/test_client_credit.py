"""How much a broker may send ahead."""

from goqueue.core.client.credit import Credit


def test_all_of_it_at_first_and_a_half_at_a_time_from_then_on() -> None:
    credit = Credit(200, 1000)
    assert credit.take(is_idle=False) == (200, 1000)
    credit.arrived(120, 120, 120)
    for done in range(99):
        credit.freed(1, 1)
        assert credit.take(is_idle=False) is None, done
    credit.freed(1, 1)
    assert credit.take(is_idle=False) == (100, 100)
    credit.check()


def test_whoever_has_nothing_left_grants_whatever_there_is_room_for() -> None:
    credit = Credit(200, 1000)
    credit.take(is_idle=False)
    credit.arrived(10, 10, 10)
    credit.freed(3, 3)
    assert credit.take(is_idle=False) is None
    assert credit.take(is_idle=True) == (3, 3)
    assert credit.take(is_idle=True) is None


def test_a_batch_that_goes_beyond_counts_against_the_next_credit() -> None:
    credit = Credit(10, 1000)
    credit.take(is_idle=False)
    credit.arrived(1, 1500, 1500)
    assert credit.bytes_open == -500
    credit.freed(1, 1500)
    assert credit.take(is_idle=False) == (1, 1500)
    assert (credit.messages_open, credit.bytes_open) == (10, 1000)


def test_a_new_stream_begins_with_what_is_not_held() -> None:
    credit = Credit(10, 1000)
    credit.take(is_idle=False)
    credit.arrived(4, 400, 400)
    credit.begin()
    assert credit.take(is_idle=False) == (6, 600)


def test_what_does_not_count_for_long_is_granted_again() -> None:
    credit = Credit(10, 1000)
    credit.take(is_idle=False)
    credit.arrived(3, 1000, 999)
    assert credit.take(is_idle=True) == (0, 1)
