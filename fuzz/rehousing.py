"""A machine that gets another name and another address: others find its next process by what that registers with."""

from typing import TYPE_CHECKING

from attrs import evolve

from goqueue.fuzz.founding import addresses

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process


def rehouse(process: "Process") -> None:
    """Have a machine on which no process lives be reached elsewhere from here on."""
    assert process.node is None
    assert process.cluster is not None
    world = process.world
    _, _, moves = process.host.partition("-at-")
    process.host = f"{process.node_id}-at-{int(moves or 0) + 1}"
    internal, http, grpc = addresses(process.host)
    process.cluster = evolve(process.cluster, internal=internal, http=http, grpc=grpc)
    if world.wires is not None:
        world.wires.fabric.rename(process.node_id, process.host)
    world.note(process, "rehouse", process.host)
    world.count("address that changed")
