"""Contents and moments short enough for a cell of a table."""

from datetime import datetime, timedelta

from goqueue.core.cluster.durations import format_duration

WIDTH = 40
NONE = "-"
_SECOND = timedelta(seconds=1)
_DAY_S, _HOUR_S, _MINUTE_S = 86_400, 3_600, 60


def shortened(text: object) -> str:
    """A key or a value in one short line; a dash where there is none."""
    if text is None:
        return NONE
    shown = "".join([letter if letter.isprintable() else "·" for letter in str(text)[: WIDTH + 1]])
    return shown if len(shown) <= WIDTH else f"{shown[: WIDTH - 1]}…"


def left(moment: str, now: datetime) -> str:
    """How long it is until then, in its two largest units; `due` when that is past, a dash when no calendar has it."""
    if not moment:
        return NONE
    seconds = (datetime.fromisoformat(moment) - now) // _SECOND
    if seconds < 0:
        return "due"
    for larger, smaller in ((_DAY_S, _HOUR_S), (_HOUR_S, _MINUTE_S), (_MINUTE_S, 1)):
        if seconds >= larger:
            rest = seconds % larger // smaller * smaller
            return _span(seconds // larger * larger) + (_span(rest) if rest else "")
    return _span(seconds)


def _span(seconds: int) -> str:
    """Whole units: 3600 as 1h, and never 1d for 24h within a larger span."""
    return format_duration(seconds * 1000) if seconds else "0s"
