"""What a kind of request is as operations, when it is asked and when it is answered."""

from collections.abc import Callable
from typing import Any, NamedTuple

from goqueue.fuzz.histories.operation import Operation


class Translation(NamedTuple):
    """`ask` begins the operations of a request by a process; `answer` ends them by what it was answered."""

    ask: Callable[[str, Any], list[Operation]]
    answer: Callable[[list[Operation], Any, Any], None]
