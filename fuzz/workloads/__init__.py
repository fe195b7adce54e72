"""Clients of a simulated node: each asks one thing after another, and learns only from the answers.

A client draws from a generator of its own and keeps no promise itself: what it may expect is the checkers' business
(`goqueue.fuzz.checkers`). Start at `client.py`.
"""
