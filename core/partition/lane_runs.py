"""Runs of offsets, and the lanes that messages are in."""

from typing import TypeAlias

LANES = 5
"""How many lanes there are."""

Run: TypeAlias = tuple[int, int]
"""Offsets from the first up to the one after the last."""

LaneRun: TypeAlias = tuple[int, int, int]
"""A run whose offsets are of one lane: first, the one after the last, lane."""
