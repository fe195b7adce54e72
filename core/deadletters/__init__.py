"""Dead letters: what work queues gave up goes to a topic of its own, exactly once, and back when somebody says so.

Here live the move from partition to partition that bears a crash at every point, what a dead letter says of its past,
and redrives. Not here: when a message is given up, which is the work queue's (`core/queues`).
Start with `leader`, then `carrier`; `moves` says what is kept, `letters` what a letter is, `redrive` how one goes back.
"""
