"""All checks, by the names that people call them by.

A check is a module: `NAME`, `PROMISE` in one sentence, and `found`, from the past to candidates (`finding.py`).
"""

from types import ModuleType
from typing import Final

from goqueue.spark.checks import (
    assignments,
    commits,
    diverged,
    duplicated,
    early,
    leaders,
    leasing,
    lost,
    placements,
    reordered,
    replicas,
    watermark,
)

CHECKS: Final[dict[str, ModuleType]] = {
    check.NAME: check
    for check in (
        lost, duplicated, reordered, early, leasing, leaders, placements, replicas, watermark, assignments, commits,
        diverged,
    )
}  # fmt: skip
