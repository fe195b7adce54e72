"""How the last link to a peer ended, and when that amounts to the end of the peer's process.

A port that refuses proves nothing by itself. A firewall refuses on behalf of a node that lives, and so does a service
whose endpoint is not ready, or another host that has taken the address. So three things are asked for together:

1. The peer's own side ended the link, by FIN or RST. The system does that when a process ends. A process that lives and
   ends a link knows it, and calls again at once.
2. The place where the peer listened has refused `REFUSALS` times, over `REFUSED_FOR_S` at least, at the very host from
   which the peer spoke.
3. Meanwhile no link has come to be in either direction. A process that lives calls every peer that it is not connected
   to, several times in that span, so a place that refuses on its behalf is not enough.

What is concluded is a hint all the same: nothing that was acknowledged rests on it. ADR 0020 says what does.
"""

from attrs import define

REFUSALS = 3
REFUSED_FOR_S = 0.4
# For so long after the end of a link its peer is called at short intervals.
CALLED_OFTEN_S = 2.0
CALLED_AFTER_S = 0.12


@define
class Parting:
    """One peer without a link; the place is where it listened, the host where its last link came from or went to."""

    place: str
    host: str
    ended_s: float
    is_ended_there: bool
    refusals: int = 0

    def refused(self, now_s: float, place: str, hosts: set[str]) -> bool:
        """A place refuses a call, of a name that stands for these hosts; whether the peer's process has ended."""
        if place != self.place or not self.is_ended_there or hosts != {self.host}:
            return False
        self.refusals += 1
        return self.refusals >= REFUSALS and now_s - self.ended_s >= REFUSED_FOR_S

    def pause_s(self, now_s: float, pause_s: float) -> float:
        """How long to wait before the next call, where it would be `pause_s` without a link that has just ended."""
        return min(pause_s, CALLED_AFTER_S) if now_s - self.ended_s < CALLED_OFTEN_S else pause_s
