"""Writes down what the clients of a simulated world saw, as a history that `goqueue.fuzz.histories` judges.

`scribe.py` is told of each question, answer and silence. What these are as operations is in `streams.py` (logs,
offsets, topics) and `queues.py` (leases, delays). A scribe sees what clients see, and changes nothing in the world.
"""
