"""Fuzzing: what is thrown at the product to see whether it holds.

`bytes/` throws bytes at everything that parses them, guided by coverage. Beside it is the place of the simulated
cluster, with its workloads, faults and checkers. Nothing here is shipped to a broker, and no package of the product
imports it. Start at `bytes/__main__.py`.
"""
