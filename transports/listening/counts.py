"""How many connections there are, in all and from each address."""


class ConnectionCounts:
    """Counts connections while they are there, those too that are turned away."""

    __slots__ = ("_by_host", "_count_max", "_per_host_max", "total")

    def __init__(self, count_max: int, per_host_max: int) -> None:
        self._count_max = count_max
        self._per_host_max = per_host_max
        self._by_host: dict[str, int] = {}
        self.total = 0

    def enter(self, host: str) -> bool:
        """One more has come; whether it may stay."""
        self.total += 1
        of_host = self._by_host[host] = self._by_host.get(host, 0) + 1
        return self.total <= self._count_max and of_host <= self._per_host_max

    def leave(self, host: str) -> None:
        """One has gone."""
        self.total -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]

    def of(self, host: str) -> int:
        """How many there are from this address."""
        return self._by_host.get(host, 0)
