"""Whether what clients were told of a register could have come from one that changes at single moments.

`search.py` looks for an order of the operations that explains all answers, `models.py` says what a register does, and
`registers.py` finds registers in a history: a group's offset of a partition, and a topic's being there.
"""
