"""Captures in Spark's tasks: replayed by the core that wrote them, or by one that was changed.

A file of a capture begins with a snapshot, so each is a task of its own. What is in a capture is known by
`goqueue.core.capture`, what is in its files by `goqueue.storage.capture_files`; here is what makes jobs of them.
"""
