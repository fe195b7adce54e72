"""The broker's transports inside a world: trio stepped by hand, and sockets that cut, delay and join bytes.

Nothing of the transports is written again here. Servers, connections, clients and peers are those of `transports/`;
what is simulated lies below them: the loop's clock and order (`tasks.py`), the sockets (`pipe.py`, `sockets.py`) and
which host is reached how (`fabric.py`). Above them stand the node in its process (`front.py`) and the workloads
(`lines.py`).
"""
