"""Messages that are delivered later, and time as a structure.

Here lives what a node knows of delayed messages: how they are kept (`schedule`, `records`), in which order they come
(`agenda`), how they move into the data (`moving`), and the service that takes requests about them (`leader`), with a
`calendar` for each partition. Not here: the streams, which are partitions like any other, and the timing wheel
(`core/timers`). Start with `schedule`, then `calendar`.
"""
