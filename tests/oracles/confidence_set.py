"""The confidence set of structured policies by brute force: every parameter of a fine grid.

Nothing of the package is used, and nothing is assumed of the curves but that they hardly change
between two neighbours of the grid.
"""

import math

import numpy as np

N_THETAS = 100_001


class BruteForce:
    """Curves at 10^5 parameters, and which of these some statistics allow."""

    def __init__(self, functions, values=None, low=0.0, high=1.0):
        self.thetas = np.linspace(low, high, N_THETAS)
        self.means = np.stack(
            [np.broadcast_to(f(self.thetas), self.thetas.shape) for f in functions]
        )
        values = values or [lambda mean: mean] * len(functions)
        self.worths = np.stack([v(m) for v, m in zip(values, self.means, strict=True)])
        # How much a curve changes from one place of the grid to the next, twice.
        self.blur = 2.0 * np.abs(np.diff(self.worths)).max()

    def margins(self, counts, sums, variances, factor):
        """By how much each parameter is allowed; below 0 where some arm excludes it."""
        t = counts.sum() + 1
        margin = np.full(self.thetas.shape, np.inf)
        for curve, n, total, variance in zip(self.means, counts, sums, variances, strict=True):
            if n > 0:
                radius = math.sqrt(factor * variance * math.log(t) / n)
                margin = np.minimum(margin, radius - np.abs(curve - total / n))
        return margin

    def largest_worths(self, allowed):
        """What each arm can be worth at most."""
        return self.worths[:, allowed].max(axis=1)

    def best_somewhere(self, allowed):
        """The arms that are best for some allowed parameter."""
        worths = self.worths[:, allowed]
        return (worths == worths.max(axis=0)).any(axis=1)
