"""The work queue of one group on one partition: messages are leased, settled one by one, retried and given up.

Here live the ledger and the verbs on it, as state machines without messages: they know offsets and, where order by key
is asked for, hashes of keys. Not here: reading messages, moving dead letters, the ledger's stream, and groups.
Start with `queue`, then `ledger`; `records` says what is kept.
"""
