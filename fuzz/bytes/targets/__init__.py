"""The targets, a file each, in the order in which a session runs them.

A target is found by its name, which is its file's, and is imported only when asked for: what is imported before atheris
is ready is not seen by it. To add one, write a file with a `TARGET` and add its name below.
"""

from importlib import import_module

from goqueue.fuzz.bytes.target import Target

NAMES = ("batch", "admission", "compression", "scan", "index", "checkpoint", "mark", "recovery")


def load(name: str) -> Target:
    """The target of that name."""
    target = import_module(f"{__name__}.{name}").TARGET
    assert isinstance(target, Target)
    assert target.name == name
    return target
