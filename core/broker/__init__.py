"""The parts of one node: publishes, reads, upkeep, its life in a cluster, and how it follows the metadata.

`core/node.py` puts them together. Not here: what a partition is, and what services keep.
"""
