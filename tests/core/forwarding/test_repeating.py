"""Which requests change nothing, by their names: one that is added has to be put on either side."""

from typing import get_args

import pytest

from goqueue.core.calls import Request
from goqueue.core.forwarding.repeating import changes_nothing

LOOKING = ("List", "Describe", "Get", "Find", "Fetch", "Measure", "Poll", "Watch", "Browse", "Count", "Init")


@pytest.mark.parametrize("cls", get_args(Request))
def test_a_request_changes_nothing_when_its_name_says_that_it_looks(cls: type) -> None:
    assert changes_nothing(cls) == cls.__name__.startswith(LOOKING)
