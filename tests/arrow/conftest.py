"""What tests of Spark's rooms share that need no Spark."""

from collections.abc import Iterator

import pytest

from goqueue.testing import Broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A broker of one node, for all tests here: each makes topics of its own."""
    with Broker() as running:
        yield running
