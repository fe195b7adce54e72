"""What a node has of topics: the partitions that it leads, the replicas that follow others, and who leads the rest.

Not here: how a replica follows (`core/replication`), and what is agreed about topics (`core/cluster`).
"""
