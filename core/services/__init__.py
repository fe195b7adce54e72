"""What all services of a node have in common: how they are asked, what they may ask of the node, and their secrets.

The services themselves are `core/groups`, `core/queues`, `core/delays`, `core/deadletters`.
"""
