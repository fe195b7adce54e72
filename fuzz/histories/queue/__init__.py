"""Whether a history is one of work queues: messages that are given to one member at a time, until they are settled.

`deliveries.py` gathers once what was given to whom, and what was said of it. Every other file is a checker.
"""
