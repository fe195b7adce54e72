"""The REST edge: JSON over HTTP, translated to the requests of the core and back.

It neither reads nor writes sockets: `edge.py` takes a `Question` and gives an `Answer` (`exchange.py`), whatever
brought it. `routes.py` is the table of all that is served, from which matching, OpenAPI and the page at /docs follow.
No decision about messages is taken here. Start at `routes.py`.
"""
