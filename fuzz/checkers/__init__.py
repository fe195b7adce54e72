"""What must hold in every world, one file each: a checker looks on and raises `Violation` when a promise is broken.

Checkers know the product from outside, by requests and answers, save where a promise is about its inside: how far it
has acknowledged, and what lies on the disk. None of them changes anything. Start at `checker.py`.
"""

from goqueue.fuzz.checkers.agreement import Agreement
from goqueue.fuzz.checkers.answers import Answers
from goqueue.fuzz.checkers.assignments import Assignments
from goqueue.fuzz.checkers.burial import Burial
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.checkers.compaction import Compaction
from goqueue.fuzz.checkers.contents import Contents
from goqueue.fuzz.checkers.controllers import Controllers
from goqueue.fuzz.checkers.delays import Delays
from goqueue.fuzz.checkers.deletion import Deletion
from goqueue.fuzz.checkers.durability import Durability
from goqueue.fuzz.checkers.electors import Electors
from goqueue.fuzz.checkers.endings import Endings
from goqueue.fuzz.checkers.exclusive import Exclusive
from goqueue.fuzz.checkers.fencing import Fencing
from goqueue.fuzz.checkers.forgetting import Forgetting
from goqueue.fuzz.checkers.handing import Handing
from goqueue.fuzz.checkers.hostility import Hostility
from goqueue.fuzz.checkers.key_order import KeyOrder
from goqueue.fuzz.checkers.lanes import Lanes
from goqueue.fuzz.checkers.leaders import Leaders
from goqueue.fuzz.checkers.leasing import Leasing
from goqueue.fuzz.checkers.lookups import Lookups
from goqueue.fuzz.checkers.offsets import Offsets
from goqueue.fuzz.checkers.once import Once
from goqueue.fuzz.checkers.order import Order
from goqueue.fuzz.checkers.petitions import PetitionsRefused
from goqueue.fuzz.checkers.placements import Placements
from goqueue.fuzz.checkers.rebalances import Rebalances
from goqueue.fuzz.checkers.resting import Resting
from goqueue.fuzz.checkers.retention import Retention
from goqueue.fuzz.checkers.retrying import Retrying
from goqueue.fuzz.checkers.rewriting import Rewriting
from goqueue.fuzz.checkers.sequences import Sequences
from goqueue.fuzz.checkers.told import Told
from goqueue.fuzz.checkers.undone import Undone
from goqueue.fuzz.checkers.visibility import Visibility
from goqueue.fuzz.checkers.votes import Votes
from goqueue.fuzz.checkers.watermark import Watermark

# What only several nodes can break; with one they see nothing.
OF_CLUSTERS: tuple[type[Checker], ...] = (Controllers, Electors, Leaders, Placements, Votes)
CHECKERS: tuple[type[Checker], ...] = (
    Answers, Agreement, Contents, Deletion, Compaction, Rewriting, Durability, Once, Order, Retention, Sequences,
    Visibility, Watermark, Assignments, Exclusive, Fencing, Offsets, Rebalances, Forgetting,
    Leasing, KeyOrder, Lanes, Delays, Endings, Resting, Undone, Hostility, Retrying, Lookups,
    Handing, Told, Burial, PetitionsRefused,
    *OF_CLUSTERS,
)  # fmt: skip
