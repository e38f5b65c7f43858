"""Random worlds: curves, a parameter, noise and an error of the curves, all drawn from a seed.

Use them to measure policies on problems they were not tuned for. Seeds below 1,000 are for choosing
constants, seeds from 10,000 on for reporting.
"""

from globalbandits.environments.worlds.random_world import World, sample

__all__ = ["World", "sample"]
