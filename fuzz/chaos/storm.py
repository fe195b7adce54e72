"""What goes wrong in a storm, and when: all of it drawn from the seed before anything begins.

The same seed draws the same faults at the same times. What comes of them is real, and not the same twice.
"""

from random import Random

from attrs import define

KINDS = {
    "kill": "ends a node with SIGKILL, and starts it again",
    "stop": "stops a node for seconds with SIGSTOP: it keeps its connections and knows nothing of it",
    "pause": "stops a node again and again for a fraction of a second",
    "term": "tells a node to end with SIGTERM, and starts it again",
    "cut": "cuts the network of a node: off from everybody, deaf, or off from one other",
    "wipe": "ends a node, empties its folder, and has it readmitted",
    "grow": "has a further node join, and gives it replicas",
}
"""All kinds of faults, and what they do."""

# What needs the whole cluster to be well before it, and nothing beside it.
ALONE = ("wipe", "grow")
_WEIGHTS = {"kill": 4, "stop": 4, "pause": 2, "term": 3, "cut": 4, "wipe": 1, "grow": 1}
_CALM_S = 2.0
_GAP_S = (0.5, 5.0)
# How long what is wrong stays so.
_LASTS_S = {
    "kill": (0.0, 6.0), "stop": (0.3, 8.0), "pause": (1.0, 4.0), "term": (0.0, 4.0), "cut": (0.5, 8.0),
    "wipe": (0.0, 1.0), "grow": (0.0, 0.0),
}  # fmt: skip
CUTS = ("isolated", "deaf", "rift")


@define
class Fault:
    """One thing that goes wrong: when it begins after the storm did, for how long, and at which node by number."""

    kind: str
    at_s: float
    lasts_s: float
    # Nodes in the order in which they are to suffer it: the first that nothing else has befallen.
    nodes: list[int]
    cut: str = ""


def draw_storm(seed: int, seconds: float, nodes: int, kinds: tuple[str, ...]) -> list[Fault]:
    """The faults of a storm, in order; a cluster grows once."""
    random, faults, at_s = Random(f"{seed}/storm"), list[Fault](), _CALM_S
    left = [kind for kind in KINDS if kind in kinds]
    while left and at_s < seconds:
        kind = random.choices(left, [_WEIGHTS[one] for one in left])[0]
        order = random.sample(range(nodes), nodes)
        cut = random.choice(CUTS) if kind == "cut" else ""
        faults.append(Fault(kind, round(at_s, 2), round(random.uniform(*_LASTS_S[kind]), 2), order, cut))
        if kind == "grow":
            left.remove("grow")
            nodes += 1
        at_s += random.uniform(*_GAP_S)
    return faults
