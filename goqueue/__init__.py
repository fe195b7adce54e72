"""GoQueue: a distributed, persistent message queue.

This folder is only the package's face. The code lives in the folders beside it: `core`, `storage`, `cli`, …,
imported as `goqueue.core` and so on. The links here serve tools that read the tree without running it; at run time
the shim below makes a checkout look like an installed package. Start reading at `docs/architecture.md`.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goqueue import errors, testing
    from goqueue.transports.client.connection import Connection, connect
    from goqueue.transports.client.consumer import Consumer
    from goqueue.transports.client.dead_letters import LetterFilter
    from goqueue.transports.client.leased_message import LeasedMessage
    from goqueue.transports.client.messages import Message, Published
    from goqueue.transports.client.policies import AckPolicy
    from goqueue.transports.client.producer import Pending, Producer
    from goqueue.transports.client.topics import Partition, Topic
    from goqueue.transports.client.work_consumer import WorkConsumer

__version__ = "0.1.0"

# In a checkout the rooms are the folders beside this one; putting them first gives tracebacks their real paths.
# In site-packages `core` is a real folder here, and the shim stays out of the way.
_here = Path(__file__).parent
if (_here / "core").is_symlink() or not (_here / "core").exists():
    __path__.insert(0, str(_here.parent))

# The client, by the names that programs use: imported when first asked for, so that `import goqueue` costs nothing.
_CLIENT = "goqueue.transports.client."
_HOMES = {
    "AckPolicy": _CLIENT + "policies",
    "Connection": _CLIENT + "connection",
    "Consumer": _CLIENT + "consumer",
    "LeasedMessage": _CLIENT + "leased_message",
    "LetterFilter": _CLIENT + "dead_letters",
    "Message": _CLIENT + "messages",
    "Partition": _CLIENT + "topics",
    "Pending": _CLIENT + "producer",
    "Producer": _CLIENT + "producer",
    "Published": _CLIENT + "messages",
    "Topic": _CLIENT + "topics",
    "WorkConsumer": _CLIENT + "work_consumer",
    "connect": _CLIENT + "connection",
}
_MODULES = ("errors", "testing")

__all__ = [
    "AckPolicy",
    "Connection",
    "Consumer",
    "LeasedMessage",
    "LetterFilter",
    "Message",
    "Partition",
    "Pending",
    "Producer",
    "Published",
    "Topic",
    "WorkConsumer",
    "connect",
    "errors",
    "testing",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"goqueue.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'goqueue' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(home), name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
