"""Programs that use the client library: the real one, down to its bytes, on the clock and the network of a world.

`loop.py` runs its coroutines, `wires.py` carries its bytes, `front.py` and `served.py` stand where a broker has its
server, and let the broker's own services answer. What the programs do with the library is in `publisher.py`,
`reader.py` and `laborer.py`; what they were handed is in `handed.py`, for checkers to judge.
"""
