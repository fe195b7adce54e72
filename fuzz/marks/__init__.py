"""Marks: states of the product that a world has to reach before it can find anything there, and how often it does.

`catalogue.py` names them, each with the call in the product that shows it; `mark.py` watches these calls while a world
is run, and `survey.py` counts in which part of the worlds each is reached. Nothing is watched where nobody asks.
"""
