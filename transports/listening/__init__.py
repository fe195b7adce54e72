"""Ports: whoever connects, up to the moment when it is known what they speak and one of the protocols takes over.

`listener.py` accepts connections, counts them, secures them and ends them: start there. `protocols.py` is what a
protocol has to be to stand behind a listener, and how a listener tells several of them apart. `newcomers.py` is who has
connected and not begun. What is said on a connection is the protocols' own business.
"""
