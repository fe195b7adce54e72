"""What the broker counts about itself, and the page that Prometheus reads.

`meters.py` are the counters of the transports, `metered.py` fills them on the way to the broker, `table.py` is the list
of all metrics with where each comes from, `page.py` writes it down. The core and the storage keep plain integers of
their own, which the table reads; nothing is counted message by message. Start at `table.py`.
"""
