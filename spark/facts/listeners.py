"""All listeners there are, in the order in which they hear."""

from goqueue.spark.facts.cluster import Agreed
from goqueue.spark.facts.dead import Dead
from goqueue.spark.facts.delays import Delays
from goqueue.spark.facts.groups import Groups
from goqueue.spark.facts.keys import Keys
from goqueue.spark.facts.listening import Listener
from goqueue.spark.facts.load import Load, WallClock
from goqueue.spark.facts.log import Logs, Watermarks
from goqueue.spark.facts.nodes import Leadership, Life, Office
from goqueue.spark.facts.publishing import Publishing
from goqueue.spark.facts.reading import Reading
from goqueue.spark.facts.refusals import Refusals
from goqueue.spark.facts.work import Work

LISTENERS: tuple[type[Listener], ...] = (
    Life,
    WallClock,
    Agreed,
    Office,
    Leadership,
    Publishing,
    Keys,
    Logs,
    Watermarks,
    Refusals,
    Reading,
    Groups,
    Work,
    Dead,
    Delays,
    Load,
)
