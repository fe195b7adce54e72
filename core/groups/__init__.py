"""Consumer groups: who of a group reads which partitions, and how far each group has come.

Here live the group's agreed state and what changes it (`records`, `state`, `plan`), the assignors (`assignment`), the
handing over of partitions (`rebalance`), the coordinator that speaks to members (`coordinator`, with `sessions` and
`watches`), the polls of members (`polling`, `reader`), and what joins all that with the journal it stands on (`leader`,
`journal`). Not here: the partitions that are read, and shared groups' leases.
Start with `rebalance`, then `coordinator`.
"""
