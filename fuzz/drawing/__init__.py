"""How a seed draws the options of its world.

Every world draws its own subset of faults (a swarm): where everything fails all the time, nothing gets far enough to be
broken in an interesting way.
"""
