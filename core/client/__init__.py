"""What a client decides, without its network: what travels together, what is in flight, what is tried again.

`session.py` is the producer's side and the place to start: records become parcels (`parcel.py`), parcels travel through
their partition's pipeline (`pipeline.py`), which partition is `routing.py`. `fetching.py` is the consumer's side,
`work_session.py` that of a member of a shared group: `grants.py` holds what is leased to it, `settling.py` says what
became of it, `credit.py` bounds how much there is of it. Here are no sockets, clocks or tasks; `transports/client`
drives all of this on trio, on asyncio and on no loop at all.
"""
