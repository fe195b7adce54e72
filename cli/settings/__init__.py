"""What a broker is set up with, from four sources: flags, variables, a YAML file, defaults; in this order.

Here live the table of all keys, what each may hold, the reading of the file, and which source wins. Not here: what the
settings do (cli/serve.py), and the contexts of the command line (cli/contexts.py), which have a file of their own.
Invariant: reading never stops at the first mistake; all that is wrong is found in one go, each with its place.
Start with keys.py.
"""
