"""Worlds drawn by a seed: curves, a parameter, noise, and how wrong the curves are.

They are for measuring policies where nobody has tuned them. Keep seeds apart: ours below 1,000 are
for choosing constants, ours from 10,000 on for reporting.
"""

from globalbandits.environments.worlds.sampling import World, sample

__all__ = ["World", "sample"]
