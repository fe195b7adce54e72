"""Figures of groups whose members come and go: how long until everybody has their share, and who notices."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.group_member import Plan
from goqueue.cli.bench.group_stage import Stage, staged, trickling
from goqueue.cli.bench.served_broker import served
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import Workbench

_TRICKLE_MS = 10
_QUIET_S = 0.5
_LOST_SESSION_S = 3.0


def entries(_sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    return [
        Entry("rebalance_10th", "a tenth member joins a group of 64 partitions", tenth, [Bar("value", below=1)]),
        Entry(
            "rebalance_kept", "the longest silence meanwhile of a partition that stays", kept, [Bar("value", below=1)]
        ),
        Entry(
            "rebalance_100", "100 members join together a group of 256 partitions", hundred, [Bar("value", below=5)]
        ),
        Entry(
            "member_lost", "a member with a session of 3 s is killed: until its partitions flow again", lost,
            [Bar("value", below=4)],
        ),
        Entry(
            "member_lost_kept", "the longest silence meanwhile of everybody else's", lost_kept, [Bar("value", below=1)]
        ),
    ]  # fmt: skip


def tenth(workbench: Workbench) -> Figure:
    """From its join to its assignment."""
    taken, gap = _tenth(workbench)
    return Figure(taken, "s", note=f"the longest silence of a partition that stayed: {gap * 1e3:.0f} ms")


def kept(workbench: Workbench) -> Figure:
    """What those notice who keep what they have."""
    return Figure(_tenth(workbench)[1], "s", note=f"messages come every {_TRICKLE_MS} ms")


def hundred(workbench: Workbench) -> Figure:
    """From the first join to the last assignment."""
    members, partitions, processes = 100, 256, 4
    with _group(workbench, partitions) as (stage, plan):
        plan.members = members // processes
        numbers = [stage.start(plan) for _ in range(processes)]
        begun = stage.tell("join", *numbers)
        settled = stage.settled(members, partitions)
        time.sleep(_QUIET_S)
        note = f"{stage.standing.generation} generations (bar: 3); {processes} processes"
        return Figure((settled - begun) / 1e9, "s", note=note)


def lost(workbench: Workbench) -> Figure:
    """From the kill to the last of its partitions that flows elsewhere."""
    return Figure(_lost(workbench)[0], "s", note="four members, 16 partitions")


def lost_kept(workbench: Workbench) -> Figure:
    """What those notice who keep what they have."""
    return Figure(_lost(workbench)[1], "s", note=f"messages come every {_TRICKLE_MS} ms")


def _tenth(workbench: Workbench) -> tuple[float, float]:
    partitions = 64
    with _group(workbench, partitions) as (stage, plan), trickling(plan.address, plan.topic, partitions, _TRICKLE_MS):
        plan.members = 3
        for _ in range(3):
            stage.start(plan)
        stage.tell("join")
        stage.settled(9, partitions)
        plan.members = 1
        new = stage.start(plan)
        time.sleep(_QUIET_S)
        before = {who: set(share) for who, share in stage.standing.owned.items()}
        stage.tell("mark", 0, 1, 2)
        begun = stage.tell("join", new)
        stage.settled(10, partitions)
        taken = stage.standing.changed_at[new, 0] - begun
        time.sleep(_QUIET_S)
        stayed = {number for who, share in before.items() for number in share & stage.standing.owned[who]}
        gaps = [
            gap
            for report in stage.reports(0, 1, 2).values()
            for number, gap in report.gaps_ns.items()
            if number in stayed
        ]
        return taken / 1e9, max(gaps) / 1e9


def _lost(workbench: Workbench) -> tuple[float, float]:
    partitions = 16
    with _group(workbench, partitions) as (stage, plan), trickling(plan.address, plan.topic, partitions, _TRICKLE_MS):
        plan.session_s = _LOST_SESSION_S
        for _ in range(4):
            stage.start(plan)
        stage.tell("join")
        stage.settled(4, partitions)
        time.sleep(_QUIET_S)
        before = {number: share for (number, _), share in stage.standing.owned.items()}
        stage.tell("mark", 0, 1, 2)
        stage.standing.flows_at.clear()
        begun = time.monotonic_ns()
        stage.processes[3].kill()
        del stage.standing.owned[3, 0]

        def flowing() -> dict[int, int]:
            return {number: at for (_, number), at in stage.standing.flows_at.items() if number in before[3]}

        stage.wait("the lost partitions", lambda: len(flowing()) == len(before[3]))
        taken = max(flowing().values()) - begun
        time.sleep(_QUIET_S)
        reports = stage.reports(0, 1, 2)
        gaps = [gap for each, report in reports.items() for at, gap in report.gaps_ns.items() if at in before[each]]
        return taken / 1e9, max(gaps) / 1e9


@contextmanager
def _group(workbench: Workbench, partitions: int) -> Iterator[tuple[Stage, Plan]]:
    """A broker with a topic, and nobody in the group yet."""
    with workbench.folder() as folder, served(folder) as broker, staged() as stage:
        broker.create("shared", partitions, fsync="none")
        yield stage, Plan(broker.grpc_address, "group", "shared", 1, 30.0, 1.0)
