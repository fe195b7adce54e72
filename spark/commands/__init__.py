"""`goqueue spark`: the command line of the jobs, one file a command.

The command line reaches `command.py` by its name alone, since `cli` may not import what lies above it. Nothing here
imports pyspark before a command runs, so help and mistakes cost no Spark, and a missing one is told in a sentence.
"""
