"""What `goqueue sim --coverage` says: the branches of the core that no world has taken, save those that none can take.

`OUT_OF_REACH` says why worlds do not get to some of them. A row is a pattern of places, as in
`core/node.py::Node.ask`, a regular expression that the branch or what it leads to must match, and the reason. What no
row explains is a state that worlds should reach and do not, with these seeds. Not here: how it is measured
(`reach.py`).
"""

import re
from collections import Counter
from fnmatch import fnmatchcase

from goqueue.fuzz.reach import Unreached

_ANYTHING = ""

OUT_OF_REACH: tuple[tuple[str, str, str], ...] = (
    ("core/capture/*", _ANYTHING, "captures are written by --capture, and read by `goqueue replay`"),
    ("core/shapes.py::*", _ANYTHING, "classes are looked at once, while modules are imported"),
    ("core/codec.py::*", _ANYTHING, "classes are looked at once, while modules are imported"),
    ("core/chosen_crc.py::*", _ANYTHING, "tables are made once, while modules are imported"),
    ("core/cluster/fits.py::*", _ANYTHING, "metadata that no controller agrees on: it comes from another release"),
    ("core/secret*.py::*", _ANYTHING, "secrets of settings, which are for connections to the outside"),
    ("*::*measure*", _ANYTHING, "figures for /metrics"),
    ("core/*/measure.py::*", _ANYTHING, "figures for /metrics"),
    ("core/node.py::Node.*", r"def (is_started|controller|cluster_id|problem|peers|looks_into)\(", "a driver asks it"),
    ("core/client/*::*.deadline", _ANYTHING, "the library's drivers ask it; clients of worlds look every few ms"),
    ("core/records/*", r"raise |_corrupt|BatchError", "bytes that no client of worlds sends: `./dev fuzz` does"),
    ("core/*", r"raise (ProtocolError|_?[a-z_]*protocol\w*)", "letters that no node writes: `./dev fuzz` writes them"),
    ("core/*", r"raise (CheckpointError|BatchError|SnapshotError)", "files that no node writes, with the right sum"),
    ("core/*", r"raise OffsetOutOfRange", "what nobody in the core asks of a log"),
    ("core/*", r"_version|VERSION", "formats of other releases"),
    ("core/*", r"_[A-Z]+(_[A-Z]+)*_MAX\b|\b[A-Z]+(_[A-Z]+)*_MAX\b", "bounds that a small world does not come near"),
    ("core/*", r"Refusal\(Code\.(INVALID|TOO_LARGE|QUOTA_EXCEEDED)", "requests that clients of worlds do not ask"),
)  # fmt: skip
"""Why worlds do not reach what they do not reach: where, what, why."""


def why_not(branch: Unreached) -> str:
    """Why worlds do not reach a branch; empty where they should."""
    place, text = f"{branch.path}::{branch.function}", f"{branch.source} {branch.then}"
    for where, what, why in OUT_OF_REACH:
        if fnmatchcase(place, where) and re.search(what, text):
            return why
    return ""


def told(branches: list[Unreached]) -> str:
    """What is unexplained by file and function, and how much each reason explains, for people."""
    lines: list[str] = []
    path = function = ""
    reasons: Counter[str] = Counter()
    for branch in branches:
        why = why_not(branch)
        if why:
            reasons[why] += 1
            continue
        if branch.path != path:
            path, function = branch.path, ""
            lines.append(path)
        if branch.is_function:
            lines.append(f"  {branch.function}, line {branch.line}: never called")
            continue
        if branch.function != function:
            function = branch.function
            lines.append(f"  {function}")
        lines.append(f"    {branch.line}: {branch.source}\n      never leads to {_where(branch)}")
    unexplained = len(branches) - reasons.total()
    lines.append(f"{unexplained} branches and functions of the core were never reached.")
    lines.append(f"{reasons.total()} more were not, and that is explained:")
    lines += [f"  {count:4} {why}" for why, count in reasons.most_common()]
    return "\n".join(lines)


def _where(branch: Unreached) -> str:
    return f"{branch.then_line}: {branch.then}" if branch.then_line else branch.then
