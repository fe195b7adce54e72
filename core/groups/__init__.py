"""Consumer groups: who of a group reads which partitions, and how far each group has come.

Here live the group's agreed state and what changes it (`records`, `state`, `plan`), the assignors (`assignment`), the
handing over of partitions (`rebalance`) and the coordinator that speaks to members (`coordinator`, with `sessions` and
`watches`). Not here: the journal that keeps the records, the delivery of messages, and shared groups' leases.
Start with `rebalance`, then `coordinator`.
"""
