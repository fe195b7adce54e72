"""Rows into topics: published so that a task that is run again stores nothing twice, and at a chosen rate.

Reading rows back out of topics is not here, nor is the client library, which the connection comes from.
"""
