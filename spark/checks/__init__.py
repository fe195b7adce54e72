"""The promises of the product, checked over facts at any scale: a row a finding, with the facts that prove it.

What is promised, and how each is checked within a simulated world, is in `goqueue.fuzz.checkers`; here are the same
questions to any number of captures. Start with `catalogue.py`.
"""
