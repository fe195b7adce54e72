"""Every request that a node takes, as plain data: one file an area, and one table with a row a request.

A transport translates its bytes to these classes and back, and adds nothing. What the node does with a request beyond
its service (where it goes, whether it may be repeated, what it weighs, who may ask it) stands in its row.
"""
