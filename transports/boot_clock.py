"""The clock that a node counts by: leases, tenures, sessions and everything else that others count as well.

While a machine is suspended its monotonic clock stands still, and that of everybody else goes on. A leader that counted
its lease by it would wake, find most of the lease left, and serve while others have long been leading. CLOCK_BOOTTIME
goes on meanwhile. trio's own clock, which is the monotonic one, times sockets and when the loop wakes. The loop looks
at this one at least once a second, and at the begin of each turn.
"""

import time

if hasattr(time, "CLOCK_BOOTTIME"):

    def boot_ns() -> int:
        """Nanoseconds since the machine started, those included in which it was suspended."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

else:
    boot_ns = time.monotonic_ns
