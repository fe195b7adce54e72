"""What `goqueue bench spark` measures: a file a group of figures, each beside the same done without GoQueue.

`sessions.py` is the Spark that they share. `cli/bench/command.py` knows `catalogue.py` by name, since it must not
import it; figures, bars and the workbench are those of `goqueue.cli.bench`.
"""
