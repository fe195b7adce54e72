"""Work with others beside it."""

import pytest
import trio

from goqueue.transports.trio_beside import beside
from tests.transports.serving import run


def test_others_live_as_long_as_the_work() -> None:
    async def scenario() -> None:
        ended = []
        begun = trio.Event()

        async def other() -> None:
            begun.set()
            try:
                await trio.sleep_forever()
            finally:
                ended.append("other")

        await beside(begun.wait, other)
        assert ended == ["other"]

    run(scenario)


def test_what_another_raises_ends_the_work() -> None:
    async def scenario() -> None:
        async def other() -> None:
            raise ValueError("no")

        with pytest.raises(ExceptionGroup) as caught:
            await beside(trio.sleep_forever, other)
        assert caught.group_contains(ValueError, match="no")

    run(scenario)
