"""What a client decides, without its network: what travels together, what is in flight, what is tried again.

`session.py` is the producer's side and the place to start: records become parcels (`parcel.py`), parcels travel through
their partition's pipeline (`pipeline.py`), which partition is `routing.py`. `fetching.py` is the consumer's side. Here
are no sockets, clocks or tasks; `transports/client` drives all of this on trio, on asyncio and on no loop at all.
"""
