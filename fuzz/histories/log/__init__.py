"""Whether a history is one of logs: partitions to which messages are appended, and which are read by offset.

`sightings.py` gathers once what each offset was said to hold, by whom. Every other file is a checker, which takes that
and gives findings. They follow the kafka workload of Jepsen.
"""
