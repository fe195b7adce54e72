"""An address of this process alone, for listeners that go away and come back at the same port.

At 127.0.0.1 any connection out may be given the port meanwhile. From other addresses of 127/8 nobody calls unasked.
"""

import os

_PID = os.getpid()
OWN_HOST = f"127.{1 + (_PID >> 14) % 254}.{(_PID >> 7) % 128}.{1 + _PID % 128}"
